"""This project's side of the same requests (see `tests.parity.reference`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pytest_bfcl.checkers import judge
from pytest_bfcl.conversation.dialogue import Dialogue
from pytest_bfcl.conversation.journal import HeldSnapshots
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.models.chat import Chat
from pytest_bfcl.models.openai import OpenAIModel
from pytest_bfcl.models.spec import parse_spec
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.settings import Settings
from pytest_bfcl.simulators import CallExecutor, create_simulator
from tests.parity.reference import encoded, vector


class Encoder:
    """The reference's stand-in, here."""

    def encode(self, text: str) -> Any:
        return vector(text)


class Web:
    """Gives what a request says, through the providers of a live run."""

    def __init__(self, web: Mapping[str, Any]) -> None:
        self.web = web

    def search(self, keywords: str, max_results: int, region: str) -> Any:
        from pytest_bfcl.extensions.serpapi import organic_results

        return organic_results(self.web["search"])

    def fetch(self, url: str, mode: str) -> Any:
        import httpx

        from pytest_bfcl.providers.pages import PageReader

        page = self.web["page"]
        serve = httpx.MockTransport(lambda request: httpx.Response(page["status"], text=page["text"]))
        return PageReader(transport=serve).fetch(url, mode)


class Ours:
    """Answers requests."""

    def __init__(self, data: DataSet) -> None:
        self.data = data
        self.entry = lru_cache(maxsize=4096)(self._entry)

    def _entry(self, entry_id: str) -> Entry:
        return self.data.entry(entry_id)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        return json.loads(json.dumps(getattr(self, request["do"])(request), default=repr))

    def execute(self, request: dict[str, Any]) -> dict[str, Any]:
        """Result texts of calls on fresh simulators, and the state they leave."""
        texts = self.data.texts
        simulators = {}
        for name in request["classes"]:
            context: dict[str, Any] = {"encoder": Encoder()} if name == "MemoryAPI_vector" else {}
            if name == "WebSearchAPI":
                context["provider"] = Web(request["web"])
            simulators[name] = create_simulator(
                name, request["config"].get(name), long_context=request["long_context"], texts=texts.long_context,
                sentences=texts.sentences.get(name), **context,
            )  # fmt: skip
        results = CallExecutor(simulators).execute_all(request["calls"])
        state = {
            name: {key: encoded(value) for key, value in simulator.public_state().items()}
            for name, simulator in simulators.items()
            if not name.startswith(("MemoryAPI_", "WebSearchAPI", "MathAPI"))
        }
        return {"results": results, "state": state}

    def judge(self, request: dict[str, Any]) -> dict[str, Any]:
        """The verdict on one result."""
        line = {name: request[name] for name in ("id", "category", "mode", "underscore_names", "output")}
        verdict = judge(self.entry(request["id"]), transcript_from_line(line))
        return {"valid": verdict.valid, "error_type": None if verdict.valid else str(verdict.reason)}

    def converse(self, request: dict[str, Any]) -> dict[str, Any]:
        """Every request that a model is sent."""
        entry, settings = self.entry(request["id"]), Settings(base_url="http://parity")
        api = Chat()
        model = OpenAIModel(parse_spec("openai:parity"), settings, request["mode"], base_url="http://parity", api=api)
        snapshots = HeldSnapshots()
        if request["memory"] is not None and entry.scenario:
            snapshots.save(entry.row.backend or "", entry.scenario, "before", request["memory"])
        dialogue = Dialogue(entry, model, settings, self.data.texts)
        dialogue.open(snapshots, Web({}))
        left, seen = iter(request["replies"]), []
        while not dialogue.ended:
            asked = dialogue.request()
            body = json.loads(model._encoded(model.payload(asked), asked))
            seen.append({name: body.get(name) for name in ("messages", "tools")})
            message = next(left, {"role": "assistant", "content": "Done."})
            step = dialogue.hear(api.read({"choices": [{"message": message, "finish_reason": "stop"}]}))
            for call in dialogue.due_calls(step):
                step.results.append(dialogue.world.execute_now(call))
            dialogue.go_on(step)
        return {"requests": seen}
