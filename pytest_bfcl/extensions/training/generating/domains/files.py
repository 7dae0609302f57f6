"""GorillaFileSystem: folders of notes and readings."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.domains.words import TOPICS, line, note, term, topic
from pytest_bfcl.extensions.training.generating.moves import Domain, Gift, Kind, Measure, Move, State, whole
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


_FILE = {"file_name": "file"}

DOMAIN = Domain(
    "GorillaFileSystem",
    world,
    kinds={
        "file": Kind(_pick(File), ("{}", "{}", "the file {}", "the {} file"), vague=("one of the files", "that file from last week"), again=True,
                     told=("I mean {}.", "{}.", "The file is {}.")),
        "other_file": Kind(_pick(File)),
        "folder": Kind(_pick(Directory), ("the {} folder", "the folder {}", "the {} directory")),
        "new_file": Kind(_new_file, vague=("something else",),
                         told=("Call it {}.", "{}.", "{} is a good name.")),
        "new_folder": Kind(_new_folder, vague=("something suitable",), told=("Call it {}.", "{}.", "I'd say {}.")),
        "text": Kind(lambda fs, rng: note(rng, _theme(fs)), ('"{}"',), vague=("a short reminder",),
                     told=("The text is {}.", "Write {}.")),
        "pattern": Kind(_pattern, ('"{}"', "the word {}"), vague=("a certain word",), told=("I mean {}.", "{}.")),
        "some_folder": Kind(_pick(Directory)),
        "few": Kind(whole(2, 6)),
    },
    moves=(
        Move("cd", ("[go|navigate|switch|step] into {folder}", "[change|move over|go] to {folder}", "open {folder}"), {"folder": "folder"}, weight=4.5, leads=("ls", "cat", "touch", "mv", "cp", "sort", "grep", "diff", "tail")),
        Move("cd", ("go back to the [parent directory|directory above]",), fixed={"folder": ".."},
             fits=lambda fs, given: fs._current_dir.parent is not None),
        Move("ls", ("list [what is|everything] in this [directory|folder]", "[show|list] me the files here", "[display|show me] the contents of [this|the current] directory"), {}, ("Which files are in here?",), once=True,
             fits=_at_top, state=State("{value} is [already |]there", lambda a, r, v: v in r["current_directory_content"], _there, "new_file")),
        Move("cat", ("[show|read] me the [content|contents|text] of {file_name}", "print {file_name}", "[display|reveal] what is inside {file_name}", "[have a look|peek] at {file_name}"), _FILE, ("What does {file_name} say?",),
             gives={"text": Gift(_words, ("its exact content", "what it says word for word"), ("the exact content of {file_name}",)),
                    "message": Gift(_words, ("its exact content", "what it says word for word"), ("the exact content of {file_name}",)),
                    "numbers": Gift(_numbers, ("those numbers", "the values in it"), ("the values in {file_name}",))}, weight=2.5),
        Move("grep", ("[find|locate|identify] the lines with {pattern} in {file_name}", "search {file_name} for {pattern}"),
             {**_FILE, "pattern": "pattern"}, ("Which lines of {file_name} contain {pattern}?",)),
        Move("wc", ("[count|tally] [the |all ]words [of|in] {file_name}",), _FILE, ("How many words does {file_name} have?", "How many words are in {file_name}?"), fixed={"mode": "w"}, weight=1.5, fits=_at_top,
             gives={"number": Gift(lambda r: r["count"], ("that count",), ("the number of words in {file_name}",))},
             measure=Measure("word count", lambda r: r["count"], (40, 55, 70, 90), _worded, ("file", lambda a, r: a["file_name"])),
             state=State("[there are none|it has none at all]", lambda a, r, v: r["count"] == 0, _emptied)),
        Move("wc", ("count the characters [of|in] {file_name}",), _FILE, ("How many characters are in {file_name}?",), fixed={"mode": "c"},
             gives={"number": Gift(lambda r: r["count"], ("that count",), ("the number of characters in {file_name}",))}),
        Move("sort", ("sort the lines of {file_name} and show me the result", "sort {file_name} [alphabetically|by line]"), _FILE, weight=1.3),
        Move("tail", ("[show|give] me the last {lines} lines of {file_name}", "display the last {lines} lines of {file_name}"), {**_FILE, "lines": "few"}, weight=1.3),
        Move("diff", ("compare {file_name1} [with|against] {file_name2} line by line", "[find|spot] the differences between {file_name1} and {file_name2}"), {"file_name1": "file", "file_name2": "other_file"},
             ("In which lines do {file_name1} and {file_name2} differ?",), weight=1.3,
             fits=lambda fs, given: given["file_name1"] != given["file_name2"]),
        Move("mkdir", ("make a folder [called|named] {dir_name}", "create a new [folder|directory] named {dir_name}"), {"dir_name": "new_folder"}, weight=1.3),
        Move("touch", ("create an empty file [called|named] {file_name}", "add a new empty file, {file_name}", "[create|draft|generate] a [new |]file [called|named|titled] {file_name}"), {"file_name": "new_file"}, weight=2, leads=("echo",)),
        Move("echo", ("[write|put|jot] {content} into {file_name}", "replace what is in {file_name} with {content}"),
             {"content": "text", "file_name": "file"}, weight=2.2),
        Move("mv", ("rename {source} to {destination}", "give {source} the new name {destination}"),
             {"source": "file", "destination": "new_file"}, fails=_taken, fits=_at_top),
        Move("mv", ("[move|transfer|shift] {source} [in|]to {destination}", "put {source} into {destination} by moving it"), {"source": "file", "destination": "folder"}, weight=1.5),
        Move("cp", ("copy {source} [in|]to {destination}", "[place|put] a copy of {source} in {destination}"), {"source": "file", "destination": "folder"}, weight=1.5),
        Move("cp", ("make a copy of {source} [called|named] {destination}", "[duplicate|back up] {source} as {destination}"),
             {"source": "file", "destination": "new_file"}),
        Move("rm", ("delete {file_name}", "remove {file_name} [for good|permanently]"), _FILE, weight=0.7),
        Move("rmdir", ("[remove|delete] the directory {dir_name} with rmdir",), {"dir_name": "some_folder"}, fits=_at_top, weight=0.5),
        Move("find", ("[find|locate] everything below this directory with {name} in its name", "[search|look] for all files below here with {name} in their names"), {"name": "pattern"}, once=True,
             fixed={"path": "."}, weight=1.3),
        Move("du", ("tell me how much space this directory takes in human readable form",), {}, fixed={"human_readable": True}, once=True),
    ),
    scenes=("I'm tidying up my files.", "Let's sort out this directory.", "I need to get some paperwork in order.",
            "Help me with a few files, please."),
)  # fmt: skip
