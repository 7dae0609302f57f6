"""The Runner by itself: several contenders, somebody else's event loop, draining, earlier parts, broken-off lines."""

from __future__ import annotations

import asyncio
import json
import pickle
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.conversation.lookahead import RunStopped
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.endpoints.breaker import Breaker
from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.models import Request, ToolsRefused, parse_spec
from pytest_bfcl.session.contender import Contender
from pytest_bfcl.session.earlier import errored_record
from pytest_bfcl.session.evaluation import open_data, run, score_lines
from pytest_bfcl.session.outside import Outside, Store
from pytest_bfcl.session.proof import PlayedAlone, Proofs
from pytest_bfcl.session.runner import STOPPING, Runner
from pytest_bfcl.session.trial import Trial
from pytest_bfcl.settings import FIRST_PACED, Price, Settings
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn
from tests.plugin.conftest import call, question, write_lines

from .conftest import Answering

SETTINGS = Settings(concurrency=2, retries=0)


@pytest.fixture
def data(tmp_path: Path) -> DataSet:
    write_lines(tmp_path / "bench" / "simple_python.jsonl", [question(f"simple_python_{n}") for n in range(6)])
    return open_data(tmp_path / "bench")


def trials(data: DataSet, *contenders: Contender) -> list[Trial]:
    return [Trial.of(ref, each, data) for ref in data.index("simple_python") for each in contenders]


async def lines_of(data: DataSet, *contenders: Contender, **options: Any) -> list[Any]:
    """The lines of all trials of a runner, up to where it stops."""
    runner, found = Runner(data, contenders, SETTINGS, **options), []
    try:
        async for line in runner.records(trials(data, *contenders)):
            found.append(line)
    except RunStopped as stopped:
        found.append({"outcome": stopped.reason})
    await runner.aclose()
    return found


def test_several_contenders_in_one_runner_in_a_loop_of_somebody_else(data: DataSet) -> None:
    models = [Answering("own:first@fc"), Answering("own:second@fc")]
    contenders = [Contender.of_adapter(model, SETTINGS) for model in models]

    async def main() -> list[tuple[str, str]]:
        runner = Runner(data, contenders, pickle.loads(pickle.dumps(SETTINGS)))
        asked = trials(data, *contenders)
        await runner.plan(asked)
        records = [await runner.record(trial) for trial in asked]
        await runner.aclose()
        assert {record["outcome"] for record in records} == {"passed"}
        return [(record["id"], record["model"]) for record in records]

    found = asyncio.run(main())
    assert found == [(f"simple_python_{n}", model.spec) for n in range(6) for model in models]
    assert [len(model.asked) for model in models] == [6, 6]
    assert all(model.closed for model in models)


def test_an_entry_is_parsed_once_until_it_is_discarded(data: DataSet) -> None:
    contender = Contender.of_adapter(Answering(), SETTINGS)
    runner, (trial, *_) = Runner(data, [contender], SETTINGS), trials(data, contender)
    first = runner.entry(trial)
    assert runner.entry(trial) is first
    runner.discard(trial)
    assert runner.entry(trial) is not first


