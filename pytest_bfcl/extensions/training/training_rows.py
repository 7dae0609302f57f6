"""Rows of training data with any columns: the texts and objects anywhere in them.

Their content has one spelling, to find copies and similar entries. A file's place and an entry's id do not count.
Texts are compared by words, without case, punctuation, accents and white space.

Read are JSON lines, JSON lists, Parquet and Arrow files, and folders of these (a data set as Hugging
Face's library saves it).
"""

from __future__ import annotations

import hashlib
import html
import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.decoding.ground_truth import acceptable_arguments
from pytest_bfcl.extras import require
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.detection import calls_anywhere, values_in
from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies.shapes import UnknownShape, is_call, read_call
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.transcript import Call

_WORD = re.compile(r"\w+")
_WHOLE = re.compile(r"(?<=\d)\.0+(?!\d)")
_LOOK_ALIKES = str.maketrans("аеорсухіјѕԁһԛԝькмтвнοανρτικυεγηχ", "aeopcyxijsdhqwbkmtbhoavptikueynx")
"""Cyrillic and Greek letters → similar Latin ones."""
NEAR = 0.8
"""Cosine of two questions' weighted words from which one affects the other."""
_COMMON = 0.1
"""Share of all questions from which a word has no information."""


def words(text: str) -> tuple[str, ...]:
    """The words of a text in one spelling: letters and digits, no case, no accents.

    HTML escapes are replaced, invisible characters removed, and similar letters of other scripts become Latin ones.
    """
    text = text[:1_000_000]
    if "&" in text:
        text = html.unescape(text)
    if text.isascii():
        return tuple(_WORD.findall(text.casefold().replace("_", " ")))
    plain = unicodedata.normalize("NFKD", text).casefold().translate(_LOOK_ALIKES)
    shown = "".join(each for each in plain if unicodedata.category(each) not in ("Mn", "Me", "Cf"))
    return tuple(_WORD.findall(shown.replace("_", " ")))


def turns_of(entry: Entry) -> list[str]:
    """The user's words, turn by turn; turns without a message are left out."""
    return [text for turn in entry.question if (text := "\n".join(_said_in(turn))).strip()]


def sayings_of(entry: Entry) -> list[str]:
    """The user's words, message by message: a turn may have several, with replies between them."""
    return [said for turn in entry.question for said in _said_in(turn)]


def _said_in(turn: Iterable[Fields]) -> list[str]:
    return [str(message.get("content") or "") for message in turn if message.get("role") == "user"]


def question_key(entry: Entry) -> str:
    """Digest of the user's words, ignoring other characters; empty without words."""
    spoken = words("\n".join(turns_of(entry)))
    return hashlib.sha256(" ".join(spoken).encode()).hexdigest() if spoken else ""


