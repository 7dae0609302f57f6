"""The official texts, read as literals from parsed source: nothing of the benchmark is imported or executed.

The benchmark keeps part of its wording in Python modules (prompt parts, language hints, long-context texts, the
sentences for an empty memory). `extract_texts` parses those modules with `ast` and evaluates constants only: strings
with their concatenations, numbers, containers, Ellipsis, names of earlier constants, and f-strings as templates.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching.sentences import FILES, extract_sentences
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.json_types import Fields, Parsed

PROMPTS = "constants/default_prompts.py"
HINTS = "utils.py"
SIMULATORS = "eval_checker/multi_turn_eval/func_source_code"
LONG_CONTEXT = f"{SIMULATORS}/long_context.py"
MEMORY = {backend: f"{SIMULATORS}/memory_{backend}.py" for backend in ("kv", "vector", "rec_sum")}

REQUIRED = (PROMPTS, HINTS, LONG_CONTEXT, *MEMORY.values())
SOURCES = tuple(dict.fromkeys((*REQUIRED, *FILES.values())))
"""Paths below ``bfcl_eval/`` that are read; the simulators' own words stand for those that are not `REQUIRED`."""

_PLACEHOLDERS = {
    "value['type']": "type",
    "value['items']['type']": "item_type",
    "json.dumps(value['properties'])": "properties",
}
_HINT_OF_PLACEHOLDER = {None: "any", "type": "type", "item_type": "items", "properties": "properties"}


class NotLiteral(ValueError):
    """An expression is not made of constants."""


def extract_texts(sources: Mapping[str, str]) -> Texts:
    """The texts from source text by path (`SOURCES`); raises `UsageError` naming the file whose shape is unexpected."""
    for path in REQUIRED:
        if path not in sources:
            raise UsageError(f"the distribution lacks bfcl_eval/{path}, which holds texts of the benchmark")
    trees = {path: _parse(path, sources[path]) for path in SOURCES if path in sources}
    prompts = constants(trees[PROMPTS])
    try:
        return Texts(
            output_formats=prompts["OUTPUT_FORMAT_MAPPING"],
            param_types=prompts["PARAM_TYPE_MAPPING"],
            prompt_styles=prompts["PROMPT_STYLE_TEMPLATES"],
            prompt_templates=prompts["PROMPT_TEMPLATE_MAPPING"],
            default_prompt_config=prompts["DEFAULT_SYSTEM_PROMPT_FORMAT"],
            additional_functions_fc=prompts["DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC"],
            additional_functions_prompt=prompts["DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING"],
            agentic_answer=prompts["ADDITIONAL_SYSTEM_PROMPT_FOR_AGENTIC_RESPONSE_FORMAT"],
            memory_scenarios=prompts["MEMORY_AGENT_SETTINGS"],
            memory_core_archival=prompts["MEMORY_BACKEND_INSTRUCTION_CORE_ARCHIVAL"],
            memory_unified=prompts["MEMORY_BACKEND_INSTRUCTION_UNIFIED"],
            memory_empty={backend: empty_memory_text(trees[path], path) for backend, path in MEMORY.items()},
            hints=language_hints(trees[HINTS]),
            long_context=constants(trees[LONG_CONTEXT]),
            sentences=extract_sentences(trees),
        )
    except KeyError as error:
        raise UsageError(f"bfcl_eval/{PROMPTS} lacks the constant {error}; this version is not understood") from error


def extract_from_folder(package: Path) -> Texts | None:
    """The texts of an unpacked ``bfcl_eval`` folder, or ``None`` when its modules are not there."""
    paths = {path: package / path for path in SOURCES if (package / path).is_file()}
    if not paths.keys() >= set(REQUIRED):
        return None
    return extract_texts({name: path.read_text(encoding="utf-8") for name, path in paths.items()})


def constants(module: ast.Module) -> Parsed:
    """Name → value of every module-level assignment made of constants; others are left out."""
    found: Parsed = {}
    for node in module.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                with suppress(NotLiteral):
                    found[name] = literal(value, found)
    return found


