"""A file tree: files, directories, and walks over them; no function recurses without limit."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_bfcl.json_types import JsonObject
from pytest_bfcl.simulators.toolkit import Oversized

MAX_VISITS = 50_000
"""Most nodes that one command walks through, because shared directories can make a small tree endless."""
MAX_DEPTH = 64


class File:
    """A file; equal to a file of the same name and content."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, content: str = "") -> None:
        self.name = name
        self.content = content

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, File):
            return NotImplemented
        return self.name == other.name and self.content == other.content

    def __repr__(self) -> str:
        return f"<file {self.name!r}: {len(self.content)} characters>"


class Directory:
    """A directory; equal to a directory of the same name with equal children in any order.

    ``contents`` maps names to nodes. After a move two directories can share one mapping, and after copying a directory
    into itself the tree has a cycle, so no function recurses without limit.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, parent: Directory | None = None, contents: dict[str, Node] | None = None) -> None:
        self.name = name
        self.parent = parent
        self.contents: dict[str, Node] = {} if contents is None else contents

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Directory):
            return NotImplemented
        return _same_tree(self, other)

    def __repr__(self) -> str:
        return f"<directory {self.name!r}: {', '.join(map(repr, list(self.contents)[:20]))}>"

    def to_dict(self) -> JsonObject:
        """The tree as plain objects in the shape of configurations; directories beyond the limits are ``cut``."""
        return _plain(self, MAX_DEPTH, [MAX_VISITS])


Node = File | Directory


def _same_tree(left: Directory, right: Directory) -> bool:
    """Compare two trees without recursion; a pair seen before counts as equal, so shared and cyclic parts end."""
    pending: list[tuple[Directory, Directory]] = [(left, right)]
    met: set[tuple[int, int, str, str]] = set()
    while pending:
        one, two = pending.pop()
        if one.name != two.name or one.contents.keys() != two.contents.keys():
            return False
        pair = (id(one.contents), id(two.contents), one.name, two.name)
        if pair in met:
            continue
        met.add(pair)
        for name, child in one.contents.items():
            other = two.contents[name]
            if isinstance(child, Directory) and isinstance(other, Directory):
                pending.append((child, other))
            elif child != other:
                return False
    return True


def _plain(node: Node, depth: int, visits: list[int]) -> JsonObject:
    """``visits`` holds how many nodes may still be shown, all levels together."""
    visits[0] -= 1
    if isinstance(node, File):
        return {"type": "file", "content": node.content}
    if depth == 0 or visits[0] < len(node.contents):
        return {"type": "directory", "contents": {}, "cut": True}
    contents = {name: _plain(child, depth - 1, visits) for name, child in node.contents.items()}
    return {"type": "directory", "contents": contents}


def walk(start: Directory, prefix: str) -> Iterator[tuple[str, str]]:
    """Parent's path and name of everything below a directory: depth first, parents before children."""
    pending = [(prefix, 1, name, node) for name, node in reversed(start.contents.items())]
    while pending:
        above, depth, name, node = pending.pop()
        yield above, name
        if isinstance(node, Directory):
            if depth > MAX_DEPTH * 2:
                raise Oversized("find: directories are nested too deeply")
            path = f"{above}/{name}"
            pending.extend((path, depth + 1, inner, child) for inner, child in reversed(node.contents.items()))


def total_size(start: Directory) -> int:
    """UTF-8 bytes of all files below a directory; a directory inside itself is refused."""
    total = visits = 0
    pending: list[tuple[Node, int]] = [(start, 0)]
    while pending:
        node, depth = pending.pop()
        visits += 1
        if visits > MAX_VISITS or depth > MAX_DEPTH * 2:
            raise Oversized("du: there are too many files and directories")
        if isinstance(node, File):
            total += len(node.content.encode("utf-8", "surrogatepass"))
        else:
            pending.extend((child, depth + 1) for child in node.contents.values())
    return total


def tree_height(top: Directory) -> int:
    """Levels of directories from ``top`` down, at most one more than `MAX_DEPTH` (cycles count as that)."""
    levels = 0
    level: list[Directory] = [top]
    while level and levels <= MAX_DEPTH:
        levels += 1
        below = {id(node): node for directory in level for node in directory.contents.values()}
        level = [node for node in below.values() if isinstance(node, Directory)]
    return levels
