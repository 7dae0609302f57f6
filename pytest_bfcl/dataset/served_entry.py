"""Further fields of entries on a user's own MCP server: the server, the set-up, the expectations."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from pytest_bfcl.json_types import Parsed


class ServerCall(BaseModel):
    """A call of a tool of the server that the run makes itself."""

    model_config = ConfigDict(extra="forbid")

    call: str = Field(min_length=1, description="A tool of the server; it need not be offered to the model.")
    arguments: Parsed = Field(default_factory=dict)


class RecordedResult(BaseModel):
    """A recorded result of a tool for a call."""

    model_config = ConfigDict(extra="forbid")

    call: str = Field(min_length=1, description="A tool that the entry offers.")
    arguments: Parsed = Field(default_factory=dict)
    result: str = Field(description="Its result, as the model sees it.")


@dataclass(frozen=True, slots=True)
class ServedTool:
    """A listed tool of a server with its annotations; missing ones have the protocol's default."""

    name: str
    """Its name in a form that every notation can write."""
    schema: Parsed
    digest: str
    """Digest of its whole listing."""
    annotated: bool = False
    reads_only: bool = False
    destroys: bool = True
    repeatable: bool = False
    """A second call with the same arguments changes nothing more."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server's identity and its tools."""

    title: str
    """Name and version."""
    tools: tuple[ServedTool, ...]
    files: tuple[str, ...] = ()
    """The content of the trial's directory at the start: paths, and tables as ``shop.db#orders``."""

    def parts(self) -> dict[str, str]:
        """For `pytest_bfcl.dataset.inputs`."""
        return {"the server's name and version": self.title, **{f"the tool {t.name}": t.digest for t in self.tools}}

    def summary(self) -> dict[str, str]:
        """The same in two parts, for a result line."""
        listed = repr(sorted((tool.name, tool.digest) for tool in self.tools))
        return {"name and version": self.title, "tools": hashlib.sha256(listed.encode()).hexdigest()[:12]}

    def tool(self, name: str) -> ServedTool | None:
        """The tool with that name, by either of its names."""
        return next((tool for tool in self.tools if tool.name == portable_name(name)), None)


SHOWN_WORKDIR = "/workdir"
"""The name of a trial's directory in entries, for the model and in the record."""


class TemplateCopy(BaseModel):
    """A file or folder next to the entry's file, copied for every trial."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    copy_of: str = Field(alias="copy", min_length=1, description="Its path, from the folder of the entry's file.")


ServerFiles = dict[str, str | TemplateCopy]
"""Path in a trial's directory → the text to write, or the template to copy."""


def check_path(name: str) -> None:
    """Raise `ValueError` unless it is a plain relative path below: ``notes/a.txt``."""
    parts = name.split("/")
    if not name or any(part in ("", ".", "..") for part in parts) or re.search(r"[\\:\x00-\x1f]", name):
        raise ValueError(f"{name[:80]!r} is no path below the trial's directory: write it like 'notes/a.txt'")


def portable_name(name: str) -> str:
    """A tool's name in a form that every notation can write."""
    said = re.sub(r"\W", "_", name, flags=re.ASCII)[:64] or "tool"
    return f"_{said}" if said[0].isdigit() else said


def named_server(text: str) -> tuple[str, str]:
    """Name and place of a server, from ``NAME=COMMAND`` or ``NAME=URL``. Raises `ValueError` without the place, which
    may contain a key.
    """
    name, mark, where = text.partition("=")
    name, where = name.strip(), where.strip()
    if not mark or not where or not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        raise ValueError('a server is written NAME="COMMAND" or NAME=URL, with the name that entries have in "mcp"')
    return name, where
