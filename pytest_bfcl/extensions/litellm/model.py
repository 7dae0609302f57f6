"""Every other provider's wire format, through litellm: Anthropic, Gemini, Mistral, Bedrock, Cohere and a hundred more.

Importing litellm takes seconds and 200 MB, so it happens at the first request, in a thread. Its own retries, telemetry,
remote price table and callbacks are off.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pytest_bfcl.answers import read_completion
from pytest_bfcl.endpoints.breaker import Breaker
from pytest_bfcl.endpoints.faults import EndpointUnreachable, error_in, http_fault, is_overflow
from pytest_bfcl.endpoints.retrying import Caller, RetryPolicy
from pytest_bfcl.extensions.litellm import missing_key
from pytest_bfcl.extras import install_command
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request, ToolsRefused
from pytest_bfcl.models.chat import ChatJoiner, dialect_of, outgoing, remembered
from pytest_bfcl.models.openai import whole_reply
from pytest_bfcl.models.probing import probe_request
from pytest_bfcl.redaction import discreet, public_url, redact, secrets_of
from pytest_bfcl.tools.schemas import CompiledTools
from pytest_bfcl.transcript import Message, Mode, Reply
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.models.spec import ModelSpec
    from pytest_bfcl.settings import Settings

_QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",  # otherwise it loads a .env file from the working directory
}
_NO_KEY = ("api_key", "api key", "credential", "access key", "unauthenticated")
_MISSING_KEY = re.compile(
    r"missing credentials|api[_ -]?key (?:(?:client option )?must be set|(?:is )?(?:missing|required|not set))",
    re.IGNORECASE,
)
_UNREADABLE = re.compile(
    r"Error converting|Invalid response object|Unable to get json|JSONDecodeError|Expecting value: line"
    r"|Unterminated string"
)
_DROPPABLE = ("temperature", "max_tokens")
_JUDGED_BY_TEXT = {"ContextWindowExceededError": "context_overflow", "ContentPolicyViolationError": "content_filter"}


class LitellmModel:
    """A model through litellm: ``anthropic:NAME``, ``gemini:NAME`` …, or ``litellm:PROVIDER/NAME``.

    Keys come from litellm's documented environment variables. ``settings.base_url`` is passed as ``api_base``.
    """

    connections_shared = True
    """litellm has one set of clients for the whole process: closing this model closes every other's."""

    def __init__(
        self, spec: ModelSpec, settings: Settings, mode: Mode = "fc", *, policy: RetryPolicy | None = None
    ) -> None:
        self.route = spec.name if spec.provider == "litellm" else f"{spec.provider}/{spec.name}"
        if not spec.name or (spec.provider == "litellm" and "/" not in spec.name):
            raise UsageError(f"cannot read model {spec.text!r}: write litellm:PROVIDER/NAME, or PROVIDER:NAME")
        self.spec = spec.with_mode(mode).text
        self.mode: Mode = mode
        self.underscore_names = mode == "fc"
        self.settings = settings
        self.base_url = public_url(settings.base_url) if settings.base_url else None
        self.notes: list[str] = []
        provider = f"{self.route.partition('/')[0]} (through litellm)"
        self.calls = Caller(settings, provider, policy, probe=self._probe)
        self._litellm: Any = None
        self._without_mcp: dict[str, bool] = {}
        self._dropped: set[str] = set()
        self.dialect = dialect_of(self.route.partition("/")[0], settings.base_url or "")
        self._tools = CompiledTools("folded")

    @property
    def breaker(self) -> Breaker:
        """The circuit breaker; ``breaker.reason`` is set if the run should stop."""
        return self.calls.breaker

    def check_key(self) -> None:
        """Raise `AdapterError` if the provider's key is not set; loads and sends nothing."""
        provider = self.route.partition("/")[0]
        if self.base_url or self.settings.headers or (variable := missing_key(provider)) is None:
            return
        what = f"no key for {provider}: the environment variable {variable} is not set"
        raise AdapterError(AdapterTrouble.AUTH, what, advice=f"export {variable}=…")

    async def generate(self, request: Request) -> Reply:
        """Send once, with retries. Raises `AdapterError`."""
        self.breaker.check()
        if self._litellm is None:
            self._litellm = await asyncio.to_thread(load_litellm)
            # Newer releases import the package `mcp` for every call with tools, without requiring it.
            if find_spec("litellm.responses.mcp.chat_completions_handler"):
                self._without_mcp = {"_skip_mcp_handler": True}
        litellm = self._litellm

        async def attempt(part: Request) -> Reply:
            return await self.calls.call(lambda: self._attempt(litellm, part))

        return await whole_reply(attempt, request, self.remember, self.settings.step_limit)

    async def aclose(self) -> None:
        """Close litellm's cached connections, if it was ever loaded."""
        await self.calls.aclose()
        litellm = sys.modules.get("litellm")
        close = getattr(litellm, "close_litellm_async_clients", None)
        if close is not None:
            await close()

    async def _probe(self) -> Reply:
        return await self._attempt(self._litellm, probe_request(self.settings.sent_parameters()))

    async def _attempt(self, litellm: Any, request: Request) -> Reply:
        arguments = self._arguments(request)
        first: float | None = None
        try:
            if self.settings.stream:
                body, first = await _streamed(litellm, arguments)
            else:
                body = (await litellm.acompletion(**arguments)).model_dump()
        except AdapterError:
            raise
        except Exception as error:
            outcome = self._outcome(error, tools_sent="tools" in arguments)
            if isinstance(outcome, Reply):
                return outcome
            if outcome is None:  # a parameter the model does not take, left out from now on
                return await self._attempt(litellm, request)
            raise outcome from None
        body = discreet(body, self._secrets(in_replies=True))  # before anything reads it or raises over it
        if (wrong := error_in(body)) is not None:
            sent = "tools" in arguments
            fault = wrong.as_ending(self._fault(wrong.status, wrong.text, {}, tools_sent=sent, inside=True))
            if isinstance(fault, Reply):
                return fault
            raise fault
        reply = read_completion(body)
        return reply if first is None else replace(reply, first_token_s=first)

    def _arguments(self, request: Request) -> Parsed:
        arguments: Parsed = {
            "model": self.route,
            "messages": [outgoing(message) for message in request.messages],
            "timeout": self.settings.timeout_s,
            "max_retries": 0,
            "num_retries": 0,
        }
        if self.settings.headers:
            arguments["extra_headers"] = dict(self.settings.headers)
        if self.settings.base_url:
            arguments["api_base"] = self.settings.base_url
        if request.functions and self.mode == "fc":
            arguments["tools"] = self._tools.of(request.functions)
            arguments.update(self._without_mcp)
        for name, value in request.parameters.items():
            if value is not None and name not in self._dropped:
                arguments[name] = value
        return arguments

    def _secrets(self, *, in_replies: bool = False) -> list[str]:
        url, headers, parameters = self.settings.base_url or "", self.settings.headers, self.settings.parameters
        named = secrets_of(url=url, headers=headers, parameters=parameters, in_replies=in_replies)
        return [*_environment_secrets(), *named]

    def remember(self, reply: Reply, message: Message) -> Message:
        """The assistant's message with its further fields: litellm writes signatures and blocks in the provider's
        form."""
        return remembered(reply, message, self.dialect, self.settings.reasoning)

    def _outcome(self, error: Exception, *, tools_sent: bool) -> AdapterError | Reply | None:
        """The meaning of litellm's exception; ``None``: retry without a refused parameter."""
        kind = type(error).__name__
        status = getattr(error, "status_code", None)
        said = _message(error)
        text = redact(said, self._secrets())
        if kind == "UnsupportedParamsError" or status == 400:
            if tools_sent and kind == "UnsupportedParamsError" and "tool" in text:
                return ToolsRefused(text, status=status)
            refused = next((name for name in _DROPPABLE if name in text and name not in self._dropped), None)
            if refused and not is_overflow(text):
                self._dropped.add(refused)
                self.notes.append(f"{self.spec}: {refused} is left out, the provider refuses it")
                return None
        if kind in _JUDGED_BY_TEXT:
            # litellm names these by words in the text alone: "too many tokens, please wait" is one of them.
            found = self._fault(status if isinstance(status, int) else 400, said, _headers(error), tools_sent=False)
            passing = isinstance(found, AdapterError) and found.retryable
            return found if passing else Reply(problem=_JUDGED_BY_TEXT[kind], finish_reason=_JUDGED_BY_TEXT[kind])
        if kind == "Timeout" or isinstance(error, TimeoutError):
            return AdapterError(AdapterTrouble.TIMEOUT, f"no answer in time: {text}", retryable=True)
        if _unreachable(error):
            return EndpointUnreachable(f"cannot connect: {text}", advice="check the network and the base URL")
        if _UNREADABLE.search(text):
            return AdapterError(AdapterTrouble.MALFORMED_BODY, text, retryable=True)
        # litellm calls a missing key an HTTP 500.
        missing = kind in ("InternalServerError", "APIError") and _MISSING_KEY.search(text)
        if missing or (kind == "APIConnectionError" and any(word in text.lower() for word in _NO_KEY)):
            return AdapterError(
                AdapterTrouble.AUTH, text, advice="set the provider's key; pytest-bfcl models lists the variables"
            )
        if kind == "APIConnectionError":
            # litellm's name for a broken connection as well as for an answer it could not read.
            broken = AdapterTrouble.CONNECTION if _is_transport(error) else AdapterTrouble.MALFORMED_BODY
            return AdapterError(broken, text, retryable=True)
        if not isinstance(status, int):
            return AdapterError(AdapterTrouble.BAD_REQUEST, f"{kind}: {text}")
        return self._fault(status, said, _headers(error), tools_sent=tools_sent)

    def _fault(
        self, status: int, text: str, headers: Mapping[str, str], *, tools_sent: bool, inside: bool = False
    ) -> AdapterError | Reply:
        return http_fault(
            status, text, headers, endpoint=self.calls.breaker.endpoint, model=self.route, secrets=self._secrets(),
            tools_sent=tools_sent, inside=inside,
        )  # fmt: skip


