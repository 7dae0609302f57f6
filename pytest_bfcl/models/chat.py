"""Chat completions: messages in, and the reply, read tolerantly, because servers differ in every optional detail."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bfcl.answers.chat import REASONING_FIELDS, read_completion
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.chat_stream import ChatJoiner
from pytest_bfcl.models.dialects import GENERIC, Dialect
from pytest_bfcl.tools.schemas import Style
from pytest_bfcl.transcript import Message, Reply

_THOUGHTS = frozenset((*REASONING_FIELDS, "reasoning_details", "thinking_blocks"))


class Chat:
    """``POST <base URL>/chat/completions``, in a dialect, with one policy for reasoning."""

    name = "chat"
    path = "chat/completions"

    def __init__(self, dialect: Dialect = GENERIC, reasoning: str = "reference", *, store: bool | None = None) -> None:
        self.dialect = dialect
        self.style: Style = "folded" if dialect.folded else "openai"
        self.reasoning = reasoning
        self.store = store

    def body(self, request: Request, *, tools: bool) -> Parsed:
        """The messages and the parameters of the request."""
        messages = [outgoing(message) for message in request.messages]
        if self.dialect.join_users and not tools:
            messages = _joined_users(messages)
        body: Parsed = {"messages": messages}
        if self.store is not None:
            body["store"] = self.store
        return body

    def streaming(self) -> Parsed:
        """The last chunk then has the usage."""
        return {"stream": True, "stream_options": {"include_usage": True}}

    def read(self, body: object) -> Reply:
        """See `pytest_bfcl.answers.read_completion`."""
        return read_completion(body)

    def joiner(self) -> ChatJoiner:
        """For one stream."""
        return ChatJoiner()

    def remember(self, reply: Reply, message: Message) -> Message:
        """See `remembered`."""
        return remembered(reply, message, self.dialect, self.reasoning)


def outgoing(message: Message) -> Message:
    """A message without what is ours: keys that start with an underscore."""
    if message.keys() <= {"role", "content"}:
        return message
    return {key: value for key, value in message.items() if not key.startswith("_")}


def remembered(reply: Reply, message: Message, dialect: Dialect = GENERIC, reasoning: str = "reference") -> Message:
    """The assistant's message with what came with it: fields, thought signatures of its calls, and its reasoning.

    ``reasoning`` is the policy: as the ``reference``'s handler for this API does, ``keep`` or ``drop``. Dropping spares
    what is not reasoning: without a signature some providers refuse the conversation.
    """
    state = reply.state
    echo = dialect.echo if reasoning == "reference" else reasoning == "keep"
    if dialect.null_content and reply.tool_calls and reasoning == "reference":
        message = {**message, "content": None}
    if state is None or state.api != "chat":
        return message
    message = dict(message)
    if state.parts:
        message["content"] = [part for part in state.parts if echo or part.get("type") not in ("thinking", "reasoning")]
    for name, value in state.fields.items():
        if echo or name not in _THOUGHTS:
            message[name] = value
    if echo and state.reasoning_field:
        message[state.reasoning_field] = reply.reasoning or ""
    if message.get("tool_calls"):
        message["tool_calls"] = [
            {**call, **fields} for call, fields in zip(message["tool_calls"], state.call_fields, strict=False)
        ] + message["tool_calls"][len(state.call_fields) :]
    return message


def _joined_users(messages: Sequence[Message]) -> list[Message]:
    """Consecutive messages of the user as one, a blank line between, as some handlers of the reference send them."""
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        both = last is not None and last["role"] == message["role"] == "user"
        if last is not None and both and isinstance(last["content"], str) and isinstance(message["content"], str):
            joined[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            joined.append(message)
    return joined
