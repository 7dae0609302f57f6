"""Broken servers: the reference with one fault each, and the checks that are meant to find it."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.extensions.wire import model
from tests.extensions.wire import planting as p
from tests.extensions.wire.model import Heard, Json, Message
from tests.extensions.wire.reference import Reference

FUNCTION = f"{p.CALL_DELTA}.function"


def seven(usage: Any) -> Any:
    return usage and {**usage, "prompt_tokens": 7, "total_tokens": 7 + usage["completion_tokens"]}


def after_finish(events: list[Json]) -> list[Json]:
    last = next(n for n, e in enumerate(events) if e["choices"] and e["choices"][0]["finish_reason"])
    if last and p.arguments_piece(events[last - 1]):
        events[last - 1], events[last] = events[last], events[last - 1]
    return events


def name_in_pieces(events: list[Json]) -> Iterator[Json]:
    for event in events:
        calls = [delta for each in event["choices"] for delta in each["delta"].get("tool_calls", ())]
        name = calls[0]["function"].get("name") if calls else None
        if name:
            later = [{"index": calls[0]["index"], "function": {"name": name[3:]}}]
            yield p.edited(event, f"{FUNCTION}.name".split("."), name[:3])
            yield p.edited(event, p.DELTA.split("."), {"tool_calls": later})
        else:
            yield event


def brace_parser(arguments: str) -> str:
    """Stops at the first closing brace, even inside a text; nested objects are counted."""
    depth = 0
    for at, sign in enumerate(arguments):
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return arguments[: at + 1]
    return arguments


def literal(text: str) -> Any:
    try:
        return json.loads(text) if text != "nan" else text
    except ValueError:
        return int(text) if text.isdigit() else text


def numbers_as_texts(value: Any) -> Any:
    return str(value) if type(value) in (int, float) else value


def without_last_integer(values: Json) -> Json:
    last = next(reversed(values), None)
    return {key: value for key, value in values.items() if key != last or type(value) is not int}


def merged(said: Message, heard: Heard) -> None:
    """Calls of one answer become one."""
    if len(said.calls) > 1:
        said.calls = [(said.calls[0][0], "".join(arguments for _, arguments in said.calls))]


def leak(said: Message, heard: Heard) -> None:
    said.before += p.written(said)


def clear(name: str) -> p.Stages:
    """A part beside calls is lost in streams."""
    return p.speech(lambda said, heard: said.calls and setattr(said, name, ""), form=True)


def lost_after_empty(said: Message, heard: Heard) -> None:
    for number, (name, _) in enumerate(said.calls):
        if number and said.calls[number - 1][1] == "{}":
            said.calls[number] = name, "{}"


def repeated(said: Message, heard: Heard) -> None:
    said.before = "\n".join(arguments for _, arguments in said.calls) or said.before


def think_into_text(said: Message, heard: Heard) -> None:
    if said.reasoning:
        said.before, said.reasoning = f"<think>{said.reasoning}</think>{said.before}", ""


def swallowed(said: Message, heard: Heard) -> None:
    """Where there is reasoning, the call is its end."""
    if said.reasoning and said.calls:
        said.reasoning, said.calls = f"{said.reasoning}\n{p.written(said)}", []


def text_into_reasoning(said: Message, heard: Heard) -> None:
    if (said.reasoning or p.last_is_tool(heard)) and not said.calls:
        said.reasoning, said.before = f"{said.reasoning}\n{said.before}", ""


def second_talks(heard: Heard) -> Message:
    """Every second of two choices has a text instead of the call."""
    heard.told = not getattr(heard, "told", True)  # type: ignore[attr-defined]
    return model.think(heard) if heard.n == 1 or not heard.told else Message(before="No.")  # type: ignore[attr-defined]


def repair(said: Message, heard: Heard) -> None:
    if said.finish == "length":
        said.calls = [(name, text if text.endswith("}") else text + '"}') for name, text in said.calls]
        said.finish = "calls"


def stop_is_length(said: Message, heard: Heard) -> None:
    said.finish = "length" if heard.stop and not said.calls else said.finish


def swallowing_stop(said: Message, heard: Heard, size: int) -> Message:
    before = said.before
    said = model.cut(said, heard, size)
    said.before = "" if heard.stream and heard.stop and said.before != before else said.before
    return said


def by_position(heard: Heard) -> None:
    """Results are taken in the order they come."""
    results = [turn for turn in heard.turns if turn.role == "tool"]
    calls = [call for turn in heard.turns for call in turn.calls]
    if len(results) == len(calls):
        for turn, call in zip(results, calls, strict=True):
            turn.call_id = call[0]


def lose_under_load(server: Reference, said: Message) -> Message:
    """Nothing of another request, but calls get lost while many are in flight."""
    odd = sum(map(ord, str(said.calls))) % 2
    return Message(before="Busy.") if len(server.flying) > 8 and odd else said


def declared(schema: Json, value: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(schema.get("additionalProperties"), dict):
        return value
    return {key: each for key, each in value.items() if key in schema.get("properties", {})}


def first_type(schema: Json, value: Any) -> Any:
    if not isinstance(schema.get("type"), list) or value is None:
        return value
    return {"string": str, "integer": int}.get(schema["type"][0], lambda each: each)(value)


def first_of_any(schema: Json, value: Any) -> Any:
    first = schema["anyOf"][0].get("type") if "anyOf" in schema else None
    return int(value) if first == "integer" and isinstance(value, str) else value


def previous_ignored(body: Json) -> Json:
    """The result that follows another response has lost its call."""
    if "previous_response_id" not in body:
        return body
    return {**p.less(body, "previous_response_id"), "input": [{"role": "user", "content": "What now?"}]}


F = p.of_api("chat")
# fmt: off
CHAT: tuple[p.Variant, ...] = (
    # the answer and its parts
    F("no choices", "answers", p.whole("choices", [])),
    F("answer is not JSON", "answers",
      {'bytes': lambda data: data.replace(b'"', b"'") if b'choices' in data else data}),
    F("content type is text", "answers", {"kind": lambda: "text/plain"}),
    F("every request fails", "answers", p.refusing(p.always, status=500)),
    F("call left in the text", "call_recognised", p.speech(p.leave_in_text)),
    F("call doubled", "call_recognised choice_function", p.calls(lambda made: made * 2)),
    F("id missing", "call_id", p.whole(f"{p.CALL}.id", p.GONE)),
    F("type missing", "call_type", p.whole(f"{p.CALL}.type", p.GONE)),
    F("arguments are an object", "arguments_text", p.whole(f"{p.CALL}.function.arguments", lambda text: {"a": text})),
    F("single quotes", "arguments_parse", p.arguments(lambda text: str(json.loads(text)))),
    F("role is tool", "message_form", p.whole(f"{p.MESSAGE}.role", "tool")),
    F("object is wrong", "message_form", p.whole("object", "text_completion")),
    F("call leaks into the content", "content_markers", p.speech(leak)),
    F("call leaks into streamed content", "stream_markers", p.speech(leak, form=True)),
    # the matrix
    F("another model answers", "served_model", p.whole("model", "cheaper")),
    F("prompt tokens are always seven", "usage_grows", {**p.whole("usage", seven), **p.stream("usage", seven)}),
    F("names have a prefix when forced", "choice_required call_recognised names_offered",
      p.names(lambda name: f"functions.{name}", when=p.choice("required"))),
    F("empty arguments when required", "choice_required arguments_schema strict",
      p.arguments(lambda text: "{}", when=lambda heard: heard.choice == "required" and "hello" in p.last_of(heard))),
    F("arguments swapped when thinking", "arguments_dictated",
      p.arguments(lambda text: text.replace('": "', '": "\ufffd'))),
    # the stream
    F("stream says JSON", "stream_events", stream_type="application/json"),
    F("no DONE", "stream_events", {"end": lambda text: ""}),
    F("events without an empty line", "stream_events", {"encode": lambda event, text: text[:-1]}),
    F("a chunk is no JSON", "stream_events",
      {"encode": lambda event, text: text.replace('}\n\n', '\n\n') if event.get("usage") else text}),
    F("id of the answer changes", "chunk_form", p.stream("id", p.fresh)),
    F("no role", "chunk_form", p.stream(f"{p.DELTA}.role", p.GONE)),
    F("text after the finish reason", "finish_last", p.events(after_finish)),
    F("index reset", "delta_index", p.stream(f"{p.CALL_DELTA}.index", 0)),
    F("index missing", "delta_index", p.stream(f"{p.CALL_DELTA}.index", p.GONE)),
    F("index from 1", "delta_index", p.stream(f"{p.CALL_DELTA}.index", lambda index: index + 1)),
    F("id per chunk", "delta_id", p.stream(f"{p.CALL_DELTA}.id", p.fresh)),
    F("id only at the end", "delta_id", p.stream(f"{p.CALL_DELTA}.id", p.GONE)),
    F("type missing in the stream", "delta_type", p.stream(f"{p.CALL_DELTA}.type", p.GONE)),
    F("type repeated", "delta_type", p.stream(f"{p.CALL_DELTA}.type", "function")),
    F("name repeated", "delta_name", p.stream(f"{FUNCTION}.name", lambda name: name or "save_note")),
    F("name in two pieces", "delta_name", p.events(name_in_pieces)),
    F("argument deltas are lists", "delta_arguments", p.stream(f"{FUNCTION}.arguments", lambda text: [text])),
    F("streamed call left in the text", "stream_calls", p.speech(p.leave_in_text, form=True)),
    F("streamed calls swapped", "stream_calls", p.calls(reversed, form=True)),
    F("streamed second call lost", "stream_calls", p.calls(lambda made: made[:1], form=True)),
    F("last delta lost", "stream_arguments", p.dropping(p.arguments_piece, -1)),
    F("arguments joined with a space", "stream_arguments strict",
      p.stream(f"{FUNCTION}.arguments", lambda text: text and text + " ")),
    F("streamed text loses its end", "stream_text",
      p.dropping(lambda event: event["choices"] and event["choices"][0]["delta"].get("content"), -1)),
    F("streamed finish is stop", "stream_finish", p.stream(p.FINISH, p.swap("tool_calls", "stop"))),
    F("streamed usage missing", "stream_usage", p.dropping(lambda event: not event["choices"])),
    F("streamed prompt tokens differ", "stream_usage",
      p.stream("usage", lambda usage: usage and {**usage, "prompt_tokens": 5})),
    F("usage in every chunk", "usage_last",
      p.events(lambda events: [{**event, "usage": events[-1]["usage"]} for event in events])),
    F("usage beside a choice", "usage_last",
      p.events(lambda events: [*events[:-1], {**events[-1], "choices": events[0]["choices"]}])),
    # values
    F("numbers as floats", "arguments_numbers",
      p.arguments(lambda text: json.dumps(json.loads(text, parse_int=float), ensure_ascii=False))),
    F("numbers as texts", "arguments_numbers arguments_nested", p.values(numbers_as_texts)),
    F("texts as numbers", "arguments_number_text schema_any_of", p.texts(literal)),
    F("booleans as Python words", "arguments_booleans",
      p.values(lambda value: str(value) if isinstance(value, bool) else value)),
    F("null as None", "arguments_null", p.values(p.swap(None, "None"))),
    F("inner objects as texts", "arguments_nested", p.objects(
      lambda values: {k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in values.items()})),
    F("empty arguments as an empty text", "arguments_empty", p.arguments(p.swap("{}", ""))),
    F("letters beyond ASCII lost", "arguments_unicode", p.texts(lambda text: text.encode("ascii", "ignore").decode())),
    F("emoji lost", "arguments_surrogates", p.texts(lambda text: re.sub('[\\U00010000-\\U0010ffff]', "�", text))),
    F("surrogate pair cut in half", "arguments_surrogates",
      p.halved("choices.0.delta.tool_calls.0.function.arguments", p.arguments_piece), ascii_only=True),
    F("emoji broken at some boundaries", "unicode_boundaries",
      p.texts(lambda text: text.replace("aaaaaé", "aaaaa�"), form=True)),
    F("quotes lost their backslash", "arguments_quotes", p.texts(lambda text: text.replace('"no"', "'no'"))),
    F("unescaped twice", "arguments_backslashes", p.texts(lambda text: text.replace('\\', ""))),
    F("line ends escaped twice", "arguments_newlines",
      p.texts(lambda text: text.replace('\n', '\\n').replace('\t', '\\t').replace('\r', '\\r'))),
    F("braces counted in texts", "arguments_braces", p.arguments(brace_parser)),
    F("escaped for HTML", "arguments_markup arguments_quotes arguments_backslashes arguments_braces",
      p.texts(html.escape)),
    F("blanks stripped", "arguments_blanks", p.texts(str.strip)),
    F("long arguments cut", "arguments_long", p.texts(lambda text: text[:15000])),
    # calls and choices
    F("five tools are too many when streamed", "calls_one",
      p.speech(p.leave_in_text, when=lambda heard: len(heard.tools) == 5, form=True)),
    F("second call's arguments lost when streamed", "stream_arguments strict", p.calls(
      lambda made: [(name, "{}" if number else text) for number, (name, text) in enumerate(made)], form=True)),
    F("auto is fatal", "choice_auto", p.refusing_body(lambda body: body.get("tool_choice") == "auto", 500)),
    F("unstreamed second call lost", "calls_unstreamed", p.speech(merged, form=False)),
    F("unstreamed calls swapped", "calls_unstreamed", p.calls(reversed, form=False)),
    F("four calls at most when streamed", "calls_five", p.calls(lambda made: made[:4], form=True)),
    F("same function once when streamed", "calls_same_twice", p.calls(lambda made: dict(made).items(), form=True)),
    F("one id for all calls", "ids_in_answer", {"new_id": lambda server, n: "call_1"}),
    F("ids begin again", "ids_unique", {"new_id": lambda server, n: f"call_{n % 2}"}),
    F("text before calls lost when streamed", "text_before", clear("before")),
    F("text after calls lost when streamed", "text_after", clear("after")),
    F("none is ignored", "choice_none", p.hears(p.choice("none"), choice="auto")),
    F("none leaks the call", "choice_none content_markers",
      p.says(before="<tool_call>{}</tool_call>", when=p.choice("none"))),
    F("required is ignored", "choice_required", p.hears(p.choice("required"), choice="auto")),
    F("required is ignored when streamed", "choice_required_stream",
      p.hears(lambda heard: heard.choice == "required" and heard.stream, choice="auto")),
    F("named function is ignored", "choice_function", p.hears(p.choice("="), choice="required")),
    F("named function is ignored when streamed", "choice_function_stream",
      p.hears(lambda heard: heard.choice.startswith("=") and heard.stream, choice="required")),
    F("parallel_tool_calls is ignored", "parallel_off", p.hears(parallel=True)),
    # tools
    F("32 tools at most", "tools_64 tools_200",
      p.hearing(lambda heard: setattr(heard, "tools", heard.tools[:32])), size=50),
    F("64 tools or 500", "tools_200", p.refusing(lambda heard: len(heard.tools) > 64, status=500)),
    F("$ref is refused", "schema_recursive schema_ref", p.refusing(p.schema_has("$ref"))),
    F("anyOf is refused", "schema_any_of", p.refusing(p.schema_has("anyOf"))),
    F("deep schemas are fatal", "schema_deep", p.refusing(p.schema_has("level_9"), status=500)),
    F("long descriptions are fatal", "schema_long_description", p.refusing_turn(
      lambda tool: len(tool.get("function", {}).get("description", "")) > 2_000, 500)),
    F("enum with signs is fatal", "schema_enum", p.refusing(p.schema_has("kelvin"), status=500)),
    F("odd keys are changed", "schema_odd_keys", p.arguments(lambda t: t.replace("max-size", "max_size"), form=True)),
    F("missing parameters are fatal", "schema_none", p.refusing_turn(
      lambda tool: "parameters" not in tool.get("function", {"parameters": None}), 500)),
    F("dots become underscores", "name_dots", p.names(lambda name: name.replace(".", "_"))),
    F("dashes become underscores", "name_dashes", p.names(lambda name: name.replace("-", "_"))),
    F("names cut at 50", "name_64", p.names(lambda name: name[:50])),
    F("an undeclared key is always added", "strict",
      p.arguments(lambda text: json.dumps({**json.loads(text), "explanation": "why"}))),
    F("strict is fatal", "strict", p.refusing_turn(lambda tool: "strict" in tool.get("function", {}), 500)),
    # conversations
    F("own ids are refused", "ids_accepted", p.refusing(p.last_is_tool)),
    F("foreign ids are refused", "ids_foreign",
      p.refusing(lambda heard: any(c[0].startswith("toolu_") for t in heard.turns for c in t.calls))),
    F("results do not arrive when streamed", "result_string",
      p.reads("tool", lambda text: "None", lambda heard: heard.stream and p.last_is_tool(heard))),
    F("parts are refused", "result_parts", p.refusing_turn(p.in_parts("tool"))),
    F("only the first part is read", "result_parts", p.first_part("user", "assistant", "tool")),
    F("empty results are fatal", "result_empty",
      p.refusing(lambda heard: p.last_is_tool(heard) and (not heard.turns[-1].text), status=500)),
    F("long results are cut", "result_large", p.reads("tool", lambda text: text[:50_000])),
    F("errors as results are fatal", "result_error",
      p.refusing(lambda heard: p.last_is_tool(heard) and '"error"' in heard.turns[-1].text, status=500)),
    F("results by position", "results_reordered", p.hearing(by_position)),
    F("long conversations are fatal", "conversation_20", p.refusing(lambda heard: len(heard.turns) > 40, status=500)),
    F("system is dropped", "role_system", p.kept_turns(lambda turns, n: turns[n].role != "system")),
    F("developer is dropped", "role_developer", p.kept_turns(lambda turns, n: turns[n].role != "developer")),
    F("history is dropped", "role_user", p.kept_turns(
      lambda turns, n: n == len(turns) - 1 or turns[-1].role != "user" or turns[n].role != "user"
      or any(turn.calls for turn in turns))),
    # endings
    F("finish is stop with calls", "finish_calls", p.whole(p.FINISH, p.swap("tool_calls", "stop"))),
    F("finish is tool_calls without calls", "finish_stop", p.whole(p.FINISH, p.swap("stop", "tool_calls"))),
    F("usage missing", "usage_present", p.whole("usage", p.GONE)),
    F("usage without total", "usage_present", p.whole("usage.total_tokens", p.GONE)),
    F("usage is zero", "usage_plausible", p.whole("usage.completion_tokens", 0)),
    F("reasoning in the content", "reasoning_apart", p.speech(think_into_text, form=False)),
    F("reasoning in the streamed content", "stream_reasoning", p.speech(think_into_text, form=True)),
    F("reasoning lost when streamed", "stream_reasoning", clear("reasoning")),
    F("cut calls look complete", "cut_in_call", p.after_cut(repair)),
    F("max_tokens is ignored", "cut_in_call", p.cutting(limit=None)),
    F("streams cut look complete", "cut_in_call_stream", p.after_cut(repair, form=True)),
    F("stop is ignored", "stop", p.cutting(stop=[])),
    F("stop is called length", "stop", p.after_cut(stop_is_length)),
    F("n is ignored", "n", p.hears(n=1)),
    F("choices all have index 0", "n", p.stream("choices.*.index", 0)),
    F("logprobs lose the call", "logprobs", p.says(calls=[], when=lambda heard: heard.logprobs)),
    F("logprobs are fatal", "logprobs", p.refusing(lambda heard: heard.logprobs, status=500)),
    # faults
    F("broken body is 500", "fault_body", p.told("the body is no JSON", 500, "internal error")),
    F("broken body is not named", "fault_body", p.told("the body is no JSON", 400, "no")),
    F("missing result is taken", "fault_missing_result", p.accepting("no result")),
    F("missing result is 500", "fault_missing_result", p.told("has no result", 500, "KeyError")),
    F("unknown tool in history is 500", "fault_unknown_tool",
      p.refusing(lambda heard: any(c[1] == "gone_tool" for t in heard.turns for c in t.calls), status=500)),
    F("broken arguments in history are 500", "fault_history_arguments",
      p.told("are no JSON", 500, "json.decoder.JSONDecodeError")),
    F("unknown id is 500", "fault_unknown_id", p.told("belongs to no call", 500, "KeyError")),
    F("unknown choice is taken", "fault_choice", p.accepting("tool_choice names")),
    F("tool without function is 500", "fault_tool", p.told("is missing", 500, "KeyError: name")),
    F("errors without a message", "error_form", {"refuse": lambda r: (r.status, {"detail": r.message})}),
    # load
    F("cross-talk", "crosstalk", {"fly": p.swap_flying}),
    F("every other call lost under load", "crosstalk", {"fly": lose_under_load}, slots=4),
    F("a disconnect frees nothing", "disconnect", {"release": p.hold_slot}, slots=8),
    # one cell of the matrix
    F("undeclared key under strict", "strict arguments_dictated",
      p.objects(lambda values: {**values, "explanation": "why"}, when=p.is_strict)),
    F("empty object when required", "choice_required arguments_dictated strict",
      p.arguments(lambda text: "{}", when=p.choice("required"), form=False)),
    F("empty object when named, streamed", "choice_function_stream stream_arguments strict",
      p.arguments(lambda text: "{}", when=p.choice("="), form=True)),
    F("wrong types when named", "choice_function arguments_dictated",
      p.objects(lambda values: {key: [value] for key, value in values.items()}, when=p.choice("="))),
    F("two calls when named", "choice_function", p.calls(lambda made: made * 2, when=p.choice("="))),
    F("two calls when required", "choice_required call_recognised",
      p.calls(lambda made: made * 2, when=p.choice("required"))),
    F("no finish reason when required", "choice_required finish_calls",
      p.whole(p.FINISH, p.swap("tool_calls", None), p.choice("required"))),
    F("no finish reason when named", "choice_function finish_calls",
      p.whole(p.FINISH, p.swap("tool_calls", None), p.choice("="))),
    F("no finish reason when required, streamed", "choice_required_stream finish_last",
      p.stream(p.FINISH, p.swap("tool_calls", None), when=p.choice("required"))),
    F("the call's JSON in the content when required", "choice_required content_markers",
      p.speech(repeated, when=p.choice("required"), form=False)),
    F("the call's JSON in the content when named, streamed", "choice_function_stream stream_markers",
      p.speech(repeated, when=p.choice("="), form=True)),
    F("the call in the text when forced and thinking", "choice_required choice_function call_recognised",
      p.speech(p.leave_in_text, when=lambda heard: p.thinks(heard) and p.choice("required", "=")(heard))),
    F("call lost in strict streams", "strict stream_calls choice_required_stream choice_function_stream",
      p.says(calls=[], when=p.is_strict, form=True)),
    F("required is fatal when thinking", "choice_required",
      p.refusing(lambda heard: p.thinks(heard) and heard.choice == "required", status=500)),
    F("call swallowed by the reasoning", "reasoning_apart call_recognised", p.speech(swallowed)),
    F("call swallowed by the streamed reasoning", "stream_reasoning stream_calls", p.speech(swallowed, form=True)),
    F("reasoning merged into the streamed content", "stream_reasoning",
      p.stream(p.DELTA, p.renamed("reasoning_content", "content"))),
    F("streamed reasoning in another field", "stream_reasoning",
      p.stream(p.DELTA, p.renamed("reasoning_content", "reasoning"))),
    F("streamed text in the reasoning", "stream_reasoning result_answered result_string",
      p.speech(text_into_reasoning, form=True)),
    F("a mark of the format ends the reasoning", "reasoning_apart content_markers",
      p.speech(lambda said, heard: setattr(said, "reasoning", said.reasoning and said.reasoning + "<tool_call>"))),
    F("two calls become one when strict", "strict calls_unstreamed",
      p.calls(lambda made: made[:1], when=p.is_strict, form=False)),
    F("usage lost when named", "choice_function usage_present", p.whole("usage", p.GONE, p.choice("="))),
    F("id lost when required", "choice_required call_id", p.whole(f"{p.CALL}.id", p.GONE, p.choice("required"))),
    F("another function when strict", "strict call_recognised names_offered choice_function",
      p.names(lambda name: f"{name}_strict", when=p.is_strict, form=False)),
    # fields of the answer
    F("no model", "message_form", p.whole("model", p.GONE)),
    F("choice without an index", "message_form", p.whole("choices.0.index", p.GONE)),
    F("content is a list", "message_form", p.whole(f"{p.MESSAGE}.content", lambda content: [content])),
    F("chunks without a model", "chunk_form", p.stream("model", p.GONE)),
    F("chunks' choices without an index", "chunk_form n", p.stream("choices.*.index", p.GONE)),
    F("another model answers when streamed", "served_model", p.stream("model", "cheaper")),
    F("choices out of order", "n", p.whole("choices", lambda choices: choices[::-1])),
    F("second choice loses its call when streamed", "n",
      p.dropping(lambda event: p.has_calls(event) and event["choices"][0]["index"])),
    F("n lets the second choice talk", "n", {"think": second_talks}),
    # keywords of schemas
    F("minItems is refused", "schema_items", p.refusing(p.schema_has("minItems"))),
    F("pattern is fatal", "schema_pattern", p.refusing(p.schema_has("pattern"), status=500)),
    F("additionalProperties as a schema is fatal", "schema_further",
      p.refusing(p.schema_has('additionalProperties": {'), status=500)),
    F("type lists are refused", "arguments_null", p.refusing(p.schema_has('"type": ['))),
    F("enums of numbers are refused", "schema_enum_numbers",
      p.refusing(p.schema_has('"enum": [1, 2, 3], "type"', sort=True))),
    F("limits are refused", "schema_limits", p.refusing(p.schema_has("multipleOf"))),
    F("keys of one's own are dropped", "schema_further", p.by_schema(declared)),
    F("the first of several types is taken", "schema_type_lists", p.by_schema(first_type)),
    F("enums of numbers become texts", "schema_enum_numbers schema_enum",
      p.by_schema(lambda schema, value: str(value) if "enum" in schema else value)),
    F("what $ref names becomes a text", "schema_ref schema_recursive",
      p.by_schema(lambda schema, value: json.dumps(value) if "$ref" in schema else value)),
    F("the first of anyOf is taken", "schema_any_of", p.by_schema(first_of_any)),
    F("lists lose what minItems does not ask for", "schema_items",
      p.by_schema(lambda schema, value: value[: schema["minItems"]] if "minItems" in schema else value)),
    F("titles are refused", "schemas_generated schema_notes", p.refusing(p.schema_has('"title"'))),
    # histories
    F("arguments lost after an empty call", "calls_after_empty", p.speech(lost_after_empty)),
    F("answers to results are reasoning only", "result_answered", p.speech(text_into_reasoning, when=p.last_is_tool)),
    F("streamed answers to results are reasoning only", "result_answered result_string",
      p.speech(text_into_reasoning, when=p.last_is_tool, form=True)),
    F("users' parts are refused", "user_parts", p.refusing_turn(p.in_parts("user"))),
    F("only the first of a user's parts is read", "user_parts", p.first_part("user")),
    F("text beside calls is refused", "history_text",
      p.refusing(lambda heard: any(t.text and t.calls for t in heard.turns))),
    F("reasoning in the history is refused", "message_back", p.refusing_turn(lambda turn: "reasoning_content" in turn)),
    F("max_completion_tokens is ignored", "max_completion_tokens",
      {"body": lambda body: p.less(body, "max_completion_tokens")}),

    # what an own history, odd values and further parameters bring to light
    F("results before a user's turn are dropped", "results_kept", p.empty_results("user")),
    F("results are answered with empty thoughts", "result_answered",
      p.says(before="", reasoning="Hm.", when=p.last_is_tool)),
    F("reasoning under a name of its own", "reasoning_apart", p.both(p.renamed("reasoning_content", "thinking"))),
    F("the last integer is lost", "arguments_numbers", p.objects(without_last_integer)),
    F("booleans as numbers", "arguments_booleans",
      p.values(lambda value: int(value) if isinstance(value, bool) else value)),
    F("a mark inside a text ends it", "arguments_marks", p.texts(lambda text: text.split(" </tool_call>")[0])),
    F("lists are fatal when required", "choice_required_lists",
      p.refusing(lambda heard: heard.choice == "required" and "'array'" in str(heard.tools), status=500)),
    F("seeds are fatal", "seed", p.refusing_body(lambda body: "seed" in body, 500)),
    F("seeds are dropped", "seed", p.speech(lambda said, heard: setattr(said, "before", p.fresh()),
                                            when=lambda heard: "random number" in p.last_of(heard))),
    F("names in lower case", "name_case", p.names(str.lower)),
    F("a closing line end is lost", "arguments_final_newline", p.texts(lambda text: text.rstrip("\n"))),
    F("percent signs are decoded", "arguments_percent", p.texts(lambda text: text.replace("%20", " "))),
    F("empty texts are left out", "arguments_nothing",
      p.objects(lambda values: {key: value for key, value in values.items() if value != ""})),
    F("empty texts become null", "arguments_nothing", p.texts(p.swap("", None))),
    F("a list of one is its item", "arguments_list_of_one", p.objects(
      lambda values: {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in values.items()})),
    F("the text null becomes null", "arguments_words", p.texts(p.swap("null", None))),
    F("dates become times", "arguments_words schema_limits",
      p.texts(lambda text: text + "T00:00:00" if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else text)),
    F("texts with JSON are read", "arguments_json_text",
      p.texts(lambda text: json.loads(text) if text.startswith(('{"', "[1")) else text)),
    F("fractions are rounded", "arguments_numbers",
      p.values(lambda value: round(value, 2) if isinstance(value, float) else value)),
    F("joiners are lost", "arguments_surrogates", p.texts(lambda text: text.replace("\u200d", ""))),
    F("marks are taken out of requests", "arguments_marks",
      p.reads("user", lambda text: re.sub(r"<\|\w+\|>", "", text))),
    F("$schema is refused", "schema_notes", p.refusing(p.schema_has("$schema"))),
    F("oneOf is refused", "schema_combined", p.refusing(p.schema_has("oneOf"))),
    F("letters of results are lost", "result_unicode",
      p.reads("tool", lambda text: text.encode("ascii", "ignore").decode())),
    F("only the last result is read", "results_reordered", p.empty_results("tool")),
    F("no content beside calls is refused", "history_content",
      p.refusing_turn(lambda turn: "tool_calls" in turn and "content" not in turn)),
    F("two users' messages are fatal", "roles_repeated", p.refusing(
      lambda heard: any(a.role == b.role == "user" for a, b in itertools.pairwise(heard.turns)), status=500)),
    F("no call once there was one", "conversation_20 results_kept", p.says(calls=[], before="Done.",
      when=lambda heard: heard.turns[-1].role == "user" and any(turn.calls for turn in heard.turns))),
    F("logprobs are not given", "logprobs", p.hears(logprobs=False)),
    F("wrong requests are a gateway's 502", "error_form",
      {"refuse": lambda r: (502, {"error": {"message": r.message, "type": "invalid_request_error"}})}),

    # What was reported in public: the fault as described, by number.
    F("vllm 53255: tool_calls and no call, when required", "choice_required call_recognised", {
      **p.whole(p.MESSAGE, lambda said: {**p.less(said, "tool_calls"), "content": "Hello."}, p.choice("required")),
      "chunks": lambda events, heard: (e for e in events if heard.choice != "required" or not p.has_calls(e))}),
    F("vllm 42210: a stop sequence swallows the streamed text before it", "stop", {"cut": swallowing_stop}),
    F("vllm 21565: a named function streams text when not thinking", "choice_function_stream stream_calls",
      p.speech(p.leave_in_text, when=lambda heard: not p.thinks(heard) and p.choice("=")(heard), form=True)),
    F("sglang 23071: name and arguments in two calls when streamed", "delta_id delta_type delta_name", p.stream(
      p.CALL_DELTA, lambda call: {**call, "index": 2 * call["index"] + ("name" not in call["function"])})),
    F("sglang 35564: streamed numbers become texts", "arguments_numbers arguments_nested",
      p.values(numbers_as_texts, form=True)),
    F("litellm 37792: streamed arguments are an object", "delta_arguments",
      p.stream(f"{FUNCTION}.arguments", lambda text: {"a": text})),
    F("Kimi-K2 128: nothing after the reasoning on results", "result_answered",
      p.says(before="", when=lambda heard: p.last_is_tool(heard) and p.thinks(heard))),
    F("LM Studio 261: null content beside calls is refused", "ids_accepted fault_missing_result",
      p.refusing_turn(lambda turn: "tool_calls" in turn and turn.get("content") is None)),
    F("MTPLX 249: argument values in the streamed text", "stream_markers text_before",
      p.speech(lambda said, heard: setattr(said, "before", " ".join(
          str(value) for _, text in said.calls for value in json.loads(text).values()) or said.before), form=True)),
)

ITEM, EVENT = "output.[function_call]", "response.function_call_arguments.delta"
ADDED, DONE, END = "response.output_item.added", "response.output_item.done", "response.completed"
F = p.of_api("responses")
RESPONSES: tuple[p.Variant, ...] = (
    F("no output", "answers", p.whole("output", p.GONE)),
    F("items without ids", "item_ids", p.whole(f"{ITEM}.id", p.GONE)),
    F("calls stay in progress", "item_status", p.whole(f"{ITEM}.status", "in_progress")),
    F("another response id at the end", "events_response", p.stream("response.id", "resp_other", of=END)),
    F("no content parts", "events_parts", p.without("response.content_part.added")),
    F("call_id missing", "call_id", p.whole(f"{ITEM}.call_id", p.GONE)),
    F("call item without a type", "call_recognised", p.whole(f"{ITEM}.type", "tool_call")),
    F("arguments are an object", "arguments_text", p.whole(f"{ITEM}.arguments", lambda text: {"text": text})),
    F("object is wrong", "message_form", p.whole("object", "chat.completion")),
    F("stream says JSON", "stream_events", stream_type="application/json"),
    F("no end", "stream_events", p.without(END)),
    F("events without an empty line", "stream_events", {"encode": lambda event, text: text[:-1]}),
    F("no event lines", "events_names", {"encode": lambda event, text: text.split('\n', 1)[1]}),
    F("sequence numbers missing", "events_sequence", p.stream("sequence_number", p.GONE)),
    F("no created", "events_begin", p.without("response.created")),
    F("no added", "events_items", p.without(ADDED)),
    F("no done", "events_items", p.without(DONE)),
    F("output_index reset", "events_items", p.stream("output_index", 0, of=ADDED)),
    F("item id per event", "events_item_ids", p.stream("item_id", p.fresh, of=EVENT)),
    F("item id missing", "events_item_ids", p.stream("item_id", p.GONE, of=EVENT)),
    F("call_id changes", "events_call_ids",
      p.stream("item.call_id", lambda call_id: call_id and "call_other", of=DONE)),
    F("last delta lost", "events_arguments", p.without(EVENT, -1)),
    F("completed is empty", "events_completed", p.stream("response.output", [], of=END)),
    F("streamed text loses its end", "events_text", p.without("response.output_text.delta", -1)),
    F("streamed usage missing", "stream_usage", p.stream("response.usage", p.GONE, of=END)),
    F("streamed prompt tokens differ", "stream_usage", p.stream("response.usage.input_tokens", 3, of=END)),
    F("streamed status is failed", "stream_finish", p.stream("response.status", "failed", of=END)),
    F("status is failed", "finish_calls finish_stop", p.whole("status", "failed")),
    F("usage missing", "usage_present", p.whole("usage", p.GONE)),
    F("usage does not add up", "usage_plausible", p.whole("usage.total_tokens", 7)),
    F("output as parts is refused", "result_parts", p.refusing_turn(lambda item: isinstance(item.get("output"), list))),
    F("surrogate pair cut in half", "arguments_surrogates",
      p.halved("delta", lambda event: event["delta"] if event["type"] == EVENT else ""), ascii_only=True),
    # beyond one question
    F("instructions are ignored", "instructions", {"body": lambda body: p.less(body, "instructions")}),
    F("previous_response_id is ignored", "previous_response", {"body": previous_ignored}),
    F("encrypted reasoning is missing", "encrypted_reasoning",
      p.whole("output.[reasoning].encrypted_content", p.GONE)),
    F("encrypted reasoning is not taken back", "encrypted_reasoning",
      p.refusing_turn(lambda item: "encrypted_content" in item)),
    F("incomplete without details", "cut_in_call", p.whole("incomplete_details", p.GONE)),
    F("incomplete streams without details", "cut_in_call_stream",
      p.stream("response.incomplete_details", None, of="response.incomplete")),
    F("complete with details of why not", "message_form",
      p.whole("incomplete_details", lambda details: {"reason": "max_output_tokens"})),
    F("no response id", "message_form", p.whole("id", p.GONE)),
    F("text parts of another type", "message_form", p.whole("output.[message].content.0.type", "text")),
    F("no content_part.done", "events_parts", p.without("response.content_part.done")),
    F("no output_text.done", "events_text", p.without("response.output_text.done")),
    F("content_part.done with another text", "events_parts",
      p.stream("part.text", "", of="response.content_part.done")),
    F("the last response has no model", "events_response", p.stream("response.model", p.GONE, of=END)),
    F("items in progress in the last response", "item_status",
      p.stream("response.output.*.status", "in_progress", of=END)),
    F("the user's own message is refused in parts", "user_parts", p.refusing_turn(p.in_parts("user"))),
    F("reasoning items are refused in the history", "message_back encrypted_reasoning",
      p.refusing_turn(lambda item: item.get("type") == "reasoning")),

    # What was reported in public: the fault as described, by number.
    F("LM Studio 1064: several input items are refused", "ids_accepted",
      p.refusing(lambda heard: any(turn.role == "tool" for turn in heard.turns))),
)
# fmt: on

_found: set[str] = set()
FIRST = [v for v in (*CHAT, *RESPONSES) if not (v.fails <= _found or _found.update(v.fails))]
"""The first server that fails a check, of every check."""
FORMLESS = {"think", "cut", "hear", "refuse", "new_id", "fly", "release"}
ONLY_CHAT = {"stop", "n", "logprobs"}
SHARED: tuple[p.Variant, ...] = tuple(
    replace(variant, api="responses")
    for variant in CHAT
    if set(variant.stages) <= FORMLESS and variant.stages and not variant.fails & ONLY_CHAT
)
"""Faults of model, parser and request that do not depend on the API, over Responses."""
