"""The benchmark in Inspect: ``inspect eval inspect_task.py --model openai/gpt-4o -T category=multi_turn_base``."""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model, messages_from_openai
from inspect_ai.scorer import Score, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver
from inspect_ai.tool import ToolInfo

from pytest_bfcl.judge import Data


@task
def bfcl(category="simple_python", data="bundled", mode="fc"):
    tasks = Data(data)
    samples = [Sample(input=entry_id, id=entry_id) for entry_id in tasks.ids(category)]
    return Task(dataset=samples, solver=play(tasks, mode), scorer=judged())


@solver
def play(tasks, mode):
    async def solve(state: TaskState, _: Generate) -> TaskState:
        with tasks.task(state.sample_id).open(mode) as conversation:
            while not conversation.done:
                tools = [ToolInfo(**{**tool["function"], "options": None}) for tool in conversation.tools]
                messages = await messages_from_openai(conversation.messages)
                await conversation.areply(await get_model().generate(messages, tools))
            state.metadata["judgement"] = conversation.judgement().to_json()
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def judged():
    async def score(state: TaskState, target: Target) -> Score | None:
        found = state.metadata["judgement"]
        if found["outcome"] == "not judged":
            return None
        return Score(value=float(found["outcome"] == "right"), explanation=found["sentence"], metadata=found)

    return score
