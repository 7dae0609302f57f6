"""The benchmark on a model of OpenCompass: ``python opencompass_play.py MODEL URL CATEGORY`` (OPENAI_API_KEY set)."""

import sys

import litellm
from opencompass.models import LiteLLMAPI

from pytest_bfcl.judge import Data


def play(model, url, tasks):
    lm = LiteLLMAPI(f"openai/{model}", api_base=url)
    for task in tasks:
        with task.open() as conversation:
            while not conversation.done:  # as OpenCompass asks, whose models return the text of a reply only
                tools = {"tools": conversation.tools or None}
                said = litellm.completion(**lm._build_call_kwargs(conversation.messages, 4096, tools))
                conversation.reply(said)
            yield conversation.judgement()


if __name__ == "__main__":
    data = Data("auto")
    found = list(play(*sys.argv[1:3], map(data.task, data.ids(sys.argv[3]))))
    print(sum(each.right for each in found), "of", sum(each.outcome != "not judged" for each in found))
