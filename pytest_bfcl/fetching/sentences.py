"""The official simulators' sentences, read as literals from parsed source: data like the prompts, never imported.

A sentence is located by class, function and order (`PLACES`): the n-th text with a space in it, counted from 0 in the
order of the source, docstrings left out. Interpolations become numbered placeholders (``{0}``, ``{1:.2f}``), one for
each different expression; our simulators fill them with their own values (`Simulator.say`).
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_bfcl.fetching.texts import digest

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
"""Places at which the reference says nothing: an assertion of its index without words."""


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

    Nothing when they are not the known ones: in another version the n-th text may say another thing, and our own words
    are better than wrong ones.
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
    """The sentences with those that are taken one by one (`format_texts.toml`); of ``*`` every class has them."""
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
    """Outermost text expressions below some statements, docstrings left out."""
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
