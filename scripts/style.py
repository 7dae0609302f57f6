"""The style of our prose: phrases with a better one, sentences that are too long (docs/style.md).

``python scripts/style.py [PATH …]`` reads Markdown, templates of report pages, and of Python files docstrings, option
help and messages. It prints one line a finding (``file:line: what``) and exits with 1 if there is one. Without a path
it reads what ``make lint`` covers: README, docs and the package. ``--advice`` also prints sentences
over 25 words or with several colons.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COVERED = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "examples", "pytest_bfcl")
NOT_OURS = ("docs/images",)
_FENCE = re.compile(r"^(```|~~~)")
_CODE = re.compile(r"``[^`]*``|`[^`]*`")
_LISTED = re.compile(r"Code(?:, (?:and |or )?Code)+")
"""Names one after the other count as one word."""
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[A-Z0-9`(\"*\[-]|[a-z]+=)|\n\s*\n")
_MARKUP = re.compile(r"\{[%#].*?[%#]\}|\{\{.*?\}\}|<(script|style)\b.*?</\1>", re.DOTALL)
_WORD = re.compile(r"[A-Za-z0-9][\w'./%-]*")
_FIELD = re.compile(r"^\s*(?:Args|Returns|Raises|Yields):\s*$", re.MULTILINE)
MESSAGES = {
    "UsageError",
    "UnusableError",
    "AdapterError",
    "HarnessError",
    "EntrySkipped",
    "ValueError",
    "Option",
    "say",
}
"""Calls whose texts users read: exceptions, rows of the options' table, printed lines."""
TABLES = {"reasons.toml", "catalog.toml", "rules.toml", "profiles.toml", "known_issues.toml"}
"""Tables whose texts users read."""


@dataclass(frozen=True)
class Prose:
    """A piece of text that people read: where it begins, and its lines joined as they stand."""

    path: Path
    line: int
    text: str


@dataclass(frozen=True)
class Finding:
    """One thing to rewrite."""

    path: Path
    line: int
    what: str

    def __str__(self) -> str:
        return (
            f"{self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path}:{self.line}: {self.what}"
        )


@dataclass(frozen=True)
class Style:
    """The rules of ``style_words.toml``: compiled phrases with what to write, and the limits of a sentence."""

    phrases: Sequence[tuple[re.Pattern[str], str]]
    words: int
    advice: bool
    allowed: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, path: Path = ROOT / "scripts" / "style_words.toml", *, advice: bool = False) -> Style:
        """The rules of this repository."""
        rules = tomllib.loads(path.read_text(encoding="utf-8"))
        phrases = [(re.compile(rf"\b(?:{key})\b", re.IGNORECASE), better) for key, better in rules["phrases"].items()]
        words = rules["limits"]["advised_words" if advice else "sentence_words"]
        return cls(phrases, words, advice, rules["allowed"])

    def findings(self, prose: Prose) -> Iterator[Finding]:
        """What of a piece is against the rules."""
        text = _LISTED.sub("Code", _CODE.sub("Code", _LINK.sub(r"\1", prose.text)))
        for pattern, better in self.phrases:
            for match in pattern.finditer(text):
                if match[0].lower() in self.allowed.get(prose.path.name, ()):
                    continue
                yield Finding(prose.path, _line(prose, text, match.start()), f"“{match[0]}”: {better}")
        start = 0
        for sentence in _SENTENCE.split(text):
            place = text.find(sentence, start)
            start = place + len(sentence)
            count = len(_WORD.findall(sentence))
            if count > self.words:
                yield Finding(
                    prose.path, _line(prose, text, place), f"a sentence of {count} words (at most {self.words})"
                )
            if self.advice and len(re.findall(r":(?=\s)", sentence)) > 1:
                yield Finding(prose.path, _line(prose, text, place), "more than one colon in a sentence")


def _line(prose: Prose, text: str, place: int) -> int:
    return prose.line + text.count("\n", 0, max(place, 0))


