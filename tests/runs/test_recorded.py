"""Lines, folders, fingerprints and what two runs share, over many odd forms, as recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.failures import Verdict
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.runs import directory
from pytest_bfcl.runs.comparability import (
    MODEL,
    Comparability,
    Difference,
    Purpose,
    comparability,
    published_comparability,
)
from pytest_bfcl.runs.directory import RunDirectory, join_selections, missing_shards
from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint, clean_url
from pytest_bfcl.runs.journal import Requests
from pytest_bfcl.runs.lines import LeftOut
from pytest_bfcl.runs.official_layout import import_official, result_files, results_of
from pytest_bfcl.runs.readings import Readings
from pytest_bfcl.runs.replay_lines import (
    entry_from_line,
    is_unanswered,
    offered_names,
    read_replay_lines,
    transcript_from_line,
)  # fmt: skip
from pytest_bfcl.runs.results import (
    ResultsFile,
    StoredResults,
    conversation_fields,
    error_record,
    read_results,
    skipped_record,
)
from pytest_bfcl.settings import Price, Settings
from pytest_bfcl.transcript import Transcript
from tests.recorded import same_as_recorded, tried
from tests.runs.samples import SPEC, fingerprint, single

HERE = Path(__file__).parent / "recorded"
DATA = open_dataset("bundled")
HASH = "e" * 64
BASE = fingerprint(
    conditions={
        "step_limit": 20, "simulators": "own", "search": "auto", "rest": "auto", "repeat": 1, "seed": 0,
        "served": {"shop": {"name and version": "shop 1", "tools": "0a1b"}}, "mcp": {"shop": {"command": "c"}},
    },
    counted={SPEC: {"parallel": 1}}, state="finished", plugin_version="1.0", started_at="2026-01-01T00:00:00Z",
)  # fmt: skip
SPLIT = {"name": "half", "sha256": HASH, "part": "test", "entries": 3}


def model(**changes: Any) -> Parsed:
    return {"models": (replace(BASE.models[0], **changes),)}


def condition(**changes: Any) -> Parsed:
    return {"conditions": {**BASE.conditions, **changes}}


DEVIATIONS: list[Parsed] = [
    {}, {"dataset": "own", "dataset_sha256": HASH}, {"dataset_version": "2027"}, {"rules": "corrected"},
    {"rules_version": "9"},
    {"files": {"a.jsonl": HASH}}, {"profile": "openai 1"}, {"plugin_version": "9.9"}, condition(step_limit=3),
    condition(simulators="reference"), condition(templates={"t": "1"}), condition(own_simulators={"S": "1"}),
    condition(transforms={"wording": "1"}), condition(split=SPLIT), condition(trained_on=SPLIT),
    condition(repeat=3, seed=4),
    condition(served={"shop": {"name and version": "shop 2", "tools": "ffff"}}),
    condition(mcp={"shop": {"command": "d"}}),
    condition(search="serpapi"), condition(search="replay:x"), condition(rest="live"), {"archives": {"web": HASH}},
    {"archives": {"web": "d" * 64, "rest": HASH}, **condition(search="replay:x")},
    {"dataset": "bundled", "counted": {}},
    {"selection": {"sample": 60}}, {"selection": {"shard": "1/2"}}, {"selection": {"shard": ["1/2", "2/3"]}},
    {"selection": {"ids": [f"parallel_{n}" for n in range(7)]}}, {"selection": {"ids": "f", "last_failed": True}},
    {"selection": {"categories": [f"c{n}" for n in range(9)]}}, model(parameters={"temperature": 0.7, "top_k": 5}),
    model(parameters={}), model(mode="prompt", decoder="hermes", template="t", think="strip", reasoning="keep"),
    model(base_url="http://elsewhere", api="responses"), model(prompt_sha256=HASH, api="chat"), {"models": ()},
    {"models": (replace(BASE.models[0], model="openai:big@prompt", mode="prompt"),)},
    {"models": (replace(BASE.models[0], model="openai:big@fc"),)},
    {"models": (BASE.models[0], replace(BASE.models[0], model="openai:big@fc"))},
    {"counted": {SPEC: {"web_search_base": 1, "rest": 2}}, "dataset": "bundled"},
    {"counted": {SPEC: {"web_search_base": 1}}, "dataset": "bundled"},
    {"counted": {SPEC: {"rest": 2}}, "dataset": "bundled"},
    {"counted": {SPEC: {"simple_python": 2, "mine": 1}}, "dataset": "bundled"},
]  # fmt: skip


def test_what_two_runs_share() -> None:
    """Each deviation from one run for every purpose, and next to the others; the words of each run itself."""

    def rows() -> Iterator[Any]:
        for number, changes in enumerate(DEVIATIONS):
            other = replace(BASE, **changes)
            for purpose in Purpose:
                found = comparability(BASE, other, purpose)
                accepted = comparability(other, BASE, purpose, accept=(MODEL,))
                yield [number, purpose.name, found.sentence, found.listed(), accepted.sentence, found.same]
            board = published_comparability(other, "2026.3.23" if number % 2 else "")
            yield [number, board.sentence, other.short(), other.splits(), other.comparable]
            yield [number, *((other.uses(name), other.provider("search")) for name in ("web", "rest"))]
            next_one = replace(BASE, **DEVIATIONS[(number * 7 + 3) % len(DEVIATIONS)])
            yield [number, comparability(other, next_one, Purpose.MODELS).listed()]
            assert Fingerprint.from_dict(other.to_dict()) == other

    same_as_recorded(HERE / "comparability.jsonl", rows())


SETTINGS = [
    Settings(), Settings(mode="prompt", temperature=0.5, seed=3, repeat=2, rules="corrected", profile="p"),
    Settings(base_url="https://user:key@host:1/v1?x=1#y", headers={"X-B": "s", "A": "t"}, parameters={"top_p": 1}),
    Settings(system_prompt="Be brief.", stream=True, reasoning="keep", decoder="auto", think="strip", template="auto"),
    Settings(search="replay:none", rest="replay:none", names="dots", serve="", simulators="reference", step_limit=3),
    Settings(transforms=("wording",), rewordings={"mine": {"a": [[{"role": "user", "content": "x"}]]}}),
    Settings(mcp={"shop": "python server.py"},
    split={"name": "s", "sha256": HASH, "part": "test", "data": {}, "ids": ["a"]}),
    Settings(models={SPEC: {"api": "responses", "parameters": {"top_k": 1}}}, price=Price(1, 2)),
]  # fmt: skip


class OwnData:
    """What a fingerprint asks of a data set."""

    name, version, sha256, own = "mine", "", "ab", True
    templates = {"t": "1"}
    file_digests = {"a.jsonl": "c"}


class Joint:
    """Several data sets at once, which say less."""

    name, version, sha256, templates, file_digests = "mine", "", "ab", OwnData.templates, OwnData.file_digests


def test_only_own_entries_have_own_simulators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_bfcl.simulators.source_digests", lambda *names: {"S": "1"})
    found = [Fingerprint.of(data, [(SPEC, "fc")], Settings(), {}, {}).conditions for data in (DATA, OwnData, Joint)]
    assert [each.get("own_simulators") or {} for each in found] == [{}, {"S": "1"}, {}]


def test_who_answers_the_tools_of_a_run() -> None:
    own = replace(Fingerprint.from_dict({}), counted={SPEC: {"web_search_base": 1}})
    official = replace(own, dataset="official")
    assert (own.provider("search"), official.provider("search")) == ("local", "live")
    assert [replace(own, conditions={"search": each}).provider("search") for each in ("serpapi", "none", "record")] == [
        "live", "none", "local"]  # fmt: skip
    assert (own.uses("web"), official.uses("web"), replace(own, counted={SPEC: {"parallel": 1}}).uses("web")) == (
        True, False, False)  # fmt: skip


@pytest.mark.parametrize(("search", "told"), [(None, False), ("local", False), ("serpapi", True), ("replay:x", True)])
def test_runs_that_asked_other_services_differ(search: str | None, told: bool) -> None:
    own = replace(BASE, dataset="bundled", counted={SPEC: {"web_search_base": 1}})
    other = replace(own, conditions={**BASE.conditions, "search": search})
    assert ("search: auto" in comparability(own, other, Purpose.MODELS).sentence) is told


@pytest.mark.parametrize(
    ("mine", "theirs", "names", "told"),
    [
        ("a", "b", "xy", "recorded web: a → b"), ("a", "b", "xx", "recorded web: a → b"),
        ("a", "", "xy", "search: replay:x → replay:y"), ("", "b", "xy", "search: replay:x → replay:y"),
    ],
)  # fmt: skip
def test_recordings_are_compared_where_both_have_one(mine: str, theirs: str, names: str, told: str) -> None:
    asked = replace(BASE, dataset="bundled", counted={SPEC: {"web_search_base": 1}})
    one, other = (
        replace(asked, archives={"web": kept} if kept else {}, **condition(search=f"replay:{name}"))
        for kept, name in zip((mine, theirs), names, strict=True)
    )
    assert told in comparability(one, other, Purpose.MODELS).sentence


@pytest.mark.parametrize(("count", "listed"), [(1, "0"), (4, "0 1 2 3"), (5, "0 1 2 also:_3,_4")])
def test_so_many_differences_are_listed(count: int, listed: str) -> None:
    """A message has at most five lines."""
    found = Comparability(tuple(Difference("test", str(number)) for number in range(count)), ())
    assert found.listed().splitlines() == [f"  {each}".replace("_", " ") for each in listed.split()]


def test_a_run_that_does_not_say_its_repeats_has_one() -> None:
    unsaid = {name: value for name, value in BASE.conditions.items() if name != "repeat"}
    assert comparability(replace(BASE, conditions=unsaid), BASE, Purpose.MODELS).same


def test_fingerprints() -> None:
    def rows() -> Iterator[Any]:
        for settings, data in product(SETTINGS, (DATA, OwnData)):
            chosen = {} if data is DATA else {"ids": ["a"]}
            found = Fingerprint.of(data, [(SPEC, "fc"), ("replay:x", "prompt")], settings, chosen, {SPEC: "mode fc"})
            facts = {**found.to_dict(), "started_at": "", "plugin_version": "", "short": ""}
            facts["conditions"].pop("own_simulators", None)  # those that other tests made
            assert facts["conditions"] is not found.conditions, "readers may change what they get"
            yield {**facts, "dataset": {**facts["dataset"], "version": "", "sha256": ""}}
            again = Fingerprint.from_dict(json.loads(json.dumps(found.to_dict())))
            assert again == found
        yield [clean_url(each) for each in (None, "", "http://a", "http://u:p@a:1/x?k=1#f", "x")]
        yield ModelFingerprint.from_dict({}).to_dict()
        begun = Fingerprint.from_dict({"started_at": "x", "state": "running"}).to_dict()
        yield {**begun, "short": "", "plugin_version": ""}

    same_as_recorded(HERE / "fingerprints.jsonl", rows())


# -- lines -----------------------------------------------------------------------------------------------------------

CALL = {"name": "f", "arguments": "{}"}
LINES = [
    row[0]
    for row in map(json.loads, (HERE / "replay_lines.jsonl").read_text(encoding="utf-8").splitlines())
    if isinstance(row[0], dict) and row[1] is None
]
"""Odd lines; a new one is added to the file by hand, ``[LINE, null, null]``, before it is recorded anew."""


def shown(transcript: Transcript) -> Any:
    """A transcript by the fields that lines can set."""
    nested = CATEGORIES[transcript.category].multi_step
    steps = [[step.calls, step.error] for step in transcript.steps]
    return [transcript.mode, transcript.model, transcript.repeat, transcript.extra, transcript.started_at, steps,
            conversation_fields(transcript, nested=nested)]  # fmt: skip


def test_replay_lines() -> None:
    def rows() -> Iterator[Any]:
        for line in LINES:
            for mode in (None, "fc", "prompt"):
                found = tried(transcript_from_line, line, mode)
                yield [line, mode, shown(found) if isinstance(found, Transcript) else found]
            facts = tried(entry_from_line, line)
            if facts is not None and not isinstance(facts, str):
                facts = [facts.category, facts.language, facts.return_format]
            yield [facts, is_unanswered(line), is_unanswered({**line, "outcome": "error"})]
        yield [offered_names(DATA, name) for name in ("parallel_1", "multi_turn_base_0", "none_1")]

    same_as_recorded(HERE / "replay_lines.jsonl", rows())


DOTTED = {"name": "math.add", "arguments": "{}"}
WIRED = {"name": "math_add", "arguments": "{}"}


@pytest.mark.parametrize("names", ["auto", "dots", "underscores"])
def test_readings(names: Any) -> None:
    """How native names are read where lines do not say it: by the caller, by what the calls prove."""
    said = [{"id": f"parallel_{n}", "output": output, "model": model, **more} for n,
    (output, model, more) in enumerate([
        ([DOTTED], "a", {}), ([WIRED], "a", {}), ([WIRED], "b", {}), ([WIRED], "a", {}), ([CALL], "c", {"proved": "p"}),
        ("text", "d@prompt", {}), ([DOTTED], "e", {"underscore_names": True}),
        ([DOTTED], "f", {"mode": "fc", "underscore_names": False}),
        ("text", "g", {}), ([5], "h", {}), ([DOTTED, WIRED], "i", {}), ([WIRED], "", {}),
    ])]  # fmt: skip

    def rows() -> Iterator[Any]:
        for mode, decoder, learns in product((None, "fc", "prompt"), (None, "hermes"), (True, False)):
            readings = Readings(mode, names, decoder)
            if learns:
                readings.learn(said[:7], lambda line: ["math.add", "sub"])
            for line in said:
                found = tried(readings.transcript, line, lambda: ["math.add", "sub"])
                how = found if isinstance(found, str) else [found.mode, found.underscore_names]
                yield [mode, decoder, learns, line["id"], how, readings.complete(line).get("underscore_names")]
            yield readings.sentences()

    same_as_recorded(HERE / f"readings_{names}.jsonl", rows())


def test_a_model_without_a_proof_in_the_first_lines_is_learnt_about_later() -> None:
    readings = Readings(None, "auto", None)
    readings.learn([{"id": "parallel_0", "model": "a", "output": [CALL]}], lambda line: ["f"])
    found = readings.transcript({"id": "parallel_1", "model": "a", "output": [WIRED]}, lambda: ["math.add"])
    assert found.underscore_names


def test_lines_that_say_all_are_not_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_bfcl.runs.readings.transcript_from_line", pytest.fail)
    Readings().learn([{"id": "parallel_0", "mode": "fc", "underscore_names": False, "output": [CALL]}], pytest.fail)


def test_a_model_that_spells_both_ways_proves_nothing() -> None:
    readings = Readings()
    readings.learn([{"id": "parallel_0", "model": "a", "output": [DOTTED, WIRED]}], lambda line: ["math.add"])
    line = {"id": "parallel_1", "model": "a", "output": [WIRED]}
    assert not readings.transcript(line, lambda: ["math.add"]).underscore_names


STORED = [
    json.dumps(single("parallel_1")), json.dumps(single("parallel_2", valid=False)), "", "{", "[]",
    '{"id": "parallel_3"}',
    json.dumps(single("parallel_1", valid=False)), json.dumps({**single("parallel_4"), "repeat": 0}), "{} trailing",
    json.dumps(single("parallel_5"))[:-30], json.dumps({**single("parallel_2"), "detail": []}), '{"id":"a\\ud800"}',
    "\xff",
]  # fmt: skip


def test_results_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last whole line of each key counts; damage is told where it stands."""
    monkeypatch.chdir(tmp_path)
    path = Path("results.jsonl")

    def rows() -> Iterator[Any]:
        for end in ("\n", ""):
            path.write_bytes("\n".join(STORED).encode("latin-1") + end.encode())
            for read in (partial(read_results, path), partial(StoredResults.of, path), ResultsFile(path).records):
                left = LeftOut()
                found = [(each["id"], each["outcome"]) for each in read(left)]
                yield [found, list(left.sentences()), list(map(str, left.lines)), len(left)]
            kept = StoredResults.of(path)
            second = tried(lambda kept=kept: kept[1]["id"])
            yield [len(kept), kept[0]["id"], kept[-1]["id"], [each["id"] for each in kept[1:]], second]
            yield tried(lambda: [each["id"] for each in read_replay_lines(path)])
            path.rename("other.jsonl")
            left = LeftOut()
            yield [[each["id"] for each in read_replay_lines(Path("other.jsonl"), left)], list(left.sentences())]
            Path("other.jsonl").unlink()
        yield tried(lambda: list(read_replay_lines(Path("none.jsonl"))))
        held = Transcript("parallel_1", "parallel", extra={"a": 1})
        more: Any = {"repeat": 2, "transcript": held, "cost_usd": 1.0, "worker": "w"}
        yield error_record("parallel_1", "parallel", SPEC, "fc", Verdict(False), **more)
        yield skipped_record("x", "parallel", SPEC, "fc", "no key", rules="corrected")

    same_as_recorded(HERE / "results.jsonl", rows())


