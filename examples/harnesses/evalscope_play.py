"""The benchmark on a model of EvalScope: ``python evalscope_play.py MODEL URL CATEGORY`` (EVALSCOPE_API_KEY set)."""

import sys

from evalscope.api.model import get_model
from evalscope.api.tool import ToolInfo
from evalscope.models.utils.openai import chat_messages_from_openai

from pytest_bfcl.judge import Data


def play(model, url, tasks):
    lm, replies = get_model(model, "openai_api", base_url=url, memoize=False), []
    lm.api.on_response = replies.append  # whole, with raw arguments and endings
    for task in tasks:
        with task.open() as conversation:
            while not conversation.done:
                tools = [ToolInfo(**tool["function"]) for tool in conversation.tools]
                lm.generate(chat_messages_from_openai(model, conversation.messages), tools, "auto" if tools else None)
                conversation.reply(replies.pop())
            yield conversation.judgement()


if __name__ == "__main__":
    data = Data("auto")
    found = list(play(*sys.argv[1:3], map(data.task, data.ids(sys.argv[3]))))
    print(sum(each.right for each in found), "of", sum(each.outcome != "not judged" for each in found))
