"""Figures next to the checks: do arguments satisfy the schema, and is there a call exactly when expected?

The same questions are asked unstreamed and streamed, so that a difference between the two is the server's.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bfcl.extensions.wire.probe import Probe, together
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.requests import Request, Tool
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extensions.wire.tasks import TEXT, Json, schema
from pytest_bfcl.tools.json_schema import is_valid

_UNIT: Json = {"type": "string", "enum": ["celsius", "fahrenheit"]}
_DAYS: Json = {"type": "integer", "minimum": 1, "maximum": 14}
_GUESTS: Json = {"type": "array", "items": schema({"name": TEXT, "vegetarian": {"type": "boolean"}})}
TOOLS = (
    Tool(
        "get_weather", schema({"city": TEXT, "unit": _UNIT, "days": _DAYS}), "The weather of a city on the coming days."
    ),
    Tool("book_table", schema({"guests": _GUESTS, "hour": {"type": "integer"}}), "Books a table in our restaurant."),
    Tool("convert_currency", schema({"amount": {"type": "number"}, "source": TEXT, "target": TEXT}), "Converts money."),
    Tool("set_alarm", schema({"hour": {"type": "integer"}, "minute": {"type": "integer"}}), "Sets an alarm clock."),
)
DUE = (
    "What will the weather be in Oslo for the next 3 days, in celsius?",
    "Tell me the weather of Lima for 5 days, in fahrenheit please.",
    "I need the weather in Nairobi for one day, in celsius.",
    "Book a table at 19 hours for Ana, who is vegetarian, and Bo, who is not.",
    "Please book a table for Kim (not vegetarian) at 12 hours.",
    "Convert 250.5 in the currency EUR to NOK.",
    "Which amount is 1000 of the currency JPY in USD? Convert it.",
    "Set an alarm for 6:45 in the morning.",
)
"""Requests that need a call, with everything the call needs."""
NOT_DUE = (
    "Name three colours.",
    "Who wrote the play Hamlet?",
    "Write one sentence about the sea.",
    "What is the opposite of small?",
    "Say thank you in French.",
    "How many legs does a spider have?",
    "Is a whale a fish?",
    "Spell the word rhythm backwards.",
)
"""Questions that no tool here helps with."""


async def _measures(probe: Probe) -> None:
    for form, stream in (("unstreamed", False), ("streamed", True)):
        due = await together(*(probe.reply(Request.of(text, *TOOLS), stream=stream) for text in DUE))
        idle = await together(*(probe.reply(Request.of(text, *TOOLS), stream=stream) for text in NOT_DUE))
        probe.figures.update({f"{name}_{form}": value for name, value in calling(due, idle).items()})
        probe.figures[f"schema_{form}"] = fitting([*due, *idle])


def calling(due: Sequence[Reply], idle: Sequence[Reply]) -> dict[str, float | None]:
    """Precision, recall and F1 of the decision to call; ``None`` for shares of nothing, and a mean with one."""
    hits = sum(bool(reply.calls) for reply in due)
    wrong = sum(bool(reply.calls) for reply in idle)
    precision = hits / (hits + wrong) if hits + wrong else None
    recall = hits / len(due) if due else None
    whole = precision is not None and recall is not None
    return {"precision": precision, "recall": recall, "f1": 2 * hits / (hits + wrong + len(due)) if whole else None}


def fitting(replies: Sequence[Reply]) -> float | None:
    """Share of calls whose arguments satisfy the schema of the tool they name; ``None`` without calls."""
    calls = [call for reply in replies for call in reply.calls]
    return sum(fits(call.name, call.values) for call in calls) / len(calls) if calls else None


def fits(name: object, values: object) -> bool:
    """Whether arguments satisfy the tool's JSON Schema."""
    tool = next((tool for tool in TOOLS if tool.name == name), None)
    return tool is not None and isinstance(values, dict) and is_valid(tool.parameters or {}, values)


JUDGES: Judges = {
    "measures": _measures,
}
