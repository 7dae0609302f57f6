"""Which models are relatives: runs of one family count once."""

from __future__ import annotations

import re

_SNAPSHOT = re.compile(r"[_@:-]snapshots?[_-].*$", re.IGNORECASE)
_MODE = re.compile(r"@(?:fc|prompt)$")
_VENDOR = re.compile(r"^.*(?:/|--)")
_PART = re.compile(r"(?<![a-z])(?!(?:meta|open)-)[a-z]+", re.IGNORECASE)
_VERSIONED = re.compile(r"[A-Za-z][A-Za-z-]*-?\d")


def family_of(model: str) -> str:
    """The family of a model's name: the word its version follows, in lower case.

    ``openai:gpt-4o@fc``, ``gpt-4.1`` and ``gpt-oss-120b`` are ``gpt``, ``Qwen_Qwen3-8B-FC`` and ``Qwen--Qwen3-32B``
    ``qwen``, ``Salesforce_Llama-xLAM-2-8b-fc-r`` ``llama``. Rather one family too few than two of one.
    """
    name = _MODE.sub("", model)
    name = _SNAPSHOT.sub("", name)
    name = _VENDOR.sub("", name.partition(":")[2] or name)
    parts = [part for part in name.split("_") if _PART.match(part)] or [name]
    chosen = next((part for part in reversed(parts) if _VERSIONED.search(part)), parts[-1])
    found = _PART.search(chosen)
    return (found[0] if found else chosen).lower()
