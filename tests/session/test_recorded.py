"""What runs come to, what they would cost and how their models are asked, over many settings, as recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.models.callable import as_model
from pytest_bfcl.rescoring import open_data
from pytest_bfcl.scoring.gating import GateOptions
from pytest_bfcl.session import proof, runner, serving
from pytest_bfcl.session.contender import Contender, UsersModelTrouble, check_contenders, variant_label
from pytest_bfcl.session.estimate import cost_lines, estimate_lines, skip_lines, skips_ahead
from pytest_bfcl.session.evaluation import dry_run, judged_record, run
from pytest_bfcl.session.serving import (
    FoundServer,
    Settings,
    name_models,
    named_spec,
    needs_a_name,
    only_model,
    suggested_parser,
)
from pytest_bfcl.session.trial import Trial, expected_requests
from pytest_bfcl.settings import Price
from pytest_bfcl.transcript import OtherReading, Reply, Step, Transcript, Turn
from pytest_bfcl.troubles import AdapterTrouble
from tests.extensions.own.recorded_logs import ABOUT, SCHEMA
from tests.recorded import same_as_recorded, tried

HERE = Path(__file__).parent / "recorded"
DATA = open_data("bundled")
ORACLE = "oracle:@fc"


async def right(request: Any) -> Any:
    """Answers a third of the entries wrongly, and one not at all."""
    number = int(request.entry.id.rpartition("_")[2].split("-")[0])
    if number == 5:
        raise AdapterError(AdapterTrouble.SERVER, "down", advice="wait")
    answer = (request.entry.possible_answer or [{}])[0]
    calls = [{"name": name,
    "arguments": json.dumps({key: values[0] for key, values in accepted.items() if values[0] != ""})}
             for name, accepted in answer.items()] if isinstance(answer, dict) else []  # fmt: skip
    output = "no" if number % 3 == 2 else calls
    return Reply.from_output(output, input_tokens=100, output_tokens=10, latency_s=0.5, finish_reason="stop")


def told(line: Any) -> Any:
    """What of a line does not change from run to run."""
    names = ("id", "model", "mode", "repeat", "outcome", "tag", "reason", "corrected_outcome", "corrected_rules",
    "cost_usd",
             "call_form", "unreviewed", "trained_on", "verified_outcome", "incomplete", "input_tokens")  # fmt: skip
    found = {name: line[name] for name in names if line.get(name) not in (None, [])}
    detail = {name: value for name, value in line["detail"].items() if name in ("error", "advice", "turn", "ending")}
    return [*found.values(), detail, sorted(line["extra"]), sorted(line.get("facts") or ())]


SPLIT: Any = {
    "name": "half",
    "sha256": "e" * 64,
    "part": "test",
    "data": {"name": "bundled", "version": "", "sha256": DATA.sha256},
    "ids": ["simple_python_1", "simple_python_2"],
}
PICKED: dict[str, Any] = {"categories": ["simple_python"]}
RUNS: dict[str, tuple[Any, dict[str, Any], Settings]] = {
    "plain": (right, PICKED, Settings()),
    "two models": ([right, ORACLE], PICKED | {"sample": 4}, Settings(repeat=2)),
    "prompt": ("oracle:@prompt",
    {"categories": ["simple_java", "parallel", "irrelevance", "live_relevance"], "sample": 9}, Settings()),
    "price": (right, PICKED, Settings(price=Price(10, 20))),
    "budget": (right, PICKED, Settings(price=Price(1000, 2000), budget_usd=0.5, concurrency=1)),
    "free budget": (right, PICKED, Settings(budget_usd=0.5)),
    "shard": (ORACLE, PICKED | {"shard": "2/3"}, Settings()),
    "shard of repeats": (ORACLE, PICKED | {"shard": (1, 4), "sample": 6}, Settings(repeat=2)),
    "wrong shard": (ORACLE, PICKED | {"shard": "4/3"}, Settings()),
    "ids": (ORACLE, {"ids": ["multi_turn_base_0", "parallel_1"]}, Settings(step_limit=5)),
    "unknown id": (ORACLE, {"ids": ["nothing_1"]}, Settings()),
    "nothing": (ORACLE, {"ids": []}, Settings()),
    "same twice": ([ORACLE, ORACLE], PICKED, Settings()),
    "none": ([], PICKED, Settings()),
    "both modes": (["oracle:@fc", "oracle:@prompt"], PICKED | {"sample": 2}, Settings()),
    "corrected": (right, PICKED, Settings(rules="corrected")),
    "memory": (ORACLE, {"categories": ["memory_kv"], "sample": 2}, Settings()),
    "web": (ORACLE, {"categories": ["web_search"], "sample": 3}, Settings()),
    "skipped": (ORACLE, {"categories": ["rest", "chatable"], "sample": 4}, Settings(search="replay")),
    "split": (right, PICKED, Settings(split=SPLIT)),
    "trained": (right, PICKED, Settings(trained_on=SPLIT)),
    "transforms": (ORACLE, PICKED | {"sample": 2}, Settings(transforms=("shuffled_tools",))),
    "gate met": (ORACLE, PICKED | {"gates": GateOptions(["simple_python=50"])}, Settings()),
    "gate missed": (right, PICKED | {"gates": GateOptions(["simple_python=99"], max_errors=50.0)}, Settings()),
    "gate out of reach": (right, PICKED | {"gates": GateOptions(["overall=9"])}, Settings()),
    "too few": (right, PICKED | {"gates": GateOptions(min_entries=500)}, Settings()),
    "expected": (right, PICKED | {"gates": GateOptions(expected=[])}, Settings()),
    "errors allowed": (right, PICKED | {"gates": GateOptions(max_errors=0.0)}, Settings()),
    "by the hour": (right, PICKED | {"sample": 3}, Settings(gpu_hour_usd=9.0)),
    "information": (ORACLE,
    PICKED | {"sample": 2, "model_info": {"models": {ORACLE: {"name": "O", "input_price": 1, "output_price": 2}}}},
                    Settings()),
    "wrong information": (ORACLE, PICKED | {"model_info": {"models": {ORACLE: {"nam": 1}}}}, Settings()),
    "board": (ORACLE, PICKED, Settings(board="none.csv")),
    "sink": (ORACLE, PICKED, Settings(sinks=("nothing_like_it",))),
}  # fmt: skip


@pytest.mark.parametrize("stored", [True, False])
def test_runs(stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines, notes, counts, gates and exit codes; stored runs once more, with nothing left to do."""
    monkeypatch.chdir(tmp_path)

    def rows() -> Iterator[Any]:
        for name, (model, options, settings) in RUNS.items():
            folder = name.replace(" ", "_") if stored else None
            if model is right or (isinstance(model, list) and right in model):
                model = (
                    as_model(right, "own:right", mode="fc")
                    if model is right
                    else [as_model(right, "own:right", mode="fc"), ORACLE]
                )
            said: list[str] = []
            settings = replace(settings, retries=0)
            dry = tried(dry_run, "bundled", model, out=folder, settings=settings, precision=5.0, **options)
            if not isinstance(dry, str):
                dry = [dry.lines, dry.problems, dry.settled, [str(each) for each in dry.estimates]]
            yield [name, dry]
            for _ in range(1 + stored):
                found = tried(run, "bundled", model, out=folder, settings=settings, said=said.append, **options)
                if isinstance(found, str):
                    yield [name, found, Path(folder or "none").exists()]
                    continue
                came_to = (found.stopped, found.notes, found.problems, found.skips, found.exit_code, found.counts)
                yield [name, *came_to, said]
                checks = [[each["name"], each["ok"]] for each in found.summary["gate"]["checks"]]
                facts, costs = found.fingerprint, [each["cost_usd"] for each in found.summary["models"].values()]
                by_machine = found.summary.get("machine_cost_usd", 0) > 0
                yield [name, facts.state, facts.planned, facts.selection, checks, costs, by_machine]
                yield [name, [told(line) for line in found.records]]

    same_as_recorded(HERE / f"runs_{'stored' if stored else 'held'}.jsonl", rows())


