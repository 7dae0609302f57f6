"""GorillaFileSystem: folders of notes and readings."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.lab.auditing.literals import listed
from pytest_bfcl.extensions.training.generating.moves import domain_of
from pytest_bfcl.extensions.training.generating.words import TOPICS, line, note, term, topic
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators.file_tree import Directory, File

_FOLDERS = listed(
    "archive archives backup data documents drafts finished inbox plans projects reports research results shared temp workspace"
)
_STEMS = listed("analysis budget diary draft ideas list log minutes notes plan proposal report results summary todo")


def world(rng: Random) -> Parsed:
    """A folder of one theme with some folders and files in it."""
    theme = topic(rng)
    contents: Parsed = {}
    for name in rng.sample(_FOLDERS, rng.randint(2, 3)):
        contents[name] = {"type": "directory", "contents": _files(rng, theme, rng.randint(2, 3))}
    contents |= _files(rng, theme, rng.randint(4, 6))
    return {"root": {theme: {"type": "directory", "contents": contents}}}


def _files(rng: Random, theme: str, count: int) -> Parsed:
    made: Parsed = {}
    while len(made) < count:
        if rng.random() < 0.3:
            name = f"{term(rng, theme)}_readings.txt"
            content = "\n".join(str(rng.randrange(21, 399) / 10 + 0.05) for _ in range(rng.randint(4, 6)))
        else:
            name = f"{term(rng, theme)}_{rng.choice(_STEMS)}.txt"
            content = "\n".join(line(rng, theme) for _ in range(rng.randint(11, 14)))
        made.setdefault(name, {"type": "file", "content": content})
    return made


def _here(fs: Any, kind: type) -> list[str]:
    return sorted(name for name, node in fs._current_dir.contents.items() if isinstance(node, kind))


def _pick(kind: type) -> Any:
    def draw(fs: Any, rng: Random) -> object:
        found = _here(fs, kind)
        return rng.choice(found) if found else None

    return draw


def _theme(fs: Any) -> str:
    return fs.root.name if fs.root.name in TOPICS else "garden"


def _new_file(fs: Any, rng: Random) -> str:
    theme = _theme(fs)
    return f"{rng.choice(['new', 'final', 'copy_of', 'more', 'my'])}_{term(rng, theme)}_{rng.choice(_STEMS)}.txt"


def _new_folder(fs: Any, rng: Random) -> str:
    return f"{term(rng, _theme(fs))}_{rng.choice(['2026', '2027', 'box', 'stuff', 'corner', 'backup'])}"


def _pattern(fs: Any, rng: Random) -> str:
    return term(rng, _theme(fs))


def _numbers(result: Any) -> object:
    """The lines of a file as numbers, if they are."""
    try:
        return [float(each) for each in result["file_content"].splitlines()] or None
    except ValueError:
        return None


def _words(result: Any) -> object:
    return result["file_content"] if _numbers(result) is None else None


def _top(config: Parsed) -> Parsed:
    (root,) = config["root"].values()
    found: Parsed = root["contents"]
    return found


def _at_top(fs: Any, given: Any) -> bool:
    """Whether edits of the first folder are seen from here."""
    return fs._current_dir.parent is None


def _worded(config: Parsed, given: Any, value: Any) -> None:
    file = _top(config)[given["file_name"]]
    words = (file["content"].split() * 30)[: int(value)]
    file["content"] = "\n".join(" ".join(words[n : n + 7]) for n in range(0, len(words), 7))


def _emptied(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    file = _top(config)[given["file_name"]]
    file["content"] = "" if holds else file["content"] or "not empty any more"


def _there(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    if holds:
        _top(config)[value] = {"type": "file", "content": f"kept {len(value)}"}


def _taken(config: Parsed, given: Any, fails: Any) -> None:
    if fails:
        _top(config)[given["destination"]] = {"type": "file", "content": "kept for later"}


DOMAIN = domain_of("files", "GorillaFileSystem", world, {
    "file": _pick(File), "folder": _pick(Directory), "new_file": _new_file, "new_folder": _new_folder,
    "text": lambda fs, rng: note(rng, _theme(fs)), "pattern": _pattern, "numbers": _numbers, "words": _words,
    "at_top": _at_top, "below_top": lambda fs, given: not _at_top(fs, given), "worded": _worded, "emptied": _emptied,
    "there": _there, "taken": _taken, "two_files": lambda fs, given: given["file_name1"] != given["file_name2"],
})  # fmt: skip
