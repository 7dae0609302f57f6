"""How replies may end: every API, streamed or not, every word, and what comes of it for every kind of entry.

The words stand here a second time, by class, on purpose: a word that changes its class in the package fails here. The
conversations are real ones, engine and checkers included; only the wire is left out, but for the tests at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from pytest_bfcl.checkers import judge
from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.endings import ENDINGS, UnknownEnding, ended, ending_of, is_marked, normal_form
from pytest_bfcl.endpoints.retrying import RetryPolicy
from pytest_bfcl.extensions.boards.official_files import official_valid
from pytest_bfcl.failures import AdapterError, Verdict
from pytest_bfcl.models import parse_spec
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.openai import OpenAIModel
from pytest_bfcl.replies import read_reply
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.runs.results import result_record
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Mode, Reply
from tests.checkers.building import entry, function
from tests.conversation.worlds import SETTINGS, TEXTS, shelf_entry
from tests.models.loopback import WEATHER, request, run, serving
from tests.wires import NORMAL, WIRES

# ------------------------------------------------------------------ words, by class

NATIVE = {
    "normal": "stop eos eos_token stop_sequence STOP end_turn COMPLETE STOP_SEQUENCE",
    "cut": "length max_tokens model_length MAX_TOKENS Max-Tokens",
    "filtered": "content_filter content-filter SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE "
    "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR guardrail_intervened "
    "content_filtered ERROR_TOXIC sensitive",
    "overflow": "model_context_window_exceeded",
    "malformed": "MALFORMED_FUNCTION_CALL malformed_function_call UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS "
    "malformed_model_output malformed_tool_use MALFORMED_RESPONSE",
    "refused": "refusal",
    "trouble": "abort error ERROR cancelled timeout TIMEOUT insufficient_system_resource OTHER "
    "FINISH_REASON_UNSPECIFIED ERROR_LIMIT USER_CANCEL load network_error completed brand_new stopped",
}
WORDS: dict[str, dict[str, str]] = {
    "chat": NATIVE | {"calls": "tool_calls function_call tool_use TOOL_CALL tool-calls"},
    "completions": NATIVE | {"trouble": NATIVE["trouble"] + " tool_calls function_call pause_turn"},
    "anthropic": {
        "normal": "end_turn stop_sequence End-Turn", "calls": "tool_use", "cut": "max_tokens",
        "filtered": "guardrail_intervened content_filtered", "overflow": "model_context_window_exceeded",
        "malformed": "malformed_model_output malformed_tool_use", "refused": "refusal",
        "trouble": "error abort stop length content_filter tool_calls timeout cancelled SAFETY MAX_TOKENS_ ERROR OTHER "
        "COMPLETE eos compaction brand_new end turn",
    },
    "responses": {
        "normal": "completed COMPLETED",
        "cut": "incomplete:max_output_tokens incomplete:MAX-OUTPUT-TOKENS incomplete:max_tokens",
        "filtered": "incomplete:content_filter incomplete:content-filter",
        "trouble": "failed cancelled in_progress queued incomplete incomplete:max_prompt_tokens incomplete:completed "
        "incomplete:stop expired stop length content_filter abort error timeout max_output_tokens end_turn tool_calls "
        "SAFETY brand_new",
    },
}  # fmt: skip
NONE = [None, "", " ", 7, ["stop"], {"a": 1}]
"""Words that are none, in any API: trouble."""

# ------------------------------------------------------------------ entries, what is said, and what must come of it

SERVE = [function("serve", bowls="int")]
BOOKS = shelf_entry(turns=("put Emma on the shelf",)).model_copy(
    update={"possible_answer": [["add_book(title='Emma')"]]}
)
ENTRIES: dict[str, Entry] = {
    "irrelevance": entry(SERVE, None, id="irrelevance_900", category="irrelevance"),
    "call": entry(SERVE, [{"serve": {"bowls": [5]}}]),
    "multi_turn": BOOKS,
    "memory": Entry(
        id="memory_kv_0-student-0", category="memory_kv", question=[[{"role": "user", "content": "Which tea?"}]],
        function=[], possible_answer=["green"], involved_classes=["MemoryAPI_kv"], scenario="student",
    ),
}  # fmt: skip
RIGHT = {
    "irrelevance": {"text": "Nothing here fits."},
    "call": {"calls": [("serve", {"bowls": 5})]},
    "multi_turn": {"text": "Done."},
    "memory": {"text": "It is green."},
}
UNREAD, ENDING, PASS = "ast_decoder:decoder_failed", "adapter:ending", ""
MISTAKE = "a mistake of the model's"
"""No text and an empty one are read differently where a call is due, see `Reply.text`; both fail."""
COLUMNS = [(kind, said) for kind in ENTRIES for said in ("nothing", "right")]
# irrelevance: nothing, right; call: …; multi-turn, its last reply: …; memory: …
OUTCOMES: dict[str, tuple[str, ...]] = {
    "normal": (PASS, PASS, MISTAKE, PASS, PASS, PASS, "agentic:no_last_message", PASS),
    "calls": (ENDING, ENDING, ENDING, PASS, ENDING, ENDING, ENDING, ENDING),
    "cut": ("reply:length", PASS) * 4,
    "filtered": ("reply:content_filter", PASS) * 4,
    "overflow": ("reply:context_overflow",) * 2 + ("reply:context_overflow", PASS) * 3,
    "malformed": (UNREAD,) * 6 + ("agentic:no_last_message", UNREAD),
    "refused": ("reply:content_filter", PASS) * 4,
    "trouble": (ENDING,) * 8,
}
BLANK = {"normal": "reply:nothing_said", "cut": "reply:length", "filtered": "reply:content_filter",
         "refused": "reply:content_filter", "overflow": "reply:context_overflow", "trouble": ENDING,
         "calls": ENDING, "malformed": UNREAD}  # fmt: skip
"""White space passes nowhere: of an irrelevance entry."""


# ------------------------------------------------------------------ bodies and streams


class Answering:
    """A model whose replies are read from bodies, the last one again and again."""

    spec = "test:m@fc"
    underscore_names = True

    def __init__(self, mode: Mode, *replies: Callable[[], Reply]) -> None:
        self.mode: Mode = mode
        self.replies = list(replies)

    async def generate(self, request: Request) -> Reply:
        return self.replies.pop(0)() if len(self.replies) > 1 else self.replies[0]()

    async def aclose(self) -> None: ...


def verdict_of(kind: str, mode: Mode, *replies: Callable[[], Reply]) -> Verdict:
    """What a run says of an entry that is answered so."""
    asked = ENTRIES[kind]
    try:
        transcript = asyncio.run(converse(asked, Answering(mode, *replies), settings=SETTINGS, texts=TEXTS))
    except AdapterError as error:
        return error.verdict
    return judge(asked, transcript)


def outcome(api: str, streamed: bool, kind: str, word: Any, **said: Any) -> str:
    """The reason of the verdict; empty for a pass. The last reply of a conversation has the word."""
    wire = WIRES[api]
    steps = [lambda: wire.read(streamed, wire.body(word, **said))]
    if kind == "multi_turn":
        steps.insert(0, lambda: wire.read(streamed, wire.body(NORMAL[api], calls=[("add_book", {"title": "Emma"})])))
    found = verdict_of(kind, wire.mode, *steps)
    if found.reason == ENDING and said.keys() <= {"text", "calls"}:
        assert found.outcome == "error"
        assert found.detail["ending"] == (word if isinstance(word, str) and word.strip() else "none").replace(":", ": ")
    return found.reason or ""


CASES = [(api, word, kind) for api, kinds in WORDS.items() for kind, words in kinds.items() for word in words.split()]


def test_the_table_is_closed_and_as_large_as_promised() -> None:
    for api in WIRES:
        assert len({word for each, word, _ in CASES if each == api}) >= 25, api
        ours = {ending_of(word, api).value for word in ENDINGS[api]}
        assert "ending" not in ours  # what is trouble is not in the table, named or not
        tried = {normal_form(word.rpartition(":")[2]) for each, word, _ in CASES if each == api}
        assert ENDINGS[api].keys() - tried <= {"pause_turn"}, api  # asked on, see below


@pytest.mark.parametrize(
    ("word", "said"),
    [(None, "says no reason why it ended"), (" ", "says no reason"), ("tool_calls", "there is no call in it"),
     ("pause_turn", "again and again"), ("odd", "no way a reply ends normally")],
)  # fmt: skip
def test_what_is_told_of_an_unknown_ending(word: str | None, said: str) -> None:
    error = UnknownEnding(word)
    assert said in error.message
    assert (error.kind, error.retryable, error.ending) == ("ending", True, (word or "").strip() or "none")
    assert error.verdict.detail["ending"] == error.ending


FIRST_WORDS = {(api, words.split()[0]) for api, kinds in WORDS.items() for words in kinds.values()}
"""One word of each class: with it every kind of entry is asked, with the others that one where no call is right."""


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("api", "word", "kind"), CASES)
def test_every_word_for_every_kind_of_entry(api: str, word: str, kind: str, streamed: bool) -> None:
    columns = COLUMNS if (api, word) in FIRST_WORDS else COLUMNS[:2]
    found = [outcome(api, streamed, e, word, **(RIGHT[e] if said == "right" else {})) for e, said in columns]
    if kind == "normal" and found[2:] and found[2].startswith(("ast_decoder:", "simple_function_checker:wrong_count")):
        found[2] = MISTAKE
    assert tuple(found) == OUTCOMES[kind][: len(columns)]
    assert outcome(api, streamed, "irrelevance", word, text=" \n") == BLANK[kind]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", WIRES)
@pytest.mark.parametrize("word", NONE, ids=repr)
def test_no_word_is_trouble(api: str, word: Any, streamed: bool) -> None:
    for kind in ENTRIES:
        assert outcome(api, streamed, kind, word, **RIGHT[kind]) == ENDING


# ------------------------------------------------------------------ what stands beside the word

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
HIDDEN = {"type": "redacted_thinking", "data": "x"}
ITEM = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"}
MARK = {"content_filter_results": {"violence": {"filtered": True, "severity": "high"}, "hate": {"filtered": False}}}
CLEAR = {"content_filter_results": {"violence": {"filtered": False, "severity": "safe"}}}
PROMPT_MARK = {"prompt_filter_results": [{"prompt_index": 0, **MARK}]}
NOTHING_SAID, FILTERED = "reply:nothing_said", "reply:content_filter"
BESIDE: list[tuple[str, str, dict[str, Any], str]] = [
    # thoughts and nothing else, shown or hidden
    ("chat", "stop", {"message": {"reasoning_content": "Hm."}}, NOTHING_SAID),
    ("chat", "stop", {"message": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}}, NOTHING_SAID),
    ("chat", "stop", {"usage": {"completion_tokens_details": {"reasoning_tokens": 9}}}, NOTHING_SAID),
    ("chat", "stop", {"usage": {"completion_tokens_details": {"reasoning_tokens": 0}}}, PASS),
    ("anthropic", "end_turn", {"blocks": [THOUGHT]}, NOTHING_SAID),
    ("anthropic", "end_turn", {"blocks": [HIDDEN]}, NOTHING_SAID),
    ("responses", "completed", {"items": [ITEM]}, NOTHING_SAID),
    # a filter's mark says more than the word
    ("chat", "stop", {"choice": MARK}, FILTERED),
    ("chat", "stop", {"choice": CLEAR}, PASS),
    ("chat", "stop", PROMPT_MARK, FILTERED),
    ("chat", "brand_new", {"choice": MARK}, FILTERED),
    ("completions", "stop", {"choice": MARK}, FILTERED),
    ("completions", "stop", PROMPT_MARK, FILTERED),
    ("responses", "completed", {"content_filters": [{"blocked": True, "source_type": "completion"}]}, FILTERED),
    ("anthropic", "end_turn", MARK, FILTERED),
    # items that are no answer
    ("responses", "failed", {"incomplete_details": {"reason": "max_output_tokens"}}, ENDING),
    ("responses", "completed", {"items": [{"type": "error"}]}, ENDING),
    ("responses", "completed", {"items": [{"type": "brand_new", "id": "x"}]}, ENDING),
    ("responses", "completed", {"items": [{"type": "web_search_call", "id": "w"}]}, ENDING),
    # the provider's own word, which a gateway has written over
    ("chat", "stop", {"choice": {"provider_specific_fields": {"native_finish_reason": "OTHER"}}}, ENDING),
    ("chat", "stop", {"choice": {"provider_specific_fields": {"native_finish_reason": "abort"}}}, ENDING),
    ("chat", "stop", {"choice": {"native_finish_reason": "MALFORMED_FUNCTION_CALL"}}, UNREAD),
    ("chat", "stop", {"choice": {"native_finish_reason": "SAFETY"}}, FILTERED),
    ("chat", "stop", {"choice": {"native_finish_reason": "some_word_of_theirs"}}, PASS),
    # the model's own refusal is a text
    ("chat", "stop", {"message": {"refusal": "I will not."}}, PASS),
    ("chat", "content_filter", {"message": {"refusal": ""}}, FILTERED),
]  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("api", "word", "beside", "expected"), BESIDE, ids=repr)
def test_what_stands_beside_the_word(api: str, word: str, beside: Any, expected: str, streamed: bool) -> None:
    assert outcome(api, streamed, "irrelevance", word, **beside) == expected
    if expected == NOTHING_SAID:
        assert WIRES[api].read(streamed, WIRES[api].body(word, **beside)).problem == "nothing_said"


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", ENTRIES)
@pytest.mark.parametrize(
    ("api", "beside"),
    [("chat", {"message": {"reasoning_content": "Hm."}}), ("anthropic", {"blocks": [THOUGHT]}),
     ("responses", {"items": [ITEM]})],
)  # fmt: skip
def test_thoughts_alone_pass_nothing_and_beside_an_answer_they_do_not_matter(
    api: str, beside: Any, kind: str, streamed: bool
) -> None:
    assert outcome(api, streamed, kind, NORMAL[api], **beside) == NOTHING_SAID
    assert outcome(api, streamed, kind, "tool_use" if (api, kind) == ("anthropic", "call") else NORMAL[api],
                   **RIGHT[kind], **beside) == PASS  # fmt: skip


@pytest.mark.parametrize(
    ("place", "marked"),
    [({"content_filter_results": {"hate": {"filtered": True}}}, True), ({"other": {"filtered": True}}, False),
     ({"content_filters": [{"a": [{"blocked": True}]}]}, True), ({"content_filters": {"filtered": "yes"}}, False),
     ({"content_filters": [[[[{"blocked": True}]]]]}, True), ({"content_filters": [[[[[{"blocked": True}]]]]]}, False),
     ({"content_filters": "blocked"}, False), ("content_filters", False)],
)  # fmt: skip
def test_marks_of_a_filter(place: Any, marked: bool) -> None:
    assert is_marked(None, place) is marked
    if marked:
        assert ended(Reply("x"), None, "chat", filtered=True) == Reply("x", problem="content_filter")


def test_the_first_choice_is_the_one_with_index_0() -> None:
    def choice(index: Any, text: str, word: str = "stop") -> dict[str, Any]:
        numbered = {} if index is None else {"index": index}
        return {**numbered, "text": text, "message": {"content": text}, "finish_reason": word}

    cases = [
        ([choice(1, "b", "abort"), choice(0, "a")], "a"), ([choice(None, "a"), choice(None, "b")], "a"),
        ([choice(True, "b"), choice(0, "a")], "a"), ([choice(None, "b"), choice(0, "a")], "a"),
        ([choice(2, "a"), choice(1, "b")], "a"),
    ]  # fmt: skip
    for choices, text in cases:
        for api in ("chat", "completions"):
            assert WIRES[api].api.read({"choices": choices}).text == text
        assert read_reply({"choices": choices}).text == text


# ------------------------------------------------------------------ stored lines, objects handed over


def judged(kind: str, **line: Any) -> str:
    asked = ENTRIES[kind]
    transcript = transcript_from_line({"id": asked.id, "category": asked.category, "mode": "fc", **line})
    return judge(asked, transcript).reason or ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"output": ""}, PASS), ({"output": "  "}, PASS), ({"output": "", "reasoning": "Hm."}, PASS),  # nobody told
        ({"output": "", "finish_reasons": "stop"}, PASS),
        ({"output": " \n", "finish_reasons": "stop"}, NOTHING_SAID),
        ({"output": "", "finish_reasons": "STOP", "reasoning": "Hm."}, NOTHING_SAID),
        ({"output": None, "finish_reasons": "stop", "reasoning_tokens": 5}, NOTHING_SAID),
        ({"output": "no", "finish_reasons": "abort"}, ENDING), ({"output": "", "finish_reasons": "tool_calls"}, ENDING),
        ({"output": "", "finish_reasons": "MAX_TOKENS"}, "reply:length"),
        ({"output": " ", "finish_reasons": "stop", "problems": "content_filter"}, FILTERED),
        ({"output": "", "finish_reasons": "context_overflow"}, "reply:context_overflow"),
        ({"output": "", "finish_reasons": "malformed_function_call"}, UNREAD),
        ({"output": {"choices": [{"message": {"content": ""}, "finish_reason": "abort"}]}}, ENDING),
        ({"output": {"choices": [{"message": {"content": ""}, "finish_reason": "stop", **MARK}]}}, FILTERED),
        ({"output": {"candidates": [{"content": {"parts": []}, "finishReason": "OTHER"}]}}, ENDING),
        ({"output": {"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}}, FILTERED),
        ({"output": {"output": [], "status": "cancelled", "object": "response"}}, ENDING),
        ({"output": {"content": [], "role": "assistant", "stop_reason": "error"}}, ENDING),
    ],
)  # fmt: skip
def test_stored_lines_are_read_by_the_same_table(line: dict[str, Any], expected: str) -> None:
    assert judged("irrelevance", **line) == expected


def test_a_reply_of_a_conversation_that_ended_badly_fails_it_wherever_it_stands() -> None:
    call = [{"name": "add_book", "arguments": '{"title": "Emma"}'}]
    line = {"output": [[call, "done"]]}
    assert judged("multi_turn", **line) == PASS
    assert judged("multi_turn", **line, finish_reasons=[["tool_calls", "stop"]]) == PASS
    assert judged("multi_turn", **line, finish_reasons=[["error", "stop"]]) == ENDING
    assert judged("multi_turn", **line, finish_reasons=[["MALFORMED_FUNCTION_CALL", "stop"]]) == UNREAD
    assert judged("multi_turn", **line, finish_reasons=[["length", "stop"]]) == PASS
    assert judged("multi_turn", output=[[call, " "]], finish_reasons=[["tool_calls", "stop"]]) == NOTHING_SAID
    failed = {"output": [["words", "done"]], "finish_reasons": [["length", "stop"]]}
    assert judged("multi_turn", **failed) == "reply:length"


# ------------------------------------------------------------------ over the wire


def asked_of(api: str, *bodies: dict[str, Any], streamed: bool, retries: int = 2) -> tuple[Any, list[dict[str, Any]]]:
    """The reply (or the error) of a real server that answers with these bodies in turn, and what it was asked."""
    wire, seen = WIRES[api], []

    async def handler(http: web.Request) -> web.Response:
        seen.append(await http.json())
        body = bodies[min(len(seen), len(bodies)) - 1]
        if streamed and "error" not in body:
            return web.Response(body=wire.stream(body), content_type="text/event-stream")
        return web.json_response(body)

    async def work() -> Any:
        async with serving(handler) as url:
            settings = Settings(base_url=url, stream=streamed, step_limit=3)
            policy = RetryPolicy(retries=retries, first_s=0.001, longest_s=0.002)
            model = OpenAIModel(parse_spec("openai:m"), settings, wire.mode, base_url=url, api=wire.api, policy=policy)
            try:
                return await model.generate(request(WEATHER))
            except AdapterError as error:
                return error
            finally:
                await model.aclose()

    return run(work()), seen


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", WIRES)
def test_trouble_is_asked_again_and_then_an_error_with_its_word(api: str, streamed: bool) -> None:
    bad, good = WIRES[api].body("abort", text=""), WIRES[api].body(NORMAL[api], text="fine")
    reply, seen = asked_of(api, bad, good, streamed=streamed)
    assert (reply.text, reply.attempts, len(seen)) == ("fine", 2, 2)
    assert (reply.served.model, reply.served.id) == ("m-2", "r1")
    error, seen = asked_of(api, bad, streamed=streamed)
    assert isinstance(error, UnknownEnding)
    assert (error.kind, error.ending, len(seen)) == ("ending", "abort", 3)
    assert error.verdict.detail["ending"] == "abort"


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("error", "kind", "word"),
    [({"message": "upstream died"}, "ending", "error"), ({"message": "x", "code": 502}, "ending", "error"),
     ({"message": "slow down", "code": "rate_limit_exceeded"}, "rate_limit", None)],
)  # fmt: skip
def test_an_error_inside_a_choice_is_no_reply(error: Any, kind: str, word: str | None, streamed: bool) -> None:
    for finish in ("error", "stop", None):
        body = WIRES["chat"].body(finish, text="half", choice={"error": error})
        found, seen = asked_of("chat", body, streamed=streamed)
        assert (found.kind, getattr(found, "ending", None), len(seen)) == (kind, word, 3)
        assert error["message"] in found.message


def test_an_overflow_told_inside_a_failed_response_is_the_models() -> None:
    error = {"code": "context_length_exceeded", "message": "too long"}
    reply, _ = asked_of("responses", {"error": error, "status": "failed", "output": []}, streamed=False)
    assert reply.problem == "context_overflow"


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_pause_is_asked_on_and_the_parts_are_one_reply(streamed: bool) -> None:
    wire = WIRES["anthropic"]
    usage = {"input_tokens": 3, "output_tokens": 2}
    first = wire.body("pause_turn", text="Let me see. ", blocks=[THOUGHT], usage=usage)
    last = wire.body("tool_use", text="Now: ", calls=[("weather_lookup", {"town": "Bern"})], usage=usage)
    reply, seen = asked_of("anthropic", first, last, streamed=streamed)
    assert (reply.text, reply.finish_reason, reply.problem) == ("Let me see. Now: ", "tool_use", None)
    assert [call.name for call in reply.tool_calls] == ["weather_lookup"]
    assert (reply.input_tokens, reply.output_tokens, reply.attempts, reply.reasoning) == (6, 4, 2, "Hm.")
    assert [part["type"] for part in reply.state.parts] == ["thinking", "text", "text", "tool_use"]
    assert seen[1]["messages"][:-1] == seen[0]["messages"]
    assert seen[1]["messages"][-1]["role"] == "assistant"
    assert [b["type"] for b in seen[1]["messages"][-1]["content"]] == ["thinking", "text"]
    error, seen = asked_of("anthropic", first, streamed=streamed)
    assert (error.kind, error.ending, len(seen)) == ("ending", "pause_turn", 4)  # the step limit of these settings is 3


# ------------------------------------------------------------------ as the reference would count


@pytest.mark.parametrize(
    ("kind", "line", "right"),
    [
        ("irrelevance", {"output": " ", "finish_reasons": "stop"}, True),
        ("irrelevance", {"output": "", "finish_reasons": "stop", "reasoning": "Hm."}, True),
        ("irrelevance", {"output": "", "finish_reasons": "MALFORMED_FUNCTION_CALL"}, True),
        ("irrelevance", {"output": "", "finish_reasons": "SAFETY"}, True),
        ("irrelevance", {"output": "", "finish_reasons": "abort"}, True),
        ("irrelevance", {"output": [{"name": "serve", "arguments": "{}"}], "finish_reasons": "length"}, False),
        ("call", {"output": "", "finish_reasons": "SAFETY"}, False),
        ("call", {"output": " ", "finish_reasons": "stop"}, False),
        ("multi_turn", {"output": [[[{"name": "add_book", "arguments": '{"title": "Emma"}'}], " "]],
                        "finish_reasons": [["tool_calls", "stop"]]}, True),
        ("multi_turn", {"output": [[" "]], "finish_reasons": [["stop"]]}, False),
    ],
)  # fmt: skip
def test_an_export_counts_what_only_its_ending_fails_as_the_reference_does(
    kind: str, line: dict[str, Any], right: bool
) -> None:
    asked = ENTRIES[kind]
    heard = transcript_from_line({"id": asked.id, "category": asked.category, "mode": "fc", **line})
    verdict = judge(asked, heard)
    assert not verdict.valid
    assert official_valid(result_record(asked, heard, verdict, verdict)) is right
