"""``pytest-bfcl new entry`` and ``schema``, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.own.own_entry import json_schema
from pytest_bfcl.runs.result_line import result_line_schema
from pytest_bfcl.session.sinks import event_schema

from .test_tool_sources import SHOP


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(list(words)) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_entry_from_openapi_is_complete_but_for_its_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP)
    source = ("--from-openapi", str(tmp_path / "shop.yaml"))
    (entry,) = printed(capsys, "new", "entry", *source, "--tool", "post_orders", "--request", "One soup, please.")
    assert entry["possible_answer"] == [{"post_orders": {"item": ["soup"], "price": [""]}}]
    (tmp_path / "own.jsonl").write_text(json.dumps(entry) + "\n")
    assert main(["validate", str(tmp_path / "own.jsonl")]) == 0
    shown = capsys.readouterr().out
    assert "own.jsonl:1: own_0: reviewed: nobody has read this entry" in shown
    (both,) = printed(capsys, "new", "entry", *source)
    assert (both["category"], len(both["function"])) == ("multiple", 2)
    assert [each["id"] for each in printed(capsys, "new", "entry", *source, "--each")] == ["own_0", "own_1"]
    assert main(["new", "entry", *source, "--tool", "absent"]) == 2
    assert main(["new", "entry", *source, "--kind", "simple"]) == 2


def odd_document() -> dict[str, Any]:
    """Operations with what public documents have: long names, dashes, words of Python, references, examples."""
    words = ["list", "create", "share"]
    things = ["team", "invoice"]

    def parameter(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "in": "query", "required": True, "schema": {"type": "string"},
                "description": f"Which {name} it is about.", **more}  # fmt: skip

    paths: dict[str, Any] = {}
    for thing in things:
        for word in words:
            operation = {
                "operationId": f"{thing}/{word}-{thing}s-of-an-organization-with-all-members-and-roles-in-{word}",
                "summary": f"{word.title()} each {thing} of an organization",
                "parameters": [
                    parameter(f"{thing}-id", example=f"{thing}-77"), parameter("from"), parameter("filter[state]"),
                    parameter("X-Count", schema={"type": "integer", "minimum": 3}),
                    parameter("size", schema={"$ref": "#/components/schemas/Size"}),
                ],
                "requestBody": {"required": True, "content": {"application/json": {
                    "schema": {"type": "object", "required": ["tags", "$class", "mood"], "properties": {
                        "tags": {"type": "array", "items": {"type": "string", "example": "blue"}},
                        "$class": {"type": "string", "example": 7}, "mood": {"enum": ["calm", "wild"]}}},
                    "examples": {"one": {"value": {"mood": "wild", "tags": ["green", "red"]}}}}}},
            }  # fmt: skip
            paths.setdefault(f"/{thing}s/{word}", {})["post"] = operation
    size = {"type": "string", "enum": ["S", "M"], "example": "M"}
    return {"openapi": "3.1.0", "paths": paths, "components": {"schemas": {"Size": size}}}


def filled(value: Any) -> Any:
    """A draft as a person fills it in."""
    if isinstance(value, dict):
        return {key: filled(each) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each) for each in value]
    return value.replace("TODO ", "word ") if isinstance(value, str) else value


@pytest.mark.parametrize("kind", ["multiple", "simple", "irrelevance"])
def test_every_draft_can_be_used_once_filled(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.json").write_text(json.dumps(odd_document()))
    drafts = printed(capsys, "new", "entry", "--from-openapi", str(tmp_path / "odd.json"), "--each", "--kind", kind)
    assert len({draft["function"][0]["name"] for draft in drafts}) > 1
    assert {len(draft["function"]) for draft in drafts} == {{"multiple": 4, "simple": 1, "irrelevance": 3}[kind]}
    for draft in drafts:
        names = [name for doc in draft["function"] for name in (doc["name"], *doc["parameters"]["properties"])]
        assert all(len(name) <= 64 and name.isidentifier() and name != "from" for name in names), names
        if kind == "irrelevance":
            needed = draft["question"][0][0]["content"].split("needs ")[1].partition(",")[0]
            assert needed not in names
        else:
            ((_, answer),) = draft["possible_answer"][0].items()
            known = {name: values for name, values in answer.items() if name in ("size", "tags", "mood", "X_Count")}
            assert known == {"size": ["M"], "tags": [["green", "red"]], "mood": ["wild"], "X_Count": [3]}
            assert next(iter(answer.values()))[0].endswith("-77")
            assert answer["_class"] == ["TODO _class"], "an example that does not fit is none"
    if kind == "multiple":
        places = {[doc["name"] for doc in draft["function"]].index(next(iter(draft["possible_answer"][0])))
                  for draft in drafts}  # fmt: skip
        assert len(places) > 2, "the right tool is not always the first"
    lines = tmp_path / "own.jsonl"
    lines.write_text("".join(json.dumps({**draft, "reviewed": True}) + "\n" for draft in drafts))
    assert main(["validate", str(lines), "--strict", "--no-proof"]) == 1
    assert "still to be written" in capsys.readouterr().out
    for draft in drafts:
        answer = draft["possible_answer"] = filled(draft.get("possible_answer"))
        draft["question"][0][0]["content"] = f"Please: {json.dumps(answer)}"
    lines.write_text("".join(json.dumps({**draft, "reviewed": True}) + "\n" for draft in drafts))
    assert main(["validate", str(lines)]) == 0, capsys.readouterr().out


def test_an_entry_from_python_and_json_is_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kitchen_tools.py").write_text('def serve(bowls: int) -> None:\n    """Serve bowls of soup."""\n')
    tool = {"name": "eat", "description": "Eat.", "input_schema": {"type": "object", "properties": {}}}
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [tool]}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["new", "entry", "--from-python", "kitchen_tools:serve", "-o", "own.jsonl"]) == 0
    assert main(["new", "entry", "--from-json", "tools.json", "--id", "own_1", "-o", "own.jsonl"]) == 0
    first, second = (json.loads(line) for line in (tmp_path / "own.jsonl").read_text().splitlines())
    assert first["function"][0]["parameters"]["properties"] == {"bowls": {"type": "integer"}}
    assert second["possible_answer"] == [{"eat": {}}]
    for broken in ("", "7", "[]", '[{"parameters": {}}]'):
        (tmp_path / "tools.json").write_text(broken)
        assert main(["new", "entry", "--from-json", "tools.json"]) == 2


@pytest.mark.parametrize(("words", "schema"), [
    ([], json_schema()), (["result"], result_line_schema()), (["event"], event_schema()),
], ids=["entry", "result", "event"])  # fmt: skip
def test_the_schemas_are_printed(words: list[str], schema: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "schema", *words]) == 0
    assert json.loads(capsys.readouterr().out) == schema


ODD = json.loads(Path(__file__).with_name("odd_tools.json").read_text(encoding="utf-8"))


def test_drafts_validate_once_their_request_and_texts_are_filled_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lists in objects in lists, alternatives, references in a circle, tuples of every draft."""
    (tmp_path / "odd.json").write_text(json.dumps(ODD["openapi"]))
    (tmp_path / "tools.json").write_text(json.dumps(ODD["tools"]))
    drafts = printed(capsys, "new", "entry", "--from-openapi", str(tmp_path / "odd.json"))
    made = ("--from-json", str(tmp_path / "tools.json"), "--each", "--kind", "simple", "--id", "tool_0")
    drafts += printed(capsys, "new", "entry", *made)
    assert drafts[0]["possible_answer"] == [
        {"keep_tree": {"tree": [1], "depth": [1], "root": [{"name": "TODO name"}],
                       "parcels": [[{"labels": ["TODO labels", "TODO labels1"]}]]}}
    ]  # fmt: skip
    schema = drafts[0]["function"][0]["parameters"]
    assert schema["properties"]["tree"] == {"oneOf": [{"type": "integer"}, {"type": "string"}]}
    assert schema["properties"]["depth"] == {"type": ["integer", "null"], "exclusiveMinimum": 0}
    assert schema["$defs"]["Node"]["properties"]["next"] == {"$ref": "#/$defs/Node"}
    filled = "".join(json.dumps(each).replace("TODO: ", "").replace("TODO ", "my ") + "\n" for each in drafts)
    (tmp_path / "own.jsonl").write_text(filled)
    assert main(["validate", str(tmp_path / "own.jsonl")]) == 0, capsys.readouterr().out