def test_lines_of_conversations() -> None:
    """What a line says beyond the verdict: verified data, another reading, calls by form, facts of a failure."""
    entry = DATA.entry("simple_python_1")
    (answer,) = entry.possible_answer or ()
    ((name, accepted),) = answer.items()
    calls = [{"name": name, "arguments": json.dumps({key: each[0] for key, each in accepted.items() if each[0] != ""})}]
    other = {name: {key: ["else"] for key in accepted}}
    verified = {"same": entry, "other": entry.model_copy(update={"possible_answer": [other]}), "excluded": "excluded",
                "nothing": None}  # fmt: skip
    outputs: dict[str, Any] = {"right": calls, "wrong": [{**calls[0], "arguments": "{}"}], "text": "no",
                               "unknown": [*calls, {"name": "fly", "arguments": "{"}]}  # fmt: skip
    served = Entry.model_validate({**OWN, "id": "mcp_0", "category": "mcp", "mcp": "a", "expect": EXPECTED[3]})
    held = entry.model_copy(update={"function": [], "missed_function": {1: entry.function}})

    def line(entry: Entry, output: Any, rules: str = "official", **values: Any) -> Any:
        reply = Reply.from_output(output, finish_reason="stop")
        turns = [Turn(steps=[Step(reply)])]
        talk = Transcript(entry.id, entry.category, mode="fc", turns=turns, **values)
        found = judged_record(entry, talk, rules=rules, price=Price(1, 1), model=as_model(right, "own:x", mode="fc"))
        return [*told(found), found.get("facts"), found.get("other_reading"), found["model"]]

    def rows() -> Iterator[Any]:
        for (how, twin), (said, output), rules in product(verified.items(), outputs.items(), ("official", "corrected")):
            yield [how, said, rules, line(entry.model_copy(update={"verified": twin}), output, rules)]
        yield line(entry, calls, inference_error="Error during inference: 5")
        for mode, by in (("fc", "leaderboard"), ("prompt", "evidence")):
            yield line(entry, calls, other_reading=OtherReading(by, mode, underscore_names=False))  # type: ignore[arg-type]
        yield line(held, calls)
        yield line(entry.model_copy(update={"function": [], "verified": "excluded"}), calls)
        for functions in ([], [ABOUT]):
            for called in ("find-order", "find_order", "fly"):
                output = [{"name": called, "arguments": '{"number": 1}'}]
                yield [called, line(served, output, functions=functions)]

    same_as_recorded(HERE / "lines.jsonl", rows())


