"""A model's own chat template, read from disk with the precedence of transformers.

Nothing is downloaded and no tokenizer is loaded: special tokens are texts in the same files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_bfcl.confined import Stopped, Worker
from pytest_bfcl.extensions.formats.hub_worker import SERVICE
from pytest_bfcl.extensions.formats.templates import Prompted
from pytest_bfcl.failures import HarnessError, UsageError, of_option
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import clean
from pytest_bfcl.spread_json import read_json, text_file
from pytest_bfcl.tools.schemas import compile_tools
from pytest_bfcl.transcript import Message

FILE_LIMIT = 8 * 2**20
"""Largest template or tokenizer file read, in bytes."""
_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")
_DEFAULT, _WITH_TOOLS = "default", "tool_use"
_REASONING = ("reasoning_content", "thinking", "reasoning")
"""The fields for a message's thoughts; templates read the first two."""


class HubTemplate:
    """A chat template with the model's special tokens; ``tools`` are OpenAI's schemas.

    ``plain`` is the template for conversations without tools, where the model has two. It runs in a worker process with
    limited time and memory, because the file is untrusted.
    """

    def __init__(self, source: str, tokens: Mapping[str, str], where: str, plain: str | None = None) -> None:
        self.where = where
        self.tokens = dict(tokens)
        told = [source, self.tokens, *([] if plain is None else [plain])]
        self.sha256 = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
        self._source = source
        self._plain = plain
        self._worker = Worker(SERVICE)

    def __call__(self, shown: Prompted) -> str:
        """The prompt with the opened reply. Raises `UsageError` if the template fails."""
        tools = compile_tools(shown.functions) if shown.functions else None
        return self.rendered(shown.messages, tools, shown.variables)

    def rendered(self, messages: Sequence[Message], tools: object = None, variables: Fields | None = None) -> str:
        """The prompt from messages and tool schemas; ``variables`` are further names for the template."""
        values = {**self.tokens, "add_generation_prompt": True, **(variables or {})}
        values |= {"tools": tools, "documents": None}
        source = self._source if tools is not None or self._plain is None else self._plain
        request = {"source": source, "messages": list(map(_as_templates_read, messages)), "values": values}
        try:
            answer = json.loads(self._worker.ask(json.dumps(request)))
        except (Stopped, HarnessError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"the template in {self.where} fails: {clean(str(error))}") from None
        if "prompt" not in answer:
            raise UsageError(f"the template in {self.where} fails: {clean(str(answer.get('error')))}")
        return str(answer["prompt"])


def _as_templates_read(message: Message) -> Message:
    """A message without null fields, with its thoughts under the names that templates read."""
    shown = {name: value for name, value in message.items() if value is not None}
    thoughts = next((shown[name] for name in _REASONING if name in shown), None)
    return shown if thoughts is None else {"thinking": thoughts, **shown, "reasoning_content": thoughts}


@of_option("template")
def read_template(path: Path) -> HubTemplate:
    """The template of a folder (or of a file: a ``.jinja`` or a ``tokenizer_config.json``). Raises `UsageError`.

    Of a folder's ``chat_template.jinja`` (and ``additional_chat_templates``), ``tokenizer_config.json`` and
    ``chat_template.json`` the first existing one counts; a named file is used unchanged.
    """
    folder = path if path.is_dir() else path.parent
    config = _json(folder / "tokenizer_config.json")
    tokens = _special_tokens({**_json(folder / "special_tokens_map.json"), **config})
    if path.is_file() and path.suffix != ".json":
        return HubTemplate(text_file(path, most=FILE_LIMIT), tokens, str(path))
    if path.is_file():
        config = _json(path)
        tokens = _special_tokens(config)
    found = {} if path.is_file() else _own_files(folder)
    found = found or _templates_by_name(config.get("chat_template"))
    found = found or _own_files(folder) or _templates_by_name(_json(folder / "chat_template.json").get("chat_template"))
    source = found.get(_WITH_TOOLS, found.get(_DEFAULT))
    if source is None:
        missing = "has no chat template: neither chat_template in tokenizer_config.json nor chat_template.jinja"
        raise UsageError(f"{path} {missing if path.exists() else 'does not exist'}")
    return HubTemplate(source, tokens, str(path), found.get(_DEFAULT) if _WITH_TOOLS in found else None)


def _own_files(folder: Path) -> dict[str, str]:
    """Templates in their own files, by name."""
    files = {path.stem: path for path in sorted((folder / "additional_chat_templates").glob("*.jinja"))}
    files |= {_DEFAULT: folder / "chat_template.jinja"}
    return {
        name: text_file(files[name], most=FILE_LIMIT)
        for name in (_WITH_TOOLS, _DEFAULT)
        if name in files and files[name].is_file()
    }


def _templates_by_name(template: object) -> dict[str, str]:
    """The templates of a config, by name: it has a text, or several with names."""
    if isinstance(template, str):
        return {_DEFAULT: template}
    listed = template if isinstance(template, list) else ()
    named = {str(each.get("name")): each.get("template") for each in listed if isinstance(each, Mapping)}
    return {name: text for name, text in named.items() if isinstance(text, str)}


def _special_tokens(config: Fields) -> dict[str, str]:
    tokens = {}
    for name in _TOKENS:
        value = config.get(name)
        value = value.get("content") if isinstance(value, Mapping) else value
        if isinstance(value, str):
            tokens[name] = value
    return tokens


def _json(path: Path) -> Parsed:
    """A JSON object of a file; empty without such a file."""
    if not path.is_file():
        return {}
    try:
        value = read_json(text_file(path, most=FILE_LIMIT).encode())
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    return value if isinstance(value, dict) else {}
