"""Text completions: a rendered prompt in, text out, so that no parser of the server takes part."""

from __future__ import annotations

from collections.abc import Callable

from pytest_bfcl.answers import read_text
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.streams import StreamEnd
from pytest_bfcl.tools.schemas import Style
from pytest_bfcl.transcript import Message, Reply

Render = Callable[[Request], Fields]
"""A request as the fields of a completion: ``prompt``, and where a format wants them ``stop_token_ids``, ``stop`` …"""

TEMPLATE_VARIABLES = "chat_template_kwargs"
"""The parameter that a chat template reads; a prompt that is rendered here has no use for it on the wire."""


class Completions:
    """``POST <base URL>/completions``.

    ``render`` writes the prompt; ``remember`` (a format's own) says how a reply stays in the conversation.
    """

    name = "completions"
    path = "completions"
    style: Style = "openai"

    def __init__(self, render: Render, remember: Callable[[Reply, Message], Message] | None = None) -> None:
        self.render = render
        self._remember = remember

    def body(self, request: Request, *, tools: bool) -> Parsed:
        """The prompt and what the format adds."""
        return dict(self.render(request))

    def streaming(self) -> Parsed:
        """The last chunk then has the usage."""
        return {"stream": True, "stream_options": {"include_usage": True}}

    def read(self, body: object) -> Reply:
        """See `pytest_bfcl.answers.read_text`."""
        return read_text(body)

    def joiner(self) -> CompletionsJoiner:
        """For one stream."""
        return CompletionsJoiner()

    def remember(self, reply: Reply, message: Message) -> Message:
        """As the format wants it, else as it is."""
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
