"""Turns, steps and messages (multi_turn spec §2), in both modes."""

import asyncio
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

import pytest

from pytest_bfcl.conversation import dialogue as module
from pytest_bfcl.conversation import engine
from pytest_bfcl.conversation.dialogue import Dialogue
from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.conversation.world import World
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.runs.journal import Journal
from pytest_bfcl.runs.result_line import EntryKey
from pytest_bfcl.runs.transcripts import Transcripts
from pytest_bfcl.simulators import CallExecutor
from pytest_bfcl.transcript import Reply, Step, ToolCall, Transcript, Turn

from .worlds import DOCS, SETTINGS, TEXTS, Listed, calls, shelf_entry, user


def hold(entry, model, **options):
    options.setdefault("settings", SETTINGS)
    return asyncio.run(converse(entry, model, texts=TEXTS, **options))


def area_entry(**fields):
    document = {
        "name": "geometry.area",
        "description": "Area of a rectangle.",
        "parameters": {
            "type": "dict",
            "properties": {"a": {"type": "integer", "description": "Side."}},
            "required": ["a"],
        },
    }
    fields = {"id": "simple_python_900", "category": "simple_python", "question": [user("area?")]} | fields
    return Entry(function=[document], **fields)


def test_a_users_system_prompt_takes_the_documents():
    settings = replace(SETTINGS, system_prompt='Tools: {functions}. Reply like {"x": 1}.')
    model = Listed("[]", mode="prompt")
    hold(area_entry(), model, settings=settings)
    content = model.requests[0].messages[0]["content"]
    assert content.startswith("Tools: [\n    {")
    assert content.endswith('Reply like {"x": 1}.')


def test_native_results_are_tool_messages_with_the_call_ids():
    model = Listed(calls(("add_book", '{"title": "Emma"}'), ("list_books", "{}"), text="Let me see."), "It is there.")
    transcript = hold(shelf_entry(), model)
    sent = model.requests[1].messages
    assert sent[1]["content"] == "Let me see."
    assert [c["id"] for c in sent[1]["tool_calls"]] == ["id-0", "id-1"]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "add_book", "arguments": '{"title": "Emma"}'}
    assert sent[2:] == [
        {"role": "tool", "tool_call_id": "id-0", "content": '{"count": 2}'},
        {"role": "tool", "tool_call_id": "id-1", "content": "['Ulysses', 'Emma']"},
    ]
    assert len(transcript.turns) == 1
    assert [step.calls for step in transcript.steps] == [["add_book(title='Emma')", "list_books()"], None]
    assert transcript.steps[0].results == ['{"count": 2}', "['Ulysses', 'Emma']"]


def test_prompted_results_are_one_user_message_with_a_python_repr():
    model = Listed("[add_book(title='Emma'), missing()]", "Done, it is there", mode="prompt")
    transcript = hold(shelf_entry(), model)
    shown = model.requests[1].messages[-1]
    assert shown["role"] == "user"
    results = transcript.steps[0].results
    assert shown["content"] == repr(
        [
            {"role": "tool", "name": "add_book(title='Emma')", "content": results[0]},
            {"role": "tool", "name": "missing()", "content": results[1]},
        ]
    )
    assert results[0] == '{"count": 2}'
    assert results[1].startswith("Error during execution: ")


def test_a_turn_makes_at_most_21_queries_and_executes_them_all():
    model = Listed(*[calls(("add_book", '{"title": "x"}')) for _ in range(30)])
    transcript = hold(shelf_entry(("a", "b", "c")), model)
    assert len(model.requests) == 21
    assert transcript.forced_quit
    assert len(transcript.turns) == 1
    assert transcript.steps[-1].results == ['{"count": 22}']


