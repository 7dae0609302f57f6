"""The parts of a run on a cluster that need neither Ray nor a model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.cluster.messages import (
    PIECE,
    SUSPICIOUS,
    Answered,
    Backlog,
    Ended,
    Joiner,
    Memory,
    Noted,
    Recorded,
    Unit,
    WorkerConfig,
    environment_of,
    pieces,
    units_of,
)
from pytest_bfcl.extensions.cluster.remote_runner import shares_of
from pytest_bfcl.extensions.cluster.store import RunStore
from pytest_bfcl.models import parse_spec
from pytest_bfcl.runs.journal import ReplyKey, journal_line
from pytest_bfcl.session.contender import Contender
from pytest_bfcl.session.earlier import DoneKey, EarlierParts, plan_trials
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.session.trial import Trial
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply

DATA = open_data("bundled")
MODELS = [Contender.of_spec(parse_spec(spec), Settings(), data=DATA) for spec in ("oracle:@fc", "lexical:@fc")]


def trials(*categories: str, repeats: int = 1) -> list[Trial]:
    chosen = [ref for name in categories for ref in DATA.index(name)]
    every = (Trial.of(ref, m, DATA, repeat) for repeat in range(1, repeats + 1) for ref in chosen for m in MODELS)
    return list(plan_trials(every, EarlierParts(), lambda q, s: Trial.of(DATA.find(s), q.contender, DATA, q.repeat)))


def test_events_arrive_whole_in_pieces_that_ray_hands_over_directly() -> None:
    key = DoneKey("a", "m", 1)
    events = [Noted("one"), Answered(key, b"x" * (3 * PIECE)), Memory("m", 1, "kv", "s", "e", {"a": [1]}), Ended()]
    told = pieces(events)
    assert len(told) == 4
    assert max(map(len, told)) <= PIECE + 1
    joiner = Joiner()
    assert [joiner.events(piece) for piece in told] == [[], [], [], events]
    assert joiner.events(pieces([Ended()])[0]) == [Ended()]
    assert joiner.events(b"") == []


def test_a_memory_scenario_is_one_unit_with_its_stages_first() -> None:
    planned = trials("simple_java", "memory_kv", repeats=2)
    units = units_of(planned)
    assert sorted(number for unit in units for number in unit.trials) == list(range(len(planned)))
    chains = [unit for unit in units if unit.chained]
    scenarios = {ref.id.rpartition("_")[2].split("-")[1] for ref in DATA.index("memory_kv")}
    assert len(chains) == 2 * 2 * len(scenarios)
    for unit in chains:
        assert len({(t.contender.label, t.repeat) for t in unit.trials.values()}) == 1
        seen: set[str] = set()
        for trial in unit.trials.values():
            assert set(trial.depends_on) <= seen
            seen.add(trial.entry_id)
    assert all(len(unit.trials) == 1 for unit in units if not unit.chained)


def test_a_failed_stage_runs_again_when_its_questions_have_to() -> None:
    (unit, *_) = [unit for unit in units_of(trials("memory_kv")) if unit.chained]
    numbers = list(unit.trials)
    stages = [number for number in numbers if unit.trials[number].category.endswith("_prereq")]
    questions = [number for number in numbers if number not in stages]
    unit.over(stages[0], "error")
    assert list(unit.again()) == numbers
    for number in stages[1:]:
        unit.over(number, "passed")
    assert list(unit.again()) == [stages[0], *questions]
    for number in questions:
        unit.over(number, "failed")
    assert unit.again() == {}


def test_the_backlog_gives_what_takes_longest_first_and_scenarios_to_their_slot() -> None:
    units = units_of(trials("simple_java", "multi_turn_base", "memory_kv"))
    backlog = Backlog(units, 2)
    chains = sum(unit.chained for unit in units)
    given = {0: [], 1: []}
    for slot in (0, 1):
        while (unit := backlog.next(slot, room=0, busy=bool(given[slot]))) is not None:
            given[slot].append(unit)
    assert all(unit.chained for slot in given.values() for unit in slot)
    assert sorted(map(len, given.values())) == [chains // 2, chains - chains // 2]
    singles = [backlog.next(0, room=9, busy=True) for _ in range(len(backlog))]
    weights = [unit.weight for unit in singles]
    assert weights == sorted(weights, reverse=True)
    assert backlog.next(0, room=9, busy=False) is None
    backlog.give_back([given[1][0]], 1)  # its slot has no actor: another may take it, if it has nothing else
    assert backlog.next(0, room=9, busy=False) is None
    assert backlog.next(0, room=9, busy=True, vacant=[1]) is None
    assert backlog.next(0, room=9, busy=False, vacant=[1]) is given[1][0]


def test_what_may_have_ended_actors_is_given_alone_and_last() -> None:
    planned = trials("simple_java")
    units = [Unit({number: trial}) for number, trial in enumerate(planned[:4])]
    backlog = Backlog(units[:1], 1)
    units[1].losses = units[2].losses = SUSPICIOUS
    backlog.give_back(units[1:], 0)
    order = []
    while len(backlog):
        assert backlog.next(0, room=1, busy=True) is None if backlog._singles[0].suspicious else True
        order.append(backlog.next(0, room=1, busy=False))
    assert order == [units[3], units[0], units[2], units[1]]


@pytest.mark.parametrize(("concurrency", "size", "shares"), [(32, 3, [11, 11, 10]), (2, 2, [1, 1]), (1, 1, [1])])
def test_concurrency_is_divided(concurrency: int, size: int, shares: list[int]) -> None:
    assert shares_of(concurrency, size) == shares
    assert sum(shares) == concurrency


def line_for(trial: Trial, text: str) -> bytes:
    key = ReplyKey(trial.contender.identity.model, "fc", trial.entry_id, trial.repeat, 0, 0, "0" * 64)
    return journal_line(key, Reply(text=text))


def test_the_store_hands_back_every_reply_of_trials_without_a_line(tmp_path: Path) -> None:
    one, two, *_ = trials("simple_java")
    (tmp_path / "journal").mkdir()
    earlier = [line_for(one, "earlier"), line_for(two, "of a settled trial"), b'{"id": 7}\n', b'{"torn']
    (tmp_path / "journal" / "gw0.jsonl").write_bytes(b"".join(earlier))
    notes: list[str] = []
    told: list[Any] = []
    store = RunStore(tmp_path, (), notes.append, told.append)
    store.read({store.key(one)})
    assert len(notes) == 2
    assert all("gw0.jsonl:" in note and "asked for again" in note for note in notes)
    store.keep(Answered(store.key(one), line_for(one, "now")))
    assert [(each["event"], each["id"], each["step"]) for each in told] == [("answered", one.entry_id, 0)]
    assert [json.loads(line)["reply"]["text"] for line in store.replies(one)] == ["earlier", "now"]
    assert store.replies(two) == ()
    assert (tmp_path / "journal" / "main.jsonl").read_bytes() == line_for(one, "now")
    store.settle(one)
    assert store.replies(one) == ()


def test_the_store_writes_recordings_and_nothing_else(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "run", (), print)
    store.keep(Recorded("web/ray-0.jsonl", b'{"call": 1}\n'))
    for name in (
        "../web/x.jsonl",
        "web/../../x.jsonl",
        "journal/main.jsonl",
        "results.jsonl",
        "web/x.html",
        "web/.x.jsonl",
    ):
        store.keep(Recorded(name, b"x\n"))
    store.close()
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["ray-0.jsonl"]
    assert store.archives() == {"web/ray-0.jsonl": b'{"call": 1}\n'}


def test_memories_are_kept_for_the_next_actor(tmp_path: Path) -> None:
    questions = [trial for trial in trials("memory_kv") if not trial.category.endswith("_prereq")][:1]
    (stage, *_) = questions[0].depends_on
    for path in (None, tmp_path):
        store = RunStore(path, (), print)
        assert store.memories(questions) == []
        store.keep(Memory("oracle:@fc", 1, "kv", "student", stage, {"core": [1]}))
        (memory,) = store.memories(questions)
        assert (memory.entry_id, memory.content) == (stage, {"core": [1]})


def test_only_the_keys_that_are_needed_travel_and_no_text_shows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY", "AWS_SECRET_ACCESS_KEY", "SECRET_OF_OTHERS"):
        monkeypatch.setenv(name, "secret-0123456789")
    assert set(environment_of([parse_spec("openai:gpt-4o")])) == {"OPENAI_API_KEY"}
    assert set(environment_of([parse_spec("litellm:groq/x"), parse_spec("bedrock:y")])) == {
        "GROQ_API_KEY", "AWS_SECRET_ACCESS_KEY",
    }  # fmt: skip
    settings = replace(Settings(), headers={"X-Team": "secret-0123456789"})
    config = WorkerConfig("p", "1", DATA, "0", False, [], settings.to_dict(), frozenset(),
                    environment_of([parse_spec("openai:x")]))  # fmt: skip
    assert "secret" not in repr(config)
