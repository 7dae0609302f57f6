"""What every agent is to a run, and the exceptions by which libraries say that the model was wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.models import Request
    from pytest_bfcl.transcript import Mode, Reply


class Agent:
    """A contender that plays entries (`pytest_bfcl.conversation.played.Player`); its tools are Python functions."""

    mode: Mode = "fc"
    underscore_names = True

    def __init__(self, spec: str) -> None:
        self.spec = spec

    async def generate(self, request: Request) -> Reply:
        """Agents answer no single requests. Raises `AdapterError`."""
        raise AdapterError(
            AdapterTrouble.FIXTURE, f"{self.spec} is an agent: it plays whole entries and answers no single request"
        )


_RAISED = frozenset(
    {
        ("agents", "ModelBehaviorError"), ("agents", "MaxTurnsExceeded"),
        ("pydantic_ai", "UnexpectedModelBehavior"), ("pydantic_ai", "UsageLimitExceeded"),
        ("langgraph", "GraphRecursionError"), ("langchain_core", "OutputParserException"),
        ("smolagents", "AgentParsingError"), ("smolagents", "AgentMaxStepsError"),
        ("smolagents", "AgentToolCallError"), ("haystack", "ToolNotFoundException"),
        ("haystack", "ToolInvocationError"), ("llama_index", "MaxIterationsError"),
    }
)  # fmt: skip
"""Package and class of what common libraries raise for a model's mistake, by their documentation and by trial."""
_TEXTS = re.compile(r"(?i)max iterations of \d+ reached|tool\b.{0,80}\bnot found\b|unknown tool\b|no tool named")
"""What others say it by, in exceptions of any kind."""
_NAMED = re.compile(
    r"(?i)\b(?:tool|function)(?: name)?:? ['\"`]?([A-Za-z_][\w.-]{0,63})['\"`]?(?= not found|$|[\s.,;:])"
)


def mistake_of(error: BaseException) -> str | None:
    """What the model did wrong, in the library's words; ``None`` for an error that is the agent's own."""
    chain = list(_chain(error))
    # Broken JSON is the model's where a tool's arguments are read, not where the agent reads its own answer.
    in_a_tool = any(re.search(r"(?i)\btool\b", str(each)[:200]) for each in chain)
    for each in chain:
        package = type(each).__module__.partition(".")[0]
        known = any((package, kind.__name__) in _RAISED for kind in type(each).__mro__)
        if known or (in_a_tool and isinstance(each, json.JSONDecodeError)) or _TEXTS.search(str(each)[:1000]):
            return f"{type(each).__name__}: {str(each)[:300]}"
    return None


def unknown_tool_in(mistake: str) -> str | None:
    """The tool that was called and is not there, if that is what the library complained of."""
    if not re.search(r"(?i)not found|unknown tool|no tool named|unknown function", mistake):
        return None
    found = _NAMED.search(mistake)
    return found[1] if found else "unknown_tool"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error with what caused it and, of groups, all that is in it."""
    seen: set[int] = set()
    left = [error]
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        left += [one for one in (each.__cause__, each.__context__) if one is not None]
        left += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
