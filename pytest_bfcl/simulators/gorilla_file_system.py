"""GorillaFileSystem: a small Unix-like file tree with a current directory (simulators spec §1)."""

from __future__ import annotations

from typing import Any

from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.file_tree import MAX_DEPTH, MAX_VISITS, Directory, File, Node, total_size, tree_height, walk
from pytest_bfcl.simulators.long_context import constants
from pytest_bfcl.simulators.toolkit import MAX_RESULT_CHARS, Oversized, Simulator, tool

FORBIDDEN = frozenset('|/\\?%*:"><')
"""Characters that new names, and names for `cat` and `echo`, may not have."""

MAX_FILE_CHARS = 1_000_000
MAX_NODES = 20_000
"""Most files and directories that one simulator makes."""
MAX_NAME_CHARS = 255

UNITS = ("B", "KB", "MB", "GB", "TB", "PB")


_MISSING = "_navigate_to_directory.missing"
"""Places where the benchmark has texts for a missing directory, for `cd` and `find`."""


class GorillaFileSystem(Simulator):
    """A file tree. ``root`` is compared, the current directory is not.

    Visible quirks of the reference are kept. ``.`` and ``..`` are ordinary names for everything but `cd` and `find`,
    moved directories keep their children's old parents, copies of directories are shallow.
    """

    name = "GorillaFileSystem"
    summary = "Small file system with a current directory; commands work on names inside the current directory."

    def load(self, config: Parsed, *, long_context: bool = False, texts: Fields | None = None, **context: Any) -> None:
        """Build the tree: ``root`` maps one name (further names are ignored) to ``{type, contents}``.

        Raises `ValueError` if a long-context file name equals a configured one.
        """
        self.long_context = long_context
        self.root = Directory("/")
        self._made = 0
        self._current_dir = self.root
        if "root" in config:
            name, described = next(iter(config["root"].items()))
            added = constants(texts) if long_context else None
            self.root = self._built(name, described.get("contents", {}), None, added)
            self._current_dir = self.root

    def _built(self, name: str, contents: Fields, parent: Directory | None, added: Fields | None) -> Directory:
        """A configured directory; ``added`` are the long-context constants or ``None``."""
        directory = Directory(name, parent)
        for child, described in contents.items():
            if described["type"] == "directory":
                directory.contents[child] = self._built(child, described.get("contents", {}), directory, added)
            else:
                content = described.get("content", "")
                if added is not None and child not in added["FILES_TAIL_USED"]:
                    content += added["FILE_CONTENT_EXTENSION"]
                directory.contents[child] = File(child, content)
        if added is not None and not any(isinstance(node, Directory) for node in directory.contents.values()):
            for file_name in added["POPULATE_FILE_EXTENSION"]:
                if file_name in directory.contents:
                    raise ValueError(f"{file_name!r} is configured and a long-context file name as well")
                directory.contents[file_name] = File(file_name)
        return directory

    # Nodes by name

    def _item(self, name: str) -> Node | None:
        """The node that a command names: ``.`` is always the current directory, even if an entry has that name."""
        return self._current_dir if name == "." else self._current_dir.contents.get(name)

    def _file(self, name: str) -> File | None:
        """The file that a command names, ``None`` for a missing name or a directory."""
        item = self._item(name) if name in self._current_dir.contents else None
        return item if isinstance(item, File) else None

    def _attach(self, directory: Directory, node: Node) -> None:
        """Put a new node into a directory; `_check_room` comes first."""
        self._made += 1
        directory.contents[node.name] = node

    def _check_room(self, directory: Directory, name: str, node: Node | None = None) -> None:
        """Refuse a new entry (a copy of ``node``, or an empty one) above a limit, before any change."""
        if self._made >= MAX_NODES:
            raise Oversized("the file system is full")
        if len(name) > MAX_NAME_CHARS:
            raise Oversized(f"a name has at most {MAX_NAME_CHARS} characters")
        depth, above = 1, directory.parent
        while above is not None:
            depth, above = depth + 1, above.parent
        if depth + (tree_height(node) if isinstance(node, Directory) else 1) > MAX_DEPTH:
            raise Oversized(f"directories can be nested {MAX_DEPTH} deep")

    def _missing(self, command: str, name: str) -> JsonObject:
        return self.fails(f"{command}.missing", f"{command}: {name}: there is no such file", name)

    def _missing_name(self, command: str, name: str) -> JsonObject | None:
        return None if name in self._current_dir.contents else self._missing(command, name)

    def _refused_name(self, command: str, name: str) -> JsonObject | None:
        """The error for a name that has one of the `FORBIDDEN` characters."""
        if not any(character in name for character in FORBIDDEN):
            return None
        own = f"{command}: {name}: this name has a character that names cannot have"
        return self.fails(f"{command}.invalid", own, name)

    def _make(self, command: str, node: Node) -> JsonObject | None:
        """Put an empty node into the current directory, for `mkdir` and `touch`."""
        if refused := self._refused_name(command, node.name):
            return refused
        if node.name in self._current_dir.contents:
            return self.fails(f"{command}.exists", f"{command}: {node.name}: this name is taken", node.name)
        self._check_room(self._current_dir, node.name)
        self._attach(self._current_dir, node)
        return None

    def _destination(self, command: str, source: str, name: str) -> tuple[Directory, bool] | JsonObject:
        """The directory into which `mv` and `cp` put a node, and whether it is called ``name``; or an error."""
        contents = self._current_dir.contents
        if source not in contents:
            own = f"{command}: {source}: there is no such file or directory"
            return self.fails(f"{command}.missing", own, source)
        if "/" in name:
            return self.fails(f"{command}.path", f"{command}: {name}: the destination is a name, not a path")
        if name not in contents:
            return self._current_dir, False
        inside = self._item(name)
        if not isinstance(inside, Directory):
            return self.fails(f"{command}.file", f"{command}: {name}: this file exists already", source, name)
        return inside, True

    def _done(self, command: str, verb: str, source: str, destination: str, *, inside: bool) -> JsonObject:
        own = f"{verb} '{source}' to '{destination}{f'/{source}' if inside else ''}'"
        place = f"{command}.inside" if inside else f"{command}.renamed"
        return {"result": self.say(place, own, source, destination)}

    # Commands

    @tool(writes=False)
    def pwd(self) -> JsonObject:
        """Show the path of the current directory.

        Returns:
            current_working_directory (string): Path from the root directory on.
        """
        names: list[str] = []
        directory: Directory | None = self._current_dir
        while directory is not None:
            names.append(directory.name)
            directory = directory.parent
        return {"current_working_directory": "/" + "/".join(reversed(names))}

    @tool(writes=False)
    def ls(self, a: bool = False) -> JsonObject:
        """List the files and directories in the current directory.

        Args:
            a: Also list hidden names, which begin with a dot.

        Returns:
            current_directory_content (array): Names of the files and directories.
        """
        names = [name for name in self._current_dir.contents if a or not name.startswith(".")]
        return {"current_directory_content": names}

    @tool(writes=False)
    def cd(self, folder: str) -> JsonObject:
        """Change the current directory, one level at a time.

        Args:
            folder: Name of a directory inside the current one, or `..` for the directory above. Paths of several
                levels are not accepted.

        Returns:
            current_working_directory (string): Name of the directory that is now the current one.
        """
        if folder == "..":
            return self._go_up()
        folder = folder.rstrip("/") or "/"
        if folder == ".":
            target: Node | None = self._current_dir
        elif folder == "/":
            target = self.root
        elif folder == "..":
            return self._go_up()
        else:
            target = None if "/" in folder else self._item(folder)
        if not isinstance(target, Directory):
            own = f"cd: {folder}: there is no such directory here (one level at a time)"
            return self.fails("cd.path" if "/" in folder else _MISSING, own, folder)
        self._current_dir = target
        return {"current_working_directory": target.name}

    def _go_up(self) -> JsonObject:
        if self._current_dir.parent is None or self._current_dir == self.root:
            return self.fails("cd.root", "cd: this is the root directory already")
        self._current_dir = self._current_dir.parent
        return {}

    @tool(writes=True)
    def mkdir(self, dir_name: str) -> JsonObject | None:
        """Make a directory in the current directory.

        Args:
            dir_name: Name of the new directory; a path is not accepted.
        """
        return self._make("mkdir", Directory(dir_name, self._current_dir))

    @tool(writes=True)
    def touch(self, file_name: str) -> JsonObject | None:
        """Make an empty file in the current directory.

        Args:
            file_name: Name of the new file; a path is not accepted.
        """
        return self._make("touch", File(file_name))

    @tool(writes=True)
    def echo(self, content: str, file_name: str | None = None) -> JsonObject | None:
        """Show a text, or write it to an existing file, replacing what the file holds.

        Args:
            content: The text.
            file_name: Name of a file in the current directory to write to; without it the text is shown.

        Returns:
            terminal_output (string): The text, when no file is given.
        """
        if not file_name:
            return {"terminal_output": content}
        if refused := self._refused_name("echo", file_name) or self._missing_name("echo", file_name):
            return refused
        target = self._item(file_name)
        if not isinstance(target, File):
            raise AttributeError(f"echo: {file_name} is a directory and cannot be written to")
        if isinstance(content, str) and len(content) > MAX_FILE_CHARS:
            raise Oversized(f"a file holds at most {MAX_FILE_CHARS:,} characters")
        target.content = content
        return None

    @tool(writes=False)
    def cat(self, file_name: str) -> JsonObject:
        """Show the content of a file.

        Args:
            file_name: Name of a file in the current directory; a path is not accepted.

        Returns:
            file_content (string): The content.
        """
        if refused := self._refused_name("cat", file_name) or self._missing_name("cat", file_name):
            return refused
        target = self._item(file_name)
        if not isinstance(target, File):
            return self.fails("cat.directory", f"cat: {file_name}: this is a directory", file_name)
        return {"file_content": target.content}

    @tool(writes=False)
    def find(self, path: str = ".", name: str | None = None) -> JsonObject:
        """List everything below a directory, at any depth, optionally only what has a text in its name.

        Args:
            path: Directory to start from: `.` for the current one, or a path relative to it.
            name: Text that the name of a file or directory must contain.

        Returns:
            matches (array): Paths of the files and directories found.
        """
        start = self._start(path)
        if start is None:
            text = self.say(_MISSING, f"find: {path}: there is no such directory", path)
            return {"error": text.replace("cd:", "find:", 1)}
        found: list[str] = []
        characters = 0
        for visits, (above, base) in enumerate(walk(start, path.rstrip("/"))):
            if name is None or name in base:
                found.append(f"{above}/{base}")
                characters += len(found[-1])
            if visits > MAX_VISITS or characters > MAX_RESULT_CHARS:
                raise Oversized("find: there are too many files and directories")
        return {"matches": found}

    def _start(self, path: str) -> Directory | None:
        """The directory of a path for `find`, ``None`` without one."""
        if path in (".", "/"):
            return self._current_dir if path == "." else self.root
        segments = path.strip("/").split("/")
        here: Node | None = self.root if path.startswith("/") else self._current_dir
        for segment in segments:
            if not isinstance(here, Directory):
                return None
            here = here if segment == "." else here.contents.get(segment)
        return here if isinstance(here, Directory) else None

    @tool(writes=False)
    def wc(self, file_name: str, mode: str = "l") -> JsonObject:
        """Count the lines, words or characters of a file.

        Args:
            file_name: Name of a file in the current directory.
            mode: What to count: `l` lines, `w` words, `c` characters.

        Returns:
            count (integer): The number counted.
            type (string): What was counted: `lines`, `words` or `characters`.
        """
        if mode not in ("l", "w", "c"):
            return self.fails("wc.mode", f"wc: {mode}: the mode is l, w or c", mode)
        file = self._file(file_name)
        if file is None:
            return self._missing("wc", file_name)
        if mode == "l":
            return {"count": len(file.content.splitlines()), "type": "lines"}
        if mode == "w":
            return {"count": len(file.content.split()), "type": "words"}
        return {"count": len(file.content), "type": "characters"}

    @tool(writes=False)
    def sort(self, file_name: str) -> JsonObject:
        """Show the lines of a file in sorted order; the file stays as it is.

        Args:
            file_name: Name of a file in the current directory.

        Returns:
            sorted_content (string): The sorted lines.
        """
        file = self._file(file_name)
        if file is None:
            return self._missing("sort", file_name)
        return {"sorted_content": "\n".join(sorted(file.content.splitlines()))}

    @tool(writes=False)
    def grep(self, file_name: str, pattern: str) -> JsonObject:
        """Show the lines of a file that contain a text.

        Args:
            file_name: Name of a file in the current directory.
            pattern: The text, taken literally.

        Returns:
            matching_lines (array): The lines.
        """
        file = self._file(file_name)
        if file is None:
            return self._missing("grep", file_name)
        return {"matching_lines": [line for line in file.content.splitlines() if pattern in line]}

    @tool(writes=False)
    def du(self, human_readable: bool = False) -> JsonObject:
        """Add up the size of all files below the current directory.

        Args:
            human_readable: Show the size in a fitting unit instead of bytes.

        Returns:
            disk_usage (string): The size with its unit.
        """
        total = total_size(self._current_dir)
        if not human_readable:
            return {"disk_usage": f"{total} bytes"}
        size, unit = float(total), 0
        while size >= 1024 and unit < len(UNITS) - 1:
            size, unit = size / 1024, unit + 1
        return {"disk_usage": f"{size:.2f} {UNITS[unit]}"}

    @tool(writes=False)
    def tail(self, file_name: str, lines: int = 10) -> JsonObject:
        """Show the last lines of a file.

        Args:
            file_name: Name of a file in the current directory.
            lines: How many lines to show.

        Returns:
            last_lines (string): The lines.
        """
        file = self._file(file_name)
        if file is None:
            return self._missing("tail", file_name)
        content = file.content.splitlines()
        return {"last_lines": "\n".join(content[-(len(content) if lines > len(content) else lines) :])}

    @tool(writes=False)
    def diff(self, file_name1: str, file_name2: str) -> JsonObject:
        """Compare two files line by line, as far as both have lines.

        Args:
            file_name1: Name of a file in the current directory.
            file_name2: Name of another file in the current directory.

        Returns:
            diff_lines (string): Each differing pair: `- ` and the first file's line, then `+ ` and the other's.
        """
        one = self._file(file_name1)
        two = self._file(file_name2) if file_name1 in self._current_dir.contents else None
        if one is None or two is None:
            return self.fails(
                "diff.missing", "diff: one of the two files does not exist or is a directory", file_name1, file_name2
            )
        pairs = zip(one.content.splitlines(), two.content.splitlines(), strict=False)
        return {"diff_lines": "\n".join(f"- {left}\n+ {right}" for left, right in pairs if left != right)}

    @tool(writes=True)
    def mv(self, source: str, destination: str) -> JsonObject:
        """Move a file or directory into a directory, or rename it.

        Args:
            source: Name of the file or directory in the current directory.
            destination: Name of a directory in the current directory to move it into, or the new name. A path is not
                accepted.

        Returns:
            result (string): What happened.
        """
        found = self._destination("mv", source, destination)
        if isinstance(found, dict):
            return found
        target, inside = found
        if inside and source in target.contents:
            own = f"mv: {destination}: it holds something called {source} already"
            return self.fails("mv.taken", own, source, destination)
        item, name = self._item(source), source if inside else destination
        self._check_room(target, name, item)
        del self._current_dir.contents[source]
        # A moved directory is a new node on the same mapping, so its children still name the old one as parent.
        if isinstance(item, Directory):
            self._attach(target, Directory(name, target, item.contents))
        elif item is not None:
            self._attach(target, File(name, item.content))
        return self._done("mv", "Moved", source, destination, inside=inside)

    @tool(writes=True)
    def rm(self, file_name: str) -> JsonObject:
        """Remove a file, or a directory with everything in it.

        Args:
            file_name: Name of the file or directory in the current directory.

        Returns:
            result (string): What happened.
        """
        if file_name not in self._current_dir.contents:
            return self.fails("rm.missing", f"rm: {file_name}: there is no such file or directory", file_name)
        del self._current_dir.contents[file_name]
        return {"result": self.say("rm.done", f"Removed '{file_name}'", file_name)}

    @tool(writes=True)
    def rmdir(self, dir_name: str) -> JsonObject:
        """Remove an empty directory.

        Args:
            dir_name: Name of the directory in the current directory.

        Returns:
            result (string): What happened.
        """
        if dir_name not in self._current_dir.contents:
            return self.fails("rmdir.missing", f"rmdir: {dir_name}: there is no such directory", dir_name)
        target = self._item(dir_name)
        if not isinstance(target, Directory):
            return self.fails("rmdir.file", f"rmdir: {dir_name}: this is a file", dir_name)
        if target.contents:
            return self.fails("rmdir.full", f"rmdir: {dir_name}: the directory is not empty", dir_name)
        del self._current_dir.contents[dir_name]
        return {"result": self.say("rmdir.done", f"Removed '{dir_name}'", dir_name)}

    @tool(writes=True)
    def cp(self, source: str, destination: str) -> JsonObject:
        """Copy a file or directory into a directory, or under a new name.

        Args:
            source: Name of the file or directory in the current directory.
            destination: Name of a directory in the current directory to copy it into, or the copy's name. A path is
                not accepted.

        Returns:
            result (string): What happened.
        """
        found = self._destination("cp", source, destination)
        if isinstance(found, dict):
            return found
        target, inside = found
        item, name = self._item(source), source if inside else destination
        if inside and source in target.contents:
            place = "_add_directory.exists" if isinstance(item, Directory) else "_add_file.exists"
            own = f"cp: {destination} holds something called {source} already"
            raise ValueError(self.say(place, own, source, destination))
        self._check_room(target, name, item)
        if isinstance(item, Directory):
            copied = Directory(name, target)
            self._attach(target, copied)
            copied.contents.update(item.contents)  # shallow: files and nested directories are shared
        elif item is not None:
            self._attach(target, File(name, item.content))
        return self._done("cp", "Copied", source, destination, inside=inside)
