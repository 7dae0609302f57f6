"""Generated tasks: all are proved, planted bad ones are refused, and the same options give the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.own.validation import unprovable
from pytest_bfcl.extensions.training.generating.conditions import CONDITIONS
from pytest_bfcl.extensions.training.generating.domains import DOMAINS
from pytest_bfcl.extensions.training.generating.folder import JOURNAL, RECORD
from pytest_bfcl.extensions.training.generating.language import after, clean, reading, spoken
from pytest_bfcl.extensions.training.generating.making import PATTERN, Recipe, entry_of, filled
from pytest_bfcl.extensions.training.generating.policies import cheap, passes, solved
from pytest_bfcl.extensions.training.generating.proof import Facts, Unproved, proved
from pytest_bfcl.extensions.training.generating.reach import Heard
from pytest_bfcl.extensions.training.generating.rewording import Rewording, prompt_of
from pytest_bfcl.extensions.training.generating.single import proved_single
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.settings import Settings
from pytest_bfcl.simulators import simulator_class
from pytest_bfcl.training import tasks

TREE = {"orchard": {"type": "directory", "contents": {
    "crates": {"type": "directory", "contents": {}},
    "apples.txt": {"type": "file", "content": "\n".join(f"row {n}: {n * 3} apples" for n in range(1, 13))},
    "empty.txt": {"type": "file", "content": ""},
}}}  # fmt: skip
STOCKS = {"KELP": {"price": 41.75, "percent_change": 2.1, "volume": 0.8, "MA(5)": 40.9, "MA(20)": 39.2}}
BROKER = {"stocks": STOCKS, "orders": {}, "order_counter": 7, "authenticated": True, "market_status": "Open",
          "watch_list": [], "transaction_history": [], "random_seed": 4,
          "account_info": {"account_id": 1, "balance": 900.25, "binding_card": 5}}  # fmt: skip


def _said(*turns: str) -> list[Any]:
    return [[{"role": "user", "content": text}] if text else [] for text in turns]


def good() -> dict[str, Any]:
    """A hand-made entry that holds: a looked-up price is used, and a folder is renamed."""
    return {
        "question": _said(
            "What does KELP trade at today? Buy 5 shares of KELP at that price.",
            "Rename apples.txt to apples_2027.txt.",
        ),
        "initial_config": {"TradingBot": BROKER, "GorillaFileSystem": {"root": TREE}},
        "involved_classes": ["TradingBot", "GorillaFileSystem"],
        "possible_answer": [
            ["get_stock_info(symbol='KELP')", "place_order(order_type='Buy', symbol='KELP', price=41.75, amount=5)"],
            ["mv(source='apples.txt', destination='apples_2027.txt')"],
        ],
        "generated": {"kind": "plain"},
    }


def _prove(raw: dict[str, Any], category: str = "multi_turn_base") -> Facts:
    return proved(entry_of({"id": f"{category}_0", "category": category, **raw}))


def test_a_good_entry_is_proved_and_its_dependencies_are_counted() -> None:
    assert _prove(good()) == Facts(turns=2, calls=3, dependencies=1, depth=2, tools=38)


def _turn(turn: int, text: str, *calls: str) -> Callable[[dict[str, Any]], None]:
    def change(entry: dict[str, Any]) -> None:
        entry["question"][turn] = _said(text)[0]
        entry["possible_answer"][turn] = list(calls)

    return change


def _held_out(name: str, *calls: str) -> Callable[[dict[str, Any]], None]:
    def change(entry: dict[str, Any]) -> None:
        entry["question"].append([])
        entry["possible_answer"][1:] = [[], list(calls)]
        entry["missed_function"] = {"2": [name]}

    return change


def _missing(entry: dict[str, Any]) -> None:
    entry["question"].append(_said("As apples_2027.txt.")[0])
    entry["possible_answer"].insert(1, [])


def _condition(holds: bool, *first: str, other: str = "") -> Callable[[dict[str, Any]], None]:
    """The renaming as a condition that comes out once as told, and once the other way."""

    def change(entry: dict[str, Any]) -> None:
        told = {"turn": 1, "kind": "if_fails", "holds": holds, "first": [*first], "act": [other], "other": []}
        other_way = {"turn": 0, "kind": "unless", "holds": not holds, "first": entry["possible_answer"][0],
                     "act": [], "other": []}  # fmt: skip
        entry["possible_answer"][1] = [*first, *([other] if holds else [])]
        entry["generated"].update(kind="if_fails", conditions=[told, other_way])

    return change


BUY = "place_order(order_type='Buy', symbol='KELP', price=41.75, amount=5)"
MV = "mv(source='apples.txt', destination='apples_2027.txt')"
PLANTED: dict[str, dict[str, Callable[[dict[str, Any]], Any]]] = {
    "unreachable value": {
        "a value that nobody said": _turn(1, "Rename apples.txt.", MV),
        "another number than was said": _turn(0, "Buy 6 shares of KELP at 41.75.", BUY),
        "the price before it is looked up": lambda e: e["possible_answer"][0].reverse(),
        "a choice that the words do not tell": _turn(0, "Get me 5 of KELP at 41.75.", BUY.replace("Buy", "Sell")),
        "held out, but another one does it": _held_out("touch", "touch(file_name='new.txt')"),
        "an attempt that works where it is to fail": _condition(True, MV, other="rm(file_name='empty.txt')"),
        "an attempt that fails where it is to work": _condition(
            False, "mv(source='apples.txt', destination='empty.txt')"
        ),
    },
    "call fails": {
        "a call that fails": _turn(1, "Delete pears.txt.", "rm(file_name='pears.txt')"),
        "more turns than were said": lambda e: e["possible_answer"].append([MV]),
    },
    "tool not there": {
        "a function that is not there": _turn(1, "Erase it.", "erase()"),
        "held out and not called": _held_out("rm", MV),
        "called before it arrives": lambda e: e.update(missed_function={"1": ["place_order"]}),
    },
    "nothing to do": {"no call at all": lambda e: e.update(possible_answer=[[], []])},
    "passes with less": {
        "a call that is not needed": _turn(
            1, "Rename apples.txt to apples_2027.txt. What is KELP at?", MV, "get_stock_info(symbol='KELP')"
        ),
    },
    "ambiguous": {
        "an empty file made or copied": _turn(
            1, "Create new.txt, and look at empty.txt.", "touch(file_name='new.txt')", "cat(file_name='empty.txt')"
        ),
        "the end of a short file or all of it": _turn(
            1, 'Write "two" into empty.txt and show me empty.txt.',
            "echo(content='two', file_name='empty.txt')", "cat(file_name='empty.txt')",
        ),
    },
    "nothing is missing": {"nothing is missing": _missing},
    "one world only": {
        "one world only": lambda e: e["generated"].update(conditions=[
            {"turn": 1, "kind": "unless", "holds": True, "first": [MV], "act": [], "other": []}]),
    },
    "wrong branch": {
        "the other branch": lambda e: e["generated"].update(conditions=[
            {"turn": 1, "kind": "unless", "holds": True, "first": [MV], "act": ["ls()"], "other": []},
            {"turn": 0, "kind": "unless", "holds": False, "first": e["possible_answer"][0], "act": [], "other": []}]),
    },
    "honest policy fails": {"words that nobody can read": _turn(1, "apples.txt: apples_2027.txt!", MV)},
}  # fmt: skip
"""Reason → what is wrong, and how it came to be."""


@pytest.mark.parametrize(
    ("reason", "change"), [(reason, change) for reason, changes in PLANTED.items() for change in changes.values()],
    ids=[name for changes in PLANTED.values() for name in changes],
)  # fmt: skip
def test_planted_bad_entries_are_refused(reason: str, change: Callable[[dict[str, Any]], Any]) -> None:
    entry = good()
    change(entry)
    kind = "miss_func" if "missed_function" in entry else "base" if all(entry["possible_answer"]) else "miss_param"
    with pytest.raises(Unproved) as refused:
        _prove(entry, f"multi_turn_{kind}")
    assert refused.value.reason == reason, str(refused.value)


SINGLE = {
    "id": "simple_python_0", "category": "simple_python",
    "question": _said("Book a table for 4 in Riga."),
    "function": [{"name": "book_table", "description": "Book a table in a restaurant of a town.",
                  "parameters": {"type": "dict", "required": ["guests", "town"], "properties": {
                      "guests": {"type": "integer", "description": "How many come."},
                      "town": {"type": "string", "description": "Where to eat."}}}}],
    "possible_answer": [{"book_table": {"guests": [4], "town": ["Riga"]}}],
    "generated": {"kind": "simple"},
}  # fmt: skip


@pytest.mark.parametrize(("answer", "reason"), [
    ({"guests": [4], "town": ["Riga"]}, None),
    ({"guests": [5], "town": ["Riga"]}, "unreachable value"),
    ({"guests": [4], "town": ["Oslo"]}, "unreachable value"),
    ({"guests": ["4"], "town": ["Riga"]}, "unclear tools"),
])  # fmt: skip
def test_single_turns_are_proved(answer: dict[str, Any], reason: str | None) -> None:
    entry = entry_of({**SINGLE, "possible_answer": [{"book_table": answer}]})
    if reason is None:
        assert proved_single(entry).calls == 1
        return
    with pytest.raises(Unproved) as refused:
        proved_single(entry)
    assert refused.value.reason == reason


@pytest.mark.parametrize(("value", "schema", "source"), [
    (41.5, {}, "said"), (1250, {}, "said"), ("2027-03-05", {}, "said"), ("apples.txt", {}, "said"),
    ("apples", {}, None), ("Apples.txt", {}, None), (41, {}, None), (7.5, {}, "result"), ("crates", {}, "result"),
    ([7.5, 8.25], {}, "result"), (10, {"default": 10}, "documented"),
    ("w", {"description": "`l` lines, `w` words"}, "said"),
    ("l", {"description": "`l` lines, `w` words"}, None), ([9.5], {}, None),
])  # fmt: skip
def test_where_a_value_stands(value: Any, schema: dict[str, Any], source: str | None) -> None:
    heard = Heard()
    heard.say("Count the words of apples.txt, pay 1,250 dollars at 41.5 each on March 5, 2027.")
    heard.result(0, '{"content": "7.5\\n8.25", "matches": ["./crates/box"]}')
    found = heard.source(value, schema)
    assert (found and found[0]) == source


def _places(simulators: tuple[str, ...], seed: int, count: int) -> list[Any]:
    recipe = Recipe(seed, simulators, official=False)
    firsts = [number for number in range(count) if PATTERN[number % 20] not in CONDITIONS or number % 2 == 0]
    return [place for number in firsts for place in filled(recipe, number)][:count]


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_moves_fit_their_tools(name: str) -> None:
    """Every move gives a tool its required parameters, and words for each."""
    domain = DOMAINS[name]
    documents = {each["name"]: each["parameters"] for each in simulator_class(name).documents()}
    for move in domain.all_moves:
        given = {*move.takes, *move.fixed}
        assert set(documents[move.tool]["required"]) <= given <= set(documents[move.tool]["properties"])
        for text in (*move.say, *move.ask):
            assert spoken(Random(1), text).format(**dict.fromkeys(move.takes, "?"))
        assert all(kind in domain.kinds or kind in move.after for kind in move.takes.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [*sorted(DOMAINS), "all"])
def test_whatever_is_made_is_proved_elsewhere(name: str, seed: int, tmp_path: Path) -> None:
    """By a run of `validate`'s own proof, which plays the entries as any other."""
    places = _places(tuple(DOMAINS) if name == "all" else (name,), seed, 20 if name != "MathAPI" else 1)
    file = tmp_path / "made.jsonl"
    file.write_text("".join(f"{json.dumps(place.entry)}\n" for place in places))
    data = open_data(str(file))
    refs = [ref for category in data.categories() for ref in data.index(category)]
    assert len(refs) == len(places)
    assert unprovable(data, refs, Settings()) == []


