"""The sent request of an entry, the received reply, and the shell command that sends it again.

The body is put together by the adapter that sent it, from the stored messages and the run's settings: ``curl`` sends
the same. A key is never read; the command has the name of its variable.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.extensions.wire.outcome import curl
from pytest_bfcl.failures import BenchmarkError, UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import cut

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.models.openai import OpenAIModel
    from pytest_bfcl.runs.fingerprint import ModelFingerprint

MAX_SHOWN = 60_000
"""Characters of one request or reply on a page; the run's transcripts have everything."""
MAX_QUERIES = 60


class Exchange(NamedTuple):
    """One query of a conversation: the request (as JSON, and as a shell command) and the reply."""

    number: int
    sent: str
    curl: str
    received: str


class Exchanges(NamedTuple):
    """The queries of a conversation; ``note`` names missing parts, ``left_out`` counts queries that are not shown."""

    found: tuple[Exchange, ...]
    note: str = ""
    left_out: int = 0

    def shortened(self) -> Exchanges:
        """For a static site: of a longer conversation only the first query, whose messages all others repeat."""
        if len(self.found) <= 1:
            return self
        return self._replace(found=self.found[:1], left_out=self.left_out + len(self.found) - 1)


def exchanges(line: Fields, stored: Fields | None, entry: Entry | None, asked: ModelFingerprint | None) -> Exchanges:
    """The queries of one result line, from its stored conversation."""
    messages = [message for message in (stored or {}).get("messages") or () if isinstance(message, dict)]
    if not messages:
        return Exchanges((), "The run keeps no messages of this entry: requests cannot be shown as they were sent.")
    functions = [each for each in (stored or {}).get("functions") or () if isinstance(each, dict)]
    model, note = _adapter(line, entry, asked)

    def sent(place: int) -> tuple[str, str]:
        before = messages[:place]
        if model is None or entry is None or asked is None:
            return _json_text({"messages": before, "functions": functions}), ""
        return _request(model, entry, before, functions if line.get("mode") == "fc" else [], asked)

    places = [number for number, message in enumerate(messages) if message.get("role") == "assistant"]
    found = [(*sent(place), _json_text(messages[place])) for place in places[:MAX_QUERIES]]
    if not places:  # it was asked, and no answer came
        outcome = {"outcome": line.get("outcome"), "detail": line.get("detail")}
        found = [(*sent(len(messages)), _json_text(outcome))]
    numbered = tuple(Exchange(number, *each) for number, each in enumerate(found, 1))
    return Exchanges(numbered, note, max(len(places) - MAX_QUERIES, 0))


def _adapter(line: Fields, entry: Entry | None, asked: ModelFingerprint | None) -> tuple[OpenAIModel | None, str]:
    """The adapter that sent the requests over HTTP; without one a note."""
    from pytest_bfcl.models import create_model, parse_spec
    from pytest_bfcl.models.openai import OpenAIModel
    from pytest_bfcl.settings import Settings

    if entry is None or asked is None or asked.template is not None or asked.api == "completions":
        return None, "Messages and functions as they were handed to the model; the HTTP body is not kept."
    try:
        own = Settings(base_url=asked.base_url, api=asked.api, stream=asked.stream, reasoning=asked.reasoning)
        model = create_model(parse_spec(str(line.get("model") or "")), own)
    except (BenchmarkError, UsageError, ValueError, TypeError):
        model = None
    if isinstance(model, OpenAIModel):
        return model, ""
    return None, "Messages and functions as they were handed to the model, which is not asked over HTTP by us."


def _request(
    model: OpenAIModel, entry: Entry, messages: Sequence[Fields], functions: Sequence[Fields], asked: ModelFingerprint
) -> tuple[str, str]:
    """The body as JSON and the command."""
    from pytest_bfcl.models.base import Request

    request = Request(entry, list(map(dict, messages)), list(map(dict, functions)))
    request.parameters = dict(asked.parameters)
    try:
        body = model.payload(request)
    except Exception as error:  # stored by another version, edited by hand
        plain = _json_text({"messages": list(messages), "functions": list(functions)})
        return f"{plain}\n(the body cannot be put together again: {type(error).__name__})", ""
    text = json.dumps(body, ensure_ascii=False)
    command = curl(model.server, model.api.name, model.api.path, text, headers=asked.headers)
    return _json_text(body), command if len(text) <= MAX_SHOWN else ""


def _json_text(value: object) -> str:
    return cut(json.dumps(value, indent=1, ensure_ascii=False, default=str), MAX_SHOWN)