# -- files ----------------------------------------------------------------------------------------------------------


def test_which_files_hold_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    RunDirectory.create(Path("run"), BASE).close()
    Path("run/results.jsonl").touch()
    files = {"a.jsonl": "x", "a.csv": "x", "a.txt": ' {"id": 1}', "a.zip": "", "a.jsonl.gz": "", "a": "x", "a.tar": ""}
    folders = {"t/BFCL_v4_parallel_result.json": "", "s/BFCL_v4_parallel_score.json": ""}
    for name, text in {**files, **folders}.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)

    def rows() -> Iterator[Any]:
        for name in (*files, "run/run.json", "run/results.jsonl"):
            overwritten = tried(directory.refuse_overwriting, Path(name), ["a.csv", "q"])
            yield [name, tried(directory.refuse_other_file, Path(name)), overwritten]
        yield [directory.no_run(Path(name), "otherwise") for name in ("t", "s", "run")]
        selections: list[Parsed] = [
            {}, {"shard": "1/2"}, {"shard": "2/2", "ids": ["a"]}, {"shard": ["1/3"], "last_failed": True},
            {"last_failed": True, "ids": ["b"]}, {"sample": 3},
        ]  # fmt: skip
        for one, two in product(selections, repeat=2):
            joined = join_selections(one, two)
            yield [one, two, joined, missing_shards(joined)]

    same_as_recorded(HERE / "files.jsonl", rows())


