"""GorillaFileSystem: folders of notes and readings."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.domains.words import TOPICS, line, note, term, topic
from pytest_bfcl.extensions.training.generating.moves import Detour, Domain, Gift, Kind, Move, whole
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators.file_tree import Directory, File

_FOLDERS = ("archive", "drafts", "inbox", "old", "plans", "reports", "shared", "spring", "autumn", "finished")
_STEMS = ("notes", "list", "summary", "todo", "log", "plan", "diary", "minutes")


def world(rng: Random) -> Parsed:
    """A folder of one theme with some folders and files in it."""
    theme = topic(rng)
    contents: Parsed = {}
    for name in rng.sample(_FOLDERS, rng.randint(2, 3)):
        contents[name] = {"type": "directory", "contents": _files(rng, theme, rng.randint(2, 3))}
    contents |= _files(rng, theme, rng.randint(2, 4))
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


def _name_taken(fs: Any, rng: Random) -> Detour | None:
    files, folders = _here(fs, File), _here(fs, Directory)
    if len(files) < 2 or not folders:
        return None
    one, other = rng.sample(files, 2)
    folder = rng.choice(folders)
    if one in fs._current_dir.contents[folder].contents:
        return None
    words = rng.choice(
        [
            "Rename {a} to {b}. If there is a file of that name already, move {a} into the {f} folder instead.",
            "Please give {a} the name {b}; if that's taken, put {a} into {f} by moving it there.",
        ]
    )
    call = ("mv", {"source": one, "destination": folder})
    return Detour(words.format(a=one, b=other, f=folder), ("mv", {"source": one, "destination": other}), (call,))


def _not_empty(fs: Any, rng: Random) -> Detour | None:
    full = [name for name in _here(fs, Directory) if fs._current_dir.contents[name].contents]
    if not full:
        return None
    name = rng.choice(full)
    new = f"{name}_kept"
    words = rng.choice(
        [
            "Remove the directory {a} with rmdir if it is empty; if it isn't, rename it to {b}.",
            "Delete the folder {a}, but only if it's empty (rmdir will tell). Otherwise just rename it {b}.",
        ]
    )
    call = ("mv", {"source": name, "destination": new})
    return Detour(words.format(a=name, b=new), ("rmdir", {"dir_name": name}), (call,))


_FILE = {"file_name": "file"}

DOMAIN = Domain(
    "GorillaFileSystem",
    world,
    kinds={
        "file": Kind(_pick(File), vague=("one of the files", "that file from last week"), again=True,
                     told=("I mean {}.", "{}.", "The file is {}.")),
        "other_file": Kind(_pick(File)),
        "folder": Kind(_pick(Directory), ("the {} folder", "the folder {}")),
        "new_file": Kind(_new_file, vague=("something else",),
                         told=("Call it {}.", "{}.", "{} is a good name.")),
        "new_folder": Kind(_new_folder, vague=("something suitable",), told=("Call it {}.", "{}.", "I'd say {}.")),
        "text": Kind(lambda fs, rng: note(rng, _theme(fs)), ('"{}"',), vague=("a short reminder",),
                     told=("The text is {}.", "Write {}.")),
        "pattern": Kind(_pattern, ('"{}"', "the word {}"), vague=("a certain word",), told=("I mean {}.", "{}.")),
        "few": Kind(whole(2, 6)),
    },
    moves=(
        Move("cd", ("go into {folder}", "change to {folder}", "open {folder}"), {"folder": "folder"}, weight=2.5),
        Move("cd", ("go back to the directory above",), fixed={"folder": ".."},
             fits=lambda fs, given: fs._current_dir.parent is not None),
        Move("ls", ("list what is in this directory", "show me the files here"), {}, ("Which files are in here?",), once=True),
        Move("cat", ("show me the content of {file_name}", "print {file_name}"), _FILE, ("What does {file_name} say?",),
             gives={"text": Gift(_words, ("its exact content", "what it says word for word"), ("the exact content of {file_name}",)),
                    "message": Gift(_words, ("its exact content", "what it says word for word"), ("the exact content of {file_name}",)),
                    "numbers": Gift(_numbers, ("those numbers", "the values in it"), ("the values in {file_name}",))}, weight=2.5),
        Move("grep", ("find the lines with {pattern} in {file_name}", "search {file_name} for {pattern}"),
             {**_FILE, "pattern": "pattern"}, ("Which lines of {file_name} contain {pattern}?",)),
        Move("wc", ("count the words of {file_name}",), _FILE, ("How many words does {file_name} have?",), fixed={"mode": "w"},
             gives={"number": Gift(lambda r: r["count"], ("that count",), ("the number of words in {file_name}",))}),
        Move("wc", ("count the characters of {file_name}",), _FILE, ("How many characters are in {file_name}?",), fixed={"mode": "c"},
             gives={"number": Gift(lambda r: r["count"], ("that count",), ("the number of characters in {file_name}",))}),
        Move("sort", ("sort the lines of {file_name} and show me the result",), _FILE),
        Move("tail", ("show me the last {lines} lines of {file_name}",), {**_FILE, "lines": "few"}),
        Move("diff", ("compare {file_name1} with {file_name2} line by line",), {"file_name1": "file", "file_name2": "other_file"},
             ("In which lines do {file_name1} and {file_name2} differ?",),
             fits=lambda fs, given: given["file_name1"] != given["file_name2"]),
        Move("mkdir", ("make a folder called {dir_name}", "create a new folder named {dir_name}"), {"dir_name": "new_folder"}),
        Move("touch", ("create an empty file called {file_name}", "add a new empty file, {file_name}"), {"file_name": "new_file"}),
        Move("echo", ("write {content} into {file_name}", "replace what is in {file_name} with {content}"),
             {"content": "text", "file_name": "file"}, weight=1.5),
        Move("mv", ("rename {source} to {destination}", "give {source} the new name {destination}"),
             {"source": "file", "destination": "new_file"}),
        Move("mv", ("move {source} into {destination}", "put {source} into {destination} by moving it"), {"source": "file", "destination": "folder"}),
        Move("cp", ("copy {source} into {destination}",), {"source": "file", "destination": "folder"}),
        Move("cp", ("make a copy of {source} called {destination}", "duplicate {source} as {destination}"),
             {"source": "file", "destination": "new_file"}),
        Move("rm", ("delete {file_name}", "remove {file_name} for good"), _FILE, weight=0.7),
        Move("find", ("find everything below this directory with {name} in its name",), {"name": "pattern"}, once=True,
             fixed={"path": "."}),
        Move("du", ("tell me how much space this directory takes in human readable form",), {}, fixed={"human_readable": True}, once=True),
    ),
    scenes=("I'm tidying up my files.", "Let's sort out this directory.", "I need to get some paperwork in order.",
            "Help me with a few files, please."),
    detours=(_name_taken, _not_empty),
)  # fmt: skip