def near_pairs(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of places whose texts have a cosine of at least `NEAR`, words weighted by how rare they are.

    Exact and repeatable: no sample, no hash, no model. Linear except for words that many texts share.
    """
    vectors = weighted([words(text) for text in texts])
    postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, vector in enumerate(vectors):
        scores: Counter[int] = Counter()
        for word, weight in vector.items():
            for other, its in postings[word]:
                scores[other] += weight * its  # type: ignore[assignment]
            postings[word].append((place, weight))
        yield from ((other, place) for other, score in scores.items() if score >= NEAR - 1e-9)


def weighted(spoken: Sequence[Sequence[str]]) -> list[Mapping[str, float]]:
    """Unit vectors: a word's count times the logarithm of its rarity; words in nearly all texts are left out."""
    known = Counter(word for each in spoken for word in set(each))
    most = max(20.0, _COMMON * len(spoken))
    vectors: list[Mapping[str, float]] = []
    for each in spoken:
        counts = Counter(each)
        vector = {word: count * math.log(1 + len(spoken) / known[word]) for word, count in counts.items()}
        length = math.sqrt(sum(weight**2 for weight in vector.values())) or 1.0
        vectors.append({word: weight / length for word, weight in vector.items() if known[word] <= most})
    return vectors


def name_key(name: str) -> str:
    """A function's name in one spelling, with any separator of its parts."""
    return " ".join(words(name))


def value_key(value: object) -> str:
    """A value in one spelling: the words in it; 3.0 is 3."""
    return " ".join(words(_WHOLE.sub("", str(value))))


def document_key(document: Fields) -> str:
    """A tool as its name and the names of its parameters."""
    return f"{name_key(str(document.get('name')))}({', '.join(parameter_names(document))})"


def parameter_names(document: Fields) -> list[str]:
    """The names of a tool's parameters, sorted; none where its document has none."""
    parameters = document.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    return sorted(map(str, properties)) if isinstance(properties, dict) else []


ENDINGS = (".jsonl", ".json", ".parquet", ".arrow")
_DEPTH = 24
_LARGEST = 2_000_000_000
"""Largest JSON file that is read at once, in bytes."""
_LONGEST_LINE = 64_000_000


@dataclass
class Row:
    """One row: ``place`` names file and row (from 1) for users; ``calls``: known calls."""

    place: str
    texts: list[str] = field(default_factory=list)
    objects: list[Fields] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


def files_of(path: Path) -> list[Path]:
    """The files of training data at a path. Raises `UsageError` without any."""
    if path.is_file():
        if path.suffix.lower() not in ENDINGS:
            raise UsageError(f"{path}: training data ends in {', '.join(ENDINGS)}, or is a folder of such files")
        return [path]
    if not path.is_dir():
        raise UsageError(f"{path} does not exist: name files or folders of training data")
    found = [each for each in sorted(path.rglob("*")) if each.suffix.lower() in ENDINGS and each.is_file()]
    # A saved data set has facts beside its rows.
    found = [each for each in found if each.name not in ("dataset_info.json", "state.json", "dataset_dict.json")]
    if not found:
        raise UsageError(f"{path} holds no training data: no file that ends in {', '.join(ENDINGS)}")
    return found


def rows_of(file: Path) -> Iterator[Row]:
    """The rows of one file. Raises `UsageError` with file and line if it cannot be read."""
    for number, value in enumerate(_values(file), 1):
        row = Row(f"{file}:{number}")
        _collect(value, row, 0)
        yield row


def _values(file: Path) -> Iterator[Any]:
    read = {".jsonl": _lines, ".json": _whole}.get(file.suffix.lower(), _table)
    try:
        yield from read(file)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from None


def _lines(file: Path) -> Iterator[Any]:
    with file.open("rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(_LONGEST_LINE), b""), 1):
            try:
                if line.strip():
                    yield json.loads(line)
            except (ValueError, RecursionError):
                raise UsageError(f"{file}:{number} is no JSON: every line of training data is one object") from None


def _whole(file: Path) -> Iterator[Any]:
    if file.stat().st_size > _LARGEST:
        raise UsageError(f"{file} is too large to be read as a whole: write it as .jsonl or .parquet")
    text = file.read_text(encoding="utf-8", errors="replace")
    try:
        found = json.loads(text)
    except RecursionError:
        raise UsageError(f"{file} is nested too deeply") from None
    except ValueError:  # the official layout: JSON lines that end in .json
        yield from _lines(file)
        return
    yield from found if isinstance(found, list) else [found]


def _table(file: Path) -> Iterator[Any]:
    require("tables", f"reading {file.name}")
    import pyarrow
    from pyarrow import ipc, parquet

    try:
        if file.suffix.lower() == ".parquet":
            for batch in parquet.ParquetFile(file).iter_batches(1_000):
                yield from batch.to_pylist()
            return
        with pyarrow.memory_map(str(file)) as source:
            try:
                batches = ipc.open_stream(source)
            except pyarrow.ArrowInvalid:
                opened = ipc.open_file(source)
                batches = (opened.get_batch(number) for number in range(opened.num_record_batches))
            for batch in batches:
                yield from batch.to_pylist()
    except pyarrow.ArrowException as error:
        raise UsageError(f"{file} cannot be read: {str(error).splitlines()[0][:200]}") from None


def _collect(value: Any, row: Row, depth: int) -> None:
    """Every text and every object of a value, also those inside texts."""
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        row.texts.append(value)
        if len(value) < _LONGEST_LINE:
            for inner in values_in(value):
                _collect(inner, row, depth + 1)
    elif isinstance(value, Mapping | list | tuple):
        if isinstance(value, Mapping):
            row.objects.append(value)
        for each in value.values() if isinstance(value, Mapping) else value:
            _collect(each, row, depth + 1)


_SCHEMAS = ("parameters", "input_schema", "inputSchema")


def calls_in(row: Row, names: Container[str]) -> Iterator[Call]:
    """Every call of a row, some of them twice. ``names``: accepted names of Python calls and keys of objects."""
    yield from row.calls
    for fields in row.objects:
        yield from _of_object(fields, names)
    for text in row.texts:
        yield from calls_anywhere(text, names)


def _of_object(fields: Fields, names: Container[str]) -> Iterator[Call]:
    """``{name, arguments}`` in any library's words, ``{name: arguments}``, and ground truths of the benchmark."""
    if document_of(fields) is not None and any(fields.get(each) for each in _SCHEMAS):
        return
    if is_call(fields):
        with suppress(UnknownShape, DecodeError):
            call = read_call(fields)
            arguments = parse_json(call.arguments)
            if isinstance(arguments, Mapping):
                yield Call(call.name, dict(arguments))
    for name, arguments in fields.items():
        if isinstance(arguments, str) and name in names:
            arguments = next(values_in(arguments), None)
        if isinstance(arguments, Mapping) and name in names:
            yield Call(name, dict(arguments))
            if all(isinstance(value, list) for value in arguments.values()):
                yield Call(name, acceptable_arguments(arguments))


def tools_in(row: Row) -> Iterator[str]:
    """Every tool in a row, in one spelling."""
    for fields in row.objects:
        if (document := document_of(fields)) is not None:
            yield document_key(document)


def document_of(fields: Fields) -> Fields | None:
    """A tool's document: a name and a JSON Schema, which may be a text."""
    name = fields.get("name")
    given = next((fields[each] for each in _SCHEMAS if each in fields), None)
    schema = next(values_in(given), None) if isinstance(given, str) else given
    if not isinstance(name, str) or not isinstance(schema, Mapping):
        return None
    if not ("properties" in schema or schema.get("type") in ("object", "dict") or not schema):
        return None
    return {"name": name, "parameters": schema}
