"""Chat completions: messages in, and the reply, read tolerantly, because servers differ in every optional detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pytest_bfcl.answers.chat import REASONING_FIELDS, read_completion, read_text
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Api, Joiner, Request, place
from pytest_bfcl.models.streams import StreamEnd
from pytest_bfcl.tools.schemas import Style
from pytest_bfcl.transcript import Message, Reply


@dataclass(frozen=True, slots=True)
class Dialect:
    """``echo``: reasoning goes back in its own field. ``null_content``: the text next to calls does not go back.

    ``join_users``: in prompting mode consecutive messages of the user are sent as one.
    ``folded``: the descriptions of tools hold the schemas of results.
    """

    name: str
    echo: bool = True
    null_content: bool = False
    join_users: bool = False
    folded: bool = False
    providers: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


GENERIC = Dialect("generic")
DIALECTS = (
    Dialect("deepseek", echo=False, join_users=True, providers=("deepseek",), hosts=("api.deepseek.com",)),
    Dialect("grok", echo=False, providers=("xai",), hosts=("api.x.ai",)),
    Dialect("ling", echo=False, join_users=True, hosts=("bailingchat.alipay.com",)),
    Dialect(
        "qwen", null_content=True, providers=("dashscope",),
        hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"),
    ),
    Dialect("novita", folded=True, providers=("novita",), hosts=("api.novita.ai",)),
    Dialect("nvidia", join_users=True, providers=("nvidia_nim",), hosts=("integrate.api.nvidia.com",)),
)  # fmt: skip


def dialect_of(provider: str, base_url: str = "") -> Dialect:
    """The dialect of a provider (of litellm's, for its adapter) or of the host of the request."""
    host = urlsplit(base_url).hostname
    for dialect in DIALECTS:
        if provider in dialect.providers or host in dialect.hosts:
            return dialect
    return GENERIC


USAGE_AT_THE_END: Fields = {"stream": True, "stream_options": {"include_usage": True}}
"""The last chunk has the usage."""
TEMPLATE_VARIABLES = "chat_template_kwargs"
"""The parameter of chat templates; it is not sent where the prompt is rendered here."""
_THOUGHTS = frozenset((*REASONING_FIELDS, "reasoning_details", "thinking_blocks"))


def outgoing(message: Message) -> Message:
    """A message without our own keys, which start with an underscore."""
    if message.keys() <= {"role", "content"}:
        return message
    return {key: value for key, value in message.items() if not key.startswith("_")}


def remembered(reply: Reply, message: Message, dialect: Dialect = GENERIC, reasoning: str = "reference") -> Message:
    """The assistant's message with its further fields, thought signatures of its calls, and its reasoning.

    ``reasoning`` is the policy: like the ``reference``'s handler for this API, ``keep`` or ``drop``. Dropping removes
    only reasoning: without a signature some providers refuse the conversation.
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
    """Consecutive user messages as one, separated by a blank line, as some handlers of the reference send them."""
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else {"role": None, "content": None}
        both = last["role"] == message["role"] == "user"
        if both and isinstance(last["content"], str) and isinstance(message["content"], str):
            joined[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            joined.append(message)
    return joined


class ChatJoiner(Joiner):
    """Joins the deltas of the first choice: texts are appended, calls are found by index and id.

    A delta with a used index and another id begins a new call: some servers number every call 0.
    """

    def __init__(self) -> None:
        self._end = StreamEnd()
        self._message: Parsed = {}
        self._pieces: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._at: dict[Any, _Call] = {}

    def add(self, event: Fields) -> None:
        """One chunk."""
        for choice in self._end.choices(event):
            delta = choice.get("delta")
            if not isinstance(delta, Mapping):
                delta = choice.get("message")  # some servers send a whole message as one chunk
            if isinstance(delta, Mapping):
                self._add_delta(delta)

    def _add_delta(self, delta: Fields) -> None:
        for name, value in delta.items():
            if value is None or (name == "role" and value == "assistant"):
                continue
            if type(value) is str:
                self._pieces.setdefault(name, []).append(value)
                self.started = self.started or value != ""
            elif name == "tool_calls" and isinstance(value, list):
                self.started = True
                for item in value:
                    if isinstance(item, Mapping):
                        self._add_call(item)
            elif isinstance(value, list):
                self.started = self.started or bool(value)
                self._message[name] = _longer_list(self._message.get(name), value)
            elif isinstance(value, Mapping) and isinstance(self._message.get(name), dict):
                self._message[name] = {**self._message[name], **value}
            else:
                self._message[name] = value

    def _add_call(self, item: Fields) -> None:
        index, call_id = place(item.get("index")), item.get("id")
        if isinstance(index, int):
            call = self._at.get(index)
        elif call_id:
            call = self._at.get(call_id)
        else:
            begins = isinstance(item.get("function"), Mapping) and bool(item["function"].get("name"))
            call = self._calls[-1] if self._calls and not begins else None
        if call is None or (call_id and call.id and call_id != call.id):
            call = _Call()
            self._calls.append(call)
        self._at[index if isinstance(index, int) else call_id] = call
        call.add(item)

    def body(self) -> Parsed:
        """The completion."""
        message: Parsed = {"content": None, **self._message}
        for name, pieces in self._pieces.items():
            text, known = "".join(pieces), message.get(name)
            message[name] = [*known, {"type": "text", "text": text}] if isinstance(known, list) else text
        if self._calls:
            message["tool_calls"] = [call.whole() for call in self._calls]
            message["content"] = message["content"] or None  # servers open every stream with an empty text
        return self._end.body({"message": message}, over=self.done and self.started)


class _Call:
    """One call of a stream."""

    def __init__(self) -> None:
        self.id: str = ""
        self.name = ""
        self.arguments: list[str] = []
        self.fields: Parsed = {}

    def add(self, item: Fields) -> None:
        for name, value in item.items():
            if name == "id":
                self.id = value if isinstance(value, str) and value else self.id
            elif name == "function" and isinstance(value, Mapping):
                self._add_function(value)
            elif value is not None and name not in ("index", "type"):
                known = self.fields.get(name)
                grows = isinstance(known, dict) and isinstance(value, Mapping)
                self.fields[name] = known | value if grows else value

    def _add_function(self, function: Fields) -> None:
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name and name != self.name:  # some servers repeat the name in every piece
            self.name = name if "".join(self.arguments) else self.name + name
        if isinstance(arguments, str):
            self.arguments.append(arguments)
        elif isinstance(arguments, Mapping):
            from pytest_bfcl.transcript import arguments_text

            self.arguments.append(arguments_text(arguments))

    def whole(self) -> Parsed:
        function: Parsed = {"name": self.name}
        if self.arguments:
            function["arguments"] = "".join(self.arguments)
        return {"id": self.id or None, "type": "function", "function": function, **self.fields}


def _longer_list(known: object, value: list[Any]) -> list[Any]:
    """A list field grown by a delta; text of a part of the same kind is appended to the last part."""
    found = list(known) if isinstance(known, list) else []
    for part in value:
        last = found[-1] if found else None
        if isinstance(part, Mapping) and isinstance(last, dict) and part.get("type") == last.get("type"):
            grown = _grown(last, part)
            if grown is not None:
                found[-1] = grown
                continue
        found.append(part)
    return found


def _grown(last: Parsed, part: Fields) -> Parsed | None:
    for name in ("text", "thinking"):
        old, new = last.get(name), part.get(name)
        if isinstance(old, str) and isinstance(new, str):
            return {**last, **part, name: old + new}
        if isinstance(old, list) and isinstance(new, list):
            return {**last, **part, name: _longer_list(old, new)}
    return None


class Chat(Api):
    """``POST <base URL>/chat/completions``, in a dialect, with one policy for reasoning."""

    name = "chat"
    path = "chat/completions"
    streaming = USAGE_AT_THE_END
    joiner = ChatJoiner

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

    def read(self, body: object) -> Reply:
        """See `pytest_bfcl.answers.read_completion`."""
        return read_completion(body)

    def remember(self, reply: Reply, message: Message) -> Message:
        """See `remembered`."""
        return remembered(reply, message, self.dialect, self.reasoning)


class CompletionsJoiner(Joiner):
    """Appends the texts of the first choice."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._end = StreamEnd()

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


class Completions(Api):
    """``POST <base URL>/completions``: a rendered prompt in, text out, without any parser of the server."""

    name = "completions"
    path = "completions"
    streaming = USAGE_AT_THE_END
    joiner = CompletionsJoiner

    def read(self, body: object) -> Reply:
        """See `pytest_bfcl.answers.read_text`."""
        return read_text(body)
