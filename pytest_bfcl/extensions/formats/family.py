"""A family at work: what ``/v1/completions`` is asked with, and what becomes of the reply.

The one door for adapters and conversations: `Family.render` before a request, `Family.read` after it,
`Family.results` when calls were executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.formats import functiongemma, minicpm, prompting, qwen, tool_lists
from pytest_bfcl.extensions.formats.history import Read, read_reply, result_messages
from pytest_bfcl.extensions.formats.hub import read_template
from pytest_bfcl.extensions.formats.parts import Prompted, Template
from pytest_bfcl.extensions.formats.prompting import opened
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.fetching.format_texts import FormatTexts
from pytest_bfcl.fetching.official import fetched_folder
from pytest_bfcl.formats.table import (
    FORMATS,
    Format,
    find_decoder,
    find_format,
    guessed_decoder,
    registered_format,
)
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.completions import TEMPLATE_VARIABLES, Completions
from pytest_bfcl.transcript import Message, Mode, Reply
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import FunctionDoc
    from pytest_bfcl.formats.thinking import Think
    from pytest_bfcl.models.spec import ModelSpec
    from pytest_bfcl.settings import Settings

TEMPLATES: Mapping[str, Template] = {
    "llama3": prompting.llama3,
    "llama4": prompting.llama4,
    "gemma": prompting.gemma,
    "chatml": prompting.chatml_prompt,
    "bielik": prompting.bielik,
    "phi4": prompting.phi4,
    "phi4mini": prompting.phi4mini,
    "r1": prompting.r1,
    "qwen3": qwen.qwen3,
    "qwen3-tools": qwen.qwen3_tools,
    "nanbeige": qwen.nanbeige,
    "pelican": qwen.pelican,
    "granite4": qwen.granite4,
    "arch": qwen.arch,
    "granite3": tool_lists.granite3,
    "phi4mini-tools": tool_lists.phi4mini_tools,
    "granite20b": tool_lists.granite20b,
    "llama31": tool_lists.llama31,
    "xlam-llama": tool_lists.xlam_llama,
    "bitagent": tool_lists.bitagent,
    "xlam-qwen": tool_lists.xlam_qwen,
    "hammer": tool_lists.hammer,
    "glm4": tool_lists.glm4,
    "mistral": tool_lists.mistral,
    "thinkagent": tool_lists.thinkagent,
    "functiongemma": functiongemma.functiongemma,
    "minicpm3": minicpm.minicpm3,
}


DEFAULT_MAX_TOKENS = 4096
"""The default token limit: servers stop raw completions after a few tokens otherwise (formats spec §1)."""


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the table with its template, or with the model's own.

    ``texts``: the fetched texts of templates that need some; ``think`` as the option; ``source`` is part of a run's
    fingerprint: the family's name, or what the template read from disk is.
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
        """The prompt. ``messages`` as `opened`, `read` and `results` give them; ``functions`` are documents with hints.

        ``query`` counts the conversation's requests from 1: two families' prompts grow with it. ``variables``: the
        request's ``chat_template_kwargs``. Raises `UsageError` when a text is needed that was not fetched, for a
        template that fails, and for variables where the template is one of ours.
        """
        if variables and self.name in FORMATS:
            raise UsageError(
                f"the template of the family {self.name} takes no chat_template_kwargs ({', '.join(variables)}): give "
                "the folder with the model's own, --bfcl-template DIR"
            )
        return self.template(Prompted(messages, functions, self.texts, query, variables or {}))

    def check(self, variables: Fields | None = None) -> None:
        """Render a small prompt. Raises `UsageError` before anything is asked."""
        self.render([{"role": "user", "content": "Hello."}], [_PROBE], variables=variables)

    def read(self, text: str, ids: Sequence[str] = (), functions: Sequence[FunctionDoc] = ()) -> Read:
        """A raw reply: ``answer`` is decoded and stored, ``reasoning`` shown apart, ``messages`` go back."""
        return read_reply(text, self.format, self.think, ids, functions)

    def results(self, calls: Sequence[str], results: Sequence[str], ids: Sequence[str] = ()) -> list[Message]:
        """The messages that bring results of executed calls (call texts) back to the model."""
        return result_messages(self.format, calls, results, ids)

    def request_fields(self) -> Parsed:
        """What the family adds to a request's body."""
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

    ``auto`` takes the family the model is registered under for this mode. A file or folder needs a ``decoder``, or a
    model whose name suggests one. Raises `UsageError` naming what there is.
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
    """The family of a template read from disk; its calls are read by ``decoder`` or what the model's name suggests."""
    from pytest_bfcl.extensions.formats.hub import read_template

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
        super().__init__(self._fields, _as_it_is)
        self.family = open_family(
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
        """What tells the template in a file or folder from others. Raises `UsageError`."""
        return read_template(path).sha256

    def _fields(self, request: Request) -> Mapping[str, Any]:
        try:
            variables = _variables(request.parameters)
            prompt = self.family.render(request.messages, request.functions, request.query, variables)
        except UsageError as error:
            raise AdapterError(AdapterTrouble.TEMPLATE, str(error)) from None
        return {"prompt": prompt, "max_tokens": DEFAULT_MAX_TOKENS, **self.family.request_fields()}


def _variables(parameters: Fields) -> Fields:
    """What a request's ``chat_template_kwargs`` say to a template. Raises `UsageError` unless they are an object."""
    found = parameters.get(TEMPLATE_VARIABLES) or {}
    if not isinstance(found, Mapping):
        raise UsageError(f"--bfcl-param {TEMPLATE_VARIABLES} is an object: {TEMPLATE_VARIABLES}={{...}}")
    return found


def _as_it_is(reply: Reply, message: Message) -> Message:
    """The family itself says what of a reply stays in the conversation."""
    return message
