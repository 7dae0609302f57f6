"""The benchmark on a model of lm-evaluation-harness: ``python lm_eval_play.py MODEL URL CATEGORY``."""

import json
import sys

from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalChatCompletion

from pytest_bfcl.judge import Data


class WholeReplies(LocalChatCompletion):
    def parse_generations(self, outputs, **_):  # with calls and endings, which a text alone does not have
        return [json.dumps(each) for each in (outputs if isinstance(outputs, list) else [outputs])]


def play(model, url, tasks):
    lm = WholeReplies(base_url=url + "/chat/completions", model=model, tokenizer_backend=None, max_retries=1)
    for task in tasks:
        with task.open() as conversation:
            while not conversation.done:
                asked = lm.apply_chat_template(conversation.messages), {"tools": conversation.tools}
                (said,) = lm.generate_until([Instance("generate_until", {}, asked, 0)])
                conversation.reply(json.loads(said))
            yield conversation.judgement()


if __name__ == "__main__":
    data = Data("auto")
    found = list(play(*sys.argv[1:3], map(data.task, data.ids(sys.argv[3]))))
    print(sum(each.right for each in found), "of", sum(each.outcome != "not judged" for each in found))
