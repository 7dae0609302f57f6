"""placeholder, replaced below."""

from __future__ import annotations

from pytest_bfcl.models.base import Request
from pytest_bfcl.models.spec import ModelSpec
from pytest_bfcl.transcript import Mode, Reply


class LexicalModel:
    """Word overlap baseline."""

    def __init__(self, spec: ModelSpec, mode: Mode = "fc") -> None:
        self.spec = spec.with_mode(mode).text
        self.mode: Mode = mode
        self.underscore_names = mode == "fc"

    async def generate(self, request: Request) -> Reply:
        """Answer one request."""
        return Reply(text="I cannot help with that.")

    async def aclose(self) -> None:
        """Nothing to release."""
