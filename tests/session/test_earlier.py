"""What earlier parts of a run settled, and what the rest would ask and cost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import ModelFingerprint
from pytest_bfcl.scoring.aggregate import OVERALL, categories_in
from pytest_bfcl.session.contender import Contender
from pytest_bfcl.session.earlier import DoneKey, EarlierParts, done_key, plan_trials, server_facts
from pytest_bfcl.session.estimate import LOOKED_AT, REPLY_TOKENS, cost_lines, estimate_lines, estimates, skips_ahead
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.session.trial import Trial, expected_requests
from pytest_bfcl.settings import Price, Settings
from tests.plugin.conftest import question, write_lines
from tests.runs.samples import fingerprint
from tests.scoring.samples import line

STAGE, QUESTION = "memory_kv_prereq_0-student-0", "memory_kv_0-student-0"


def trial(spec: str = "openai:a@fc", repeat: int = 1) -> Trial:
    data = open_data("bundled")
    return Trial.of(data.entry(QUESTION), Contender.of_spec(parse_spec(spec), Settings()), data, repeat)


def parts(*settled: DoneKey, errored: tuple[DoneKey, ...] = (), twice: tuple[str, ...] = ()) -> EarlierParts:
    return EarlierParts(None, frozenset(settled), frozenset(errored), {"openai:a": "fc"}, frozenset(twice))


def key(entry_id: str, model: str = "openai:a", repeat: int = 1) -> DoneKey:
    return DoneKey(entry_id, model, repeat)


def test_a_verdict_is_that_of_entry_model_and_repeat_whatever_the_mode() -> None:
    found = parts(key(QUESTION), key(QUESTION, "openai:b", 2))
    assert found.is_settled(trial())
    assert found.is_settled(trial("openai:a@prompt")), "auto was settled otherwise in between"
    assert not found.is_settled(trial(repeat=2))
    assert not found.is_settled(trial("openai:b@fc"))
    assert found.is_settled(trial("openai:b@fc", repeat=2))
    assert not parts(key(STAGE)).is_settled(trial())
    assert found.settled_ids == {QUESTION}


def test_a_model_in_both_modes_is_two() -> None:
    found = parts(key(QUESTION, "openai:a@fc"), twice=("openai:a",))
    assert found.is_settled(trial())
    assert not found.is_settled(trial("openai:a@prompt"))


@pytest.mark.parametrize(
    ("settled", "errored", "needed"),
    [
        ((), (), True),
        ((QUESTION,), (), False),
        ((STAGE,), (), False),
        ((STAGE, QUESTION), (), False),
        ((QUESTION,), (STAGE,), True),
        ((), (STAGE,), True),
    ],
)
def test_a_write_stage_runs_before_a_question_that_runs_or_when_it_failed(settled, errored, needed) -> None:
    found = parts(*map(key, settled), errored=tuple(map(key, errored)))
    asked, data = trial(), open_data("bundled")
    planned = plan_trials(
        [asked, asked], found, lambda question, stage: Trial.of(data.entry(stage), question.contender, data)
    )
    names = [each.entry_id for each in planned]
    assert (STAGE in names, QUESTION in names) == (needed, QUESTION not in settled)
    assert names == [*dict.fromkeys(names)], "each once"
    assert names.index(QUESTION) == len(names) - 1 if QUESTION in names else True


def test_lines_of_the_journal_and_what_a_worker_is_told() -> None:
    found = parts(key(QUESTION), key(STAGE, repeat=2), errored=(key(STAGE),))
    assert found.is_settled_line({"id": QUESTION, "model": "openai:a@prompt"})
    assert found.is_settled_line({"id": STAGE, "model": "openai:a@fc", "repeat": 2})
    assert not found.is_settled_line({"id": STAGE, "model": "openai:a@fc"})
    assert not found.is_settled_line({"id": QUESTION, "model": None})


@pytest.mark.parametrize(("told", "facts"), [
    (None, {}), ([], {}), ({}, {"None": {}}), ({"server": "s", "a": 1}, {"s": {"a": "1"}}),
])  # fmt: skip
def test_facts_of_servers_are_texts(told: object, facts: object) -> None:
    assert server_facts(told) == facts
    assert done_key("a", "free name", 1, ()) == key("a", "free name:")


def stored(path: Path, specs: tuple[str, ...], lines: list[tuple[str, str, str, int]]) -> Path:
    """A run directory with result lines: id, model, outcome, repeat."""
    models = tuple(ModelFingerprint(spec, spec.partition("@")[2]) for spec in specs)
    with RunDirectory.create(path, fingerprint(models=models)) as run:
        for entry_id, model, outcome, repeat in lines:
            made = line(entry_id, "simple_python", outcome, model=model, mode=model.partition("@")[2], repeat=repeat)
            made["extra"] = {"served_by": {"server": "shop", "tools": entry_id}}
            run.append(made)  # type: ignore[arg-type]
    return path


def test_what_a_run_directory_tells(tmp_path: Path) -> None:
    assert EarlierParts.read(None) == EarlierParts.read(tmp_path / "absent") == EarlierParts()
    (tmp_path / "other").mkdir()
    assert EarlierParts.read(tmp_path / "other") == EarlierParts()
    outcomes = [("simple_python_0", "passed", 1), ("simple_python_1", "failed", 1), ("simple_python_2", "error", 1),
                ("simple_python_3", "skipped", 1), ("simple_python_0", "error", 2)]  # fmt: skip
    one = stored(tmp_path / "one", ("openai:a@prompt",), [(i, "openai:a@prompt", o, r) for i, o, r in outcomes])
    found = EarlierParts.read(one)
    assert found.settled == {key("simple_python_0"), key("simple_python_1")}
    assert found.errored == {key("simple_python_2"), key("simple_python_0", repeat=2)}
    assert (found.modes, found.twice) == ({"openai:a": "prompt"}, frozenset())
    assert found.served == {"shop": {"tools": "simple_python_1"}}, "the last one with a verdict"
    specs = ("openai:a@fc", "openai:a@prompt", "openai:b@fc")
    assert EarlierParts.from_dict(json.loads(json.dumps(found.to_dict()))) == replace(found, fingerprint=None)
    both = stored(tmp_path / "both", specs, [("simple_python_0", spec, "passed", 1) for spec in specs])
    found = EarlierParts.read(both)
    assert found.twice == {"openai:a"}
    models = ("openai:a@fc", "openai:a@prompt", "openai:b")
    assert found.settled == {key("simple_python_0", model) for model in models}


def test_damage_is_told_and_another_measurement_refused(tmp_path: Path) -> None:
    path = stored(tmp_path / "run", ("openai:a@fc",), [("simple_python_0", "openai:a@fc", "passed", 1)])
    with (path / "results.jsonl").open("a") as file:
        file.write("broken\n")
    told: list[str] = []
    found = EarlierParts.read(path, told.append)
    assert EarlierParts.read(path).settled == found.settled == {key("simple_python_0")}
    assert [text.endswith("its entry runs again") for text in told] == [True]
    now = fingerprint(models=(ModelFingerprint("openai:a@fc", "fc"),))
    found.refuse_other(now, path)
    EarlierParts().refuse_other(now, path)
    with pytest.raises(UsageError, match="it measured something else"):
        found.refuse_other(replace(now, dataset_sha256="cd" * 32), path)


PRICED = Settings(price=Price(1.0, 10.0))


def trials(data: DataSet, category: str, settings: Settings = PRICED, spec: str = "openai:a") -> list[Trial]:
    contender = Contender.of_spec(parse_spec(spec), settings)
    return [Trial.of(ref, contender, data) for ref in data.index(category)]


def size(entry: dict) -> float:
    return len(json.dumps([entry["question"][:1], entry["function"]])) / 4


@pytest.mark.parametrize("category", ["simple_python", "multi_turn_base"])
def test_later_requests_of_a_conversation_carry_what_was_said(category: str) -> None:
    asked = trials(open_data("bundled"), category)
    (found,) = estimates(asked)
    requests = expected_requests(category)
    assert (found.model, found.entries, found.calls) == ("openai:a", len(asked), requests * len(asked))
    assert found.output_tokens == found.calls * REPLY_TOKENS
    sizes = [size({"question": each.question, "function": each.function}) for each in (one.load() for one in asked)]
    looked = sizes[:: max(1, len(asked) // LOOKED_AT)]
    mean = sum(looked) / len(looked)
    assert found.input_tokens == pytest.approx(found.calls * (mean + (requests - 1) * REPLY_TOKENS))
    assert found.usd == pytest.approx((round(found.input_tokens) + 10 * round(found.output_tokens)) / 1e6)


def test_of_many_entries_some_are_looked_at_and_a_broken_one_sends_nothing(tmp_path: Path) -> None:
    """Every second one of forty: those in between may be of any size."""
    entries = [question(f"simple_python_{n}", "x" * (4000 if n % 2 else 1)) for n in range(2 * LOOKED_AT)]
    write_lines(
        tmp_path / "simple_python.jsonl", [*entries[:-2], question("simple_python_98", function=5), entries[-1]]
    )
    (found,) = estimates(trials(open_data(tmp_path), "simple_python"))
    assert found.input_tokens == pytest.approx(2 * LOOKED_AT * size(entries[0]))
    write_lines(tmp_path / "broken" / "simple_python.jsonl", [question("simple_python_0", function=5)])
    (nothing,) = estimates(trials(open_data(tmp_path / "broken"), "simple_python"))
    assert nothing.input_tokens == 0


def test_overall_is_claimed_of_all_its_categories() -> None:
    official: Any = SimpleNamespace(official=True)
    needed = [*categories_in(OVERALL)]
    assert list(skips_ahead(needed, lambda category: None, official)) == []
    assert len(list(skips_ahead(needed[1:], lambda category: None, official))) == 1


def test_models_are_told_apart_and_money_where_it_is_known(tmp_path: Path) -> None:
    write_lines(tmp_path / "simple_python.jsonl", [question("simple_python_0")])
    write_lines(tmp_path / "multiple.jsonl", [question("multiple_0"), question("multiple_1")])
    data = open_data(tmp_path)
    asked = [*trials(data, "simple_python"), *trials(data, "multiple"), *trials(data, "multiple", Settings(), "vllm:b")]
    priced, free = estimates(asked)
    assert (priced.model, priced.entries, free.model, free.entries, free.usd) == ("openai:a", 3, "vllm:b", 2, None)
    shown = list(estimate_lines(asked))
    assert shown[0].endswith(" out, about 0.00 USD; nothing was sent")
    assert shown[1].endswith(" out, no price known (--bfcl-price IN,OUT); nothing was sent")
    (costs,) = cost_lines(asked)
    assert costs.startswith("estimated: 3 entries with openai:a, about 3 requests, ")
    assert not list(cost_lines(trials(data, "multiple", Settings(price=Price(0.0, 0.0)))))
