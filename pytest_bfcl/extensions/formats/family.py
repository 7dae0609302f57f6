"""The use of a family: the request to ``/v1/completions``, and the reading of the reply. Adapters and conversations use
`Family.render` before a request, `Family.read` after it, and `Family.results` after executed calls. The history equals
that of the family's handler (spec §5).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.extensions.formats import qwen, stubs, templates
from pytest_bfcl.extensions.formats.hub import read_template
from pytest_bfcl.extensions.formats.json_calls import tagged_inside, tagged_values
from pytest_bfcl.extensions.formats.templates import Prompted, Template, opened
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.fetching.official import fetched_folder
from pytest_bfcl.fetching.texts import FormatTexts
from pytest_bfcl.formats.detection import call_ids, decoded_calls
from pytest_bfcl.formats.schema_types import Documents
from pytest_bfcl.formats.table import (
    FORMATS,
    Format,
    find_decoder,
    find_format,
    guessed_decoder,
    registered_format,
)
from pytest_bfcl.formats.thinking import Parted, Think, read_thinking
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.chat import TEMPLATE_VARIABLES, Completions
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.transcript import Message, Mode
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import FunctionDoc
    from pytest_bfcl.formats.thinking import Think
    from pytest_bfcl.models.spec import ModelSpec
    from pytest_bfcl.settings import Settings


TEMPLATES: Mapping[str, Template] = {
    "llama3": templates.llama3,
    "llama4": templates.llama4,
    "gemma": templates.gemma,
    "chatml": templates.chatml_prompt,
    "bielik": templates.bielik,
    "phi4": templates.phi4,
    "phi4mini": templates.phi4mini,
    "r1": templates.r1,
    "qwen3": qwen.qwen3,
    "qwen3-tools": qwen.qwen3_tools,
    "nanbeige": qwen.nanbeige,
    "pelican": qwen.pelican,
    "granite4": qwen.granite4,
    "arch": qwen.arch,
    "granite3": templates.granite3,
    "phi4mini-tools": templates.phi4mini_tools,
    "granite20b": templates.granite20b,
    "llama31": templates.llama31,
    "xlam-llama": templates.xlam_llama,
    "bitagent": partial(templates.xlam_llama, default="bitagent.system"),
    "xlam-qwen": templates.xlam_qwen,
    "hammer": templates.hammer,
    "glm4": templates.glm4,
    "mistral": templates.mistral,
    "thinkagent": templates.thinkagent,
    "functiongemma": stubs.functiongemma,
    "minicpm3": stubs.minicpm3,
}


DEFAULT_MAX_TOKENS = 4096
"""The default token limit, because servers otherwise stop raw completions after a few tokens (formats spec §1)."""


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the table with its template, or with the model's own.

    ``texts``: the fetched texts of templates that need some; ``think`` like the option; ``source`` is part of a run's
    fingerprint: the family's name, or the digest of a template from disk.
    """

    format: Format
    template: Template
    texts: FormatTexts = field(default_factory=FormatTexts, repr=False)
    think: Think = "auto"
    source: str = ""

    @property
    def name(self) -> str:
        """The family's name."""
        return self.format.name

    def opened(self, messages: Sequence[Message], first: bool) -> list[Message]:
        """A turn's new messages in this family's form (``first``: turn 0, with the system prompt)."""
        return opened(self.format, messages, first)

    def render(
        self,
        messages: Sequence[Message],
        functions: Sequence[FunctionDoc],
        query: int = 1,
        variables: Fields | None = None,
    ) -> str:
        """The prompt. ``messages`` are from `opened`, `read` and `results`; ``functions`` are documents with hints.

        ``query`` counts the conversation's requests from 1: two families' prompts grow with it. ``variables``: the
        request's ``chat_template_kwargs``. Raises `UsageError` if a needed text was not fetched, for a template that
        fails, and for variables with one of our templates.
        """
        if variables and self.name in FORMATS:
            raise UsageError(
                f"the template of the family {self.name} takes no chat_template_kwargs ({', '.join(variables)}): give "
                "the folder with the model's own, --bfcl-template DIR"
            )
        return self.template(Prompted(messages, functions, self.texts, query, variables or {}))

    def check(self, variables: Fields | None = None) -> None:
        """Render a small prompt. Raises `UsageError` before the first request."""
        self.render([{"role": "user", "content": "Hello."}], [_PROBE], variables=variables)

    def read(self, text: str, ids: Sequence[str] = (), functions: Sequence[FunctionDoc] = ()) -> Read:
        """A raw reply: ``answer`` is decoded and stored, ``reasoning`` is shown separately, ``messages`` go back."""
        return read_reply(text, self.format, self.think, ids, functions)

    def heard(self, text: str, ids: Sequence[str] = (), functions: Sequence[FunctionDoc] = ()) -> list[Message]:
        """The messages of a raw reply for the history."""
        return self.read(text, ids, functions).messages

    def results(self, calls: Sequence[str], results: Sequence[str], ids: Sequence[str] = ()) -> list[Message]:
        """The messages with results of executed calls (call texts) for the model."""
        return result_messages(self.format, calls, results, ids)

    def request_fields(self) -> Parsed:
        """The family's further fields of a request's body."""
        fields: Parsed = {}
        if self.format.stop_token_ids:
            fields["stop_token_ids"] = list(self.format.stop_token_ids)
        if self.format.skip_special_tokens is not None:
            fields["skip_special_tokens"] = self.format.skip_special_tokens
        return fields


