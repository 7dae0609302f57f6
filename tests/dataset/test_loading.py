"""Users' own files and the bundled layout: what loads, what is reported, and how answers pair."""

from __future__ import annotations

import copy
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.expansion import with_hints
from pytest_bfcl.dataset.index import scan
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.opening import open_dataset, open_files
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.fetching.texts import Texts

FUNCTION = {
    "name": "lamp.switch",
    "description": "Switches a lamp.",
    "parameters": {
        "type": "dict",
        "properties": {
            "room": {"type": "string", "description": "Where."},
            "on": {"type": "boolean", "description": ""},
        },
        "required": ["room"],
    },
}
JAVA_FUNCTION = json.loads(json.dumps(FUNCTION).replace('"string"', '"String"'))
CLASS_DOCUMENTS = {
    "Lamps": [FUNCTION, {**FUNCTION, "name": "lamp.dim"}],
    "MemoryAPI_kv": [{**FUNCTION, "name": "core_memory_add"}],
    "WebSearchAPI": [{**FUNCTION, "name": "search_engine_query"}],
}


QUESTION = [[{"role": "user", "content": "Light in the hall, please."}]]
ANSWER = [{"lamp.switch": {"room": ["hall"], "on": [True, ""]}}]


def line(entry_id: str, **fields: Any) -> str:
    values = {
        "id": entry_id,
        "question": QUESTION,
        "function": [FUNCTION],
        "possible_answer": ANSWER,
    }
    return json.dumps({**values, **fields})


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def opened(path: Path) -> DataSet:
    return open_dataset(path, documents=lambda name: CLASS_DOCUMENTS[name])


def test_a_file_of_own_entries(tmp_path: Path) -> None:
    path = write(
        tmp_path / "lamps.jsonl",
        line("first"),
        line("parallel_0"),
        line("second", category="multiple"),
        line("java one", category="simple_java", return_format="java", function=[JAVA_FUNCTION]),
        line("tagged", return_format="json", tool_call_tag=True),
        line(
            "both",
            category="multi_turn_base",
            involved_classes=["Lamps"],
            function=[{**FUNCTION, "name": "mine"}],
            possible_answer=[["mine(room='hall')"]],
        ),
    )
    dataset = opened(path)
    assert (dataset.name, dataset.official, dataset.root) == ("lamps", False, path)
    assert dataset.categories() == ["simple_python", "simple_java", "multiple", "parallel", "multi_turn_base"]
    assert [doc["name"] for doc in dataset.entry("both").function] == ["mine", "lamp.switch", "lamp.dim"]
    assert [ref.id for ref in dataset.index("simple_python")] == ["first", "tagged"]
    assert dataset.path_of("parallel") == path
    assert len(dataset.sha256) == 64
    entry = dataset.entry("first")
    assert (entry.category, entry.language, entry.source) == ("simple_python", "python", "lamps.jsonl:1")
    assert entry.possible_answer == [{"lamp.switch": {"room": ["hall"], "on": [True, ""]}}]
    assert dataset.entry("java one").language == "java"
    tagged = dataset.entry("tagged")
    assert (tagged.return_format, tagged.tool_call_tag) == ("json", True)
    assert dataset.find("third") is None
    assert dataset.index("multi_turn_miss_func") == []
    with pytest.raises(UsageError, match="has no category 'web_search_base'; it has: simple_python"):
        dataset.path_of("web_search_base")


def test_broken_lines_are_reported_and_the_others_load(tmp_path: Path) -> None:
    path = write(
        tmp_path / "own.jsonl",
        line("good"),
        '{"id": "cut off", "question": [',
        "",
        "[1, 2]",
        '{"question": []}',
        '{"id": 7}',
        line("good"),
        line("odd", category="simple"),
        line("later"),
    )
    dataset = opened(path)
    problems = dataset.problems("simple_python")
    assert [ref.id for ref in dataset.index("simple_python")] == ["good", "later"]
    assert [problem.line for problem in problems] == [2, 4, 5, 6, 7, 8]
    messages = [problem.message for problem in problems]
    assert messages[0].startswith("not JSON: ")
    assert messages[1] == "an entry is a JSON object, this line is an array"
    assert messages[2] == messages[3] == 'the entry has no "id" (a non-empty string)'
    assert messages[4] == "id occurs twice; the first line counts"
    assert messages[5].startswith("unknown category 'simple'; did you mean 'simple_")
    assert str(problems[0]).startswith(f"{path}:2: not JSON")
    assert str(problems[4]).startswith(f"{path}:7: good: id occurs twice")
    assert dataset.entry("later").id == "later"


