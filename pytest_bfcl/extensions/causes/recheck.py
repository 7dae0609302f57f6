"""Sends the entries of one cause again: data, address and settings of the run, with the user's changes."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.causes.diagnosis import can_be_sent
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import clean, counted, say
from pytest_bfcl.run_options import of_run

if TYPE_CHECKING:
    from pytest_bfcl.extensions.causes.diagnosis import Diagnosis, Named
    from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint

_SETTINGS = ("temperature", "max_tokens")
"""Parameters with their own option; all others use ``--param``."""


def recheck(args: argparse.Namespace, known: Diagnosis) -> int:
    """Send the entries again and print how many are right now; returns the exit code of the run.

    Raises `UsageError` if the run has no such cause, or cannot be sent again.
    """
    from pytest_bfcl.cli.run import run
    from pytest_bfcl.extensions.causes.of_runs import of_path
    from pytest_bfcl.runs.directory import RunDirectory, is_run

    row = known.row(args.recheck)
    if row is None:
        names = ", ".join(each.name for each in known.rows) or "none"
        raise UsageError(f"{args.run} has no cause {args.recheck!r}; its causes: {names}")
    folder = Path(str(args.run).partition("#")[0])
    if folder.name == "results.jsonl" and is_run(folder.parent):
        folder = folder.parent
    if not folder.is_dir():
        raise UsageError(f"{args.run} is no run directory, so the settings of its requests are not known")
    opened = RunDirectory.open(folder)
    model = next((each for each in opened.fingerprint.models if each.model == known.model), None)
    if model is None:
        raise UsageError(f"run.json of {folder} does not record the settings of {known.model}")
    if args.no_stream:
        model = replace(model, stream=False)
    with tempfile.TemporaryDirectory() as held:
        ids = Path(held) / "ids.txt"
        ids.write_text("\n".join(row.ids) + "\n", encoding="utf-8")
        again = _arguments(args, opened.fingerprint, model, ids)
        again.out = getattr(args, "out", None) or _free(folder, row.name)
        code = run(again)
    try:
        found = of_path(str(again.out), str(getattr(args, "bfcl_data", "auto")))
    except UsageError:  # the run has said why no entry was answered
        found = []
    _say_what_came(row, found)
    return code


def _say_what_came(row: Named, found: list[Diagnosis]) -> None:
    if not found:
        say(f"none of the {counted(len(row.ids), 'entry', 'entries')} of {row.name} was answered")
    for each in found:
        failed = {row.name: 0} | {other.name: len(other.lines) for other in each.rows}
        told = "; ".join(
            f"{number} {'still fail' if name == row.name else 'fail'} by {name}" for name, number in failed.items()
        )
        say(clean(f"{each.model}: {each.passed} of {each.judged_entries} are right now; {told}"))


def _free(folder: Path, name: str) -> Path:
    """A new run directory next to the run."""
    for number in range(1, 1000):
        path = folder.with_name(f"{folder.name}-{name}" + (f"-{number}" if number > 1 else ""))
        if not path.exists():
            return path
    raise UsageError(f"{folder} has too many rechecks: name a directory with -o")


def _arguments(
    args: argparse.Namespace, measured: Fingerprint, model: ModelFingerprint, ids: Path
) -> argparse.Namespace:
    """The arguments of `pytest-bfcl run`: those of the run, overridden by the given ones."""
    from pytest_bfcl.cli.run import add_arguments

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    typed = vars(args)
    given = {each.key: typed[each.key] for each in of_run() if typed.get(each.key) not in (None, False)}
    if given.get("bfcl_mode") and "bfcl_model" not in given:
        given["bfcl_model"] = [model.model.rpartition("@")[0] or model.model]
    again = parser.parse_args([*_of_run(measured, model, given), "--ids", str(ids)])
    for key, value in given.items():
        before = getattr(again, key, None)
        setattr(again, key, [*(before or []), *value] if key == "bfcl_param" else value)
    return again


def _of_run(measured: Fingerprint, model: ModelFingerprint, given: dict[str, object]) -> Iterator[str]:
    """The settings of the run as options. Raises `UsageError` for settings that its files do not have."""
    provider = model.model.partition(":")[0]
    if not can_be_sent(model.model):
        raise UsageError(f"{model.model} answers from a file and cannot be sent again; name a model with --model")
    if provider == "fixture" and "bfcl_model" not in given:
        raise UsageError(
            f"{model.model} is a fixture of your tests: write the ids with --cause CAUSE > ids.txt, and repeat the "
            "command of the run with --bfcl-ids ids.txt"
        )
    if model.prompt_sha256 and "bfcl_system_prompt" not in given:
        raise UsageError("the run had its own system prompt: name its file with --system-prompt")
    if model.headers and "bfcl_header" not in given:
        raise UsageError(f"the run sent its own headers: give them with --header ({', '.join(model.headers)})")
    if measured.dataset not in ("official", "bundled", "verified") and "bfcl_data" not in given:
        raise UsageError(f"the run used its own data ({measured.dataset}): name it with --data PATH")
    conditions = measured.conditions
    steps = f",steps={conditions['step_limit']}" if conditions.get("step_limit") else ""
    told: list[tuple[str, object]] = [
        ("model", model.model), ("data", measured.dataset), ("base-url", model.base_url), ("api", model.api),
        ("decoder", model.decoder), ("think", model.think), ("reasoning", model.reasoning),
        ("temperature", model.parameters.get("temperature", "none")),
        ("max-tokens", model.parameters.get("max_tokens")), ("rules", f"{measured.rules}{steps}"),
        ("search", conditions.get("search")), ("simulators", conditions.get("simulators")),
        ("repeat", conditions.get("repeat")),
    ]  # fmt: skip
    if model.template and ":" not in str(model.template):
        told.append(("template", model.template))
    for name, value in told:
        key = "bfcl_" + name.replace("-", "_")
        if value not in (None, "") and (name == "model" or key not in given):
            yield f"--{name}={value}"
    for name, value in model.parameters.items():
        if name not in _SETTINGS:
            yield f"--param={name}={json.dumps(value)}"
    if model.stream:
        yield "--stream"
