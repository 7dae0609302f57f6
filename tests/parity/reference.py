"""The other side: an installed bfcl-eval that answers requests, one JSON line each, on its own process's pipes.

Runs under the Python that has bfcl-eval (``make parity`` makes it) and imports nothing of this project. Model clients
of vendors, their table and the sentence encoder are stood in for: none of them takes part in what is compared.

    {"do": "execute", "classes": [...], "config": {...}, "long_context": false, "calls": [...]}  → results, state
    {"do": "judge", "id": ..., "mode": "fc", "underscore_names": false, "output": ...}           → valid, error_type
    {"do": "converse", "id": ..., "mode": "fc", "replies": [...], "memory": null}                → requests
"""

from __future__ import annotations

import copy
import hashlib
import io
import itertools
import json
import sys
import tempfile
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MODELS = {"parity-dots": False, "parity-underscores": True}
"""Name of a model → whether its names are compared with underscores for dots."""
DIMENSIONS = 384
DEEPEST = 40


def vector(text: str) -> Any:
    """A text's direction, of length 1: the same on both sides, and different texts point elsewhere."""
    import numpy as np

    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "little")
    drawn = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def encoded(value: Any, depth: int = 0) -> Any:
    """A state as plain JSON, classes told apart by their shapes; a directory may lie in itself."""
    kind, deeper = type(value).__name__, depth + 1
    if depth > DEEPEST:
        return "…"
    if kind == "Directory":
        return {"__dir__": value.name, "contents": {key: encoded(node, deeper) for key, node in value.contents.items()}}
    if kind == "File":
        return {"__file__": value.name, "content": encoded(value.content, deeper)}
    if isinstance(value, (set, frozenset)):
        return {"__set__": sorted((encoded(item, deeper) for item in value), key=repr)}
    if isinstance(value, Mapping):
        return {str(key): encoded(item, deeper) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encoded(item, deeper) for item in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else repr(value)


class Encoder:
    """Stands in for the sentence encoder."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def get_sentence_embedding_dimension(self) -> int:
        return DIMENSIONS

    def encode(self, texts: Any, **kwargs: Any) -> Any:
        import numpy as np

        return vector(texts) if isinstance(texts, str) else np.stack([vector(text) for text in texts])


def stand_ins() -> None:
    """Modules that need vendors' clients or gigabytes, before anything imports them."""
    table = types.ModuleType("bfcl_eval.constants.model_config")
    table.MODEL_CONFIG_MAPPING = {  # type: ignore[attr-defined]
        name: types.SimpleNamespace(underscore_to_dot=underscores) for name, underscores in MODELS.items()
    }
    sentences = types.ModuleType("sentence_transformers")
    sentences.SentenceTransformer = Encoder  # type: ignore[attr-defined]
    for module in (table, sentences, types.ModuleType("pandas")):
        sys.modules.setdefault(module.__name__, module)


class Web:
    """What the one search and the one page of a request give."""

    def __init__(self) -> None:
        self.payload: Any = {}
        self.page: Any = {}

    def search(self, *args: Any) -> Any:
        return types.SimpleNamespace(get_dict=lambda: copy.deepcopy(self.payload))

    def get(self, url: str, **kwargs: Any) -> Any:
        import requests

        answer = requests.Response()
        answer.status_code, answer.reason, answer.url = self.page["status"], self.page["reason"], url
        answer.encoding = "utf-8"
        answer.raw = io.BytesIO(self.page["text"].encode())
        return answer


class Side:
    """Answers requests."""

    def __init__(self, folder: Path) -> None:
        from bfcl_eval import utils
        from bfcl_eval.eval_checker import eval_runner
        from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils
        from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler

        self.folder = folder
        self.runner, self.utils, self.executing = eval_runner, utils, multi_turn_utils
        self.handler = OpenAICompletionsHandler
        self.places = itertools.count()
        self.entries: dict[str, dict[str, Any]] = {}
        self.web = Web()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        return getattr(self, request["do"])(request)

    # -- calls -------------------------------------------------------------------------------------------------------

    def execute(self, request: dict[str, Any]) -> dict[str, Any]:
        """Result texts of calls on fresh instances, and the state they leave."""
        from importlib import import_module

        config = copy.deepcopy(request["config"])
        place = f"place_{next(self.places)}"
        for name in request["classes"]:
            if name.startswith("MemoryAPI_"):
                backend = name.removeprefix("MemoryAPI_")
                test = {"scenario": "customer", "test_id": f"memory_{backend}_prereq_0-customer-0"}
                config[name] = {**test, "model_result_dir": self.folder / place}
            if name == "WebSearchAPI":
                module = import_module(self.executing.CLASS_FILE_PATH_MAPPING[name])
                self.web.payload, self.web.page = request["web"]["search"], request["web"]["page"]
                module.GoogleSearch, module.requests.get = self.web.search, self.web.get
        results, instances = self.executing.execute_multi_turn_func_call(
            request["calls"], config, request["classes"], "parity", place, request["long_context"]
        )
        state = {
            name: {key: encoded(value) for key, value in vars(instance).items() if key[:1] != "_"}
            for name, instance in instances.items()
            if not name.startswith(("MemoryAPI_", "WebSearchAPI", "MathAPI"))
        }
        forget(self.executing)
        return {"results": results, "state": state}

    # -- verdicts ----------------------------------------------------------------------------------------------------

    def entry(self, category: str, entry_id: str) -> dict[str, Any]:
        """A fresh copy of an official entry with its answer; hints as when a model is asked."""
        if category not in self.entries:
            hinted = self.utils.load_dataset_entry(category)
            plain = self.utils.load_dataset_entry(category, include_prereq=False, include_language_specific_hint=False)
            answered = [line for line in plain if "prereq" not in line["id"]]
            answers = [] if category.endswith("relevance") else self.utils.load_ground_truth_entry(category)
            self.entries[category] = {line["id"]: [line, None, None] for line in hinted}
            for position, line in enumerate(answered):
                self.entries[category][line["id"]][1:] = [line, answers[position] if answers else None]
        return copy.deepcopy(self.entries[category][entry_id])

    def judge(self, request: dict[str, Any]) -> dict[str, Any]:
        """The verdict on one result."""
        name = "parity-underscores" if request["underscore_names"] else "parity-dots"
        handler = self.client(name, request["mode"], [])
        category, entry_id, output = request["category"], request["id"], request["output"]
        _, entry, answer = self.entry(category, entry_id)
        common = (name, category)
        if category.startswith("multi_turn"):
            found = self.runner._evaluate_single_multi_turn_entry(
                handler, entry_id, output, answer["ground_truth"], entry, *common
            )
            forget(self.executing)
        elif category.startswith(("memory", "web_search")):
            found = self.runner._evaluate_single_agentic_entry(
                handler, entry_id, output, answer["ground_truth"], entry, *common
            )
        elif category.endswith("relevance"):
            found = self.runner._evaluate_single_relevance_entry(handler, entry_id, output, entry, *common)
        else:
            language = self.runner.Language.PYTHON, self.runner.ReturnFormat.PYTHON
            if "java" in category:
                word = "JAVASCRIPT" if "javascript" in category else "JAVA"
                language = getattr(self.runner.Language, word), getattr(self.runner.ReturnFormat, word)
            found = self.runner._evaluate_single_ast_entry(
                handler, entry_id, output, answer["ground_truth"], entry, *common, *language
            )
        error = found.get("error")
        told = error.get("error_type") if isinstance(error, dict) else None
        return {"valid": found["valid"], "error_type": None if found["valid"] else found.get("error_type") or told}

    # -- conversations -----------------------------------------------------------------------------------------------

    def client(self, name: str, mode: str, replies: list[Any], seen: list[Any] | None = None) -> Any:
        """A handler of the generic chat API whose server gives these replies, then says that it is done."""
        import httpx
        from openai import OpenAI

        left = iter(replies)
        kept: list[Any] = seen if seen is not None else []

        def serve(request: httpx.Request) -> httpx.Response:
            kept.append(json.loads(request.content))
            message = next(left, {"role": "assistant", "content": "Done."})
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            body = {"id": "1", "object": "chat.completion", "created": 1, "model": name}
            return httpx.Response(200, json={**body, "choices": [choice], "usage": usage})

        handler = self.handler.__new__(self.handler)
        registry = f"{name}-FC" if mode == "fc" else name
        super(self.handler, handler).__init__(name, 0.001, registry, mode == "fc")
        handler.model_style = self.runner.__dict__.get("ModelStyle") or self.style()
        handler.client = OpenAI(
            api_key="none", base_url="http://parity", max_retries=0,
            http_client=httpx.Client(transport=httpx.MockTransport(serve)),
        )  # fmt: skip
        return handler

    def style(self) -> Any:
        from bfcl_eval.constants.enums import ModelStyle

        return ModelStyle.OPENAI_COMPLETIONS

    def converse(self, request: dict[str, Any]) -> dict[str, Any]:
        """Every request that a model is sent."""
        seen: list[Any] = []
        handler = self.client("parity-underscores", request["mode"], request["replies"], seen)
        entry = self.entry(request["category"], request["id"])[0]
        place = self.folder / f"memory_{next(self.places)}"
        self.utils.populate_initial_settings_for_memory_test_cases([entry], place)
        self.utils.populate_initial_settings_for_web_search_test_cases([entry])
        if request["memory"] is not None:
            kept = place / self.utils.get_directory_structure_by_id(request["id"]) / "memory_snapshot"
            kept.mkdir(parents=True)
            (kept / f"{entry['scenario']}_final.json").write_text(json.dumps(request["memory"]))
        handler.inference(entry, False, True)
        forget(self.executing)
        return {"requests": [{name: body.get(name) for name in ("messages", "tools")} for body in seen]}


def forget(module: Any) -> None:
    """Drop the instances that the reference keeps in its module's globals: its state is another's otherwise."""
    for name in [name for name in vars(module) if name.endswith("_instance")]:
        delattr(module, name)


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # the reference prints what it does
    sys.stderr = sys.stdout = io.StringIO() if "--quiet" in sys.argv else sys.stderr
    stand_ins()
    with tempfile.TemporaryDirectory() as folder:
        side = Side(Path(folder))
        print(json.dumps({"ready": True}), file=answers, flush=True)
        for line in sys.stdin:
            try:
                told = side.answer(json.loads(line))
            except BaseException as error:
                told = {"raised": f"{type(error).__name__}: {error}"[:500]}
            if isinstance(sys.stdout, io.StringIO):
                sys.stdout.seek(0)
                sys.stdout.truncate()
            print(json.dumps(told, default=repr), file=answers, flush=True)


if __name__ == "__main__":
    main()