def test_what_is_paid_for_is_kept_when_the_budget_is_spent(data: DataSet, tmp_path: Path) -> None:
    settings = replace(SETTINGS, budget_usd=0.5, price=Price(1000.0, 1000.0))
    model = Answering(seconds=0.05)

    async def main() -> str:
        runner = Runner(data, [Contender.of_adapter(model, settings)], settings, Store(tmp_path / "run"))
        (contender,) = runner.contenders
        asked = trials(data, contender)
        await runner.plan(asked)
        await runner.record(asked[0])
        with pytest.raises(RunStopped) as stopped:
            for trial in asked[1:]:
                await runner.record(trial)
        await runner.end_conversations()
        assert getattr(runner.store.journal, "ended", None) == STOPPING, "nothing more is sent"
        await runner.aclose()
        return stopped.value.reason

    assert "budget of 0.5 USD reached" in asyncio.run(main())
    journal = (tmp_path / "run" / "journal" / "main.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in journal] == model.asked  # every request that was sent


def test_only_what_is_paid_for_is_waited_for(data: DataSet, tmp_path: Path) -> None:
    async def main() -> object:
        contender = Contender.of_adapter(Answering(), SETTINGS)
        runner = Runner(data, [contender], SETTINGS, Store(tmp_path / "run"))
        await runner.record(trials(data, contender)[0])
        await runner.end_conversations()
        return getattr(runner.store.journal, "ended", "no journal"), contender.ended

    assert asyncio.run(main()) == (None, None)


@pytest.mark.parametrize(("halted", "lines"), [("the disk is full", 1), (None, 6)])
def test_an_error_ends_the_lines_only_where_the_run_has_to_stop(data: DataSet, halted: str | None, lines: int) -> None:
    model = Answering(broken=range(6))
    contender = Contender.of_adapter(model, SETTINGS)
    found = asyncio.run(lines_of(data, contender, halted=lambda: halted if model.asked else None))
    assert [line["outcome"] for line in found] == ["error"] * lines + [halted] * (halted is not None)


@pytest.mark.parametrize(
    ("kind", "begun", "found"),
    [
        ("storage", False, ["error", "full"]),
        ("stopped", False, ["full"]),
        ("stopped", True, ["error"] * 6),
        ("data", False, ["error"] * 6),
    ],
)
def test_what_cannot_be_kept_or_begun_ends_the_lines(
    data: DataSet, kind: str, begun: bool, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if begun:
        monkeypatch.setattr("pytest_bfcl.conversation.engine._broken_off", lambda said: said)

    class Full(Answering):
        async def generate(self, request: Request) -> Reply:
            raise HarnessError(kind, "full")

    lines = asyncio.run(lines_of(data, Contender.of_adapter(Full(), SETTINGS)))
    assert [line["outcome"] for line in lines] == found


def test_a_broken_off_conversation_keeps_its_replies_and_is_never_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "multi_turn_base.jsonl").open().readline())
    write_lines(tmp_path / "bench" / "multi_turn_base.jsonl", [entry])
    script = tmp_path / "script.json"
    script.write_text(json.dumps({entry["id"]: ["All done.", {"error": "server", "message": "gone"}]}))
    (line,) = run(tmp_path / "bench", f"scripted:{script}", out=tmp_path / "run", settings=SETTINGS).records
    assert (line["outcome"], line["output"][0], line["incomplete"]) == ("error", ["All done."], True)
    again = run(tmp_path / "bench", f"replay:{tmp_path / 'run'}", settings=SETTINGS)
    assert [(each["outcome"], each["reason"]) for each in again.records] == [("error", "adapter:server")]
    (scored,) = score_lines([line], open_data(tmp_path / "bench"))
    assert scored == {"id": entry["id"], "error": "line 1: adapter:server ended the conversation: send it again"}
    assert main(["score", str(tmp_path / "run"), "--data", str(tmp_path / "bench"), "-o", str(tmp_path / "v")]) == 1
    assert "adapter:server" in capsys.readouterr().err


@pytest.mark.parametrize(("tokens", "usd"), [(1_000, 0.001), (None, None)])
def test_what_was_answered_before_an_error_is_paid_for(data: DataSet, tokens: int | None, usd: float | None) -> None:
    error = AdapterError("server", "gone")
    if tokens:
        said = Step(Reply("half", input_tokens=tokens))
        error.transcript = Transcript("simple_python_0", "simple_python", turns=[Turn(steps=[said])])
    contender = Contender.of_spec(parse_spec("own:m@fc"), Settings(price=Price(1.0, 1.0)))
    assert errored_record(trials(data, contender)[0], error, rules="official")["cost_usd"] == usd


class Refused(Answering):
    """A model that its endpoint refuses, as its own breaker finds."""

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.breaker = Breaker("http://here/v1")

    async def generate(self, request: Request) -> Reply:
        self.breaker.check()
        error = AdapterError("auth", "no access to this model", status=401)
        self.breaker.failure(error)
        raise error


