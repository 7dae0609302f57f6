"""The fixtures of an entry: ``bfcl_model``, ``bfcl_entry``, ``bfcl_transcript``; short: ``model`` and ``transcript``.

A project brings its model as its own fixture ``model``. It is sync or async, of any scope, and returns an adapter, an
object with ``generate`` or a function (see `pytest_bfcl.models.callable.as_model`). Its own ``bfcl_model`` takes
precedence. Its own ``transcript`` does not concern us.

The fixture ``ask`` and its recordings are an extension's (docs/own_tests.md).
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Generator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.conversations import Loop, has_asyncio, loop_fixture
from pytest_bfcl.plugin.nodes import OWN_MODEL, USERS_MODEL

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.models import Model
    from pytest_bfcl.plugin.conversations import Conversations
    from pytest_bfcl.transcript import Transcript


def fixtures_of(config: pytest.Config, conversations: Conversations, *, models: int) -> list[ModuleType]:
    """Plugin modules with one fixture each, to be registered; ``models`` is the number of models. Each has its own
    module because fixtures as methods of an object are deprecated. Other plugins may have the short names.
    """
    made = [
        *_model_fixtures(conversations, "session" if models == 1 else "function"),
        *_entry_fixtures(conversations),
        loop_fixture(config, conversations.aclose),
    ]
    theirs = [name for name in ("model", "transcript") if pytest_internals.is_defined_elsewhere(config, name)]
    return [_module(each) for each in made if each.name not in theirs]


def _module(fixture: Any) -> ModuleType:
    module = ModuleType(f"{__name__}.{fixture.name}")
    setattr(module, fixture.name, fixture)
    return module


def _model_fixtures(conversations: Conversations, scope: Any) -> list[Any]:
    """They use no other fixture, not even ``request``, because pytest would make it again for every item."""

    @pytest.fixture(scope=scope, name=OWN_MODEL)
    def bfcl_model() -> Model:
        """The model under test, made from ``--model``."""
        return conversations.model()

    @pytest.fixture(scope=scope, name=USERS_MODEL)
    def model() -> Model:
        """The model under test, made from ``--model``. Override this fixture to test a model of your own."""
        return conversations.model()

    return [bfcl_model, model]


def _entry_fixtures(conversations: Conversations) -> list[Any]:
    @pytest.fixture(name="bfcl_entry")
    def bfcl_entry(request: pytest.FixtureRequest) -> Entry:
        """The benchmark entry of this item."""
        return conversations.entry_of(request.node)

    @pytest.fixture(name="bfcl_transcript")
    def bfcl_transcript(request: pytest.FixtureRequest, bfcl_entry: Entry, bfcl_loop: Loop) -> Transcript:
        """The conversation about the entry; it has ended when the item is judged."""
        model = request.getfixturevalue(request.node.file.model_fixture)
        return conversations.transcript(request.node, model, bfcl_loop)

    @pytest.fixture(name="transcript")
    def transcript(bfcl_transcript: Transcript) -> Transcript:
        """Short for ``bfcl_transcript``."""
        return bfcl_transcript

    return [bfcl_entry, bfcl_transcript, transcript]


class UsersModel:
    """Observes the set-up of a project's own model fixture."""

    def __init__(self, config: pytest.Config, conversations: Conversations) -> None:
        self._config = config
        self._conversations = conversations

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
        """Record failure and event loop of a user's model, and run the fixture if no other plugin can."""
        if fixturedef.argname not in (USERS_MODEL, OWN_MODEL) or pytest_internals.is_ours(fixturedef):
            return (yield)
        loop: Loop = request.getfixturevalue("bfcl_loop")
        try:
            with pytest_internals.standing_in(fixturedef, self._function(fixturedef.func, loop, request)):
                result = yield
        except Exception:
            self._conversations.model_failed = True
            raise
        if fixturedef.scope == "session":  # in-flight conversations end before the user's model does
            fixturedef.addfinalizer(lambda: loop.run(self._conversations.end()))
        return result

    def _function(self, original: object, loop: Loop, request: pytest.FixtureRequest) -> Any:
        if not (inspect.iscoroutinefunction(original) or inspect.isasyncgenfunction(original)):
            return original
        if _handled_elsewhere(self._config, original):
            return _watched(original, self._conversations)
        return _driven(original, loop, request)


def _handled_elsewhere(config: pytest.Config, function: object) -> bool:
    """Whether pytest-asyncio will run this async fixture."""
    if not has_asyncio(config):
        return False
    mode = config.getoption("asyncio_mode", None) or config.getini("asyncio_mode")
    return str(getattr(mode, "value", mode)) == "auto" or pytest_internals.is_asyncio_fixture(function)


def _watched(function: Any, conversations: Conversations) -> Any:
    """The same fixture function, recording its event loop."""
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


class OwnTests(Protocol):
    """The module that the entry point ``ask`` of the group ``pytest_bfcl.fixtures`` names."""

    def asker_of(self, request: pytest.FixtureRequest) -> Any:
        """The value of a test's fixtures ``ask`` and ``bfcl_ask``."""

    def register_recording(self, config: pytest.Config, stop: Callable[[str], None] = ...) -> None:
        """Record requests if selected; ``stop`` ends the session with a reason."""


def own_tests() -> OwnTests:
    """Raises `UsageError` if no installed package provides it."""
    return cast("OwnTests", entry_points.require("fixtures", "ask", "the fixture ask with its recordings"))


def asker_of(request: pytest.FixtureRequest) -> Any:
    """The fixtures' value; fails the test if no extension has it."""
    try:
        found = own_tests()
    except UsageError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    return found.asker_of(request)
