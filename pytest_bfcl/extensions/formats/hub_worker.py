"""The service that renders chat templates with jinja2's sandbox in a limited process.

Requests: ``{"source", "values", "messages"}``; answers: ``{"prompt": text}`` or ``{"error": text}``. Compiled templates
are cached.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytest_bfcl.confined import Service
from pytest_bfcl.json_types import Parsed

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from jinja2.ext import Extension
    from jinja2.parser import Parser

PROMPT_LIMIT = 16 * 2**20
"""Longest accepted prompt in characters."""

SERVICE = Service(
    "pytest_bfcl.extensions.formats.hub_worker",
    "renders chat templates",
    packages=("jinja2", "markupsafe"),
    allowed=("exec", "code.__new__", "object.__getattr__", "sys._getframe"),  # what jinja2 and its errors cause
    longest=8 * PROMPT_LIMIT,
    memory=1024 * 2**20,
)
_ERROR_LIMIT = 300
_LATE = (
    "encodings.unicode_escape",
    "html",
    "jinja2.constants",
    "jinja2.debug",
    "pprint",
    "random",
    "textwrap",
    "urllib.parse",
)
"""Modules that filters and errors of jinja2 import later; nothing can be imported under the limits."""


def opened() -> Callable[[str], str]:
    """The answers to request lines."""
    environment = _environment()
    templates: dict[str, Template] = {}
    _rendered(environment, templates, json.dumps({"source": "{{ no.no }}", "values": {}, "messages": []}))
    return lambda line: json.dumps(_rendered(environment, templates, line))


def _environment() -> Environment:
    import jinja2.sandbox

    for name in _LATE:
        import_module(name)
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _generation_blocks()]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda pattern: datetime.now().strftime(pattern)
    return environment


def _generation_blocks() -> type[Extension]:
    """``{% generation %}…{% endgeneration %}``, which marks the assistant's text: the prompt keeps its content."""
    from jinja2 import nodes
    from jinja2.ext import Extension

    class GenerationBlocks(Extension):
        tags = {"generation"}

        def parse(self, parser: Parser) -> nodes.Node:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            written = self.call_method("_written")
            return nodes.CallBlock(written, [], [], body).set_lineno(line)  # names set inside stay inside

        def _written(self, caller: Callable[[], str]) -> str:
            return caller()

    return GenerationBlocks


def _rendered(environment: Environment, templates: dict[str, Template], line: str) -> dict[str, str]:
    """One answer; a template's error is named in it."""
    try:
        request: Parsed = json.loads(line)
        source = request["source"]
        if source not in templates:
            templates[source] = environment.from_string(source)
    except Exception as error:
        return {"error": f"it cannot be read: {_error_text(error)}"}
    try:
        parts, length = [], 0
        for part in templates[source].generate(messages=request["messages"], **request["values"]):
            parts.append(part)
            length += len(part)
            if length > PROMPT_LIMIT:
                return {"error": f"a prompt of more than {PROMPT_LIMIT} characters"}
        return {"prompt": "".join(parts)}
    except Exception as error:
        return {"error": _error_text(error)}


def _error_text(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "it needs too much memory"
    return f"{type(error).__name__}: {str(error)[:_ERROR_LIMIT]}"


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    """JSON as transformers print it: no HTML escapes, non-ASCII unchanged."""
    kept = {name: options[name] for name in ("separators", "sort_keys") if name in options}
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **kept)


def _raise(message: object) -> None:
    raise ValueError(str(message))
