"""What a server makes of one question that needs a tool: with and without thinking, streamed and not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pytest_bfcl.extensions.serving.self_description import SelfDescription, described
from pytest_bfcl.failures import AdapterError, BenchmarkError
from pytest_bfcl.formats.families import family_of
from pytest_bfcl.formats.thinking import strip
from pytest_bfcl.models import ToolsRefused, create_model, parse_spec
from pytest_bfcl.models.probing import tool_request
from pytest_bfcl.models.registry import LOCAL_SERVERS
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Mode, Reply

THINKING = "chat_template_kwargs"
"""The parameter by which open servers hand ``enable_thinking`` to a chat template."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask; ``thinking`` is ``None`` where the model decides."""

    thinking: bool | None
    streamed: bool

    def __str__(self) -> str:
        said = "" if self.thinking is None else "with thinking, " if self.thinking else "without thinking, "
        return said + ("streamed" if self.streamed else "unstreamed")

    def applied(self, settings: Settings) -> Settings:
        """The settings that ask so."""
        if self.thinking is None:
            return replace(settings, stream=self.streamed)
        variables = {THINKING: {"enable_thinking": self.thinking}}
        return replace(settings, stream=self.streamed, parameters={**settings.parameters, **variables})


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of one way: a reply, or the error instead."""

    way: Way
    spec: str
    mode: Mode
    reply: Reply | None = None
    error: BenchmarkError | None = None

    @property
    def thoughts(self) -> bool:
        """Whether thoughts stand in the text, where a server should have removed them."""
        text = self.reply.text if self.reply is not None else None
        return bool(text) and strip(str(text)).answer != text


ALONE = ("oracle", "adversary", "lexical", "replay", "scripted")
"""Providers that answer by themselves: no server is asked."""


def ways_of(provider: str, settings: Settings) -> list[Way]:
    """How a server is asked: thinking is only switched at those that take what is given to a chat template."""
    if provider in ALONE:
        return [Way(None, False)]
    switched = (False, True) if provider in LOCAL_SERVERS or settings.base_url is not None else (None,)
    return [Way(thinking, streamed) for thinking in switched for streamed in (False, True)]


def check_up(text: str, settings: Settings) -> Iterator[Answered]:
    """Ask the model of a spec in every way; ends where the first one gets no answer.

    A server that refuses to be told about thinking is asked without. Raises `UsageError` for an unusable spec.
    """
    ways = ways_of(parse_spec(text).provider, settings)
    first = True
    while ways:
        way = ways.pop(0)
        found = asyncio.run(_answered(text, way, settings))
        if way.thinking is not None and _refuses_parameters(found.error):
            ways = [Way(None, False), Way(None, True)]
            continue
        yield found
        if found.error is not None and first:
            return
        first = False


def _refuses_parameters(error: BenchmarkError | None) -> bool:
    return isinstance(error, AdapterError) and error.status in (400, 422) and not isinstance(error, ToolsRefused)


def self_description(text: str, settings: Settings) -> SelfDescription:
    """What the server of a spec says of itself; nothing where no server is asked over HTTP."""

    async def ask() -> SelfDescription:
        model = create_model(text, settings)
        try:
            server = getattr(model, "server", None)
            return await described(server, parse_spec(model.spec).name) if server is not None else SelfDescription()
        except BenchmarkError:
            return SelfDescription()
        finally:
            await model.aclose()

    return asyncio.run(ask())


async def _answered(text: str, way: Way, settings: Settings) -> Answered:
    settings = way.applied(settings)
    model = create_model(text, settings)
    try:
        return Answered(way, model.spec, model.mode, await model.generate(tool_request(settings.sent_parameters())))
    except BenchmarkError as error:
        return Answered(way, model.spec, model.mode, error=error)
    finally:
        await model.aclose()


def start_flags(provider: str, model: str) -> dict[str, str]:
    """Engine → what it has to be started with for this model; all that need flags where the engine is not known."""
    row = family_of(model)
    commands = {"vllm": "vllm serve …", "sglang": "sglang …", "llamacpp": "llama-server …"}
    found = {}
    for engine, command in commands.items():
        flags = row.flags(engine) if row is not None else []
        found[engine] = " ".join([command, *(flags or UNKNOWN[engine])])
    return {provider: found[provider]} if provider in found else found


UNKNOWN = {
    "vllm": ["--enable-auto-tool-choice", "--tool-call-parser", "NAME"],
    "sglang": ["--tool-call-parser", "NAME"],
    "llamacpp": ["--jinja"],
}
"""What to start an engine with for a model that the table does not have, or that has no parser there."""
