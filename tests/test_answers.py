"""What counts as an answer, whichever door it came through: doors × APIs × bodies, the cells written down by hand.

The entry is one in which no call is right, so whatever passes for an answer without a call passes.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import pytest_bfcl
from pytest_bfcl.assertions import assert_no_calls
from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.boards.served_runs import conducts_of
from pytest_bfcl.extensions.own.log_entries import entries_of_log
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.failures import AdapterError, Failure, HarnessError, UsageError
from pytest_bfcl.formats.thinking import TAGS
from pytest_bfcl.judge import Task
from pytest_bfcl.judge import judge as judge_task
from pytest_bfcl.models.callable import read_result
from pytest_bfcl.models.streams import EventReader
from pytest_bfcl.replies import final_reply, read_reply
from pytest_bfcl.rescoring import score_lines
from pytest_bfcl.rewards import reward
from pytest_bfcl.runs.journal import reply_from_dict, reply_to_dict
from pytest_bfcl.runs.official_layout import import_official
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.transcript import Reply, Step, ToolCall, Transcript, Turn
from tests.replies import recorded
from tests.wires import WIRES, events_of

TOOL = {"name": "f", "description": "", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}
QUIET = Entry.model_validate(
    {"id": "irrelevance_0", "category": "irrelevance", "question": [[]], "function": [TOOL | {"parameters": {
        "type": "dict", "properties": {"x": {"type": "string"}}}}]}
)  # fmt: skip
ANY_CALL = QUIET.model_copy(update={"id": "live_relevance_0-0-0", "category": "live_relevance"})
APIS = {name: wire.api for name, wire in WIRES.items()}
ASKED = {"messages": [{"role": "user", "content": "?"}], "tools": [{"type": "function", "function": TOOL}]}


def chat(content: Any = "No.", finish: str | None = "stop", *, message: Any = (), choice: Any = (), **body: Any) -> Any:
    said = {"role": "assistant", "content": content, **dict(message)}
    return {"choices": [{"index": 0, "message": said, "finish_reason": finish, **dict(choice)}], **body}


def rows(name: str) -> list[Any]:
    return list(map(json.loads, Path(__file__).with_name(name).read_text("utf-8").splitlines()))


CASES: list[tuple[str, Any, str]] = [(api, body, expected) for api, expected, body in rows("answers.jsonl")]
"""API, body, and what every door says of it."""
LIBRARIES: list[tuple[Any, str]] = [(output, expected) for expected, output in rows("answers_of_libraries.jsonl")]
"""What langchain, pydantic-ai, ollama, Bedrock and others hand over, and what is said of it."""
STREAMS: list[tuple[str, str, str]] = [tuple(row) for row in rows("answer_streams.jsonl")]  # type: ignore[misc]


def verdict(reply: Reply, entry: Entry = QUIET) -> str:
    mode: Any = "fc" if entry.id == QUIET.id else "prompt"
    found = judge(entry, Transcript(entry.id, entry.category, mode=mode, turns=[Turn(steps=[Step(reply)])]))
    return {"passed": "right", "failed": "wrong"}.get(found.outcome, found.outcome)


def live(api: str, body: Any) -> str:
    return verdict(APIS[api].read(body))


def streamed(api: str, body: Any) -> str:
    """The same reply as events, whose lines end with CR alone, and whose indices are texts."""
    return of_events(api, events_of(api, body))


def of_events(api: str, events: list[Any]) -> str:
    joiner = APIS[api].joiner()
    reader = EventReader(joiner)
    for event in events:
        reader.feed(f"data: {json.dumps(event)}\r\r".encode())
    reader.close()
    return "error" if reader.error else verdict(APIS[api].read(joiner.body()))


def handed_over(api: str, body: Any) -> str:
    return verdict(read_result(body))


def of_the_judge(api: str, body: Any) -> str:
    found = judge_task(Task(QUIET), body).outcome
    return {"not judged": "error"}.get(found, found)


def rewarded(api: str, body: Any) -> str:
    return "right" if reward(QUIET, body, mode="fc") == 1.0 else "wrong"


def episode(api: str, body: Any) -> str:
    played = Episode(QUIET)
    played.step(body)
    return "right" if played.reward == 1.0 else "wrong"


def scored(api: str, body: Any) -> str:
    line = {"id": "irrelevance_0", "category": "irrelevance", "mode": "fc", "output": body, "function": [TOOL]}
    (found,) = score_lines([line])
    if "error" in found:
        return "error"
    return "right" if found["valid"] else "error" if found["tag"] == "ADAPTER_ERROR" else "wrong"


def taped(api: str, body: Any) -> str:
    """What a recording of `ask` gives back is what was read."""
    return verdict(reply_from_dict(json.loads(json.dumps(reply_to_dict(read_result(body))))))


def asserted(api: str, body: Any) -> str:
    try:
        assert_no_calls(body, [TOOL])
    except Failure as failure:
        return "error" if failure.reason == "adapter:ending" else "wrong"
    return "right"


def of_an_agent(api: str, body: Any) -> str:
    """The last words of an agent; the calls of such an entry have been carried out before."""
    return verdict(replace(final_reply(body), tool_calls=read_reply(body).tool_calls))


def imported(api: str, body: Any) -> str:
    """A log becomes an entry "no call is right" for a whole answer, and for nothing else."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        log.write_text(json.dumps({**ASKED, "response": body}) + "\n", encoding="utf-8")
        refused: list[str] = []
        found = list(entries_of_log(log, leave_out=refused.append))
    return "right" if any(entry["category"] == "irrelevance" for entry in found) else "error" if refused else "wrong"


