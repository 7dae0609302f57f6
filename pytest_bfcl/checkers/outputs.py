"""What callers of the assertions may hand in: outputs, function documents and answers in their usual shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.transcript import Reply, ToolCall, arguments_text

_MAX_DEPTH = 4


def as_reply(output: Any) -> Reply:
    """A model's output as a `Reply`; raises `UsageError` for shapes nobody documents."""
    return _reply(output, 0)


def _reply(output: Any, depth: int) -> Reply:
    if isinstance(output, Reply):
        return output
    if output is None or isinstance(output, str):
        return Reply(text=output)
    if isinstance(output, ToolCall):
        return Reply(tool_calls=(output,))
    if depth < _MAX_DEPTH:
        if hasattr(output, "model_dump"):  # objects of provider libraries
            return _reply(output.model_dump(), depth + 1)
        if isinstance(output, Mapping):
            return _from_mapping(output, depth)
        if isinstance(output, Sequence):
            return _from_calls(output)
    raise UsageError(f"an output is text, a Reply, a message or a list of calls, not {type(output).__name__}")


def _from_mapping(output: Mapping[str, Any], depth: int) -> Reply:
    choices = output.get("choices")
    if isinstance(choices, Sequence) and choices:
        return _reply(choices[0], depth + 1)
    if isinstance(output.get("message"), Mapping):
        return _reply(output["message"], depth + 1)
    if "tool_calls" in output or "content" in output:
        calls = output.get("tool_calls") or ()
        if calls:
            return _from_calls(calls)
        content = output.get("content")
        if content is None or isinstance(content, str):
            return Reply(text=content)
        if isinstance(content, Sequence):  # content parts
            return Reply(text="".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping)))
        raise UsageError("a message's content is text")
    return _from_calls([output])


def _from_calls(calls: Sequence[Any]) -> Reply:
    if not calls:
        return Reply(text="")  # an empty list and an empty text decode alike (ast_checker spec §2)
    return Reply(tool_calls=tuple(_tool_call(call) for call in calls))


def _tool_call(call: Any) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    if hasattr(call, "model_dump"):
        call = call.model_dump()
    if isinstance(call, Mapping):
        inner = call.get("function")
        if isinstance(inner, Mapping):
            call = {**inner, "id": call.get("id")}
        if "name" in call and ("arguments" in call or "input" in call):
            arguments = call["arguments"] if "arguments" in call else call["input"]
            return ToolCall(str(call["name"]), arguments_text(arguments), call.get("id"))
        if len(call) == 1:
            ((name, arguments),) = call.items()
            return ToolCall(str(name), arguments_text(arguments))
    raise UsageError(f"a call is {{name, arguments}} or {{name: {{parameter: value}}}}, not {str(call)[:80]!r}")


def function_documents(functions: Any) -> list[dict[str, Any]]:
    """Function documents from documents or tools of the usual styles; raises `UsageError` for anything else."""
    if isinstance(functions, Mapping):
        functions = [functions]
    if isinstance(functions, str) or not isinstance(functions, Sequence):
        raise UsageError("functions is a list of function documents or tools")
    return [_document(each) for each in functions]


def _document(tool: Any) -> dict[str, Any]:
    if isinstance(tool, Mapping) and isinstance(tool.get("function"), Mapping):
        tool = tool["function"]
    if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str):
        raise UsageError(f"a function document needs a name: {str(tool)[:80]!r}")
    schema = tool.get("parameters", tool.get("input_schema"))
    if schema is None:
        schema = {"type": "dict", "properties": {}}
    if not isinstance(schema, Mapping):
        raise UsageError(f"the parameters of {tool['name']} are not an object schema")
    document = {**tool, "parameters": _schema(schema)}
    document.setdefault("description", "")
    return document


def _schema(schema: Any) -> Any:
    """A property schema with one type word: of ``["string", "null"]`` the first that is not null."""
    if not isinstance(schema, Mapping):
        return schema
    schema = dict(schema)
    word = schema.get("type")
    if isinstance(word, list):
        schema["type"] = next((each for each in word if each != "null"), "any")
    if isinstance(schema.get("properties"), Mapping):
        schema["properties"] = {name: _schema(each) for name, each in schema["properties"].items()}
    if "items" in schema:
        schema["items"] = _schema(schema["items"])
    return schema


def possible_answers(answers: Any) -> list[dict[str, Any]]:
    """Answers in the benchmark's notation; raises `UsageError` with an example when they have another shape."""
    listed = [answers] if isinstance(answers, Mapping) else answers
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
        raise UsageError(_EXAMPLE)
    for answer in listed:
        accepted = next(iter(answer.values()), None) if isinstance(answer, Mapping) and len(answer) == 1 else None
        if not isinstance(accepted, Mapping):
            raise UsageError(_EXAMPLE)
        for parameter, values in accepted.items():
            if not isinstance(values, list):
                raise UsageError(f"the acceptable values of {parameter!r} are not a list. {_EXAMPLE}")
    return [dict(answer) for answer in listed]


_EXAMPLE = (
    'possible_answer is {"get_weather": {"city": ["Paris", "Paris, France"]}} or a list of such objects; '
    'for one exact call use expected={"get_weather": {"city": "Paris"}}'
)


def plain_answers(expected: Any) -> list[dict[str, Any]]:
    """Plain calls as answers that accept exactly these values."""
    listed = [expected] if isinstance(expected, Mapping) else expected
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
        raise UsageError('expected is {"get_weather": {"city": "Paris"}} or a list of such calls')
    answers = []
    for call in listed:
        if isinstance(call, Mapping) and "name" in call and isinstance(call.get("arguments"), Mapping):
            call = {call["name"]: call["arguments"]}
        arguments = next(iter(call.values()), None) if isinstance(call, Mapping) and len(call) == 1 else None
        if not isinstance(arguments, Mapping):
            raise UsageError('expected is {"get_weather": {"city": "Paris"}} or a list of such calls')
        answers.append({next(iter(call)): {name: [_acceptable(value)] for name, value in arguments.items()}})
    return answers


def _acceptable(value: Any) -> Any:
    """A plain value as one acceptable value: objects become key → alternatives, also as elements of a list."""
    if isinstance(value, tuple):
        value = list(value)
    if isinstance(value, Mapping):
        return {key: [item] for key, item in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return [{key: [item] for key, item in each.items()} for each in value]
    return value
