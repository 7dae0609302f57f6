"""The benchmark in Inspect: ``inspect eval inspect_task.py --model openai/gpt-4o -T category=multi_turn_base``."""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model, messages_from_openai
from inspect_ai.scorer import exact
from inspect_ai.solver import solver
from inspect_ai.tool import ToolInfo

from pytest_bfcl.judge import Data


@task
def bfcl(category="simple_python", data="bundled", mode="fc"):
    samples = [Sample(input=each, id=each, target="right") for each in Data(data).ids(category)]
    return Task(dataset=samples, solver=play(Data(data), mode), scorer=exact(), fail_on_error=False)


@solver
def play(tasks, mode):
    async def solve(state, _):
        with tasks.task(state.sample_id).open(mode) as conversation:
            while not conversation.done:
                tools = [ToolInfo(**{**tool["function"], "options": None}) for tool in conversation.tools]
                messages = await messages_from_openai(conversation.messages)
                await conversation.areply(await get_model().generate(messages, tools))
            judgement = conversation.judgement()
        assert judgement.outcome != "not judged", judgement.sentence  # Inspect shows it as an error, without a score
        state.output = ModelOutput.from_content("bfcl", judgement.outcome)
        state.metadata["judgement"] = judgement.to_json()
        return state

    return solve