def test_a_file_of_broken_lines_only_still_tells_them(tmp_path: Path) -> None:
    dataset = opened(write(tmp_path / "own.jsonl", "{", "}"))
    assert dataset.categories() == ["simple_python"]
    assert dataset.index("simple_python") == []
    assert [problem.line for problem in dataset.problems("simple_python")] == [1, 2]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"question": 5}, "question: the question has no turn"),
        ({"function": [1]}, "function.0: Input should be"),
        ({"possible_answer": 5}, "possible_answer: Input should be"),
        ({"function": [{"name": ""}]}, 'a function document has no "name"'),
        ({"question": [[{"content": "x"}]]}, 'a message has no "role"'),
        ({"language": "cobol"}, "language: Input should be"),
        ({"missed_function": {"one": []}}, "invalid literal"),
        ({"involved_classes": ["Nobody"]}, "Nobody"),
    ],
)
def test_an_entry_of_the_wrong_shape_is_a_data_defect(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    dataset = opened(write(tmp_path / "own.jsonl", line("odd", **fields)))
    with pytest.raises(HarnessError, match=message) as caught:
        dataset.entry("odd")
    assert caught.value.kind == "data"
    assert "own.jsonl:1" in caught.value.message


def test_byte_order_marks_crlf_and_unusual_ids(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    rows = [
        line("ä é"),
        line('quo"te'),
        json.dumps({"question": QUESTION, "function": [FUNCTION], "possible_answer": ANSWER, "id": "last key"}),
        line("x::y"),
    ]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(rows).encode() + b"\r\n\r\n")
    dataset = opened(path)
    assert dataset.problems("simple_python") == []
    ids = [ref.id for ref in dataset.index("simple_python")]
    assert ids == ["ä é", 'quo"te', "last key", "x::y"]
    assert [dataset.entry(name).id for name in ids] == ids


@pytest.mark.slow
def test_a_hundred_thousand_lines_index_quickly(tmp_path: Path) -> None:
    path = write(tmp_path / "many.jsonl", *(line(f"parallel_{number}") for number in range(100_000)))
    started = time.process_time()
    dataset = opened(path)
    assert len(dataset.index("parallel")) == 100_000
    assert time.process_time() - started < 5
    started = time.process_time()
    assert len(scan(path, check=False).rows) == 100_000
    assert time.process_time() - started < 2
    assert dataset.entry("parallel_99999").source == "many.jsonl:100000"


def official_folder(root: Path) -> Path:
    questions = [json.loads(line(f"simple_python_{number}")) for number in range(3)]
    rows = [json.dumps({"id": q["id"], "question": q["question"], "function": q["function"]}) for q in questions]
    answers = [json.dumps({"id": q["id"], "ground_truth": [{"lamp.switch": {"room": [str(n)]}}]})
               for n, q in enumerate(questions)]  # fmt: skip
    write(root / "BFCL_v4_simple_python.json", rows[0], "{broken", rows[2])
    write(root / "possible_answer" / "BFCL_v4_simple_python.json", *answers)
    return root


def test_answers_pair_by_position_around_a_broken_question(tmp_path: Path) -> None:
    dataset = opened(official_folder(tmp_path))
    assert [problem.line for problem in dataset.problems("simple_python")] == [2]
    assert dataset.entry("simple_python_0").possible_answer == [{"lamp.switch": {"room": ["0"]}}]
    assert dataset.entry("simple_python_2").possible_answer == [{"lamp.switch": {"room": ["2"]}}]


def test_a_missing_answer_line_is_a_data_defect(tmp_path: Path) -> None:
    root = official_folder(tmp_path)
    answers = root / "possible_answer" / "BFCL_v4_simple_python.json"
    answers.write_text("\n".join(answers.read_text(encoding="utf-8").splitlines()[:2]), encoding="utf-8")
    with pytest.raises(HarnessError, match=r"possible_answer/BFCL_v4_simple_python\.json:3: there is no answer line"):
        opened(root).entry("simple_python_2")


def test_the_official_layout(tmp_path: Path) -> None:
    """Shared files stand for several categories, answers for their fields, retired files for what they lack."""
    asked, tool = QUESTION[0], {"type": "function", "function": FUNCTION}
    web = {"id": "web_search_0", "question": QUESTION, "involved_classes": ["WebSearchAPI"]}
    answer = {"id": "web_search_0", "ground_truth": ["hall"], "num_hops": 2, "source": [{"answer": "hall"}]}
    plain = {"id": "simple_java_0", "question": asked, "function": [tool], "source": "a book"}
    retired = tmp_path / "unused_datasets" / "question" / "BFCL_v4_chatable.json"
    write(tmp_path / "BFCL_v4_web_search.json", json.dumps(web))
    write(tmp_path / "possible_answer" / "BFCL_v4_web_search.json", json.dumps(answer))
    write(tmp_path / "BFCL_v4_simple_java.json", json.dumps(plain))
    write(retired, json.dumps({"question": "Hello?", "function": "none"}), json.dumps({"question": asked}))
    write(tmp_path / "multi_turn_func_doc" / "web_search.json", json.dumps({**FUNCTION, "name": "search"}))
    data = open_dataset(tmp_path)
    found = data.entry("web_search_no_snippet_0")
    assert (found.possible_answer, found.num_hops) == (["hall"], 2)
    assert (found.model_extra or {})["answer_source"] == [{"answer": "hall"}]
    assert found.initial_config == {"WebSearchAPI": {"show_snippet": False}}
    assert [doc["name"] for doc in found.function] == ["search"]
    java = data.entry("simple_java_0")
    assert (java.language, java.return_format, java.initial_config) == ("java", "java", {})
    assert [doc["name"] for doc in java.function] == ["lamp.switch"], "tools of users are read in any shape"
    assert (java.question, (java.model_extra or {})["answer_source"]) == ([asked], "a book")
    assert [data.entry(f"chatable_{n}").question[0][0]["content"] for n in (0, 1)] == ["Hello?", asked[0]["content"]]
    assert data.entry("chatable_0").function == []
    assert (data.verified, data.entry("simple_java_0").verified) == (False, None)


def bundled_folder(root: Path) -> Path:
    memory = {"question": [[{"role": "user", "content": "Which room was dark?"}]], "possible_answer": ["hall"]}
    stage = {"question": [[{"role": "user", "content": "The hall is dark."}]], "scenario": "home"}
    write(root / "simple_python.jsonl", line("simple_python_0"), line("simple_python_1"))
    write(root / "live_simple.jsonl", line("live_simple_0-0-0"))
    write(root / "memory.jsonl", json.dumps({"id": "memory_0-home-0", "scenario": "home", **memory}))
    write(
        root / "memory_prereq" / "home.jsonl",
        *(json.dumps({"id": f"memory_prereq_{n}-home-{n}", **stage}) for n in range(2)),
    )
    write(root / "web_search.jsonl", json.dumps({"id": "web_search_0", "involved_classes": ["WebSearchAPI"], **memory}))
    turns = [[{"role": "user", "content": "Light!"}], []]
    write(
        root / "multi_turn_miss_func.jsonl",
        line("multi_turn_miss_func_0", question=turns, function=[], involved_classes=["Lamps"],
             missed_function={"1": ["lamp.dim"]}, possible_answer=[[], ["lamp.dim(room='hall')"]]),
    )  # fmt: skip
    (root / "format_sensitivity.json").write_text(
        json.dumps({"live_simple": ["live_simple_0-0-0"], "simple_python": ["simple_python_1", "simple_python_0"]})
    )
    return root


def test_files_that_are_no_categorys_are_told(tmp_path: Path) -> None:
    root = bundled_folder(tmp_path)
    assert opened(root).unused_text() == ""
    for name in ("simple_pyhton.jsonl", "live_simple.json", "booking.jsonl", "notes.json"):
        write(root / name, line("x_1"))
    assert opened(root).unused_text() == (
        "not used, no category's file is called so: booking.jsonl, "
        "live_simple.json (did you mean live_simple.jsonl?), "
        f"simple_pyhton.jsonl (did you mean simple_python.jsonl?) in {root}"
    )
    write(root / "zebra.jsonl", line("x_1"))
    assert "simple_python.jsonl?) and 1 more in" in opened(root).unused_text()
    official = tmp_path / "theirs"
    write(official / "BFCL_v4_simple_python.json", line("simple_python_0"))
    write(official / "BFCL_v4_multipel.json", line("multiple_0"))
    assert "BFCL_v4_multipel.json (did you mean BFCL_v4_multiple.json" in opened(official).unused_text()


def test_format_sensitivity_follows_the_file_order_of_each_category(tmp_path: Path) -> None:
    dataset = opened(bundled_folder(tmp_path))
    refs = dataset.index("format_sensitivity")
    put, original = dataset.load(refs[26]), dataset.entry("simple_python_0")
    assert (put.id, put.question, put.possible_answer) == (refs[26].id, original.question, original.possible_answer)
    (tmp_path / "simple_python.jsonl").unlink()
    with pytest.raises(HarnessError, match=r"the original entry of .* is not in the"):
        opened(tmp_path).load(refs[26])
    originals = [ref.id.rsplit(":", 1)[-1] for ref in refs[::26]]
    assert originals == ["live_simple_0-0-0", "simple_python_0", "simple_python_1"]
    assert len(refs) == 78


def test_classes_nobody_documents(tmp_path: Path) -> None:
    dataset = open_dataset(bundled_folder(tmp_path))
    with pytest.raises(HarnessError, match="no tool documents for the class 'Lamps'"):
        dataset.entry("multi_turn_miss_func_0")


def test_choices_that_name_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path / "empty"))
    with pytest.raises(UsageError, match="no data at"):
        open_dataset(str(tmp_path / "absent.jsonl"))
    for name, said in {
        "multiple": "name the set", "live.jsonl": "--bfcl-categories live", "no/bundled": "by its word",
        "bfcl_v4_multiple.json": "--bfcl-categories multiple", "bfcl_v4": "is called official",
    }.items():  # fmt: skip
        with pytest.raises(UsageError, match=said):
            open_dataset(str(tmp_path / name))
    with pytest.raises(UsageError, match=r"neither BFCL_v4_\*\.json files nor"):
        open_dataset(tmp_path)
    with pytest.raises(UsageError, match="run `pytest-bfcl fetch`"):
        open_dataset("official")
    files = [write(tmp_path / "named" / f"{name}.jsonl", line(f"{name}_0")) for name in "abcd"]
    with pytest.raises(UsageError, match=r"no data at .*absent\.jsonl: name \.jsonl files"):
        open_files([files[0], tmp_path / "absent.jsonl"])
    with pytest.raises(UsageError, match=r"holds a\.jsonl, b\.jsonl, c\.jsonl and 1 more, but files in a data folder"):
        open_dataset(tmp_path / "named")
    files[3].unlink()
    with pytest.raises(UsageError, match=r"holds a\.jsonl, b\.jsonl, c\.jsonl, but files"):
        open_dataset(tmp_path / "named")


