"""`ask`: one request to the checkpoint under test, for tests that look closer than the benchmark does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pytest_bfcl import Reply
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.models import Request, create_model
from pytest_bfcl.settings import Settings

Ask = Callable[[str, list[dict[str, Any]]], Reply]


@pytest.fixture(scope="session")
def ask(pytestconfig: pytest.Config) -> Ask:
    """A function (text, functions) -> Reply. The model is the one of --model, without it the lexical baseline."""
    spec = (pytestconfig.getoption("bfcl_model") or ["lexical:"])[0]
    base_url = pytestconfig.getoption("bfcl_base_url")

    def ask_checkpoint(text: str, functions: list[dict[str, Any]]) -> Reply:
        messages = [{"role": "user", "content": text}]
        entry = Entry(id="own_0", category="simple_python", question=[messages], function=functions)

        async def once() -> Reply:
            model = create_model(spec, Settings(base_url=base_url))
            try:
                return await model.generate(Request(entry, messages, entry.function))
            finally:
                await model.aclose()

        return asyncio.run(once())

    return ask_checkpoint
