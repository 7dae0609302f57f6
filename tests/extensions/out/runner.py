"""The part of a CI runner that our recipes need: steps in bash, expressions, caches, artefacts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BASH = shutil.which("bash")


def bash(script: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A script as GitHub runs it. ``python -m pip`` only prints its words: the package is installed."""
    tools = folder.parent / "tools"
    if not tools.exists():
        tools.mkdir()
        python = tools / "python"
        python.write_text(f'#!/bin/sh\n[ "$2" = pip ] && echo "$@" && exit 0\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
    kept = ("HOME", "LANG", "TMPDIR", "PYTEST_BFCL_CACHE", "XDG_CACHE_HOME")
    base = {name: os.environ[name] for name in kept if name in os.environ}
    base["PATH"] = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    base["PYTEST_ADDOPTS"] = "-p no:cacheprovider -q --tb=no"
    assert BASH is not None
    command = [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder, env=base | environment, capture_output=True, text=True, timeout=300, check=False
    )


@dataclass
class Action:
    """A composite action, run step by step as GitHub's runner does."""

    definition: dict[str, Any]
    folder: Path
    caches: dict[str, Path]
    github: dict[str, Any]
    environment: dict[str, str]
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    artifacts: dict[str, Path] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    failed: int = 0

    def run(self) -> int:
        """The exit code of the first step that failed, 0 without one."""
        for name, declared in self.definition["inputs"].items():
            self.inputs.setdefault(name, self.filled(str(declared.get("default", ""))))
        self.folder.mkdir(parents=True, exist_ok=True)
        for step in self.definition["runs"]["steps"]:
            condition = str(step.get("if", "success()")).removeprefix("${{").removesuffix("}}")
            if "always()" not in condition:
                condition = f"success() && ({condition})"
            if not self.value(condition):
                continue
            if "uses" in step:
                self.use(step["uses"], {name: self.filled(str(text)) for name, text in step["with"].items()})
            else:
                self.carry_out(step)
        return self.failed

    def carry_out(self, step: dict[str, Any]) -> None:
        output = self.folder.parent / "output"
        output.write_text("")
        named = {name: self.filled(str(text)) for name, text in step.get("env", {}).items()}
        given = self.environment | {"GITHUB_OUTPUT": str(output), "GITHUB_REF": self.github["ref"]}
        done = bash(step["run"], self.folder, given | named)
        self.log += [done.stdout, done.stderr]
        lines = (line.partition("=") for line in output.read_text().splitlines())
        self.outputs[step.get("id", step["name"])] = {name: value for name, _, value in lines}
        self.failed = self.failed or done.returncode

    def use(self, action: str, given: dict[str, str]) -> None:
        """actions/cache/restore, actions/cache/save, actions/upload-artifact."""
        place = self.folder / given["path"]
        name = action.partition("@")[0]
        if name == "actions/cache/restore":
            begins = given["restore-keys"].split()
            hits = [key for key in self.caches if key == given["key"] or key.startswith(tuple(begins))]
            if hits:
                shutil.copytree(self.caches[hits[-1]], place)
        elif name == "actions/cache/save":
            self.caches[given["key"]] = Path(shutil.copytree(place, self.folder.parent / f"cache-{len(self.caches)}"))
        elif name == "actions/upload-artifact":
            self.artifacts[given["name"]] = place
        else:
            raise AssertionError(f"the recipe uses {action}, which this runner does not know")

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{(.*?)\}\}", lambda match: str(self.value(match[1])), text)

    def value(self, expression: str) -> Any:
        """A small part of GitHub's expressions: names, texts, ``==``, ``!=``, ``&&``, ``||``, the status functions."""
        known: dict[str, object] = {"__builtins__": {}}

        def named(match: re.Match[str]) -> str:
            known[f"v{len(known)}"] = self._word(match[0])
            return f"v{len(known) - 1}"

        words = re.sub(r"'[^']*'|[\w.-]+(?:\(\))?", named, expression).replace("&&", " and ").replace("||", " or ")
        assert re.fullmatch(r"(?:v\d+|and|or|==|!=|[\s()])*", words), expression
        return eval(words.strip(), known)  # noqa: S307 - names, and the operators above

    def _word(self, word: str) -> str | bool:
        if word.startswith("'"):
            return word.strip("'")
        if word in ("always()", "success()"):
            return word == "always()" or not self.failed
        first, *rest = word.split(".")
        at: Any = {"inputs": self.inputs, "github": self.github, "steps": self.outputs}[first]
        if first == "steps":
            rest = [rest[0], *rest[2:]]  # the word "outputs"
        for name in rest:
            at = at.get(name, "") if isinstance(at, dict) else ""
        return str(at)
