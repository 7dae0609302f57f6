"""A model's own chat template, read from disk: ``tokenizer_config.json``, ``chat_template.jinja`` (sandboxed).

Nothing is downloaded and no tokenizer is loaded: special tokens are texts in the same files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.rendering.parts import Prompted
from pytest_bfcl.rendering.tools import compile_tools

FILE_LIMIT = 8 * 2**20
"""Largest template or tokenizer file read, in bytes."""
PROMPT_LIMIT = 16 * 2**20
"""Longest prompt taken, in characters."""
_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")
_DEFAULT_NAMES = ("tool_use", "default")


class HubTemplate:
    """A compiled chat template with the model's special tokens; ``tools`` are OpenAI's schemas."""

    def __init__(self, source: str, tokens: Mapping[str, str], where: str) -> None:
        import jinja2
        import jinja2.sandbox

        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda pattern: datetime.now().strftime(pattern)
        self.where = where
        self.tokens = dict(tokens)
        self.sha256 = hashlib.sha256(json.dumps([source, self.tokens], sort_keys=True).encode()).hexdigest()
        try:
            self._template = environment.from_string(source)
        except (jinja2.TemplateError, RecursionError) as error:
            raise UsageError(f"{where} is no template that can be read: {error}") from None

    def __call__(self, shown: Prompted) -> str:
        """The prompt, the reply opened. Raises `UsageError` where the template fails."""
        import jinja2

        tools = compile_tools(shown.functions) if shown.functions else None
        values: Parsed = {**self.tokens, "tools": tools, "documents": None, "add_generation_prompt": True}
        parts: list[str] = []
        length = 0
        try:
            for part in self._template.generate(messages=[dict(message) for message in shown.messages], **values):
                parts.append(part)
                length += len(part)
                if length > PROMPT_LIMIT:
                    raise UsageError(f"{self.where}: a prompt of more than {PROMPT_LIMIT} characters")
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, KeyError, RecursionError) as error:
            raise UsageError(f"the template in {self.where} fails: {type(error).__name__}: {error}") from None
        return "".join(parts)


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    """JSON as transformers print it: no HTML escapes, non-ASCII as it is."""
    kept = {name: options[name] for name in ("separators", "sort_keys") if name in options}
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **kept)


def _raise(message: str) -> None:
    raise ValueError(message)


def read_template(path: Path) -> HubTemplate:
    """The template of a folder (or of a file: a ``.jinja`` or a ``tokenizer_config.json``). Raises `UsageError`."""
    folder = path if path.is_dir() else path.parent
    config = _json(folder / "tokenizer_config.json")
    tokens = _special_tokens({**_json(folder / "special_tokens_map.json"), **config})
    if path.is_file() and path.suffix != ".json":
        return HubTemplate(_text(path), tokens, str(path))
    if path.is_file():
        config = _json(path)
        tokens = _special_tokens(config)
    source = _listed(config.get("chat_template"))
    own_file = folder / "chat_template.jinja"
    if source is None and own_file.is_file():
        source = _text(own_file)
    if source is None:
        source = _listed(_json(folder / "chat_template.json").get("chat_template"))
    if source is None:
        raise UsageError(
            f"{path} has no chat template: neither chat_template in tokenizer_config.json nor chat_template.jinja"
        )
    return HubTemplate(source, tokens, str(path))


def _listed(template: object) -> str | None:
    """The template of a config: a text, or the one for tools among several."""
    if isinstance(template, list):
        named = {str(each.get("name")): each.get("template") for each in template if isinstance(each, Mapping)}
        template = next((named[name] for name in _DEFAULT_NAMES if name in named), None)
    return template if isinstance(template, str) else None


def _special_tokens(config: Fields) -> dict[str, str]:
    tokens = {}
    for name in _TOKENS:
        value = config.get(name)
        value = value.get("content") if isinstance(value, Mapping) else value
        if isinstance(value, str):
            tokens[name] = value
    return tokens


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > FILE_LIMIT:
            raise UsageError(f"{path} is larger than {FILE_LIMIT} bytes: no template")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None


def _json(path: Path) -> Parsed:
    """A JSON object of a file; empty where there is no such file."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    return value if isinstance(value, dict) else {}
