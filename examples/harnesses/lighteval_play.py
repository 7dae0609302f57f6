"""The benchmark on a model of lighteval: ``python lighteval_play.py MODEL URL CATEGORY`` (OPENAI_API_KEY set)."""

import sys

import litellm
from lighteval.models.endpoints.litellm_model import LiteLLMClient, LiteLLMModelConfig

from pytest_bfcl.judge import Data


def play(model, url, tasks):
    lm = LiteLLMClient(LiteLLMModelConfig(model_name=f"openai/{model}", base_url=url))
    asked = {"model": lm.model, "base_url": lm.base_url, **lm.generation_parameters.to_litellm_dict()}
    for task in tasks:
        with task.open() as conversation:
            while not conversation.done:  # as lighteval's client asks, which keeps the text of a reply only
                said = litellm.completion(**asked, messages=conversation.messages, tools=conversation.tools or None)
                conversation.reply(said)
            yield conversation.judgement()


if __name__ == "__main__":
    data = Data("auto")
    found = list(play(*sys.argv[1:3], map(data.task, data.ids(sys.argv[3]))))
    print(sum(each.right for each in found), "of", sum(each.outcome != "not judged" for each in found))