_PROBE: FunctionDoc = {
    "name": "echo",
    "description": "Says a word back.",
    "parameters": {
        "type": "dict",
        "properties": {"word": {"type": "string", "description": "The word."}},
        "required": ["word"],
    },
}


def open_family(
    template: str, *, model: str = "", mode: Mode = "fc", decoder: str | None = None, think: Think = "auto"
) -> Family:
    """The family for a ``--bfcl-template``: a family's name, a template's file, or a folder with the model's own.

    ``auto`` takes the registered family of the model for this mode. A file or folder needs a ``decoder``, or a model
    whose name suggests one. Raises `UsageError` with the available ones.
    """
    if template == "auto":
        names = (f"{model}-FC", model) if mode == "fc" else (model, f"{model}-FC")
        rows = [row for row in map(registered_format, names) if row is not None]
        row = next((row for row in rows if row.mode == mode), rows[0] if rows else None)
        if row is None:
            raise UsageError(
                f"no family is known for {model!r}: name one with --bfcl-template (a name, file or folder)"
            )
        return _of_row(row, think)
    if template in FORMATS:
        return _of_row(find_format(template), think)
    path = Path(template).expanduser()
    if not path.exists():
        raise UsageError(
            f"--bfcl-template {template}: neither a family nor a file or folder; families: {', '.join(FORMATS)}"
        )
    return _of_hub(path, model, decoder, think)


def _of_row(row: Format, think: Think) -> Family:
    if row.template is None or row.template not in TEMPLATES:
        raise UsageError(
            f"the family {row.name} is rendered by its model's own template: give the folder that has it, "
            "--bfcl-template DIR"
        )
    return Family(row, TEMPLATES[row.template], FormatTexts.beside(fetched_folder()), think, row.name)


def _of_hub(path: Path, model: str, decoder: str | None, think: Think) -> Family:
    """The family of a template from disk; ``decoder``, or the model's name, decides how its calls are read."""
    template = read_template(path)
    name = decoder if decoder not in (None, "auto") else guessed_decoder(model or path.name)
    if name is None:
        raise UsageError(f"the call format of {model or path} is not known: name a decoder with --bfcl-decoder")
    reads = find_decoder(name)
    row = Format(
        "own-template",
        "fc",
        reads.name,
        thinking=reads.thinking if reads.served else "think",
        history="native",
        underscore_names=True,
    )
    return Family(row, template, think=think, source=template.sha256)


class Rendered(Completions):
    """`Completions` for one model, with its ``family``. Raises `UsageError` for a template that cannot be used."""

    def __init__(self, spec: ModelSpec, settings: Settings, mode: Mode) -> None:
        self.family: Family = open_family(
            settings.template or "auto", model=spec.name, mode=mode, decoder=settings.decoder, think=settings.think
        )
        if not self.family.format.native and self.family.format.mode != mode:
            raise UsageError(
                f"models of the family {self.family.name} run in the mode @{self.family.format.mode} only: "
                f"write {spec.provider}:{spec.name}@{self.family.format.mode}"
            )
        self.family.check(_variables(settings.parameters))

    @staticmethod
    def digest(path: Path) -> str:
        """The identity of a template. Raises `UsageError`."""
        return read_template(path).sha256

    def body(self, request: Request, *, tools: bool) -> Parsed:
        """The prompt and the format's further fields."""
        try:
            variables = _variables(request.parameters)
            prompt = self.family.render(request.messages, request.functions, request.query, variables)
        except UsageError as error:
            raise AdapterError(AdapterTrouble.TEMPLATE, str(error)) from None
        return {"prompt": prompt, "max_tokens": DEFAULT_MAX_TOKENS, **self.family.request_fields()}


