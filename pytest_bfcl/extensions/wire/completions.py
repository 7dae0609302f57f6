"""Text completions: a prompt in, a text out. There are no calls in it but those that are text."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_bfcl.extensions.wire.chat import Chat, Json, choices_of, streamed_choices, usage_of
from pytest_bfcl.extensions.wire.exchange import Exchange
from pytest_bfcl.extensions.wire.replies import LENGTH, STOP, Reader, Reply, Usage
from pytest_bfcl.extensions.wire.requests import Message, Request

ENDS = {"stop": STOP, "length": LENGTH}
LIMIT = 24
"""Tokens of an answer where a check does not say: a model without a question may go on for long."""


class Completions(Reader):
    """``POST /completions``."""

    name = "completions"
    path = "/completions"
    limit_name = "max_tokens"
    nothing_whole = Chat.nothing_whole
    nothing_streamed = Chat.nothing_streamed

    def body(self, request: Request, model: str) -> Json:
        """The JSON body of a request: what was said, as one prompt."""
        prompt = "\n".join(str(turn.text) for turn in request.turns if isinstance(turn, Message))
        body: Json = {"model": model, "prompt": prompt, self.limit_name: request.limit or LIMIT}
        if request.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body | dict(request.extra)

    def replies_in(self, exchange: Exchange, body: Json) -> tuple[Reply, ...]:
        """See `Reader`."""
        usage = usage_of(body)
        return tuple(_reply(exchange, [choice], usage, position) for position, choice in enumerate(choices_of(body)))

    def replies_of_stream(self, exchange: Exchange) -> tuple[Reply, ...]:
        """See `Reader`."""
        choices, usage = streamed_choices(exchange)
        return tuple(_reply(exchange, choices[index], usage, index) for index in sorted(choices))


def _reply(exchange: Exchange, choices: list[Json], usage: Usage | None, position: int) -> Reply:
    found = choices[0].get("index")
    words = (choice.get("finish_reason") for choice in reversed(choices))
    word = next(filter(None, words), None)
    return Reply(
        exchange, text="".join(texts_of(choices)), finish=ENDS.get(word, word) if isinstance(word, str) else None,
        usage=usage, choice=found if isinstance(found, int) else position,
    )  # fmt: skip


def texts_of(choices: list[Json]) -> Iterator[str]:
    """The texts of choices, those that are texts."""
    return (choice["text"] for choice in choices if isinstance(choice.get("text"), str))
