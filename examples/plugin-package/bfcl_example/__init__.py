"""One small part of every kind: a model, a simulator, a checker, a decoder, a reporter."""

import json
import re

from pytest_bfcl import Reply
from pytest_bfcl.simulators import Simulator, tool


def create_model(spec, settings, mode):
    """`--model shout:thanks`: shouts its calls, and says its name when there is nothing to call."""

    async def answer(request):
        if any("count" in str(message.get("content")).lower() for message in request.messages[-1:]):
            return Reply(text="COUNT! amount=2")
        return Reply(text=f"{spec.name}, please")

    return answer


class Counter(Simulator):
    """A number that can be raised."""

    def load(self, config, *, long_context=False, texts=None, **context):
        self.number = config.get("number", 0)

    @tool(writes=True)
    def raise_by(self, amount: int) -> dict[str, int]:
        """Raise the number.

        Args:
            amount: By how much.

        Returns:
            number (integer): The number now.
        """
        self.number += amount
        return {"number": self.number}


def check_politeness(entry, transcript):
    """`"checker": "polite"` in an entry: true, or what is wrong."""
    return True if "please" in (transcript.first_reply.text or "") else "it did not say please"


def read_shouting(text, functions):
    """`--bfcl-decoder shouting`: ``NAME! key=value key=value``."""
    names = {function["name"].lower(): function["name"] for function in functions}
    found = []
    for name, arguments in re.findall(r"([A-Z_]+)!((?: \w+=\S+)*)", text):
        pairs = dict(pair.split("=", 1) for pair in arguments.split())
        found.append((names.get(name.lower(), name), {key: json.loads(value) for key, value in pairs.items()}))
    return found


def write_one_line(run, summary):
    """Called with the run directory and the summary at the end of every run."""
    (run / "one-line.txt").write_text(f"{', '.join(summary['models'])}\n")
