"""Requests that are worth asking both sides, as hypothesis strategies: what models do right, and nearly right.

Everything is drawn from the official entries: their classes, tools, configurations and answers, changed a little. The
reference evaluates what it is given, so nothing here is a text that would do harm there: names are those of tools, a
few that nobody has and those that the reference forbids, and every value is a literal.
"""

from __future__ import annotations

import ast
import json
import string
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.simulators import simulator_names

Request = dict[str, Any]

STRANGERS = ("no_such_tool", "List", "kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run", "echo_", "é")
"""Names that no class has; most of them the reference forbids."""
MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
SINGLE_TURN = (
    "simple_python", "multiple", "parallel", "parallel_multiple", "simple_java", "simple_javascript", "live_simple",
    "live_multiple", "live_parallel", "live_parallel_multiple", "irrelevance", "live_irrelevance", "live_relevance",
)  # fmt: skip
MEMORIES = ("MemoryAPI_kv", "MemoryAPI_vector", "MemoryAPI_rec_sum")
PAGES = (
    {"status": 200, "reason": "OK", "text": "<html><body><h1>One</h1><script>x</script><p>two</p></body></html>"},
    {"status": 200, "reason": "OK", "text": ""},
    {"status": 404, "reason": "Not Found", "text": "gone"},
    {"status": 503, "reason": "Service Unavailable", "text": "later"},
)
SEARCHES = (
    {"organic_results": [{"title": "T", "link": "http://a.b/c", "snippet": "S"}, {"title": "U", "link": "http://d.e"}]},
    {"organic_results": []},
    {"error": "no results for this"},
    {},
)

names = st.text(string.ascii_letters + "_ .-é(/", max_size=8)
scalars = st.one_of(
    st.integers(-3, 12), st.integers(-(10**6), 10**6), st.booleans(), st.none(), names,
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3)),
    st.sampled_from(("", "a", "home", "file.txt", "AAPL", "2024-05-01", "0", "1.5", "high", "é ü", "x" * 400)),
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=2), max_leaves=4
)


class Tool(NamedTuple):
    """A tool as the official documents have it."""

    name: str
    properties: dict[str, Any]
    required: tuple[str, ...]


class Source:
    """What the official entries offer to draw from."""

    def __init__(self, data: DataSet) -> None:
        self.data = data
        self.refs = {name: [ref.id for ref in data.index(name)] for name in (*MULTI_TURN, *SINGLE_TURN)}

        self.tools = cache(self._tools)
        self.seen = cache(self._seen)

    def _tools(self, class_name: str) -> tuple[Tool, ...]:
        """The documented tools of a class."""
        from pytest_bfcl.simulators import documents_of

        assert class_name in simulator_names()
        return tuple(
            Tool(doc["name"], doc["parameters"]["properties"], tuple(doc["parameters"]["required"]))
            for doc in documents_of(class_name)
        )

    def _seen(self, entry_id: str) -> tuple[Any, ...]:
        """Values that stand in an entry's answer and configuration: those that reach somewhere."""
        entry = self.data.entry(entry_id)
        found: list[Any] = []
        for turn in entry.possible_answer:
            for call in turn:
                node = ast.parse(call, mode="eval").body
                assert isinstance(node, ast.Call)
                given = [*node.args, *(word.value for word in node.keywords)]
                found += [ast.literal_eval(value) for value in given]
        found += list(_leaves(dict(entry.initial_config)))[:60]
        return tuple({repr(value): value for value in found}.values())


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(value, dict) and depth < 6:
        for key, item in value.items():
            yield key
            yield from _leaves(item, depth + 1)
    elif isinstance(value, list) and depth < 6:
        for item in value:
            yield from _leaves(item, depth + 1)
    else:
        yield value


