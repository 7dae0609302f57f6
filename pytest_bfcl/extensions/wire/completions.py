"""Text completions: a prompt in, a text out. There are no calls in it but those that are text."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_bfcl.extensions.wire.chat import Json, choices_of, chunks
from pytest_bfcl.extensions.wire.exchange import Exchange
from pytest_bfcl.extensions.wire.replies import LENGTH, STOP, Reply, Usage, transport_problem
from pytest_bfcl.extensions.wire.requests import Message, Request

ENDS = {"stop": STOP, "length": LENGTH}
LIMIT = 24
"""Tokens of an answer where a check does not say: a model without a question may go on for long."""


class Completions:
    """``POST /completions``."""

    name = "completions"
    path = "/completions"
    limit_name = "max_tokens"

    def body(self, request: Request, model: str) -> Json:
        """The JSON body of a request: what was said, as one prompt."""
        prompt = "\n".join(str(turn.text) for turn in request.turns if isinstance(turn, Message))
        body: Json = {"model": model, "prompt": prompt, self.limit_name: request.limit or LIMIT}
        if request.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body | dict(request.extra)

    def read(self, exchange: Exchange) -> tuple[Reply, ...]:
        """Every choice of an unstreamed completion."""
        problem = transport_problem(exchange)
        body = exchange.body
        choices = choices_of(body) if isinstance(body, dict) else []
        if problem or not isinstance(body, dict) or not choices:
            return (Reply(exchange, problem=problem or "the answer is no JSON object with choices"),)
        usage = Usage.of(body.get("usage"), "prompt_tokens", "completion_tokens")
        return tuple(_reply(exchange, [choice], usage, position) for position, choice in enumerate(choices))

    def join(self, exchange: Exchange) -> tuple[Reply, ...]:
        """Every choice of a streamed completion, its texts joined."""
        problem = transport_problem(exchange)
        if problem:
            return (Reply(exchange, problem=problem),)
        pieces: dict[int, list[Json]] = {}
        usage: Usage | None = None
        for chunk in chunks(exchange):
            usage = Usage.of(chunk.get("usage"), "prompt_tokens", "completion_tokens") or usage
            for choice in choices_of(chunk):
                index = choice.get("index")
                pieces.setdefault(index if isinstance(index, int) else 0, []).append(choice)
        if not pieces:
            return (Reply(exchange, problem="the stream has no chunk with a choice"),)
        return tuple(_reply(exchange, pieces[index], usage, index) for index in sorted(pieces))


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