# -- official folders ------------------------------------------------------------------------------------------------

NATIVE = [{"f_x": '{"a": 1}'}]
FOLDERS: dict[str, dict[str, list[Any]]] = {
    "gpt-4o-2024-11-20-FC/BFCL_v4_parallel": {"results": [NATIVE, "text", [], [{"math_add": "{}"}]]},
    "gpt-4o-2024-11-20/BFCL_v4_parallel": {"results": ["[f()]", NATIVE, ["one", "two"]]},
    "unknown-FC/non_live/BFCL_v3_parallel": {"results": [NATIVE, "", [{"tool_name": "f", "parameters": {}}],
    [{"a": 1, "b": 2}]]},
    "unknown/BFCL_v4_parallel": {"results": ["[f()]", 5, None]},
    "text-FC/BFCL_v4_parallel": {"results": ['<tool_call>{"name": "f", "arguments": {}}</tool_call>']},
    "m/BFCL_v4_multi_turn_base": {"results": [[["f()", NATIVE], "x"], "Error during inference: no", [[]]]},
    "m/BFCL_v4_memory_kv": {"results": [["x"]]}, "m/BFCL_v4_nonsense": {"results": ["x"]},
    "m/gorilla_openfunctions_v1_test_parallel_function": {"results": ["x", "y"]},
    "mistral-large-2411-FC/BFCL_v4_parallel": {"results": [[{"math_add": "{}"}]]},
    "microsoft_Phi-4-mini-instruct-FC/BFCL_v4_parallel": {"results": [[{"math_add": "{}"}]]},
}  # fmt: skip


