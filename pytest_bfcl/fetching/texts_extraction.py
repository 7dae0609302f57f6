"""Extracts the official texts as literals from parsed source: nothing of the benchmark is imported or executed.

The benchmark keeps part of its wording in Python modules (prompt parts, language hints, long-context texts, the
sentences for an empty memory). `extract_texts` parses those modules with `ast` and evaluates constants only: strings
with their concatenations, numbers, containers, Ellipsis, names of earlier constants, and f-strings as templates.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching.texts import Texts, digest
from pytest_bfcl.json_types import Fields, Parsed

_FOLDER = "eval_checker/multi_turn_eval/func_source_code"
_IN_ORDER: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8")
)
FILES: Mapping[str, str] = {name: f"{_FOLDER}/{row['file']}" for name, row in _IN_ORDER.items()}
"""Class → its module below ``bfcl_eval/``."""
INBOX = "MessageAPI"
"""The class whose default state holds texts too: ``inbox.<number>``."""
PASSED_ON: Mapping[str, Mapping[str, str]] = {"MathAPI": {"logarithm.failed": "{0}"}}
"""Places whose text is the error's own."""
WORDLESS: Mapping[str, Mapping[str, str]] = {"MemoryAPI_vector": {"retrieve.few": ""}}
"""Places without a text in the reference: an assertion of its index without words."""


def _places(functions: Mapping[str, str]) -> dict[str, tuple[str, str, int]]:
    found: dict[str, tuple[str, str, int]] = {}
    for function, names in functions.items():
        owner, _, method = function.rpartition(".")
        for number, name in enumerate(names.split()):
            if function != "file" and name != "-":
                found[f"{method}.{name}"] = (owner, method, number)
    return found


PLACES: Mapping[str, Mapping[str, tuple[str, str, int]]] = {name: _places(row) for name, row in _IN_ORDER.items()}
"""Class → place → (class of the source if another one, function, order); ``sentences.toml`` lists them."""

SENTENCES_SHA256 = "932b9d429aa8fe80eb8333297c1b9ec9c5831897ffa305d6e004e99709d99493"
"""`digest` of the sentences of bfcl-eval 2026.3.23."""


def extract_sentences(sources: Mapping[str, ast.Module]) -> dict[str, dict[str, str]]:
    """The sentences of every class whose module is given, by path below ``bfcl_eval/``.

    Empty unless they are the known ones: in another version the n-th text may be a different one, and our own words are
    better than wrong ones.
    """
    found: dict[str, dict[str, str]] = {}
    for name, path in FILES.items():
        if path not in sources:
            continue
        said = {(owner, function): list(sentences(node)) for owner, function, node in _methods(sources[path])}
        found[name] = dict(PASSED_ON.get(name, {}))
        for place, (owner, function, number) in PLACES[name].items():
            texts = said.get((owner or name, function), [])
            if number < len(texts):
                found[name][place] = texts[number]
        if name == INBOX:
            found[name].update(_first_messages(sources[path]))
    return found if digest(found) == SENTENCES_SHA256 else {}


def with_later(
    said: Mapping[str, Mapping[str, str]], later: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """The sentences together with single ones (`format_texts.toml`); those of ``*`` apply to every class."""
    everyone = later.get("*", {})
    names = dict.fromkeys((*said, *later))
    return {
        name: {**said.get(name, {}), **WORDLESS.get(name, {}), **everyone, **later.get(name, {})}
        for name in names
        if name != "*"
    }


def sentences(function: ast.FunctionDef) -> Iterator[str]:
    """The templates of a function's sentences, in the order of the source."""
    for node in _texts(function.body):
        template = _template(node)
        if " " in template:
            yield template


def _methods(module: ast.Module) -> Iterator[tuple[str, str, ast.FunctionDef]]:
    for owner in module.body:
        if isinstance(owner, ast.ClassDef):
            for node in owner.body:
                if isinstance(node, ast.FunctionDef):
                    yield owner.name, node.name, node


def _texts(nodes: list[ast.stmt]) -> Iterator[ast.expr]:
    """Outermost text expressions below some statements, without docstrings."""
    pending: list[ast.AST] = list(reversed(nodes))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.expr) and _is_text(node):
            yield node
            continue
        pending += reversed(list(ast.iter_child_nodes(node)))


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_text(left) or _is_text(right)
    return False


def _template(node: ast.expr) -> str:
    """A text expression as a `str.format` template."""
    known: dict[str, int] = {}

    def placeholder(value: ast.expr, conversion: str = "", spec: str = "") -> str:
        number = known.setdefault(ast.unparse(value), len(known))
        return "{" + str(number) + conversion + (f":{spec}" if spec else "") + "}"

    def part(item: ast.expr) -> str:
        match item:
            case ast.Constant(value=value):
                return str(value).replace("{", "{{").replace("}", "}}")
            case ast.FormattedValue(value=value, conversion=conversion, format_spec=spec):
                mark = f"!{chr(conversion)}" if conversion > 0 else ""
                return placeholder(value, mark, _spec(spec))
            case ast.JoinedStr(values=values):
                return "".join(map(part, values))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return part(left) + part(right)
        return placeholder(item)

    return part(node)


def _spec(node: ast.expr | None) -> str:
    """A constant format specification."""
    if isinstance(node, ast.JoinedStr) and all(isinstance(part, ast.Constant) for part in node.values):
        return "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
    return ""


def _first_messages(module: ast.Module) -> dict[str, str]:
    """The default inbox of the messenger: ``inbox.<number>`` → text."""
    for node in ast.walk(module):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "inbox" and isinstance(value, ast.List):
                    texts = [_template(v) for item in value.elts if isinstance(item, ast.Dict) for v in item.values]
                    return {f"inbox.{number}": text for number, text in enumerate(texts)}
    return {}


PROMPTS = "constants/default_prompts.py"
HINTS = "utils.py"
SIMULATORS = "eval_checker/multi_turn_eval/func_source_code"
LONG_CONTEXT = f"{SIMULATORS}/long_context.py"
MEMORY = {backend: f"{SIMULATORS}/memory_{backend}.py" for backend in ("kv", "vector", "rec_sum")}

REQUIRED = (PROMPTS, HINTS, LONG_CONTEXT, *MEMORY.values())
SOURCES = tuple(dict.fromkeys((*REQUIRED, *FILES.values())))
"""Paths below ``bfcl_eval/`` that are read; the simulators' own words replace missing ones that are not `REQUIRED`."""

_PLACEHOLDERS = {
    "value['type']": "type",
    "value['items']['type']": "item_type",
    "json.dumps(value['properties'])": "properties",
}
_HINT_OF_PLACEHOLDER = {None: "any", "type": "type", "item_type": "items", "properties": "properties"}


class NotLiteral(ValueError):
    """An expression is not made of constants."""


def extract_texts(sources: Mapping[str, str]) -> Texts:
    """The texts from source text by path (`SOURCES`). Raises `UsageError` with the file of an unexpected form."""
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
    """The texts of an unpacked ``bfcl_eval`` folder, or ``None`` if its modules are missing."""
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
    """The sentence of a memory backend when nothing is stored."""
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
    """Store one sentence under the kind that its placeholder shows."""
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