def test_one_broken_model_at_an_address_stops_that_model_only(data: DataSet) -> None:
    models = [Refused("own:broken@fc"), Answering("own:fine@fc")]
    contenders = [Contender.of_adapter(model, SETTINGS) for model in models]
    notes: list[str] = []
    lines = asyncio.run(lines_of(data, *contenders, note=notes.append))
    found = {model.spec: [line["outcome"] for line in lines if line["model"] == model.spec] for model in models}
    assert found == {"own:broken@fc": ["error"] * 6, "own:fine@fc": ["passed"] * 6}
    assert len([note for note in notes if "own:broken@fc is asked no more" in note and "http://here/v1" in note]) == 1
    assert [each.users_trouble.calm for each in contenders] == [False, True]
    for place in (0, 1):
        users = [Answering("own:a@fc"), Answering("own:b@fc")]
        contenders = [Contender.of_adapter(model, SETTINGS) for model in users]
        contenders[place].users_trouble.reason = "it is gone"
        assert "not sent: it is gone" in asyncio.run(lines_of(data, *contenders))[place]["detail"]["error"]
        assert [len(model.asked) for model in users] == [6 * place, 6 - 6 * place]
    gone: list[Any] = [SimpleNamespace(label=name, broken=lambda why=why: why) for name, why in (("a", "x"), ("b", ""))]
    for told in (gone, gone[:1]):  # a model alone ends the run, which says why
        notes.clear()
        runner = Runner(data, told, SETTINGS, note=notes.append)
        for contender in (*told, *told):
            runner._leave(contender)
        assert notes == ["a is asked no more, other models go on: x"][: len(told) - 1]
    alone = asyncio.run(lines_of(data, Contender.of_adapter(Refused("own:broken@fc"), SETTINGS)))
    assert "refused the key" in alone[-1]["outcome"]


def test_conversations_need_no_plan(data: DataSet) -> None:
    """A transcript or a line on its own; nothing is there to take, discard, end or hurry before one is asked for."""

    async def work() -> tuple[Any, ...]:
        contender = Contender.of_adapter(Answering(), SETTINGS)
        runner = Runner(data, [contender], SETTINGS)
        first, second, third = trials(data, contender)[:3]
        runner.hurry()
        runner.discard(first)
        await runner.end_conversations()
        found = runner.take(first), await runner.transcript(first), await runner.record(second), await runner.ask(third)
        runner.hurry()
        await runner.aclose()
        return found

    taken, transcript, line, asked = asyncio.run(work())
    assert (taken, transcript.entry_id, line["id"], asked.entry_id) == (None, *(f"simple_python_{n}" for n in range(3)))


@pytest.mark.parametrize("specs", [["replay:a"], ["replay:a", "oracle:@fc"], ["replay:a", "replay:b"]])
def test_a_category_runs_if_one_model_can_run_it(specs: list[str], tmp_path: Path) -> None:
    for name, entry_id in (("a", "parallel_1"), ("b", "multiple_1")):
        line = {"id": entry_id, "output": "[f()]", "mode": "prompt"}
        (tmp_path / name).write_text(json.dumps(line) + "\n", encoding="utf-8")
    texts = [text.replace("replay:", f"replay:{tmp_path}/") for text in specs]
    bundled = open_data("bundled")
    contenders = [Contender.of_spec(parse_spec(text), SETTINGS, data=bundled) for text in texts]
    runner = Runner(bundled, contenders, SETTINGS)
    for category in ("parallel", "multiple", "irrelevance"):
        each = [runner.skip_reason(category, bundled, contender) for contender in contenders]
        assert runner.skip_reason(category, bundled) == (each[0] if all(each) else None)
    assert "holds no answer of its category" in str(runner.skip_reason("multiple", bundled, contenders[0]))
    assert runner.skip_reason("parallel", bundled, contenders[0]) is None


def test_a_model_that_refuses_tools_is_told_of_once_and_goes_on_in_prompting_mode(data: DataSet) -> None:
    class Refusing(Answering):
        async def generate(self, request: Request) -> Reply:
            if self.mode == "fc":
                raise ToolsRefused("no tools here", status=400)
            return Reply(text="[get_weather(city='Oslo')]")

    def make(mode: Any) -> Refusing:
        return Refusing(f"own:first@{mode or 'fc'}", mode=mode or "fc")

    notes: list[str] = []
    told: list[Contender] = []
    for on_switch in (told.append, None):
        contender = Contender("own:first", make, mode="fc", spec=parse_spec("own:first"), switches=True)
        lines = asyncio.run(lines_of(data, contender, note=notes.append, on_switch=on_switch))
        assert [(line["mode"], line["outcome"]) for line in lines] == [("prompt", "passed")] * 6
    (said,) = {note for note in notes if "refuses tools" in note}
    assert said == "own:first refuses tools (no tools here): the whole run is asked in prompting mode"
    assert [each.spec for each in told] == [parse_spec("own:first")]
    asked = Contender("own:first", make, mode="fc", spec=parse_spec("own:first"), switches=True)
    skips = Runner(data, [asked], SETTINGS)._skips
    assert "calls written as text" in str(skips["format_sensitivity", data, asked])
    asked.refused(ToolsRefused("no tools here", status=400))
    assert skips["format_sensitivity", data, asked] is None


