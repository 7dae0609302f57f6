"""Text completions: a rendered prompt in, text out, without any parser of the server."""

from __future__ import annotations

from collections.abc import Callable

from pytest_bfcl.answers import read_text
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.streams import StreamEnd
from pytest_bfcl.tools.schemas import Style
from pytest_bfcl.transcript import Message, Reply

Render = Callable[[Request], Fields]
"""A request as the fields of a completion: ``prompt``, and for some formats ``stop_token_ids``, ``stop`` …"""

TEMPLATE_VARIABLES = "chat_template_kwargs"
"""The parameter of chat templates; it is not sent, because the prompt is rendered here."""


class Completions:
    """``POST <base URL>/completions``.

    ``render`` writes the prompt; ``remember`` (a format's own) makes a reply's message for the conversation.
    """

    name = "completions"
    path = "completions"
    style: Style = "openai"

    def __init__(self, render: Render, remember: Callable[[Reply, Message], Message] | None = None) -> None:
        self.render = render
        self._remember = remember

    def body(self, request: Request, *, tools: bool) -> Parsed:
        """The prompt and the format's further fields."""
        return dict(self.render(request))

    def streaming(self) -> Parsed:
        """The last chunk has the usage."""
        return {"stream": True, "stream_options": {"include_usage": True}}

    def read(self, body: object) -> Reply:
        """See `pytest_bfcl.answers.read_text`."""
        return read_text(body)

    def joiner(self) -> CompletionsJoiner:
        """For one stream."""
        return CompletionsJoiner()

    def remember(self, reply: Reply, message: Message) -> Message:
        """By the format, else unchanged."""
        return self._remember(reply, message) if self._remember is not None else message


class CompletionsJoiner:
    """Appends the texts of the first choice."""

    def __init__(self) -> None:
        self.started = self.done = False
        self._texts: list[str] = []
        self._end = StreamEnd()

    def wants(self, block: bytes) -> bool:
        """Every chunk."""
        return True

    def add(self, event: Fields) -> None:
        """One chunk."""
        for choice in self._end.choices(event):
            text = choice.get("text")
            if isinstance(text, str):
                self._texts.append(text)
                self.started = self.started or text != ""

    def body(self) -> Parsed:
        """The completion."""
        text = "".join(self._texts) if self._texts else None
        return self._end.body({"text": text}, over=self.done and bool(text))