def markdown(path: Path) -> Iterator[Prose]:
    """Paragraphs, list items and table cells of a page, without code."""
    paragraph: list[str] = []
    begun, fenced = 1, False
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
        if _FENCE.match(line.strip()):
            fenced = not fenced
            line = ""
        if fenced or line.startswith(("    ", "#", "<!--")):
            line = ""
        if line.lstrip().startswith("|"):
            cells = re.split(
                r"(?<!\\)\||;(?=\s)", line.strip().strip("|")
            )  # in a cell ";" separates the items of a list
            yield from (Prose(path, number, cell) for cell in cells)
            line = ""
        is_item = bool(re.match(r"\s*(?:[-*]|\d+\.)\s", line))
        if (not line.strip() or is_item) and paragraph:
            yield Prose(path, begun, "\n".join(paragraph))
            paragraph = []
        if line.strip():
            begun = begun if paragraph else number
            paragraph.append(re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", line) if is_item else line)


def python(path: Path) -> Iterator[Prose]:
    """Docstrings, texts of exceptions that users read, and help of options."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for part in _parts(node.value.value):
                yield Prose(path, node.lineno, part)
        elif isinstance(node, ast.Call) and _is_message(node):
            for text in (
                *node.args,
                *(word.value for word in node.keywords if word.arg in ("help", "description", "short", "use")),
            ):
                if (said := _text(text)) is not None:
                    yield from (Prose(path, text.lineno, line) for line in said.split("\n"))


def template(path: Path) -> Iterator[Prose]:
    """The words of a report page's template, line by line."""
    text = _MARKUP.sub(lambda match: "NAME" + "\n" * match[0].count("\n"), path.read_text(encoding="utf-8"))
    for number, line in enumerate(text.splitlines(), 1):
        yield Prose(path, number, re.sub(r"<[^>]+>", " ", line))


def _parts(docstring: str) -> Iterator[str]:
    """A docstring's paragraphs and list items, without code; ";" separates what is said of one field and the next."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)|;(?=\s)", _FIELD.sub("", docstring)):
        if not any(re.match(r"        |\s*(?:>>>|pytest|from |\[\w)", line) for line in paragraph.splitlines()):
            yield paragraph


def _is_message(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in MESSAGES or any(word.arg == "help" for word in node.keywords)


def _text(node: ast.expr) -> str | None:
    """The words of a literal or an f-string; what is filled in counts as one word."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr():
            return "".join(str(each.value) if isinstance(each, ast.Constant) else "NAME" for each in node.values)
        case ast.BinOp(op=ast.Add()):
            sides = _text(node.left), _text(node.right)
            return None if None in sides else "".join(side or "" for side in sides)
        case _:
            return None


def table(path: Path) -> Iterator[Prose]:
    """The values of a table of ours that are sentences; other tables have none."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.name in TABLES else (), 1):
        line = re.sub(r'\b(?:where|messages) = "[^"]*"', "", line)  # names of other documents' sections
        yield from (Prose(path, number, text) for text in re.findall(r'"([^"]* [^"]* [^"]*)"', line))


READERS: Mapping[str, Callable[[Path], Iterator[Prose]]] = {
    ".md": markdown, ".py": python, ".jinja": template, ".toml": table,
}  # fmt: skip
"""Suffix of a file → what takes its prose out."""


def files(paths: Sequence[Path]) -> Iterator[Path]:
    """The files below these paths that hold prose of ours."""
    for path in paths:
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for each in found:
            name = each.relative_to(ROOT).as_posix() if each.is_relative_to(ROOT) else ""
            if each.suffix in READERS and not name.startswith(NOT_OURS):
                yield each


def main(arguments: Sequence[str]) -> int:
    """Print every finding; 1 if there is one."""
    style = Style.read(advice="--advice" in arguments)
    count = 0
    paths = [Path(each).resolve() for each in arguments if each != "--advice"]
    for path in files(paths or [ROOT / each for each in COVERED]):
        for prose in READERS[path.suffix](path):
            for finding in style.findings(prose):
                count += 1
                print(finding)
    print(f"{count} findings" if count else "style: nothing to rewrite", file=sys.stderr)
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