# -- people's own entries --------------------------------------------------------------------------------------------

OWN: dict[str, Any] = {
    "id": "order_0", "category": "recorded", "dialect": "json-schema",
    "question": [[{"role": "user", "content": "Where is 1? And the order 2?"}]],
    "function": [{**ABOUT, "parameters": SCHEMA}],
    "results": [{"call": "find-order", "arguments": {"number": 1}, "result": "packed"},
                {"call": "find_order", "arguments": {"number": 2}, "result": "sent"}],
    "possible_answer": [["find_order(number=1)", "find_order(number=2)"]],
}  # fmt: skip
EXPECTED: list[list[dict[str, Any]]] = [
    [{"answer": "packed"}], [{"answer": "Where"}], [{"called": "find-order"}],
    [{"called": "find-order", "count": 2}, {"answer": "sent"}],
    [{"not_called": "find-order"}], [{"exact": ["find-order", "find-order"]}], [{"answer": "lost"}], [{"max_calls": 5}],
    [{"said": True, "matches": "sent"}], [{"called": "fly"}], [{"subset": []}],
    [{"attempted": "find_order", "arguments": {"number": 1}}],
]  # fmt: skip


def test_own_entries_are_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which entries measure less than they say, and what is told of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path / "cache"))

    def rows() -> Iterator[Any]:
        changes: list[dict[str, Any]] = [{}, {"possible_answer": None},
        {"possible_answer": [["find_order(number=3)"]]}, {"possible_answer": [[]]},
                                         {"allows": ["idle", "parrot", "every"]}, {"reviewed": False},
                                         {"reviewed": True}]  # fmt: skip
        for number, expect in enumerate(EXPECTED):
            for place, change in enumerate(changes):
                entry = {**OWN, "id": f"order_{number}-{place}", "expect": expect, **change}
                Path("own.jsonl").write_text(json.dumps({k: v for k, v in entry.items() if v is not None}) + "\n")
                model = as_model(lambda request: "packed and sent", "own:x", mode="fc")
                found = tried(run, "own.jsonl", model, settings=Settings())
                if isinstance(found, str):
                    yield [entry["id"], found]
                    continue
                lines = [told(line) for line in found.records]
                yield [entry["id"], found.notes, found.problems, found.exit_code, lines]
        settings = Settings(mcp={"a": "python server.py", "b": "https://host/mcp", "c": "http://localhost:1/mcp",
        "d": "run --token=abc",
                                 "e": "API_KEY=x run"})  # fmt: skip
        for name in settings.mcp:
            entry = Entry.model_validate({**OWN, "category": "mcp", "mcp": name, "expect": EXPECTED[3]})
            played = list(proof.to_be_played(entry, settings))
            yield [name, proof.is_spared(entry, settings), played, proof.is_at_risk(entry)]
        yield [proof.unearned_text(["idle", "every"]), proof.spared_text("a")]
        yield [
            proof.wrong_truth_text("r", detail, how)
            for how in ("", "h")
            for detail in ({}, {"error": "e" * 300}, {"rule": "x", "param": "p", "expected": "y" * 200})
        ]

    same_as_recorded(HERE / "own.jsonl", rows())


