"""Small entries and transcripts for the tests of this room; all names and values are our own."""

from __future__ import annotations

from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.transcript import Mode, Reply, Step, Transcript, Turn

_TYPES = {"bool": "boolean", "int": "integer", "str": "string"}


def schema(word: str) -> dict[str, Any]:
    """``array<float>`` → the property schema."""
    head, _, rest = word.partition("<")
    if not rest:
        return {"type": _TYPES.get(head, head), "description": "A value."}
    return {"type": head, "description": "A list.", "items": schema(rest[:-1])}


def function(name: str = "serve", /, **parameters: Any) -> dict[str, Any]:
    """A function document; a parameter ending in ``_`` is optional; values are type words or schemas."""
    properties, required = {}, []
    for key, word in parameters.items():
        plain = key.removesuffix("_")
        properties[plain] = schema(word) if isinstance(word, str) else word
        if plain == key:
            required.append(plain)
    return {
        "name": name,
        "description": "A kitchen tool.",
        "parameters": {"type": "dict", "properties": properties, "required": required},
    }


def entry(functions: list[dict[str, Any]], answers: list[dict[str, Any]] | None, **values: Any) -> Entry:
    """A single-turn entry."""
    values.setdefault("category", "simple_python")
    question = [[{"role": "user", "content": values.pop("request", "Please serve the soup.")}]]
    return Entry.model_validate(
        {"id": "kitchen_0", "question": question, "function": functions, "possible_answer": answers, **values}
    )


def transcript(output: Any, mode: Mode | None = None, **values: Any) -> Transcript:
    """A single-turn transcript; lists are native calls."""
    reply = output if isinstance(output, Reply) else Reply.from_output(output)
    mode = mode or ("fc" if isinstance(output, list) else "prompt")
    values.setdefault("category", "simple_python")
    return Transcript("kitchen_0", mode=mode, turns=[Turn(steps=[Step(reply)])], **values)


def conversation(turns: list[list[Any]], category: str = "multi_turn_base", **values: Any) -> Transcript:
    """A decoded conversation: turns → steps → call texts; a step that is text did not decode."""
    made = [
        Turn(steps=[Step(Reply(text="…"), calls=step) if isinstance(step, list) else _text(step) for step in steps])
        for steps in turns
    ]
    return Transcript("kitchen_1", category, decoded=True, turns=made, **values)


def _text(text: str) -> Step:
    return Step(Reply(text=text), error="no call")
