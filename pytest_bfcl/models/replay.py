"""Stored replies as a model: ``replay:PATH`` for a replay file, a run directory or a folder of official results."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_bfcl.dataset.categories import CATEGORIES, category_of
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.formats.detection import TextReading
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.spec import ModelSpec
from pytest_bfcl.spread_json import spread_json
from pytest_bfcl.transcript import Mode, Reply, Transcript
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.settings import Settings

Line = dict[str, Any]


class ReplayModel:
    """Returns recorded replies, also as whole conversations; sends no requests.

    Model name and mode come from the lines, or from the calls in them (contract §4); a text without a mode is an error.
    Lines of both modes need a suffix ``@fc`` or ``@prompt``, lines of several models a selection ``replay:PATH#MODEL``;
    both are `UsageError` otherwise. A repeated id: the last line counts, with a warning. ``found_out`` has what the
    calls proved; ``notes`` includes it.
    """

    def __init__(
        self,
        spec: ModelSpec,
        settings: Settings,
        mode: Mode | None = None,
        dataset: DataSet | None = None,
    ) -> None:
        path, chosen = _path_and_model(spec)
        self.reading = TextReading(settings.decoder, settings.think)
        from pytest_bfcl.runs.readings import Readings

        self._readings = Readings(mode, settings.names, settings.decoder)
        lines = _of_model(_read(path, settings, dataset), chosen, path)
        self._readings.learn(lines, lambda line: _documented(line, dataset))
        models = dict.fromkeys(str(line.get("model") or "") for line in lines)
        self.found_out = "; ".join(found for model in models if (found := self._readings.sentence_of(model)))
        for line in lines:
            if line.get("mode") is None and (proved := _proved_mode(line, self._readings.mode)) is not None:
                line["mode"] = proved
        self.mode: Mode = _mode(lines, mode, path)
        lines = [line for line in lines if line.get("mode", self.mode) == self.mode]
        self.path = path
        self.spec = _name(lines, self.mode, path)
        self.notes = [f"{self.spec}: {self.found_out}"] if self.found_out else []
        self.underscore_names = any(line.get("underscore_names") for line in lines)
        self._lines = _by_key(lines, path)
        self._repeats = {repeat for _, repeat in self._lines}
        self._categories = {line.get("category") or category_of(str(line["id"])) for line in self._lines.values()}

    def __len__(self) -> int:
        return len(self._lines)

    def lacks(self, category: str) -> str | None:
        """Why a category cannot run: nothing of it was recorded. Else ``None``, also for write stages."""
        if CATEGORIES[category].checker == "none" or category in self._categories:
            return None
        return f"not run: {self.path} holds no answer of its category"

    def transcript_for(self, entry: Entry, repeat: int = 1) -> Transcript | None:
        """The recorded conversation of an entry.

        A memory write stage that was not recorded gives an empty conversation: recorded answers do not need it.
        Raises `AdapterError` ``not_recorded`` for other missing ids, and the recorded kind where the line is an error
        without output.
        """
        from pytest_bfcl.runs.readings import documented_names

        line = self._lines.get((entry.id, repeat))
        if line is None and entry.row.checker == "none":
            return Transcript(entry.id, entry.category, self.spec, self.mode, repeat)
        if line is None:
            which = entry.id if repeat == 1 else f"{entry.id}, repeat {repeat}"
            advice = "select the recorded entries with --bfcl-ids, or record the missing ones"
            raise AdapterError(AdapterTrouble.NOT_RECORDED, f"{self.path} has no reply for {which}", advice=advice)
        _raise_recorded_error(line)
        try:
            transcript = self.reading.apply(
                self._readings.transcript({**line, "category": entry.category}, lambda: documented_names(entry))
            )
        except UsageError as error:
            raise AdapterError(
                AdapterTrouble.NOT_RECORDED, f"{self.path}: unreadable line for {entry.id}: {error}"
            ) from None
        transcript.model, transcript.repeat = self.spec, repeat
        for turn, messages in zip(transcript.turns, entry.question, strict=False):
            turn.messages = list(messages)
        return transcript

    async def generate(self, request: Request) -> Reply:
        """One recorded reply, for callers that hold the conversation themselves."""
        transcript = self.transcript_for(request.entry, request.repeat)
        turns = transcript.turns if transcript is not None else []
        if request.turn < len(turns) and request.step < len(turns[request.turn].steps):
            return turns[request.turn].steps[request.step].reply
        raise AdapterError(
            AdapterTrouble.NOT_RECORDED,
            f"{self.path}: {request.entry.id} has no turn {request.turn}, step {request.step}",
        )

    async def aclose(self) -> None:
        """Nothing to release."""


_ANSWERS = ("output", "trajectory", "outcome")
"""Fields of which a replay line has one; errors and skipped entries of a run only have their outcome."""


def _path_and_model(spec: ModelSpec) -> tuple[Path, str | None]:
    if not spec.name:
        raise UsageError("replay needs a path: replay:PATH")
    path = Path(spec.name).expanduser()
    if path.exists():
        return path, None
    head, _, model = spec.name.partition("#")
    if Path(head).expanduser().exists():
        return Path(head).expanduser(), model
    raise UsageError(f"nothing to replay: {path} does not exist")


def _read(path: Path, settings: Settings, dataset: DataSet | None) -> list[Line]:
    from pytest_bfcl.runs.lines import LeftOut
    from pytest_bfcl.runs.replay_lines import read_replay_lines

    if path.is_file() and path.suffix != ".gz" and (whole := spread_json(path)):
        raise UsageError(f"{path}: {whole}")
    left_out = LeftOut()
    lines = [dict(line) for line in read_replay_lines(path, left_out, settings.decoder, settings.names, dataset)]
    if not lines:
        raise UsageError("; ".join([f"{path} holds no replay line", *left_out.sentences()]))
    for told in left_out.sentences():
        warnings.warn(f"{told} (not replayed)", stacklevel=2)
    if not any(name in line for line in lines for name in _ANSWERS):
        raise UsageError(f"{path} holds no replay line: none has output or trajectory")
    return lines


def _of_model(lines: list[Line], chosen: str | None, path: Path) -> list[Line]:
    models = sorted({str(line["model"]) for line in lines if line.get("model")})
    if chosen is not None:
        kept = [line for line in lines if line.get("model") in (chosen, f"{chosen}@{line.get('mode')}")]
        if not kept:
            raise UsageError(f"{path} has no model {chosen!r}; it has: {', '.join(models) or 'none named'}")
        return kept
    if len({_without_mode(model) for model in models}) > 1:
        raise UsageError(f"{path} holds several models: select one with replay:{path}#MODEL: {', '.join(models)}")
    return lines


def _documented(line: Mapping[str, Any], dataset: DataSet | None) -> list[str]:
    from pytest_bfcl.runs.readings import documented_names
    from pytest_bfcl.runs.replay_lines import offered_names

    return documented_names(line) or ([] if dataset is None else offered_names(dataset, str(line.get("id"))))


def _proved_mode(line: Line, told: Mode | None) -> Mode | None:
    """The mode of a line without one, ``None`` if unknown."""
    from pytest_bfcl.runs.replay_lines import transcript_from_line

    try:
        return transcript_from_line(line, told).mode
    except UsageError:  # told when the entry is asked
        return None


def _mode(lines: list[Line], mode: Mode | None, path: Path) -> Mode:
    recorded = {line["mode"] for line in lines if line.get("mode") is not None}
    if mode is not None:
        if recorded and mode not in recorded:
            raise UsageError(f"{path} holds no replies in mode {mode}")
        return mode
    if len(recorded) > 1:
        raise UsageError(f"{path} holds both modes: select one with replay:{path}@fc or replay:{path}@prompt")
    if not recorded:
        raise UsageError(
            f"{path}: the mode of its texts is not known: write replay:{path}@fc, "
            f'replay:{path}@prompt, or "mode" in its lines'
        )
    return cast(Mode, recorded.pop())


def _name(lines: list[Line], mode: Mode, path: Path) -> str:
    """The recorded model's name, or one made from the file's name."""
    named = [str(line["model"]) for line in lines if line.get("model")]
    stem = re.sub(r"\.jsonl(\.gz)?$", "", path.name)
    return f"{_without_mode(named[-1]) if named else f'replay:{stem}'}@{mode}"


def _without_mode(model: str) -> str:
    return model.removesuffix("@fc").removesuffix("@prompt")


def _by_key(lines: list[Line], path: Path) -> dict[tuple[str, int], Line]:
    found: dict[tuple[str, int], Line] = {}
    repeated: list[str] = []
    for line in lines:
        key = (line["id"], line.get("repeat") or 1)
        if key in found:
            repeated.append(line["id"])
        found[key] = line
    if repeated:
        warnings.warn(
            f"{path}: {len(repeated)} repeated ids, the last line of each counts (first: {repeated[0]})", stacklevel=2
        )
    return found


def _raise_recorded_error(line: Mapping[str, Any]) -> None:
    from pytest_bfcl.runs.replay_lines import is_unanswered

    if line.get("outcome") != "error" or not is_unanswered(line):
        return
    prefix, _, kind = str(line.get("reason")).partition(":")
    said = (line.get("detail") or {}).get("error")
    kind = kind if prefix == "adapter" and kind else AdapterTrouble.NOT_RECORDED
    raise AdapterError(kind, f"{line.get('id')}: recorded as an error without output: {said or line.get('reason')}")