def test_the_digest_depends_on_content_and_names(tmp_path: Path) -> None:
    first = opened(bundled_folder(tmp_path / "a")).sha256
    second = bundled_folder(tmp_path / "b")
    os.mkfifo(second / "pipe.jsonl")  # nobody writes into it
    (second / "folder.json").mkdir()
    assert opened(second).sha256 == first
    pairs = [[write(tmp_path / folder / f"{n}.jsonl", line(f"{n}_{words}")) for n in "xy"]
             for folder, words in (("c", "one"), ("d", "one"), ("e", "two"))]  # fmt: skip
    one, same, other = (open_files(pair) for pair in pairs)
    assert one.name == "x+y"
    assert one.sha256 == same.sha256 == one.sha256_here() != other.sha256
    assert open_files(pairs[0][:1]).sha256 not in (one.sha256, open_files(pairs[0][1:]).sha256)
    pairs[0][1].unlink()
    assert one.sha256_here() is None
    (tmp_path / "b" / "simple_python.jsonl").rename(tmp_path / "b" / "multiple.jsonl")
    assert opened(tmp_path / "b").sha256 != first


HINTS = Texts.own().hints
MEMBERS = {"a": {"type": "String", "description": "x"}}


def document(**properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "dict", "properties": properties, "required": list(properties)}
    return {"name": "f", "description": "Does it.", "parameters": parameters}