def _variables(parameters: Fields) -> Fields:
    """The ``chat_template_kwargs`` of a request. Raises `UsageError` unless they are an object."""
    found = parameters.get(TEMPLATE_VARIABLES) or {}
    if not isinstance(found, Mapping):
        raise UsageError(f"--bfcl-param {TEMPLATE_VARIABLES} is an object: {TEMPLATE_VARIABLES}={{...}}")
    return found


class Read(NamedTuple):
    """A reply in the handler's reading: the decoded part, its reasoning, its messages for the history."""

    answer: str
    reasoning: str | None
    messages: list[Message]


def read_reply(
    text: str, family: Format, think: Think = "auto", ids: Sequence[str] = (), functions: Documents = ()
) -> Read:
    """Split a raw reply into answer, reasoning and history. ``ids`` are those of Mistral's calls (default ``call00001``
    …)."""
    parted = read_thinking(text, think, family.thinking)
    return Read(parted.answer, parted.reasoning, [_message(text, parted, family, ids, functions)])


def _message(text: str, parted: Parted, family: Format, ids: Sequence[str], functions: Documents) -> Message:
    message: Message = {"role": "assistant", "content": parted.answer}
    if family.history == "user":  # DeepSeek-R1: the template cuts the thoughts
        message["content"] = text
    elif family.history == "mistral":
        message["content"] = _mistral(parted.answer, ids)
    elif family.history == "calls":
        calls = tagged_inside(text) if family.null_content else tagged_values(text)
        if calls:
            message = {"role": "assistant", "content": None if family.null_content else "", "tool_calls": calls}
    elif family.history == "native":
        message.update(_native(parted, family, ids, functions))
    if family.history in ("reasoning", "calls") and family.thinking == "think":
        message["reasoning_content"] = parted.reasoning or ""
    return message


def _native(parted: Parted, family: Format, ids: Sequence[str], functions: Documents) -> Message:
    """Calls in the text as OpenAI's messages, with parsed arguments, for chat templates."""
    fields: Message = {"reasoning_content": parted.reasoning} if parted.reasoning else {}
    calls = decoded_calls(parted.answer, family.decoder, functions)
    if calls:
        named = zip(call_ids(len(calls), ids), calls, strict=True)
        fields["content"] = ""
        fields["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, (name, arguments) in named
        ]
    return fields


def _mistral(answer: str, ids: Sequence[str]) -> str:
    """Parsed calls with their ids; a reply that did not parse is unchanged."""
    try:
        members = parse_json(answer)
    except DecodeError:
        return answer
    if not isinstance(members, list):
        return answer if members else f"[TOOL_CALLS]{json.dumps(members)}"
    named = [
        {**member, "id": call_id}
        for member, call_id in zip(members, call_ids(len(members), ids), strict=True)
        if isinstance(member, dict)
    ]
    return f"[TOOL_CALLS]{json.dumps(named)}"


def result_messages(
    family: Format, calls: Sequence[str], results: Sequence[str], ids: Sequence[str] = ()
) -> list[Message]:
    """Results of executed calls as the handler shows them; ``calls`` are call texts."""
    pairs = list(zip(calls, results, strict=False))
    if family.history == "user":
        shown = [{"role": "tool", "name": call, "content": result} for call, result in pairs]
        return [{"role": "user", "content": repr(shown)}]
    if family.history == "ipython":
        return [{"role": "ipython", "content": result} for _, result in pairs]
    if family.history == "mistral":
        named = zip(call_ids(len(pairs), ids), pairs, strict=True)
        return [{"role": "tool", "content": result, "tool_call_id": call_id} for call_id, (_, result) in named]
    if family.history == "native":
        named = zip(call_ids(len(pairs), ids), pairs, strict=True)
        return [
            {"role": "tool", "content": result, "tool_call_id": call_id, "name": call.partition("(")[0]}
            for call_id, (call, result) in named
        ]
    return [{"role": "tool", "name": call, "content": result} for call, result in pairs]
