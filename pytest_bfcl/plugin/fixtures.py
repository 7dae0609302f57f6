"""The fixtures of an entry: ``model``, ``bfcl_entry``, ``transcript``; override ``model`` to bring your own.

A user's ``model`` may be sync or async and of any scope. It may return an adapter, an object with ``generate``, or a
plain function (see `pytest_bfcl.models.callable.as_model`).
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Generator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.plugin.activation import has_asyncio
from pytest_bfcl.plugin.conversations import Loop, is_own
from pytest_bfcl.plugin.session import SESSION

if TYPE_CHECKING:
    from pytest_bfcl.dataset import Entry
    from pytest_bfcl.models import Model
    from pytest_bfcl.plugin.session import BfclSession
    from pytest_bfcl.transcript import Transcript


def model_fixture(bfcl: BfclSession) -> ModuleType:
    """A plugin module with the ``model`` fixture.

    It asks for no other fixture, not even ``request``: pytest makes those anew for every item.
    """

    @pytest.fixture(scope="session" if len(bfcl.specs) == 1 else "function")
    def model() -> Model:
        """The model under test, made from ``--model``. Override this fixture to test a model of your own."""
        item = bfcl.current
        return bfcl.conversations.model_for(item.spec if item is not None else bfcl.specs[0])

    return plugin_module(model)


def plugin_module(fixture: Any) -> ModuleType:
    """A module that holds one fixture, to be registered: fixtures as methods of an object are deprecated."""
    module = ModuleType(f"{__name__}.{fixture.__name__}")
    setattr(module, fixture.__name__, fixture)
    return module


@pytest.fixture
def bfcl_entry(request: pytest.FixtureRequest) -> Entry:
    """The benchmark entry of this item."""
    return request.config.stash[SESSION].conversations.entry_of(request.node)


@pytest.fixture
def transcript(request: pytest.FixtureRequest, bfcl_entry: Entry, model: Any, bfcl_loop: Loop) -> Transcript:
    """The conversation about the entry, over by the time the item is judged."""
    return request.config.stash[SESSION].conversations.transcript(request.node, model, bfcl_loop)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
    """Follow the set-up of a user's ``model``: note failure and event loop, and run it if nobody else can."""
    if fixturedef.argname != "model" or is_own(fixturedef):
        return (yield)
    conversations = request.config.stash[SESSION].conversations
    original = fixturedef.func
    loop: Loop = request.getfixturevalue("bfcl_loop")
    try:
        if _is_async(original):
            foreign = _handled_elsewhere(request.config, original)
            fixturedef.func = _watched(original, conversations) if foreign else _driven(original, loop, request)
        result = yield
    except Exception:
        conversations.bfcl.outcomes.model_failed = True
        raise
    finally:
        fixturedef.func = original
    if fixturedef.scope == "session":  # in-flight conversations end before the user's model does
        fixturedef.addfinalizer(lambda: loop.run(conversations.aclose(models=False)))
    return result


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _handled_elsewhere(config: pytest.Config, function: Any) -> bool:
    """Whether pytest-asyncio will run this async fixture."""
    if not has_asyncio(config):
        return False
    mode = config.getoption("asyncio_mode", None) or config.getini("asyncio_mode")
    return str(getattr(mode, "value", mode)) == "auto" or getattr(function, "_force_asyncio_fixture", False)


def _watched(function: Any, conversations: Any) -> Any:
    """The same fixture function, noting which event loop it runs in."""
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def generating(*args: Any, **kwargs: Any) -> Any:
            conversations.model_loop = asyncio.get_running_loop()
            async for value in function(*args, **kwargs):
                yield value

        return generating

    @functools.wraps(function)
    async def returning(*args: Any, **kwargs: Any) -> Any:
        conversations.model_loop = asyncio.get_running_loop()
        return await function(*args, **kwargs)

    return returning


def _driven(function: Any, loop: Loop, request: pytest.FixtureRequest) -> Any:
    """A synchronous stand-in that runs an async fixture function on the session's loop."""

    @functools.wraps(function)
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if not inspect.isasyncgen(made):
            return loop.run(made)
        value = loop.run(anext(made))
        request.addfinalizer(lambda: loop.run(anext(made, None)))
        return value

    del stand_in.__wrapped__  # or it would still look like a coroutine function
    return stand_in