@pytest.mark.parametrize("last", ["", "plain words", calls(("list_books", "not json")), calls(("list_books", "[1]"))])
def test_what_ends_a_turn_but_not_the_conversation(last):
    model = Listed(last, calls(("list_books", "{}")), "done")
    transcript = hold(shelf_entry(("first", "second")), model)
    assert [len(turn.steps) for turn in transcript.turns] == [1, 2]
    assert model.requests[1].messages[-1] == {"role": "user", "content": "second"}
    assert not transcript.forced_quit


def test_an_endpoint_that_wants_results_for_broken_calls_gets_them():
    refusal = AdapterError("bad_request", "tool_calls must be followed by tool messages")
    model = Listed(calls(("add_book", "{")), refusal, "sorry")
    transcript = hold(shelf_entry(("first", "second")), model)
    assert len(transcript.turns) == 2
    mended = model.requests[2].messages
    assert [m["role"] for m in mended] == ["user", "assistant", "tool", "user"]
    assert mended[2]["tool_call_id"] == "id-0"


def test_context_overflow_ends_the_conversation():
    model = Listed(calls(("list_books", "{}")), Reply(problem="context_overflow"), "never asked")
    transcript = hold(shelf_entry(("first", "second")), model)
    assert len(model.requests) == 2
    assert len(transcript.turns) == 1
    last = transcript.steps[-1]
    assert (last.reply.problem, last.calls, last.error) == ("context_overflow", None, None)


def test_held_out_functions_arrive_native():
    model = Listed("cannot", calls(("add_book", '{"title": "Emma"}')), "done")
    transcript = hold(shelf_entry(("put Emma there", ""), missed={1: ["add_book"]}), model)
    first, second, _ = model.requests
    assert [doc["name"] for doc in first.functions] == ["list_books"]
    assert [doc["name"] for doc in second.functions] == ["list_books", "add_book"]
    assert second.functions[1] == DOCS["add_book"]  # without a hint, as the reference sends it
    assert second.messages[-1] == {"role": "user", "content": TEXTS.additional_functions_fc}
    assert transcript.turns[1].messages == [second.messages[-1]]
    assert transcript.steps[1].results == ['{"count": 2}']


class Book:
    """A journal in memory."""

    def __init__(self):
        self.replies = {}

    def find(self, key):
        return self.replies.get(key)

    def record(self, key, reply, asked=None):
        self.replies[key] = reply


