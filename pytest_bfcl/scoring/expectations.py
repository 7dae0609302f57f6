"""Expected failures (``--bfcl-expected``, ``--bfcl-write-expected``): only other failures miss the gate.

The file is JSON: its data set, its rules, and the failures, keyed by model, mode and entry id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.failures import UsageError, of_option
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.lines import staged
from pytest_bfcl.scoring.gate_scope import Scope, one_entry
from pytest_bfcl.scoring.gates import GateCheck
from pytest_bfcl.spread_json import json_file

if TYPE_CHECKING:
    from pytest_bfcl.runs.fingerprint import Fingerprint

Key = tuple[str, str, str]
"""Model, mode, entry id."""


def key_of(record: Fields) -> Key:
    """The key of a result line or of a line of the file."""
    return str(record["model"]), str(record["mode"]), str(record["id"])


def read_expected(path: Path | str) -> Any:
    """The content of such a file. Raises `UsageError`."""
    with of_option("expected"):
        content = json_file(Path(path))
    return [] if content is None else content  # null expects nothing, and is no such file either


class Expectations:
    """The entries that are expected to fail. ``content`` of the file; ``None`` means no file and no gate."""

    def __init__(self, content: Any = None) -> None:
        self.asked = content is not None
        self._content = content
        self.failures = self._read(content)

    @staticmethod
    def _read(content: Any) -> dict[Key, Fields]:
        if content is None:
            return {}
        try:
            return {key_of(failure): failure for failure in content["failures"]}
        except (TypeError, KeyError):
            raise UsageError(
                '--bfcl-expected: the file must hold {"dataset": …, "failures": [{"model", "mode", "id"}, …]}; '
                "--bfcl-write-expected FILE writes one"
            ) from None

    def check_conditions(self, run: Fingerprint) -> None:
        """Refuse a file written for other data or other rules. Raises `UsageError`."""
        if not isinstance(self._content, dict):
            return
        data = run.to_dict()["dataset"]
        if self._content.get("dataset", data) != data:
            raise UsageError("--bfcl-expected was written for another data set; write it again with this one")
        if self._content.get("rules", run.rules) != run.rules:
            raise UsageError(
                f"--bfcl-expected was written under {self._content['rules']} rules, this run has {run.rules}"
            )

    def check(self, records: Iterable[Fields], scope: Scope | None = None) -> GateCheck | None:
        """The gate: every failure is in the file. Unexpected passes are reported and fail nothing. Missed if nothing
        was judged.
        """
        if not self.asked:
            return None
        judged = [record for record in records if record["outcome"] in ("passed", "failed")]
        if not judged:
            return GateCheck("expected", "", False, "nothing was measured: no entry has a verdict")
        failed = {key_of(record): record for record in judged if record["outcome"] == "failed"}
        passed = {key_of(record) for record in judged} - failed.keys()
        news = tuple(
            f"{record['id']}: {record['reason']}" for key, record in failed.items() if key not in self.failures
        )
        noun = "failure that is" if len(news) == 1 else "failures that are"
        why = f"{len(news)} {noun} not expected, {len(failed) - len(news)} that are"
        if fixed := len(passed & self.failures.keys()):
            why += f"; {fixed} expected ones passed (--bfcl-write-expected rewrites the file)"
        if scope is not None:
            why += scope.text(one_entry(scope))
        return GateCheck("expected", "", not news, why, entries=news)

    def write(self, path: Path | str, records: Iterable[Fields], run: Fingerprint, directory: Path = Path()) -> str:
        """Write the failed entries; expected ones that did not run this time are kept. Returns a message.

        ``path`` is relative to ``directory``.
        """
        judged: set[Key] = set()
        failed: dict[Key, Fields] = {}
        for record in records:
            if record["outcome"] in ("passed", "failed"):
                judged.add(key_of(record))
            if record["outcome"] == "failed":
                failed[key_of(record)] = {name: record[name] for name in ("model", "mode", "id", "reason")}
        failures = {key: dict(failure) for key, failure in self.failures.items() if key not in judged} | failed
        content = {
            "dataset": run.to_dict()["dataset"],
            "rules": run.rules,
            "failures": [failures[key] for key in sorted(failures)],
        }
        target = directory / path
        try:
            with staged(target) as beside:
                beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        except UsageError as error:
            return f"--bfcl-write-expected: {error}"
        except OSError as error:
            return f"--bfcl-write-expected: cannot write {target}: {error.strerror}"
        return f"{len(failures)} expected failures written to {path}"