@cache
def replayed() -> dict[str, Any]:
    """Body → its line of a run whose model is a file of lines."""
    bodies = list(
        dict.fromkeys(json.dumps(body) for body in chain((each[1] for each in CASES), (each[0] for each in LIBRARIES)))
    )
    asked = [QUIET.model_copy(update={"id": f"irrelevance_{number}"}) for number in range(len(bodies))]
    with TemporaryDirectory() as folder:
        lines = Path(folder) / "lines.jsonl"
        line = {"category": QUIET.category, "model": "m", "mode": "fc"}
        said = ({"id": each.id, **line, "output": json.loads(body)} for each, body in zip(asked, bodies, strict=True))
        lines.write_text("".join(json.dumps(each) + "\n" for each in said), encoding="utf-8")
        found = {each["id"]: each for each in pytest_bfcl.run(asked, f"replay:{lines}").records}
    return {body: found[each.id] for each, body in zip(asked, bodies, strict=True)}


def of_replay(api: str, body: Any) -> str:
    line = replayed()[json.dumps(body)]
    return {"passed": "right", "failed": "wrong"}.get(line["outcome"], line["outcome"])


def of_official_folders(api: str, body: Any) -> str:
    """Handlers store texts and calls, some the vendor's whole reply."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "result" / "m-FC" / "BFCL_v4_irrelevance_result.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"id": QUIET.id, "result": body}) + "\n", encoding="utf-8")
        (line,) = import_official(Path(folder))
    return verdict(transcript_from_line({**line, "mode": "fc"}).turns[0].steps[0].reply)


def verified(api: str, body: Any) -> str:
    """What a verification counts of a stored line: errors have no verdict there."""
    (found,) = conducts_of([replayed()[json.dumps(body)]])
    return {None: "error", True: "right", False: "wrong"}[found.passed]


DOORS: dict[str, Callable[[str, Any], str]] = {
    "live": live, "streamed": streamed, "fixture": handed_over, "judge": of_the_judge, "rewards": rewarded,
    "episode": episode, "score": scored, "tape": taped, "assertions": asserted, "agent": of_an_agent,
    "import": imported, "replay": of_replay, "official": of_official_folders, "verify": verified,
}  # fmt: skip
COLUMNS = {
    "models/anthropic.py": "live", "models/chat.py": "live",
    "models/responses.py": "live", "extensions/litellm/model.py": "live", "models/callable.py": "fixture",
    "judging/said.py": "judge", "extensions/training/rewards.py": "rewards", "extensions/training/tasks.py": "rewards",
    "extensions/training/trl.py": "episode", "runs/replay_lines.py": "score", "extensions/own/assertions.py":
    "assertions", "extensions/own/expecting.py": "assertions", "extensions/agents/episode.py": "agent",
    "extensions/own/logs/conversation.py": "import", "extensions/own/logs/apis.py": "import",
    "extensions/own/logs/spans.py": "import",
}  # fmt: skip
"""Every module that reads replies, and the door by which this page goes through it. Recordings of ``ask`` hold what a
model's reader read."""
READERS = re.compile(r"\b(?:read_(?:reply|history|completion|blocks|items|text|candidates)|final_reply)\b")