def literal(node: ast.expr, names: Fields | None = None) -> Any:
    """The value of an expression made of constants and of ``names``; raises `NotLiteral`.

    An f-string becomes a `str.format` template: known interpolations get short names (``{type}``), literal braces are
    doubled.
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if names and name in names:
            return names[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [literal(item, names) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {literal(k, names): literal(v, names) for k, v in pairs if k is not None}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _negated(literal(operand, names))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined(literal(left, names), literal(right, names))
        case ast.JoinedStr(values=parts):
            return "".join(_template_part(part, names) for part in parts)
    raise NotLiteral(f"line {getattr(node, 'lineno', 0)}: {type(node).__name__} is not a constant")


def _negated(value: object) -> Any:
    if isinstance(value, (int, float)):
        return -value
    raise NotLiteral("only numbers have a sign")


def _joined(left: object, right: object) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    raise NotLiteral("only texts and lists are joined")


def _template_part(part: ast.expr, names: Fields | None) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value).replace("{", "{{").replace("}", "}}")
    if isinstance(part, ast.FormattedValue):
        source = ast.unparse(part.value)
        if names and source in names:
            return str(names[source]).replace("{", "{{").replace("}", "}}")
        if source in _PLACEHOLDERS:
            return "{" + _PLACEHOLDERS[source] + "}"
    raise NotLiteral(f"unknown interpolation {ast.unparse(part)}")


def empty_memory_text(module: ast.Module, path: str) -> str:
    """The sentence a memory backend shows when nothing is stored."""
    for function in _functions(module, "_dump_core_memory_to_context"):
        for node in ast.walk(function):
            match node:
                case ast.Return(value=ast.Constant(value=str() as sentence)):
                    return sentence
    raise UsageError(f"bfcl_eval/{path} holds no sentence for an empty memory; this version is not understood")


def language_hints(module: ast.Module) -> dict[str, str]:
    """Hint templates by key (`Texts.hints`), from the two hint functions of the utilities module."""
    hints: dict[str, str] = {}
    for function in _functions(module, "_get_language_specific_hint"):
        for language, node in _by_language(function.body, "python"):
            if isinstance(node, ast.Return) and node.value is not None:
                hints.setdefault(f"{language}.function", literal(node.value))
    for function in _functions(module, "_func_doc_language_specific_pre_processing"):
        for language, node in _by_language(function.body, ""):
            if language and isinstance(node, ast.AugAssign):
                _add_parameter_hint(hints, language, node.value)
    expected = {"python.function", "java.function", "javascript.function"}
    expected |= {f"{language}.{key}" for language in ("java", "javascript") for key in ("any", "type", "items")}
    missing = sorted((expected | {"javascript.properties"}) - set(hints))
    if missing:
        raise UsageError(f"bfcl_eval/{HINTS} lacks the hints {', '.join(missing)}; this version is not understood")
    return hints


def _add_parameter_hint(hints: dict[str, str], language: str, value: ast.expr) -> None:
    """File one sentence under the kind its placeholder shows."""
    try:
        template = literal(value)
    except NotLiteral:
        return
    name = next((short for short in _PLACEHOLDERS.values() if "{" + short + "}" in template), None)
    hints.setdefault(f"{language}.{_HINT_OF_PLACEHOLDER[name]}", template)


def _by_language(body: list[ast.stmt], language: str) -> Iterator[tuple[str, ast.stmt]]:
    """Statements with the language whose ``if is_java(…)`` or ``if is_js(…)`` they are under."""
    for node in body:
        yield language, node
        inner = language
        if isinstance(node, ast.If):
            test = ast.unparse(node.test)
            inner = "java" if test.startswith("is_java(") else "javascript" if test.startswith("is_js(") else language
            yield from _by_language(node.body, inner)
            yield from _by_language(node.orelse, language)
        elif isinstance(node, (ast.For, ast.While, ast.With)):
            yield from _by_language(node.body, language)


def _functions(module: ast.Module, name: str) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            yield node


def _parse(path: str, source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UsageError(f"bfcl_eval/{path} is not Python this version can parse: {error}") from error