def test_official_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way to read a model's files: by its name, by its calls, as the caller says."""
    monkeypatch.chdir(tmp_path)
    for number, (place, held) in enumerate(FOLDERS.items()):
        path = Path(f"{number}", "result", f"{place}_result.json")
        path.parent.mkdir(parents=True)
        category = path.name.split("_", 2)[-1].removesuffix("_result.json").removeprefix("v1_test_")
        lines: list[Parsed] = [{"id": f"{category}_{n}", "result": result, "input_token_count": n, "latency": 0.5,
        "traceback": "t"}
                               for n, result in enumerate(held["results"])]  # fmt: skip
        if "gorilla" in place:
            lines = [{"result": "x"}, {"idx": 4, "result": "y"}, {"id": 5, "result": "z"}]
        path.write_text("\n".join([*map(json.dumps, lines), '{"result": "no id"}', "{"]))

    def rows() -> Iterator[Any]:
        asked: list[Parsed] = [{}, {"mode": "fc"}, {"mode": "prompt"}, {"underscore_names": True},
        {"underscore_names": False},
                               {"decoder": "auto"}, {"decoder": "hermes"}, {"decoder": "x"},
                               {"offered": lambda entry_id: ["math.add", "f.x"]}]  # fmt: skip
        for number, options in product(range(len(FOLDERS)), asked):
            left = LeftOut()
            found = tried(import_official, Path(f"{number}"), on_damaged=left, **options)
            yield [number, sorted(options), found, list(left.sentences())]
        yield [[str(path) for _, _, path in result_files(Path(name))] for name in ("0", "1/result", "a")]
        Path("0/score").mkdir()
        yield [str(results_of(Path(name))) for name in ("0", "0/score", "0/score/x", "a")]
        Path("s").mkdir()
        Path("s/data_overall.csv").touch()
        yield [tried(import_official, Path(name)) for name in ("s", "0/score")]

    same_as_recorded(HERE / "official.jsonl", rows())