# -- the parts -------------------------------------------------------------------------------------------------------

SPECS = ["openai:m", "openai:m@fc", "openai:m@prompt", "anthropic:claude-sonnet-4-0", "oracle:", "adversary:idle@fc",
"lexical:@prompt",
         "vllm:Qwen/Qwen3-8B", "ollama:x@fc", "auto:", "vllm:", "nonsense:x", "openai", "openai:m@fcc"]  # fmt: skip


def test_contenders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    settings = [Settings(), Settings(mode="prompt"), Settings(mode="auto", price=Price(1, 2), budget_usd=3.0),
                Settings(decoder="hermes", models={"openai:m": {"decoder": "qwen-fc"}})]  # fmt: skip

    def facts(spec: str, each: Settings, settled: Any, share: int) -> Any:
        one = Contender.of_spec(parse_spec(spec), each, data=DATA, settled=settled, budget_share=share)
        return [one.label, one.identity, one.mode, one.stored, one.is_measured, one.switches, one.price,
        one.budget.limit_usd,
                one.has_adapter, one.spent(), one.stop_reason(), one.trouble(), one.gate is None, one.read_as,
                one.take_notes(),
                one.take_notes(), tried(one.check_key), variant_label(one, 2, several=True),
                variant_label(one, 1, several=share > 1)]  # fmt: skip

    def rows() -> Iterator[Any]:
        for spec in SPECS:
            yield from (
                [spec, tried(facts, spec, each, settled, share)]
                for each in settings
                for settled, share in ((None, 1), ("prompt", 3))
            )
        both = [
            Contender.of_spec(parse_spec(spec), settings[0], data=DATA)
            for spec in ("oracle:@fc", "oracle:@prompt", "oracle:")
        ]
        yield [tried(check_contenders, both[:2], settings[0]), tried(check_contenders, both, settings[0])]
        unpriced, priced = both[:1], [Contender.of_spec(parse_spec("openai:m"), settings[2], data=DATA)]
        yield [tried(check_contenders, each, settings[2]) for each in (unpriced, priced)]
        trouble = UsersModelTrouble()
        fixture, server = AdapterTrouble.FIXTURE, AdapterTrouble.SERVER
        errors = [AdapterError(kind, said) for kind, said in ((fixture, "a"), (fixture, "b"), (server, "a"))]
        for step in (0, 0, 0, 0, 1, 2, 1, 1, 1, 1, 1, 1):
            trouble.failed(errors[step])
            yield [step, trouble.reason, trouble.calm]
        calm = UsersModelTrouble()
        calm.answered()
        for number in range(26):
            calm.failed(errors[0])
            yield [number, calm.reason]

    same_as_recorded(HERE / "contenders.jsonl", rows())