def test_a_folder_of_tasks_is_data_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the official set, of which it is said that nothing was held against it."""
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "tasks"
    words = ["new", "tasks", "--simulators", "TicketAPI,MessageAPI", "--n", "5", "--seed", "11", "-o", str(folder)]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "written: 5 tasks" in told
    assert "the official set: not checked: " in told
    assert main(["validate", str(folder), "--strict", "--no-proof"]) == 0
    manifest = json.loads((folder / "generation.json").read_text())
    assert {kind: each["proved"] for kind, each in manifest["kinds"].items()} == {
        kind: PATTERN[:5].count(kind) for kind in set(PATTERN[:5])
    }
    for kind in manifest["kinds"].values():
        assert kind["policies"]["honest"] == {"passes": kind["proved"], "of": kind["proved"]}
        assert kind["policies"]["act before asked"] == {"passes": 0, "of": kind["proved"]}
    order = (folder / "curriculum.txt").read_text().split()
    ours = tasks(str(folder), mode="fc")
    assert sorted(row["entry_id"] for row in ours.rows()) == sorted(order)
    entries = {entry.id: (entry.model_extra or {})["generated"]["difficulty"] for entry in ours}
    assert [entries[each] for each in order] == sorted(entries.values())
    assert main(words) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "told"), [
    (["--simulators", "TradingBott"], "did you mean"), (["--n", "0"], "no number of tasks"),
    (["--tool", "x"], "name one"), (["--simulators", ","], "names classes"),
    *((["--processes", count], "auto, or a number from 1 to 512") for count in ("0", "513", "some", "-1")),
])  # fmt: skip
def test_mistakes_are_one_sentence(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "tasks", "--n", "2", "-o", str(tmp_path / "out"), *words]) == 2
    captured = capsys.readouterr()
    assert told in captured.err + captured.out
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_processes_do_not_matter(tmp_path: Path) -> None:
    """Nor where the border between them lies."""
    for name, more in (("one", []), ("two", ["--processes", "2"])):
        assert main(["new", "tasks", "--n", "45", "--seed", "5", "-o", str(tmp_path / name), *more]) == 0
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "two").iterdir())
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


REPLIES = {
    "fine": (lambda said: json.dumps([f"Hello! {said[0]}", *said[1:]]), True),
    "with a fence": (lambda said: f"```json\n{json.dumps([f'Hi. {text}' for text in said])}\n```", True),
    "one message less": (lambda said: json.dumps(said[1:]), False),
    "without the values": (lambda said: json.dumps(["Do it."] * len(said)), False),
    "no list": (lambda said: "I cannot do that.", False),
    "numbers": (lambda said: json.dumps([1] * len(said)), False),
    "deep": (lambda said: "[" * 100_000, False),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_models_words_count_only_where_the_task_holds(name: str, tmp_path: Path) -> None:
    """Recorded replies: no model is asked."""
    recipe, record = Recipe(3, ("TicketAPI",), official=False), tmp_path / RECORD
    (place,) = filled(recipe, 0)
    prompt = prompt_of(place)
    reply, taken = REPLIES[name]
    key = Rewording("openai:gone", Settings(), record, recipe).key(prompt)
    record.write_text(json.dumps({"key": key, "reply": reply(json.loads(prompt))}) + "\n")
    words = Rewording("openai:gone", Settings(), record, recipe)
    (found,) = words.put([place])
    assert (words.taken, words.kept) == (int(taken), int(not taken))
    assert (found == place) is not taken


@pytest.mark.parametrize(("said", "meant"), [
    ('Write "Stop.".', 'Write "Stop."'), ("Book a economy class seat.", "Book an economy class seat."),
    ("A open ticket..", "An open ticket."),
])  # fmt: skip
def test_sentences_end_once(said: str, meant: str) -> None:
    assert clean(said) == meant


def test_later_turns_keep_names_and_questions() -> None:
    rng = Random(1)
    found = {after(rng, "USR001 is mine.") for _ in range(40)}
    assert all("USR001 is mine." in each for each in found)
    assert len(found) > 5


def test_what_is_said_can_be_read() -> None:
    text, rng = "[find|look up] a {thing} [for|near] {place}[| now]", Random(2)
    for _ in range(30):
        said = clean(spoken(rng, text).format(thing="apple", place="Brno"))
        match = re.fullmatch(reading(text, {"thing": r"\w+", "place": r"\w+"}), said)
        assert match is not None, said
        assert match.groupdict() == {"thing": "apple", "place": "Brno"}


@pytest.mark.parametrize("kind", CONDITIONS)
def test_twins_live_in_opposite_worlds_and_no_cheap_policy_passes_either(kind: str) -> None:
    recipe = Recipe(5, ("TicketAPI", "TradingBot", "MessageAPI"), official=False)
    places = filled(recipe, PATTERN.index(kind))  # type: ignore[arg-type]
    told = [place.entry for place in places]
    one, two = ([each["holds"] for each in raw["generated"]["conditions"]] for raw in told)
    assert {*one} == {*two} == {True, False}
    assert one == [not holds for holds in two][: len(one)]
    for raw in told:
        entry = entry_of(raw)
        assert solved(entry)
        assert passes(entry, entry.possible_answer or [])
        assert len(found := cheap(entry)) >= 4
        assert not any(found.values()), found


class _Killed(Exception):
    pass


def test_a_set_that_was_ended_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it was ended, in the middle of a line too, it ends with the same bytes."""
    from pytest_bfcl.extensions.training.generating import folder

    def words(name: str) -> list[str]:
        return ["new", "tasks", "--simulators", "TicketAPI", "--n", "4", "--seed", "3", "-o", str(tmp_path / name)]

    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path / "cache"))
    assert main(words("whole")) == 0
    write, written = folder.Folder.write, []

    def killed(self: Any, place: Any) -> None:
        if len(written) == 2:
            raise _Killed
        written.append(place)
        write(self, place)

    with monkeypatch.context() as patch, pytest.raises(_Killed):
        patch.setattr(folder.Folder, "write", killed)
        main(words("torn"))
    torn = tmp_path / "torn"
    for name in ("multi_turn_base.jsonl", JOURNAL):
        with (torn / name).open("a") as file:
            file.write('{"id": "multi_t')
    assert main(["new", "tasks", "--simulators", "TicketAPI", "--n", "5", "--seed", "3", "-o", str(torn)]) == 2
    assert main(words("torn")) == 0
    for file in (tmp_path / "whole").iterdir():
        assert (torn / file.name).read_bytes() == file.read_bytes(), file.name
    assert not (torn / JOURNAL).exists()