def test_every_module_that_reads_replies_has_a_column() -> None:
    package = Path(pytest_bfcl.__file__).parent
    found = {
        path.relative_to(package).as_posix() for path in package.rglob("*.py")
        if re.search(r"^\s*from pytest_bfcl\.(?:replies|answers)\b[^\n]*import [^\n]*" + READERS.pattern,
                     path.read_text(encoding="utf-8"), re.MULTILINE)
    }  # fmt: skip
    inside = {path for path in found if path.startswith(("replies/", "answers/"))}
    assert found - inside == set(COLUMNS)
    assert set(COLUMNS.values()) <= set(DOORS)


def at(door: str, api: str, body: Any) -> str:
    """What a door says; who hands a body over that is none is refused, which is an error of theirs."""
    try:
        return DOORS[door](api, body)
    except (AdapterError, UsageError, HarnessError):
        return "error"


def allowed(door: str, number: int, expected: str) -> set[str]:
    """An import takes whole answers only: what was cut is refused there, as are calls of a provider's tools."""
    return {"error", "wrong"} if door == "import" and (expected != "right" or number in NOT_WHOLE) else {expected}


NOT_WHOLE = {
    number for number, (_, body, expected) in enumerate(CASES)
    if expected == "right"
    and re.search("length|refusal|max_output_tokens|server_tool_use|web_search_call", json.dumps(body))
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_every_door_says_the_same(door: str) -> None:
    cases = [(n, *case) for n, case in enumerate(CASES) if door not in ("live", "streamed") or case[0] in APIS]
    if door == "streamed":
        cases = [case for case in cases if re.search("message|text", str(case[2]))]
    if door == "import":
        cases = [case for case in cases if case[1] != "completions"]
    found = {(n, json.dumps(body)): at(door, api, body) for n, api, body, _ in cases}
    odd = {n: (said, expected, text) for ((n, text), said), (*_, expected) in zip(found.items(), cases, strict=True)
           if said not in allowed(door, n, expected)}  # fmt: skip
    assert odd == {}


@pytest.mark.parametrize(("api", "expected", "text"), STREAMS)
def test_what_may_stand_in_a_stream(api: str, expected: str, text: str) -> None:
    stream = text.encode()
    joiner = APIS[api].joiner()
    reader = EventReader(joiner)
    try:
        for place in range(0, len(stream), 7):
            reader.feed(stream[place : place + 7])
        reader.close()
        found = "error" if reader.error is not None else verdict(APIS[api].read(joiner.body()))
    except AdapterError:
        found = "error"
    assert found == expected


MARK = re.compile(r"<|\[|\{|`|functools|Action:")
"""What begins something else than words."""


def golden(golden_dir: Path, name: str) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress((golden_dir / name).read_bytes()).splitlines()]


def without_an_answer(case: Any) -> range:
    """The prefixes of a served model's output that hold no answer: thoughts, and calls that have begun.

    Words before a call, and thoughts without an opening tag, cannot be told from an answer until their mark is whole.
    """
    text, content = case["text"], (case["content"] or "").strip()
    end = text.find(content[:12]) if content else len(text)
    if "<|open|>response<|sep|>" in text and not content:  # some recordings leave the words out
        content = text.partition("<|open|>response<|sep|>")[2].partition("<|close|>")[0].strip()
    first, tools = MARK.search(text), text.find("<|open|>tools")
    begin = 1 if first is not None and not text[: first.start()].strip() else (first.start() + 40 if first else end)
    for opening, closing in TAGS.values():
        if (closed := text.find(closing)) >= 0 and opening not in text[:closed]:
            begin = closed + len(closing)
    if tools >= 0 and content:
        begin = tools + len("<|open|>tools")
    return range(begin, end)


