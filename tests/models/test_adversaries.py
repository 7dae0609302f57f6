"""Who must not pass an entry of one's own, what they say, and what the vandal finds to destroy."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.served_entry import ServedTool, ServerFacts
from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import create_model
from pytest_bfcl.models.adversaries import adversaries_of, deeds_of, extra_calls, harmless_repeat, refuses
from pytest_bfcl.models.base import Request
from pytest_bfcl.session.proof import is_at_risk
from pytest_bfcl.settings import Settings

SAYS, LOOKS = {"answer": "no"}, {"call": "look", "equals": 1}
WAY = [["buy(what='apple')"]]


def schema(*required: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in required}, "required": list(required)}


def tool(name: str, *required: str, **hints: Any) -> ServedTool:
    return ServedTool(name, schema(*required), "d", annotated=bool(hints), **hints)


def entry(*tools: ServedTool, files: tuple[str, ...] = (), **changes: Any) -> Entry:
    told = {"id": "e", "category": "mcp", "mcp": "shop", "expect": [LOOKS], "possible_answer": WAY}
    told |= {"question": [[{"role": "user", "content": "Oslo or Riga?"}]], **changes}
    functions = [{"name": each.name, "description": "", "parameters": each.schema} for each in tools]
    return Entry(**{"function": functions, **told}).model_copy(
        update={"server_facts": ServerFacts("shop 1", tools, files)}
    )


@pytest.mark.parametrize(
    ("changes", "played"),
    [
        ({}, "idle parrot every repeat extra vandal sweeper"),
        ({"possible_answer": None}, "idle parrot every"),
        ({"expect": [SAYS], "possible_answer": [[]]}, "parrot every vandal"),
        ({"expect": [{"not_called": "*"}], "possible_answer": [[]]}, "every vandal"),
        ({"expect": [{"said": True, "contains": "no"}], "possible_answer": [[]]}, "parrot every vandal"),
        *(({"expect": [{"not_called": "*"}], "possible_answer": way}, played) for way, played in (
            (None, "idle parrot every"), (WAY, "idle parrot every repeat extra vandal sweeper"))),
        ({"category": "recorded", "mcp": None}, "idle parrot every"),
        ({"category": "multi_turn_base", "mcp": None, "expect": []}, "idle"),
        ({"category": "multi_turn_base", "mcp": None, "expect": [{"not_called": "*"}], "possible_answer": [[]]}, ""),
        ({"category": "web_search_base", "mcp": None, "expect": []}, "parrot"),
        ({"category": "simple_python", "mcp": None, "expect": []}, ""),
        ({"official": True}, ""),
    ],
)  # fmt: skip
def test_who_must_not_pass(changes: dict[str, Any], played: str) -> None:
    assert adversaries_of(entry(**changes)) == played.split()
    assert is_at_risk(entry(**changes)) is bool(played)
    assert not is_at_risk(entry(**changes, allows=played.split()))
    assert not is_at_risk(entry(**changes, allows=dict.fromkeys(played.split(), "so it is")))


def said(name: str, of: Entry, step: int = 0, last: str = "", turn: int = 0) -> Any:
    model = create_model(f"adversary:{name}", Settings(), mode="fc")
    reply = asyncio.run(model.generate(Request(of, [{"role": "tool", "content": last}], turn=turn, step=step)))
    return [(call.name, call.arguments) for call in reply.tool_calls] or reply.text


def test_what_they_say() -> None:
    asked = entry(tool("buy", "what"), tool("look"), tool("empty"))
    bought = [("buy", '{"what": "apple"}')]
    assert said("parrot", asked) == "Oslo or Riga?\nRiga? or Oslo"
    assert said("every", asked) == [("buy", '{"what": "what"}'), ("look", "{}"), ("empty", "{}")]
    assert said("every", entry(tool("write", "path", "text"))) == [
        ("write", '{"path": "/workdir/path", "text": "text"}')], "not in the server's own directory"  # fmt: skip
    assert isinstance(said("every", asked, 1), str)
    assert [said("repeat", asked, step) for step in (0, 1)] == [bought, bought]
    assert [said("vandal", asked, step) for step in (0, 1)] == [bought, [("buy", '{"what": "bystander"}')]]
    assert said("vandal", asked, 2, "error: sold out") == [("empty", "{}")]
    assert isinstance(said("vandal", asked, 2, "sold"), str), "what was carried out is enough"
    assert isinstance(said("vandal", asked, 3, "error: sold out"), str), "there is nothing more to try"
    options = {"what": {}, "gift": {"default": False}, "copies": {"default": 2}, "mode": {"enum": ["a", "b"]},
               "note": {"type": "string", "default": "none"}}  # fmt: skip
    choosy = entry(ServedTool("buy", {**schema("what"), "properties": options}, "d"), tool("look", "x"),
                   possible_answer=[["buy(what='apple')", "look()", "buy(what='fig')"]])  # fmt: skip
    unasked = [{"what": what, "gift": True, "copies": 3, "mode": "a", "note": "bystander"} for what in ("apple", "fig")]
    first, second = (("buy", json.dumps(each)) for each in unasked)
    assert said("extra", choosy) == [first, ("look", "{}"), second]
    assert [call.arguments for call in deeds_of("extra", choosy)] == unasked
    assert said("sweeper", asked) == bought, "nothing is there"
    query = [["write_query(query='INSERT INTO fruit VALUES (1)')"]]
    kept = entry(tool("write_query", "query"), files=("s.db#fruit", "s.db#orders"), possible_answer=query)
    assert said("sweeper", kept) == [("write_query", '{"query": "DELETE FROM fruit"}')]
    assert [[call.arguments for call in deeds_of(name, kept)] for name in ("vandal", "sweeper", "repeat")] == [
        [{"query": f"DELETE FROM {table}"}] for table in ("orders", "fruit")] + [[]]  # fmt: skip
    assert said("sweeper", kept, 1) == [("write_query", '{"query": "INSERT INTO fruit VALUES (1)"}')]
    with pytest.raises(UsageError, match="an adversary is one of idle, parrot, every, repeat, extra, vandal, sweeper"):
        create_model("adversary:thief", Settings())


FIRST, SECOND, FIRST_WAY = ["buy", "look"], ["look", "sell"], ["buy(what='x')", "look()"]
TALK = entry(
    tool("buy", "what"), tool("look"), tool("sell"), tool("delete_all"),
    possible_answer=[FIRST_WAY, ["look()", "sell()"]],
    question=[[{"role": "user", "content": text}] for text in ("one", "two")],
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "changes", "played"),
    [
        ("every", {}, [["buy", "look", "sell", "delete_all"], None, None, None]),
        ("every", {"function": []}, [None] * 4),
        ("every", {"function": [{"name": "f"}]}, [["f"], None, None, None]),
        ("parrot", {}, ["one\none", None, "one\ntwo\ntwo one", None]),
        ("parrot", {"question": [[{"role": "system", "content": "x"}]] * 2}, [None] * 4),
        ("repeat", {}, [FIRST, None, SECOND, ["sell"]]),
        ("repeat", {"possible_answer": [FIRST_WAY, []]}, [FIRST, ["look"], None, None]),
        ("repeat", {"possible_answer": [[], []]}, [None] * 4),
        ("vandal", {}, [FIRST, None, SECOND, ["buy"]]),
        ("vandal", {"possible_answer": [FIRST_WAY, []]}, [FIRST, None, ["buy"], None]),
        ("extra", {}, [FIRST, None, SECOND, None]),
        ("sweeper", {}, [FIRST, None, SECOND, None]),
        ("sweeper", {"setup": [{"call": "x", "arguments": {"name": "x"}}], "tools": [tool("remove_item", "name")]},
         [["remove_item"], FIRST, SECOND, None]),
    ],
)  # fmt: skip
def test_what_they_do_in_each_turn_and_step(name: str, changes: dict[str, Any], played: list[Any]) -> None:
    changes = dict(changes)
    known = (*TALK.server_facts.tools, *changes.pop("tools", ()))  # type: ignore[union-attr]
    usual = {"possible_answer": TALK.possible_answer, "question": TALK.question, "function": TALK.function}
    of = entry(*known, **(usual | changes))
    found = [said(name, of, step, turn=turn) for turn in (0, 1) for step in (0, 1)]
    named = [[call for call, _ in each] if isinstance(each, list) else each for each in found]
    assert [each if want else isinstance(each, str) for each, want in zip(named, played, strict=True)] == [
        want or True for want in played
    ]


@pytest.mark.parametrize(
    ("tools", "way", "harmless"),
    [
        ([tool("buy", "what")], [[]], True), ([tool("buy", "what")], [["buy(what='a')"]], False),
        ([tool("buy", "what"), tool("look")], [["buy(what='a')", "look()"]], True),
        ([tool("buy", "what", repeatable=True)], [["buy(what='a')"]], True),
        ([tool("look", repeatable=False, reads_only=True)], [["look()"]], False),
        ([tool("other")], [["look()"]], False),
    ],
)  # fmt: skip
def test_whether_a_repeat_harms(tools: list[ServedTool], way: Any, harmless: bool) -> None:
    assert harmless_repeat(entry(*tools, possible_answer=way)) is harmless


@pytest.mark.parametrize(
    ("text", "refused"),
    [("", False), ("done", False), ("Error: no", True), ("file not found", True), ("nothing to do", True),
     (f"{'x' * 1995}error", True), (f"{'x' * 1996}error", False)],
)  # fmt: skip
def test_which_results_say_that_nothing_was_done(text: str, refused: bool) -> None:
    assert refuses(text) is refused


FIG: dict[str, Any] = {"setup": [{"call": "x", "arguments": {"name": "fig"}}]}
HINTS: dict[str, Any] = {"reads_only": False}


@pytest.mark.parametrize(
    ("tools", "changes", "names"),
    [
        # what destroys before what writes anew, what says something before what says nothing, what must fit last
        ([tool("edit_file", "path"), tool("clear"), tool("write_note", "title"), tool("move_file", "path"),
          tool("rename_file", "path", **HINTS), tool("delete_file", "path", destroys=True, **HINTS)],
         {"files": ("a.txt",)}, ["delete_file", "move_file", "rename_file", "write_note"]),
        ([tool("edit_file", "path"), tool("clear"), tool("write_note", "title")], {"files": ("a.txt",)},
         ["write_note", "clear", "edit_file"]),
        # what the answer does itself, and what would destroy nothing, is no deed
        ([tool("buy", "what")], {"possible_answer": [["buy(what='bystander')"]]}, []),
        ([tool("drop_query", "query")], {}, []), ([tool("delete_item", "name", "note")], FIG, []),
        ([tool("delete_item", "note", "name")], FIG, []),
        ([tool("delete_item", "name")], FIG | {"possible_answer": [["buy(what='fig')"]]}, []),
        ([tool("delete_item", "name")], {"setup": [{"call": "x", "arguments": {"name": 7}}]}, []),
    ],
)  # fmt: skip
def test_the_vandals_order(tools: list[ServedTool], changes: dict[str, Any], names: list[str]) -> None:
    assert [call.name for call in extra_calls(entry(*tools, **changes))] == names


@pytest.mark.parametrize(
    ("tools", "changes", "first"),
    [
        ([tool("delete_item", "itemNames")], {"setup": [{"call": "x", "arguments": {"name": "fig"}}]}, ["fig"]),
        ([tool("delete_item", "name")], {"setup": [{"call": "x", "arguments": {"names": ["fig"]}}]}, ["fig"]),
        ([tool("delete_item", "item")], {}, None),  # nothing is there that could be deleted
        ([tool("look"), tool("move_file", "path")], {"files": ("a.txt",)}, ["/workdir/a.txt"]),
        ([tool("write_file", "path", "content")], {"files": ("a.txt",), "expect": [{"state": {"file": "a.txt"},
          "equals": 1}]}, ["/workdir/bystander", "bystander"]),
        ([tool("write_query", "query")], {"files": ("s.db", "s.db#orders")}, ["DELETE FROM orders"]),
        ([tool("run_query", "sql")], {"files": ("s.db",)}, None),  # neither its name nor a hint says that it writes
        ([tool("write_query", "sql")], {}, ["CREATE TABLE bystander (name TEXT)"]),
        ([tool("create_table", "sql")], {"files": ("s.db#orders",)}, ["CREATE TABLE bystander (name TEXT)"]),
        ([tool("write_note", "path")], {}, ["/workdir/bystander"]),
        ([tool("write_note", "path")], {"possible_answer": [["buy(path='/srv/a')"]]}, ["/srv/a"]),
        ([tool("write_note", "url")], {"possible_answer": [["buy(url=['http://a'])"]]}, ["http://a"]),
        ([tool("write_note", "url")], {"possible_answer": [["buy(url='a')"]]}, ["bystander"]),
        ([tool("move_file", "source", "destination")], {"files": ("a.txt",)},
         ["/workdir/a.txt", "/workdir/bystander"]),
        ([tool("move_file", "path")],
         {"files": ("a.txt", "b.txt"), "possible_answer": [["buy(what='/workdir/a.txt')"]]}, ["/workdir/b.txt"]),
        ([tool("write_note", "path")], {"files": ("a.txt",), "possible_answer": [["buy(path='/srv/a')"]]},
         ["/workdir/a.txt"]),
        ([tool("write_query", "query")], {"files": ("s.db", "s.db#fruit", "s.db#orders"), "expect": [
          {"state": {"file": "s.db", "sql": "SELECT * FROM fruit"}, "equals": []}]}, ["DELETE FROM orders"]),
        ([tool("create_note", "name")], FIG, ["bystander"]),
        ([tool("write_note", "title")], {"files": ("s.db#orders",)}, ["bystander"]),
        ([tool("set_item", "name")], {"setup": [{"call": "x", "arguments": {"name": "/srv/b"}}],
                                      "possible_answer": [["buy(name='/srv/a')"]]}, ["/srv/b"]),
        ([tool("save", "x", reads_only=True)], {}, None),
        ([tool("get", "x", reads_only=False)], {}, ["bystander"]),
        ([tool("buy", "what", reads_only=False), tool("pay", "name", reads_only=False, destroys=True)],
         {"setup": [{"call": "x", "arguments": {"name": "fig"}}]}, ["fig"]),
    ],
)  # fmt: skip
def test_what_the_vandal_tries_first(tools: list[ServedTool], changes: dict[str, Any], first: list[str] | None) -> None:
    served = entry(*tools, **changes)
    tries = extra_calls(served)
    assert (list(tries[0].arguments.values()) if tries else None) == first
    unseen = served.model_copy(update={"server_facts": None})  # without a server nothing is known of its tools
    assert (extra_calls(unseen), deeds_of("extra", unseen), harmless_repeat(unseen)) == ([], [], False)