def typed(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a documented type."""
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "integer": st.integers(-2, 40) | st.integers(1, 20_000),
        "float": st.floats(-100, 1000, allow_nan=False).map(lambda x: round(x, 2)) | st.integers(0, 50),
        "boolean": st.booleans(),
        "array": st.lists(scalars, max_size=3),
        "dict": st.dictionaries(names, scalars, max_size=2),
    }
    words = schema.get("enum")
    text = names | st.sampled_from(("a", "b.txt"))
    return st.sampled_from(words) if words else kinds.get(schema.get("type", ""), text)


@st.composite
def arguments(draw: Any, tool: Tool, seen: tuple[Any, ...]) -> dict[str, Any]:
    """Arguments of a call: nearly always those that are wanted, of the wanted type or from the entry."""
    given = {}
    for name, schema in tool.properties.items():
        if name not in tool.required and draw(st.booleans()):
            continue
        kinds = [typed(schema), typed(schema), values]
        if seen:
            kinds += [st.sampled_from(seen)] * 4
        given[name] = draw(st.one_of(kinds))
    odd = draw(st.integers(0, 24))
    if odd == 1 and given:
        del given[next(iter(given))]
    elif odd == 2:
        given[draw(st.sampled_from(("no_such", "self", "mode")))] = draw(scalars)
    return given


@st.composite
def calls(draw: Any, tools: tuple[Tool, ...], seen: tuple[Any, ...]) -> str:
    """The text of one call as handlers write it from native arguments, or as decoders of text leave it."""
    odd = draw(st.integers(0, 39))
    if odd == 1:
        return f"{draw(st.sampled_from(STRANGERS))}({draw(st.sampled_from(('', 'a=1', '1')))})"
    tool = draw(st.sampled_from(tools))
    given = draw(arguments(tool, seen))
    name = tool.name
    if odd == 2:
        return f"{name}({', '.join(repr(value) for value in given.values())})"
    if odd == 3:
        return f"nobody.{name}({','.join(f'{key}={value!r}' for key, value in given.items())})"
    if odd == 4 and given:
        key = next(iter(given))
        inner = draw(st.sampled_from([each for each in tools if not each.required] or list(tools)))
        return f"{name}({key}={inner.name}())"
    if odd == 5:
        return f"{name}({draw(st.sampled_from(('x y=1', 'class=1', 'a=', 'a=nan', '1, a=2, a=3', 'a=1 b=2')))})"
    return f"{name}({','.join(f'{key}={value!r}' for key, value in given.items())})"


@st.composite
def executions(draw: Any, source: Source) -> Request:
    """Calls on the systems of an entry, one after the other."""
    entry_id = draw(st.sampled_from(source.refs[draw(st.sampled_from(MULTI_TURN))]))
    entry = source.data.entry(entry_id)
    classes = list(entry.involved_classes)
    tools = tuple(tool for name in classes for tool in source.tools(name))
    found = draw(st.lists(calls(tools, source.seen(entry_id)), min_size=1, max_size=14))
    config = {name: config for name, config in entry.initial_config.items() if name in classes}
    return {
        "do": "execute", "classes": classes, "config": json.loads(json.dumps(config)),
        "long_context": entry.row.long_context, "calls": found,
    }  # fmt: skip


@st.composite
def memories(draw: Any, source: Source) -> Request:
    """Calls on an empty memory."""
    name = draw(st.sampled_from(MEMORIES))
    seen = ("a", "key", "first_key", "a text", "another text", 0, 1, 2, 7, "x" * 301, "y" * 2001, "z" * 10_001, "")
    found = draw(st.lists(calls(source.tools(name), seen), min_size=1, max_size=14))
    return {"do": "execute", "classes": [name], "config": {}, "long_context": False, "calls": found}


@st.composite
def searches(draw: Any, source: Source) -> Request:
    """Calls on the web."""
    seen = ("http://93.184.216.34/x", "https://93.184.216.34", "ftp://a", "raw", "markdown", "truncate", "pdf", 0, -1)
    found = draw(st.lists(calls(source.tools("WebSearchAPI"), seen), min_size=1, max_size=4))
    web = {"search": draw(st.sampled_from(SEARCHES)), "page": draw(st.sampled_from(PAGES))}
    config = {"WebSearchAPI": {"show_snippet": draw(st.booleans())}}
    common = {"do": "execute", "classes": ["WebSearchAPI"], "long_context": False}
    return {**common, "config": config, "calls": found, "web": web}


# -- single turn -----------------------------------------------------------------------------------------------------


@st.composite
def changed(draw: Any, value: Any) -> Any:
    """A value nearly the same."""
    kinds: list[st.SearchStrategy[Any]] = [scalars]
    if isinstance(value, bool):
        kinds += [st.just(not value), st.just(int(value)), st.just(str(value))]
    elif isinstance(value, (int, float)):
        kinds += [st.just(value + 1), st.just(float(value)), st.just(str(value)), st.just(-value), st.just(int(value))]
    elif isinstance(value, str):
        kinds += [
            st.just(value.upper()), st.just(value + "."), st.just(value.replace(" ", "")), st.just(f"{value} "),
            st.just(value.replace("'", '"')), st.just([value]), st.just(value[1:]), st.just(value.replace("-", "/")),
        ]  # fmt: skip
    elif isinstance(value, list):
        kinds += [st.just(value[::-1]), st.just(value[:-1]), st.just(value * 2), st.just(value[0] if value else None)]
        if value:
            kinds.append(changed(value[0]).map(lambda first: [first, *value[1:]]))
    elif isinstance(value, dict) and value:
        key = draw(st.sampled_from(sorted(value)))
        kinds += [
            changed(value[key]).map(lambda item: {**value, key: item}),
            st.just({name: item for name, item in value.items() if name != key}),
            st.just({**value, "extra": 1}),
        ]
    return draw(st.one_of(kinds))


def _plain(value: Any, pick: int) -> Any:
    """One value out of an answer's alternatives inside objects."""
    if isinstance(value, dict):
        return {
            name: _plain(inner[pick % len(inner)], pick) if isinstance(inner, list) and inner else inner
            for name, inner in value.items()
        }
    return [_plain(item, pick) for item in value] if isinstance(value, list) else value


@st.composite
def right_calls(draw: Any, source: Source, entry_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Calls that an answer accepts, for most."""
    found = []
    for expected in source.data.entry(entry_id).possible_answer or ():
        for name, alternatives in expected.items():
            given = {}
            for parameter, accepted in alternatives.items():
                pick = draw(st.integers(0, max(0, len(accepted) - 1)))
                value = accepted[pick] if accepted else ""
                if value == "" and draw(st.integers(0, 3)):
                    continue  # may be left out
                given[parameter] = _plain(value, pick)
            found.append((name, given))
    if not found:
        docs = source.data.entry(entry_id).function
        found = [(doc["name"], {}) for doc in docs[:1]]
    return found


FRAMES = (*["[{}]"] * 6, "{}", " [{}] ", "```[{}]```", "```python\n[{}]\n```", "[[{}]]", "{}]", "[{}", "It is [{}]")
"""How calls stand in a text."""


@st.composite
def verdicts(draw: Any, source: Source) -> Request:
    """An output of a single-turn entry: its answer, changed or not."""
    category = draw(st.sampled_from(SINGLE_TURN))
    entry_id = draw(st.sampled_from(source.refs[category]))
    found = draw(right_calls(source, entry_id))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(found) - 1)) if found else 0
        kind = draw(st.sampled_from(("value", "value", "value", "drop", "add", "name", "order", "twice", "less")))
        if kind == "order":
            found = found[::-1]
        elif kind == "twice" and found:
            found = [*found, found[place]]
        elif kind == "less":
            found = found[:-1]
        elif found:
            name, given = found[place]
            if kind == "name":
                name = draw(st.sampled_from((name.replace(".", "_"), name + "x", name.split(".")[-1], name.upper())))
            elif kind == "add":
                given = {**given, draw(st.sampled_from(("extra", "unit", "self"))): draw(scalars)}
            elif given:
                key = draw(st.sampled_from(sorted(given)))
                given = {k: v for k, v in given.items() if k != key} if kind == "drop" else {
                    **given, key: draw(changed(given[key]))
                }  # fmt: skip
            found = [*found[:place], (name, given), *found[place + 1 :]]
    common = {"do": "judge", "category": category, "id": entry_id, "underscore_names": draw(st.booleans())}
    java = "java" in category
    if draw(st.booleans()):
        output: Any = [{name: json.dumps(given)} for name, given in found]
        if draw(st.integers(0, 19)) == 1:
            output = draw(st.sampled_from(("", "I cannot.", None, [{"f": "{"}], [{"f": "[]"}], [])))
        return {**common, "mode": "fc", "output": output}
    written = json.dumps if java else repr
    text = ", ".join(f"{n}({', '.join(f'{k}={written(v)}' for k, v in given.items())})" for n, given in found)
    return {**common, "mode": "prompt", "output": draw(st.sampled_from(FRAMES)).format(text)}


# -- conversations ---------------------------------------------------------------------------------------------------


def _native(text: str, tools: dict[str, Tool]) -> dict[str, Any] | None:
    """A call text as a native call; nothing for one that handlers cannot have written."""
    try:
        node = ast.parse(text, mode="eval").body
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        known = list(tools[node.func.id].properties) if node.func.id in tools else []
        given = {known[place]: ast.literal_eval(value) for place, value in enumerate(node.args)}
        given |= {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
        return {node.func.id: json.dumps(given)}
    except (AssertionError, SyntaxError, ValueError, IndexError, TypeError):
        return None


@st.composite
def trajectories(draw: Any, source: Source, mode: str) -> tuple[str, str, list[list[Any]]]:
    """Category, id and result of a multi-turn entry, turns of steps: the answer, changed in few places."""
    category = draw(st.sampled_from(MULTI_TURN))
    entry_id = draw(st.sampled_from(source.refs[category]))
    entry = source.data.entry(entry_id)
    tools = tuple(tool for name in entry.involved_classes for tool in source.tools(name))
    by_name = {tool.name: tool for tool in tools}
    turns = [list(turn) for turn in entry.possible_answer]
    for _ in range(draw(st.integers(0, 2))):
        turn = turns[draw(st.integers(0, len(turns) - 1))]
        place = draw(st.integers(0, len(turn)))
        kind = draw(st.sampled_from(("drop", "add", "add", "twice", "order")))
        if kind == "add":
            turn.insert(place, draw(calls(tools, source.seen(entry_id))))
        elif kind == "order":
            turn.reverse()
        elif place < len(turn):
            turn[place : place + 1] = [] if kind == "drop" else [turn[place]] * 2
    result: list[list[Any]] = []
    for turn in turns:
        split = draw(st.booleans())
        steps = [[text] for text in turn] if split else [turn] * bool(turn)
        said: list[Any] = []
        for step in steps:
            if mode == "fc":
                said.append([call for call in (_native(text, by_name) for text in step) if call] or "nothing")
            else:
                said.append(f"[{', '.join(step)}]")
        result.append([*said, draw(st.sampled_from(("All done.", "", [] if mode == "fc" else "[]")))])
    if draw(st.integers(0, 29)) == 1:
        result = result[:-1]
    return category, entry_id, result


@st.composite
def multi_turns(draw: Any, source: Source) -> Request:
    """The verdict on a whole conversation."""
    mode = draw(st.sampled_from(("fc", "prompt")))
    category, entry_id, result = draw(trajectories(source, mode))
    common = {"do": "judge", "category": category, "id": entry_id, "mode": mode, "underscore_names": False}
    return {**common, "output": result}


@st.composite
def answers(draw: Any, source: Source) -> Request:
    """The verdict on a final answer."""
    category = draw(st.sampled_from(("memory_kv", "web_search_base")))
    entry_id = draw(st.sampled_from([ref.id for ref in source.data.index(category)]))
    wanted = [str(text) for text in source.data.entry(entry_id).possible_answer]
    near = [change for text in wanted for change in (text.upper(), f"{text}s", text[1:])]
    words = st.sampled_from((*wanted, *near, "I do not know", "", "a-b", "$5"))
    frame = draw(st.sampled_from(("{}", "It is {}.", "{{'answer': '{}', 'context': 'x'}}", "({})", "{}{}", "x{}")))
    said = frame.replace("{}{}", "{0}{0}").format(draw(words))
    call = [{"core_memory_retrieve_all": "{}"}]
    failed = f"Error during inference: {said}"
    shapes = ([[said]], [[call, said]], [[said, call]], [[call]], [[]], [], [[said], [said]], failed, [[said, ""]])
    result = draw(st.sampled_from(shapes))
    common = {"do": "judge", "category": category, "id": entry_id, "mode": "fc", "underscore_names": False}
    return {**common, "output": result}


@st.composite
def conversations(draw: Any, source: Source) -> Request:
    """Every request a model is sent while it plays an entry."""
    mode = draw(st.sampled_from(("fc", "prompt")))
    if draw(st.integers(0, 3)) == 0:
        category = draw(st.sampled_from(SINGLE_TURN))
        entry_id = draw(st.sampled_from(source.refs[category]))
        return {"do": "converse", "category": category, "id": entry_id, "mode": mode, "replies": [], "memory": None}
    category, entry_id, result = draw(trajectories(source, mode))
    replies: list[dict[str, Any]] = []
    for number, step in enumerate(step for turn in result for step in turn):
        if isinstance(step, str):
            replies.append({"role": "assistant", "content": draw(st.sampled_from((step, step, None)))})
        elif step:
            said = [
                {"id": f"call_{number}_{place}", "type": "function", "function": {"name": name, "arguments": given}}
                for place, call in enumerate(step)
                for name, given in call.items()
            ]
            content = draw(st.sampled_from((None, "", "Let me see.")))
            replies.append({"role": "assistant", "content": content, "tool_calls": said})
    heard = replies[: draw(st.integers(0, len(replies)))]
    return {"do": "converse", "category": category, "id": entry_id, "mode": mode, "replies": heard, "memory": None}


KINDS = {
    "calls": executions,
    "memory": memories,
    "web": searches,
    "verdicts": verdicts,
    "multi-turn verdicts": multi_turns,
    "answers": answers,
    "messages": conversations,
}
"""Kind → its strategy, which takes a `Source`."""