def cut(text: str, ending: str, entry: Entry, mode: Any) -> str | None:
    """What is wrong with the verdict of a cut text without an answer: that it passes, or whom it blames."""
    reply = Reply(text=text, finish_reason=ending, problem=ending)
    found = judge(entry, Transcript(entry.id, entry.category, mode=mode, turns=[Turn(steps=[Step(reply)])]))
    return "passes" if found.valid else None if found.reason == f"reply:{ending}" else found.reason


def prefixes(cases: list[Any], step: int) -> list[Any]:
    """The prefixes that pass, or are put down to the model; a whole call is an answer where some call is right."""
    odd = []
    for case in cases:
        for place in without_an_answer(case)[::step]:
            text = case["text"][:place]
            with pytest.raises(AdapterError):
                APIS["chat"].read(chat(text, None))
            for ending in ("length", "content_filter"):
                for entry, mode in ((QUIET, "fc"), (QUIET, "prompt"), (ANY_CALL, "prompt")):
                    whole = entry is ANY_CALL and text.rstrip(", ").endswith((")", "]"))
                    if not whole and (found := cut(text, ending, entry, mode)):
                        odd.append((found, entry.category, mode, text))
    return odd


@pytest.mark.golden
@pytest.mark.parametrize(
    ("every", "step"), [(5, 7), pytest.param(1, 1, marks=pytest.mark.slow)], ids=["sample", "every prefix"]
)
def test_no_prefix_without_an_answer_passes_or_is_the_models_fault(golden_dir: Path, every: int, step: int) -> None:
    cases = [each for each in golden(golden_dir, "parsers/parser_tests.jsonl.gz") if each["calls"] or each["reasoning"]]
    assert prefixes(cases[::every], step) == []
    thoughts = [
        {"text": text, "content": text.partition("</think>")[2] or None}
        for each in golden(golden_dir, "formats/decode.jsonl.gz")
        if (text := str(each.get("text"))).startswith("<think>")
    ]  # fmt: skip
    assert len(thoughts) > 100
    assert prefixes(thoughts[:: 40 * every], step) == []


def test_a_call_that_was_cut_is_no_call() -> None:
    reply = Reply(tool_calls=(ToolCall("f", '{"x": "'),), finish_reason="length", problem="length")
    assert verdict(reply) == "wrong"
    assert verdict(Reply(text="<think>maybe [f(x='1')]", finish_reason="length"), ANY_CALL) == "wrong"


def of_sdk(api: str, body: Any) -> Any:
    """The body as the objects that the official clients make of it, which do not check what servers send."""
    if api == "anthropic":
        types: Any = pytest.importorskip("anthropic.types")
        return pytest.importorskip("anthropic._models").construct_type(type_=types.Message, value=body)
    construct: Any = pytest.importorskip("openai._models").construct_type
    types = pytest.importorskip("openai.types")
    kinds = {"chat": types.chat.ChatCompletion, "completions": types.Completion, "responses": types.responses.Response}
    return construct(type_=kinds[api], value=body)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Pydantic")
def test_objects_of_the_official_clients_are_read_as_their_bodies() -> None:
    cases = [(api, body, expected) for api, body, expected in CASES if api != "gemini"]
    found = {json.dumps(body): (at("fixture", api, of_sdk(api, body)), expected) for api, body, expected in cases}
    assert {body: both for body, both in found.items() if both[0] != both[1]} == {}
    assert len(found) > 90


@pytest.mark.parametrize("door", ["fixture", "rewards", "episode", "score", "assertions", "agent", "replay"])
def test_messages_of_libraries_are_read_by_the_reader_of_their_api(door: str) -> None:
    found = {json.dumps(output): (at(door, "chat", output), expected) for output, expected in LIBRARIES}
    assert {output: both for output, both in found.items() if both[0] != both[1]} == {}
    if door not in ("score", "replay"):
        assert all(at(door, "chat", recorded.objects(output)) == expected for output, expected in LIBRARIES)