def test_only_what_is_measured_is_proved_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that an adversary could pass, for models that are judged; never for an oracle's own answers."""
    asked: list[str] = []

    async def require(self: Any, entry: Any, texts: Any, search: Any) -> None:
        asked.append(entry.id)

    async def seen(entry: Any, model: Any, **more: Any) -> Transcript:
        return Transcript(entry.id, entry.category)

    monkeypatch.setattr(Proofs, "require", require)
    monkeypatch.setattr("pytest_bfcl.session.runner.converse", seen)
    bundled = open_data("bundled")
    measured = Contender.of_adapter(Answering(), SETTINGS)
    oracle = Contender.of_spec(parse_spec("oracle:@fc"), SETTINGS, data=bundled)
    runner = Runner(bundled, [measured, oracle], SETTINGS)
    plain, at_risk = bundled.entry("simple_python_1"), bundled.entry("multi_turn_base_0")
    allowed = at_risk.model_copy(update={"id": "multi_turn_base_9", "allows": ["idle"]})
    for entry in (plain, at_risk, allowed, at_risk.model_copy(update={"id": "x", "official": True})):
        for contender in (measured, oracle):
            asyncio.run(runner.hold(Trial.of(entry, contender, bundled)))
    assert asked == ["multi_turn_base_0"]


@pytest.mark.parametrize(
    ("paced", "asked", "highest", "process", "refused", "told"),
    [
        (True, True, 3, "main", 0, "came to 4 requests in flight (at most 3, bound 9)"),
        (True, True, 3, "gw1", 2, "came to 4 requests in flight in process gw1 (at most 3, bound 9, 2 refused)"),
        (True, True, 0, "main", 0, None), (False, True, 3, "main", 0, None), (True, False, 3, "main", 0, None),
    ],
)  # fmt: skip
def test_the_number_of_requests_that_was_found_is_told(
    paced: bool, asked: bool, highest: int, process: str, refused: int, told: str | None, data: DataSet
) -> None:
    async def aclose() -> None:
        notes.append("closed")

    notes: list[str] = []
    pace = SimpleNamespace(refused=refused, limit=4, most=9)
    contender: Any = SimpleNamespace(
        label="m", has_adapter=asked, gate=SimpleNamespace(highest=highest, pace=pace), take_notes=lambda: ["a note"],
        aclose=aclose,
    )  # fmt: skip
    runner = Runner(data, [contender], replace(SETTINGS, paced=paced), Store(process=process), note=notes.append)
    runner.outside.close = lambda: notes.append("all closed")  # type: ignore[method-assign]
    asyncio.run(runner.aclose())
    assert notes == ["a note", *([f"m: --bfcl-concurrency auto {told}"] if told else []), "closed", "all closed"]


