"""The content of entries in one spelling, to find copies of an entry and similar entries.

A file's place and an entry's id change in copies and do not count. Texts are compared by words, without case,
punctuation, accents and white space.
"""

from __future__ import annotations

import hashlib
import html
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.json_types import Fields

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


def near_pairs(texts: Sequence[str], least: float = NEAR) -> Iterator[tuple[int, int, float]]:
    """Pairs of places whose texts have a cosine of at least ``least``, words weighted by how rare they are.

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
        yield from ((other, place, float(score)) for other, score in scores.items() if score >= least - 1e-9)


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