def test_requests() -> None:
    """What each request says beyond those before it."""
    system = {"role": "system", "content": "s" * 5_000}
    user, answer = {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}
    tools = [{"name": "f"}]

    def rows() -> Iterator[Any]:
        requests = Requests("now")
        asked = [([system, user], tools), ([system, user, answer], tools), ([system, user, answer, user], []),
                 ([user], tools), ([user], [{"name": "f"}])]  # fmt: skip
        for messages, functions in asked:
            delta, digest = requests.delta(messages, functions), requests.digest(messages, functions, {"a": 1})
            yield [digest, delta.kept, len(delta.messages), [*delta.parts], delta.started_at]
        spelled = ({}, {"a": 1}, {"a": 1.0}, {"a": True}, {"a": [1]}, {"a": {1: 2}}, {"b": None, "a": "x"})
        yield [Requests(None).digest([user], tools, each) for each in spelled]
        user_says: list[Any] = [{"role": "user", "content": said} for said in (None, ["x"])]
        odd = [*user_says, {"role": 1, "content": "x"}, {"x": {1, 2}}]
        yield [Requests(None).digest([each]) for each in odd]

    same_as_recorded(HERE / "requests.jsonl", rows())


@pytest.mark.parametrize(
    ("name", "underscores"),
    [("api-math_add", True), ("math_add:0", True), ("api-math.add", False), ("add", False), ("math/add", False)],
)
def test_a_name_inside_another_proves_its_spelling_where_none_stands_alone(name: str, underscores: bool) -> None:
    readings = Readings()
    line = {"id": "parallel_0", "model": "a", "output": [{"name": name, "arguments": "{}"}], "mode": "fc"}
    assert readings.transcript(line, lambda: ["math.add"]).underscore_names == underscores
    assert readings.complete(line) == {**line, "underscore_names": underscores}
    assert readings.complete({**line, "mode": "prompt"}) == {**line, "mode": "prompt"}