ENGINES = ("VLLM", "SGLANG", "OLLAMA", "OPENAI", "LMSTUDIO", "LLAMACPP")
SERVERS = [
    FoundServer("http://127.0.0.1:8000/v1", "vLLM", ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-FP8")),
    FoundServer("http://x/v1", "Ollama", ("a",)),
]


def test_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which model a name means among those that are served."""
    for name in ENGINES:
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)

    def rows() -> Iterator[Any]:
        many = [FoundServer("u", "s", tuple(f"m{n}" for n in range(9)))]
        for servers in ([], SERVERS[:1], SERVERS[1:], SERVERS, many):
            yield [tried(only_model, servers, name) for name in ("", "qwen", "Qwen/Qwen3-8B", "A", "zzz", "m")]
        yield [needs_a_name(parse_spec(spec)) for spec in ("auto:", "auto:x", "vllm:", "vllm:x", "openai:x")]
        yield [
            tried(named_spec, parse_spec(spec), "http://127.0.0.1:1/v1", {})
            for spec in ("openai:x", "vllm:", "auto:", "auto:m")
        ]
        yield [tried(named_spec, parse_spec(spec), None, {}) for spec in ("auto:", "auto:m")]
        yield [tried(name_models, models, Settings())[0] for models in (["openai:x"], ["oracle:"])]
        yield tried(name_models, ["vllm:"], Settings(serve=""))[0]
        yield [
            [suggested_parser(engine, model) for engine in ("vllm", "sglang", "llamacpp")]
            for model in ("Qwen/Qwen3-8B", "x", "gpt-oss-120b")
        ]

    same_as_recorded(HERE / "servers.jsonl", rows())


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which address a spec without a name is asked at, beside variables and the user's own."""
    asked: list[Any] = []

    def answer(url: str, usual: str, key: str | None = None) -> FoundServer:
        asked.append((url, usual, key))
        return FoundServer(url, usual, ("served",))

    monkeypatch.setattr(serving, "ask_server", answer)
    variables = ["VLLM_API_KEY", *(f"{name}_BASE_URL" for name in ENGINES)]

    def rows() -> Iterator[Any]:
        vllm = {"VLLM_BASE_URL": "http://v:8000/v1/", "VLLM_API_KEY": " k "}
        for named in ({}, vllm, {"OPENAI_BASE_URL": "http://o/v1"}):
            for name in variables:
                monkeypatch.delenv(name, raising=False)
            for name, value in named.items():
                monkeypatch.setenv(name, value)
            for spec, url in product(
                ("vllm:", "ollama:", "auto:", "auto:serv", "auto:x", "vllm:x"), (None, "http://given:30000/v1")
            ):
                asked.clear()
                found = tried(named_spec, parse_spec(spec), url, {8000: "vLLM", 1234: "LM Studio"})
                yield [named, spec, url, found, sorted(map(str, asked))]

    same_as_recorded(HERE / "addresses.jsonl", rows())


@pytest.mark.parametrize(("paced", "models", "wanted"), [(False, 1, 7), (False, 2, 7), (True, 1, 7), (True, 2, 14)])
@pytest.mark.parametrize("said", ["", "too little room"])
def test_room_for_conversations(
    paced: bool, models: int, wanted: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each model that finds its own number of requests has the whole bound."""
    asked: list[int] = []
    notes: list[str] = []
    monkeypatch.setattr(runner, "room_for", lambda count: (asked.append(count) or count, said))
    settings, specs = Settings(concurrency=7, paced=paced), ("oracle:@fc", "oracle:@prompt")[:models]
    contenders = [Contender.of_spec(parse_spec(spec), settings, data=DATA) for spec in specs]

    async def planned() -> None:
        made = runner.Runner(DATA, contenders, settings, note=notes.append)
        await made.plan([])
        await made.aclose()

    asyncio.run(planned())
    assert (asked, notes) == ([wanted], [said] * bool(said))


def test_estimates_and_skips() -> None:
    contender = Contender.of_spec(parse_spec("openai:gpt-4o@fc"), Settings(price=Price(2, 8)), data=DATA)
    free = Contender.of_spec(parse_spec(ORACLE), Settings(), data=DATA)

    def rows() -> Iterator[Any]:
        for name in CATEGORIES:
            asked = product(DATA.index(name), (contender, free), (1, 2))
            trials = [Trial.of(ref, each, DATA, repeat) for ref, each, repeat in asked]
            requests = [expected_requests(name, turns) for turns in (None, 0, 3)]
            yield [name, list(cost_lines(trials)), list(estimate_lines(trials, 2.0)), requests]
            demands = [(trial, *trial.demands()) for trial in trials[:2]]
            yield [[trial.place is None, len(needs), cost, trial.depends_on] for trial, needs, cost in demands]
        entry = Trial.of(DATA.entry("multi_turn_base_0"), contender, DATA)
        yield [entry.place, entry.demands(), expected_requests("x"), str(entry.key)]
        yield [list(skip_lines(dict.fromkeys(map(str, range(number)), number))) for number in (0, 1, 10, 11, 13)]

        class Official:
            official = True

        scored = [name for name, row in CATEGORIES.items() if row.scored]
        for data in (DATA, Official):
            for names in ([], ["parallel"], scored, [*scored, *scored]):
                for why in (lambda name: None, lambda name: "no key" if name.startswith(("web", "par")) else None):
                    yield [list(skips_ahead(names, why, data, part=part)) for part in (False, True)]  # type: ignore[arg-type]

    same_as_recorded(HERE / "estimates.jsonl", rows())