def test_the_journal_answers_what_was_asked_before():
    journal = Book()
    replies = [calls(("list_books", "{}")), "first done", "second done"]
    whole = hold(shelf_entry(("a", "b")), Listed(*replies), journal=journal)
    again = Listed()
    assert hold(shelf_entry(("a", "b")), again, journal=journal).messages == whole.messages
    assert again.requests == []
    assert [(key.turn, key.step) for key in journal.replies] == [(0, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize("mode", ["fc", "prompt"])
@pytest.mark.parametrize("broken", [False, True])
def test_the_journal_has_the_whole_conversation(tmp_path, mode, broken):
    """Each message once, in a conversation that was broken off and gone on with too."""
    entry = shelf_entry(("a", "", "b"), missed={1: ["add_book"]})
    said = calls(("list_books", "{}")) if mode == "fc" else "[list_books()]"
    replies = [said, said, "first", "second", "third"]
    if broken:
        with pytest.raises(AdapterError), Journal(tmp_path / "journal") as journal:
            hold(entry, Listed(*replies[:2], AdapterError("timeout", "no answer"), mode=mode), journal=journal)
        replies = replies[2:]
    with Journal(tmp_path / "journal", "later" if broken else "main") as journal:
        transcript = hold(entry, Listed(*replies, mode=mode), journal=journal)
    key = EntryKey(transcript.model, mode, entry.id)
    found = Transcripts(tmp_path).load(key, transcript.started_at)
    assert found["messages"] == transcript.messages
    assert [f["name"] for f in found["functions"]] == (["list_books", "add_book"] if mode == "fc" else [])
    whole = b"".join(path.read_bytes() for path in (tmp_path / "journal").iterdir())
    assert [whole.count(f'"{word}"'.encode()) for word in ("first", "second", "third")] == [1, 1, 1]


def test_hostile_calls_execute_nothing():
    attempts = ["__import__('os').system('true')", "().__class__", "list_books.__globals__", "open('/etc/passwd')"]
    for attempt in attempts:
        transcript = hold(shelf_entry(), Listed(f"[list_books(x={attempt})]", f"[{attempt}]", mode="prompt"))
        for step in transcript.steps:
            assert all(result.startswith("Error during execution: ") for result in step.results)


def opened(entry, model=None, **settings):
    dialogue = Dialogue(entry, model or Listed(), replace(SETTINGS, **settings), TEXTS)
    dialogue.open()
    return dialogue


def told(dialogue, reply):
    """A step with its calls carried out."""
    step = dialogue.hear(reply)
    step.results += [dialogue.world.execute_now(text) for text in dialogue.due_calls(step)]
    dialogue.go_on(step)
    return step


@pytest.mark.parametrize(
    ("mode", "underscores", "sent", "names"),
    [
        ("fc", False, False, {"geometry_area": "geometry.area"}),
        ("fc", True, True, {"geometry_area": "geometry.area"}),
        ("prompt", False, False, None), ("prompt", True, False, None),
    ],
)  # fmt: skip
def test_names_on_the_wire_are_mapped_back_where_they_may_differ(mode, underscores, sent, names):
    model = Listed(mode=mode)
    model.underscore_names = underscores
    dialogue = opened(area_entry(), model)
    assert (dialogue.transcript.underscore_names, dialogue._names()) == (sent, names)
    with pytest.raises(AssertionError, match="nothing is executed"):
        _ = dialogue.world


@pytest.mark.parametrize(("rules", "queries"), [("official", [1, 2, 3, 4]), ("corrected", [1, 1, 1, 1])])
def test_places_of_requests_and_ids_of_calls_that_have_none(rules, queries):
    dialogue, places = opened(shelf_entry(("a", "b")), rules=rules), []
    listing = Reply(tool_calls=(ToolCall("list_books", "{}"),) * 2)
    for reply in (listing, Reply("done"), listing, Reply("done")):
        request = dialogue.request()
        places.append((request.turn, request.step, request.query))
        told(dialogue, reply)
    assert places == [(*place, query) for place, query in zip([(0, 0), (0, 1), (1, 0), (1, 1)], queries, strict=True)]
    ids = [call["id"] for message in dialogue.messages for call in message.get("tool_calls", ())]
    assert ids == ["call_0_0_0", "call_0_0_1", "call_1_0_0", "call_1_0_1"]
    assert (dialogue.called, dialogue.ended) == (4, True)


def test_what_is_heard_is_counted_and_bounded(monkeypatch):
    dialogue = opened(shelf_entry())
    told(dialogue, Reply("ab", calls(("list_books", "{} ")).tool_calls, reasoning="cde"))
    heard = len("ab") + len("cde") + len("list_books") + len("{} ") + len("['Ulysses']")
    assert (dialogue.heard, dialogue.too_long) == (heard, False)
    told(dialogue, Reply(None))
    assert dialogue.heard == heard
    model = Listed(calls(("list_books", "{}")), calls(("list_books", "{}")))
    for limit, asked in ((len("list_books") + 2 + len("['Ulysses']"), 2), (len("list_books") + 2, 1)):
        monkeypatch.setattr(module, "HISTORY_LIMIT", limit)
        model = Listed(calls(("list_books", "{}")), calls(("list_books", "{}")), "done")
        transcript = hold(shelf_entry(), model)
        assert (len(model.requests), transcript.steps[-1].reply.problem) == (asked, "context_overflow")


def test_a_reply_that_calls_too_much_ends_the_conversation():
    for count, quits in ((module.CALLS_A_STEP, False), (module.CALLS_A_STEP + 1, True)):
        transcript = hold(shelf_entry(), Listed(calls(*[("list_books", "{}")] * count)))
        assert (len(transcript.steps[0].results), transcript.forced_quit) == (module.CALLS_A_STEP, quits)


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_tools_that_are_offered_later(mode):
    """Where prompts describe them, those nobody was told of are handed over, once."""
    dialogue, model_docs = opened(shelf_entry(), Listed(mode=mode)), list(DOCS.values())
    other = {**DOCS["add_book"], "name": "drop_book"}
    for _ in range(2):
        dialogue.offer([*model_docs, other])
    assert [doc["name"] for doc in dialogue.transcript.functions] == ["add_book", "list_books", "drop_book"]
    assert dialogue.functions == [*model_docs, other]
    handed = [message for message in dialogue.messages if "drop_book" in str(message["content"])]
    assert len(handed) == (mode == "prompt")
    dialogue.ended = True
    dialogue.offer([{**other, "name": "late"}])
    assert "late" not in str(dialogue.messages)


@pytest.mark.parametrize(
    ("mode", "played", "as_listed"), [("fc", False, True), ("prompt", False, False), ("fc", True, False)]
)
def test_an_entry_on_a_server_is_held_in_the_world_an_extension_opens(monkeypatch, mode, played, as_listed):
    log = []

    class Kept(World):
        def keep_in(self, transcript):
            log.append(("kept", len(transcript.turns)))

        async def finish(self):
            log.append("finished")

    @asynccontextmanager
    async def opens(entry, settings, *, as_listed):
        log.append(as_listed)
        yield entry, Kept(entry, {}, CallExecutor({}))

    async def play(game):
        game.begin_turn()
        game.end_turn(Reply("done"))

    entry = shelf_entry().model_copy(update={"mcp": "shop"})
    monkeypatch.setattr(engine.entry_points, "find", lambda kind, name: None)
    with pytest.raises(HarnessError, match="need an extension that is not installed here"):
        hold(entry, Listed("done", mode=mode))
    monkeypatch.setattr(engine.entry_points, "find", lambda kind, name: (kind, name))
    monkeypatch.setattr(engine.entry_points, "load", lambda point, what: opens)
    model = Listed("done", mode=mode)
    if played:
        model.play = play
    assert len(hold(entry, model).turns) == 1
    assert log == [as_listed, ("kept", 0), "finished"]


def test_services_are_made_for_one_conversation_where_none_are_given(monkeypatch):
    log = []

    class Own(nullcontext):
        def __enter__(self):
            return self

        def __exit__(self, *error):
            log.append("closed")

        def require(self, entry):
            log.append("required")

        def execute(self, entry, transcript):
            log.append(len(transcript.steps))

    monkeypatch.setattr(engine, "Services", lambda rest, official: Own())
    heard = []
    entry = area_entry(id="exec_simple_0", category="exec_simple")
    assert hold(entry, Listed("x", mode="prompt"), on_reply=lambda request, reply: heard.append(reply)).steps
    assert (log, len(heard)) == (["required", 1, "closed"], 1)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_model_with_a_stored_conversation_is_not_asked(recorded):
    model = Listed("asked")
    stored = Transcript("multi_turn_base_900", "multi_turn_base", turns=[Turn(steps=[Step(Reply("stored"))])])
    model.transcript_for = lambda entry, repeat: stored if recorded else None
    assert hold(shelf_entry(), model).steps[0].reply.text == ("stored" if recorded else "asked")
    assert bool(model.requests) is not recorded


def test_errors_bring_what_was_answered():
    error = AdapterError("timeout", "late")
    for replies, steps in (((error,), None), ((calls(("list_books", "{}")), error), 1), ((ValueError("odd"),), None)):
        with pytest.raises((AdapterError, HarnessError)) as caught:
            hold(shelf_entry(), Listed(*replies))
        broken = caught.value.transcript
        assert (broken and (len(broken.steps), broken.incomplete)) == (steps and (steps, True))