class _Word(str):
    """litellm's word for an ending, which keeps the provider's word ``given``."""

    given: str

    @classmethod
    def of(cls, written: str, given: str) -> _Word:
        word = cls(written)
        word.given = given
        return word


class _Words(dict[str, str]):
    """litellm's table of endings, changed so that every word keeps the provider's. litellm writes ``stop`` for unknown
    words. A complete reply also has the provider's word, but pieces of a stream do not, so an aborted stream would
    count as an answer.
    """

    def get(self, given: Any, otherwise: Any = None) -> Any:
        if isinstance(given, _Word) or not isinstance(given, str):
            return given
        return _Word.of(super().get(given, "stop"), given)


def _keep_words() -> None:
    """Make litellm keep the providers' words in streams, in releases where the table's place is known."""
    with contextlib.suppress(ImportError):
        helpers = importlib.import_module("litellm.litellm_core_utils.core_helpers")
        table = getattr(helpers, "_FINISH_REASON_MAP", None)
        if isinstance(table, dict) and not isinstance(table, _Words):
            vars(helpers)["_FINISH_REASON_MAP"] = _Words(table)


def _chunk_fields(chunk: Any) -> Parsed:
    """A chunk as plain values, its ending in the provider's word if litellm kept it."""
    plain: Parsed = chunk.model_dump()
    for choice, told in zip(plain.get("choices") or (), chunk.choices or (), strict=False):
        finish = getattr(told, "finish_reason", None)
        if isinstance(finish, _Word):
            choice["finish_reason"] = finish.given
    return plain


