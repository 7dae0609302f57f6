"""The benchmark in pydantic-evals: ``python pydantic_evals_play.py MODEL URL CATEGORY`` (OPENAI_API_KEY set)."""

import sys
from dataclasses import dataclass

from openai import AsyncOpenAI, omit
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator

from pytest_bfcl.judge import Data


@dataclass
class Right(Evaluator):
    def evaluate(self, ctx):  # what was not judged has no assertion, so that it enters no score
        return {} if ctx.output.outcome == "not judged" else {"right": ctx.output.right}


def report(model, url, tasks):
    client = AsyncOpenAI(base_url=url, max_retries=0)

    async def ask(task):
        with task.open() as conversation:
            while not conversation.done:
                wanted = {"messages": conversation.messages, "tools": conversation.tools or omit}
                await conversation.areply(await client.chat.completions.create(model=model, **wanted))
            return conversation.judgement()

    cases = [Case(name=task.id, inputs=task) for task in tasks]
    return Dataset(name="bfcl", cases=cases, evaluators=[Right()]).evaluate_sync(ask, max_concurrency=8)


def play(model, url, tasks):
    return [case.output for case in report(model, url, tasks).cases]


if __name__ == "__main__":
    data = Data("auto")
    report(*sys.argv[1:3], map(data.task, data.ids(sys.argv[3]))).print()