def test_only_what_can_be_made_anew_is_played_alone(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []

    async def check(self: Any, entry: Any, transcript: Any, model: Any, play: Any) -> None:
        checked.append(model.spec)

    class Fresh(Answering):
        def fresh(self) -> Any:
            return self

    monkeypatch.setattr(PlayedAlone, "check", check)
    notes: list[str] = []
    for model, note in ((Answering("own:old@fc"), None), (Fresh("own:fresh@fc"), notes.append)):
        model.notes = ["one parameter is left out"]  # type: ignore[attr-defined]
        contender = Contender.of_adapter(model, SETTINGS)
        asyncio.run(Runner(data, [contender], SETTINGS, note=note).hold(trials(data, contender)[0]))
    assert checked == ["own:fresh@fc"]
    assert notes == ["one parameter is left out"], "at once, not at the end"


def test_a_search_provider_at_hand_serves_the_web_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_bfcl.session.outside.skip_reason", lambda *asked, stored: f"{asked[0]}: {stored}")
    bundled, recorded = open_data("bundled"), Answering()
    recorded.transcript_for = lambda entry: None  # type: ignore[attr-defined]
    for given, model, there in (
        (None, Answering(), [False, False]),
        (object(), Answering(), [True, False]),
        (None, recorded, [True, True]),  # which asks no service
    ):
        outside, contender = Outside(SETTINGS, Store(), given), Contender.of_adapter(model, SETTINGS)
        told = [outside.skip_reason(name, bundled, contender) for name in ("web_search_base", "rest")]
        assert told == [f"web_search_base: {there[0]}", f"rest: {there[1]}"]


def test_broken_data_says_where_to_mend_it(data: DataSet) -> None:
    contender, ref = Contender.of_adapter(Answering(), SETTINGS), data.index("simple_python")[0]
    runner = Runner(data, [contender], SETTINGS)
    broken = data.load(ref).model_copy(update={"possible_answer": [None]})
    said = Transcript(broken.id, broken.category, mode="fc", turns=[Turn(steps=[Step(Reply.from_output(call()))])])
    for trial, advice in (
        (Trial.of(ref, contender, data), f"fix {ref.path}, line {ref.line}"),
        (Trial.of(broken, contender, data), None),
    ):
        runner._entries[trial.key] = broken
        line = runner.judged(trial, said)
        assert (line["reason"], line["detail"].get("advice")) == ("harness:data", advice)


def test_what_a_conversation_reaches_depends_on_its_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[list[str]] = []

    async def seen(entry: Any, model: Any, **more: Any) -> Transcript:
        given.append([name for name in ("snapshots", "search", "services") if more[name] is not None])
        return Transcript(entry.id, entry.category)

    monkeypatch.setattr("pytest_bfcl.session.runner.converse", seen)
    bundled, recorded = open_data("bundled"), Answering()
    recorded.transcript_for = lambda entry: None  # type: ignore[attr-defined]
    for model in (Answering(), recorded):  # a recorded one searches nothing
        contender = Contender.of_adapter(model, SETTINGS)
        runner = Runner(bundled, [contender], SETTINGS)
        entries = [bundled.load(bundled.index(name)[0]) for name in ("simple_python", "memory_kv", "web_search_base")]
        for entry in (*entries, Entry(id="rest_1", category="rest", question=[])):
            official = entry.model_copy(update={"official": True})
            asyncio.run(runner.hold(Trial.of(official, contender, bundled)))
    assert given[:4] == [[], ["snapshots"], ["snapshots", "search"], ["services"]]
    assert given[4:] == [[], ["snapshots"], ["snapshots"], ["services"]]


@pytest.mark.parametrize(("gate", "most"), [(None, FIRST_PACED), ("its own", 3 * FIRST_PACED)])
def test_a_paced_model_without_a_limit_of_its_own_does_not_get_all_at_once(gate: object, most: int) -> None:
    settings, contender = Settings(paced=True, concurrency=99), SimpleNamespace(label="m", gate=gate)
    runner = Runner(None, [], settings)
    held: list[int] = []

    async def one() -> None:
        async with runner._place(contender):  # type: ignore[arg-type]
            held.append(1)
            await asyncio.sleep(60)

    async def all_of_them() -> None:
        waiting = [asyncio.ensure_future(one()) for _ in range(3 * FIRST_PACED)]
        await asyncio.sleep(0.01)
        for each in waiting:
            each.cancel()

    asyncio.run(all_of_them())
    assert len(held) == most


@pytest.mark.parametrize("paced", [True, False])
def test_only_paced_conversations_wait_for_a_place(paced: bool, data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Contender] = []
    monkeypatch.setattr(Runner, "_place", lambda self, contender: nullcontext(asked.append(contender)))
    contender = Contender.of_adapter(Answering(), SETTINGS)
    asyncio.run(Runner(data, [contender], replace(SETTINGS, paced=paced)).hold(trials(data, contender)[0]))
    assert len(asked) == paced


def test_what_cannot_be_judged_is_told_in_every_part_and_the_rest_once(tmp_path: Path) -> None:
    broken = {**question("simple_python_9"), "possible_answer": [{"nobody": {"x": [1]}}]}
    write_lines(tmp_path / "own.jsonl", [*(question(f"simple_python_{n}") for n in range(4)), broken])
    own = open_data(tmp_path / "own.jsonl")
    parts = [[line["id"] for line in run(own, ["oracle:"], shard=f"{n}/2").records] for n in (1, 2)]
    assert all("simple_python_9" in part for part in parts)
    assert sorted(parts[0] + parts[1]).count("simple_python_9") == 2
    assert {name for part in parts for name in part} == {f"simple_python_{n}" for n in (0, 1, 2, 3, 9)}
    assert len(parts[0]) == len(parts[1]) == 3