@pytest.mark.parametrize(
    ("language", "schema", "keys", "told"),
    [
        ("java", {"type": "any"}, {}, HINTS["java.any"]),
        ("java", {"type": "long", "default": 3}, {"default": 3}, "long"),
        ("java", {"type": "ArrayList", "items": {"type": "char"}}, {}, "ArrayList char"),
        ("java", {"type": "Array", "items": {"type": "char"}}, {}, "Array char"),
        ("java", {"type": "HashMap", "properties": MEMBERS}, {"properties": MEMBERS}, "HashMap"),
        ("javascript", {"type": "array", "items": {"type": "float"}}, {}, "array float"),
        ("javascript", {"type": "dict", "properties": MEMBERS}, {}, json.dumps(MEMBERS)),
        ("javascript", {"type": "dict"}, {}, "dict"),
    ],
)  # fmt: skip
def test_parameters_become_texts(language: Any, schema: dict[str, Any], keys: dict[str, Any], told: str) -> None:
    """Elements are named and lose ``items``; of objects only those of JavaScript are written out."""
    original = document(p={"description": "A value.", **schema})
    before = copy.deepcopy(original)
    (result,) = with_hints([original], language, Texts.own())
    made = result["parameters"]["properties"]["p"]
    assert result["description"] == "Does it." + HINTS[f"{language}.function"]
    description = made.pop("description")
    assert made == {"type": "string", **keys}
    assert description.startswith("A value.")
    assert all(word in description for word in ([told] if told.startswith((" ", "{")) else told.split()))
    assert original == before


@pytest.mark.parametrize("twice", [False, True])
def test_python_documents_get_a_sentence(twice: bool) -> None:
    """Those of format sensitivity get it twice."""
    original = document(p={"type": "array", "items": {"type": "integer"}, "description": "Numbers."})
    (result,) = with_hints([original], "python", Texts.own(), twice=twice)
    assert result == {**original, "description": "Does it." + (1 + twice) * HINTS["python.function"]}