def _made_up(stream: Any) -> bool:
    """Whether the provider gave no ending for its stream: then litellm writes ``stop`` without a provider's word."""
    words = [getattr(stream, name, "") for name in ("received_finish_reason", "intermittent_finish_reason")]
    return words == [None, None]


async def _streamed(litellm: Any, arguments: Fields) -> tuple[Parsed, float | None]:
    """A joined streamed answer, and the seconds to its first piece."""
    started, first, joiner = time.perf_counter(), None, ChatJoiner()
    options = {"stream": True, "stream_options": {"include_usage": True}}
    stream = await litellm.acompletion(**arguments, **options)
    async for chunk in stream:
        joiner.add(_chunk_fields(chunk))
        if first is None and joiner.started:
            first = round(time.perf_counter() - started, 6)
    joiner.done = True
    body = joiner.body()
    if _made_up(stream):
        body["choices"][0]["finish_reason"] = None
    return body, first


def load_litellm() -> Any:
    """The imported module with its output off. Raises `AdapterError` if it cannot be imported."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        litellm: Any = importlib.import_module("litellm")
    except Exception as error:
        raise AdapterError(
            AdapterTrouble.BAD_REQUEST, f"litellm cannot be imported: {type(error).__name__}: {error}",
            advice=f"{install_command('litellm')}, or use openai: with --bfcl-base-url",
        ) from error  # fmt: skip
    _keep_words()
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.modify_params = (
        True  # lets it repair message lists that a provider refuses (no user message, tools missing)
    )
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return litellm


def _message(error: Exception) -> str:
    """The message of an exception, without the traceback that litellm appends to unreadable answers."""
    said, _, _ = str(getattr(error, "message", "") or error).partition("Traceback (most recent call last)")
    return said.strip() or type(error).__name__


def _headers(error: Exception) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for source in (getattr(error, "litellm_response_headers", None), getattr(error, "response", None)):
        found = getattr(source, "headers", source)
        if isinstance(found, Mapping):
            headers.update({str(name): str(value) for name, value in found.items()})
    return headers


def _environment_secrets() -> list[str]:
    """Values of environment variables that look like keys, which must not appear in a text."""
    words = ("KEY", "TOKEN", "SECRET", "PASSWORD")
    return [value for name, value in os.environ.items() if len(value) >= 16 and any(word in name for word in words)]


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found and len(found) < 10:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found


def _unreachable(error: Exception) -> bool:
    import aiohttp
    import httpx

    kinds = (aiohttp.ClientConnectorError, httpx.ConnectError, ConnectionRefusedError)
    return any(isinstance(cause, kinds) for cause in _causes(error))


def _is_transport(error: Exception) -> bool:
    import aiohttp
    import httpx

    kinds = (aiohttp.ClientError, httpx.TransportError, ConnectionError)
    return any(isinstance(cause, kinds) for cause in _causes(error))
