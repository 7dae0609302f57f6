"""A model behind an HTTP endpoint: OpenAI, Anthropic, vLLM, SGLang, llama.cpp, LM Studio, Ollama, proxies.

The wire format is one of the APIs in this package. Transport, key, retries and the handling of refused fields are the
same for all."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_bfcl.endings import UNFINISHED, UnknownEnding
from pytest_bfcl.endpoints.breaker import Breaker
from pytest_bfcl.endpoints.faults import error_in, first_words, http_fault, looks_like_a_page
from pytest_bfcl.endpoints.retrying import Caller, RetryPolicy
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models.anthropic import with_cache_mark
from pytest_bfcl.models.base import Api, Request, ToolsRefused
from pytest_bfcl.models.chat import TEMPLATE_VARIABLES, Chat
from pytest_bfcl.models.endpoint import Answer, Endpoint
from pytest_bfcl.models.probing import likely_mend, probe_request
from pytest_bfcl.redaction import redact
from pytest_bfcl.tools.schemas import CompiledTools, Style, json_text
from pytest_bfcl.transcript import Message, Mode, Reply
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.models.base import Family
    from pytest_bfcl.models.spec import ModelSpec
    from pytest_bfcl.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"

_LEAVABLE = ("temperature", "store", "stream_options", "include", "reasoning")
"""Fields that may be left out if an endpoint refuses them: the user did not set them, or they have a default."""
_REFUSING = re.compile(
    r"support|unrecogni[sz]ed|unknown|unexpected|extra|not (?:allowed|permitted|available)|invalid|deprecated|only",
    re.IGNORECASE,
)
_LIMIT_SAID = re.compile(r"max_tokens: (\d+) > (\d+)")


class OpenAIModel:
    """A model asked through one API of one endpoint.

    ``key_variable`` names the environment variable with the key. Without a key, requests to api.openai.com fail with an
    ``auth`` error that names the variable; other hosts get none.
    """

    def __init__(
        self,
        spec: ModelSpec,
        settings: Settings,
        mode: Mode = "fc",
        *,
        base_url: str = OPENAI_URL,
        key_variable: str = "OPENAI_API_KEY",
        key_header: str = "authorization",
        headers: Mapping[str, str] | None = None,
        api: Api | None = None,
        policy: RetryPolicy | None = None,
    ) -> None:
        if not spec.name:
            raise UsageError(f"model {spec.text!r} has no name: write {spec.provider}:NAME")
        self.spec = spec.with_mode(mode).text
        self.name = spec.name
        self.mode: Mode = mode
        self.settings = settings
        self.api: Api = api or Chat()
        self.family: Family | None = self.api.family
        self.underscore_names = mode == "fc" and (self.family is None or self.family.format.underscore_names)
        self.server = Endpoint(
            base_url, settings, key_variable=key_variable, key_header=key_header, headers=headers
        )  # fmt: skip
        self.notes = self.server.notes
        self.calls = Caller(settings, self.server.shown, policy, probe=self._probe)
        self._mend: asyncio.Task[str] | None = None
        self._left_out: set[str] = set()
        self._renamed: dict[str, str] = {"max_tokens": "max_output_tokens"} if self.api.name == "responses" else {}
        self._most_tokens: int | None = None
        self._tools = CompiledTools(self.api.style, size=max(settings.concurrency + 32, 128))

        given = settings.temperature is not None and "temperature" not in settings.parameters
        if given and self.api.reasons:
            self.notes.append(f"{self.spec}: sent without temperature, which the model does not take")

    @property
    def breaker(self) -> Breaker:
        """The circuit breaker; ``breaker.reason`` is set if the run should stop."""
        return self.calls.breaker

    async def generate(self, request: Request) -> Reply:
        """Send once, with retries; see `Caller.call` for its errors."""
        import aiohttp  # noqa: F401 - here, or the first reply's latency would include it

        return await whole_reply(
            lambda each: self.calls.call(partial(self._attempt, each)),
            request,
            self.api.remember,
            self.settings.step_limit,
        )

    def remember(self, reply: Reply, message: Message) -> Message:
        """The assistant's message for the conversation, with the parts that the provider needs back."""
        return self.api.remember(reply, message)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.calls.aclose()
        await self.server.aclose()

    def payload(self, request: Request) -> dict[str, Any]:
        """The JSON body sent for a request."""
        native = bool(request.functions) and self.mode == "fc"
        body: dict[str, Any] = {"model": self.name, **self.api.body(request, tools=native)}
        if native and self.api.name != "completions":
            tools = self._tools.of(request.functions, kept=request.entry.row.multi_step)
            body["tools"] = with_cache_mark(tools) if self._marks(request) else tools
        if self.settings.stream:
            body |= self.api.streaming
        reasons = self.api.reasons  # such models of OpenAI's take no temperature
        for parameter, value in request.parameters.items():
            if value is None or (parameter == TEMPLATE_VARIABLES and self.family is not None):
                body.pop(parameter, None)
            elif not (parameter == "temperature" and reasons and parameter not in self.settings.parameters):
                body[self._renamed.get(parameter, parameter)] = value
        for name in self._left_out:
            body.pop(name, None)
        if self._most_tokens is not None and "max_tokens" in body:
            body["max_tokens"] = min(body["max_tokens"], self._most_tokens)
        return body

    def _marks(self, request: Request) -> bool:
        return self.api.style == "anthropic" and request.entry.row.multi_step

    def _encoded(self, body: dict[str, Any], request: Request) -> bytes:
        """The body as JSON; the tools, which do not change in a conversation, are encoded once."""
        if "tools" not in body or self._marks(request) or "tools" in request.parameters:
            return json_text(body).encode()
        rest = json_text({name: value for name, value in body.items() if name != "tools"})
        return f'{rest[:-1]}, "tools": {self._tools.text(request.functions, body["tools"])}}}'.encode()

    async def _attempt(self, request: Request) -> Reply:
        body = self.payload(request)
        joiner = self.api.joiner() if body.get("stream") is True else None
        answer = await self.server.post(self.api.path, self._encoded(body, request), joiner)
        if 200 <= answer.status < 300:
            try:
                fault = self._read(answer, "tools" in body)
            except AdapterError as error:
                raise await self._with_mend(error, answer) from None
        else:
            fault = self._fault(answer.status, answer.text, answer.headers, tools_sent="tools" in body)
        if isinstance(fault, Reply):
            return fault
        if fault.status in (400, 422) and self._adapt(answer.text, body):
            return await self._attempt(request)
        raise await self._with_mend(fault, answer)

    async def _probe(self) -> Reply:
        return await self._attempt(probe_request(self.settings.sent_parameters()))

    async def _with_mend(self, fault: AdapterError, answer: Answer) -> AdapterError:
        """The fault with advice, if address or model name may be wrong; looked up once."""
        named = fault.status in (400, 422) and re.search(r"\bmodel\b.{0,80}(?:not|unknown|invalid)", answer.text[:2000])
        if isinstance(fault, ToolsRefused):
            return fault
        if fault.status in (404, 405) or named or (fault.status is None and looks_like_a_page(answer.text)):
            loop = asyncio.get_running_loop()
            if self._mend is None or self._mend.get_loop() is not loop:
                self._mend = loop.create_task(likely_mend(self.server, self.name))
            fault.advice = await asyncio.shield(self._mend) or fault.advice
        return fault

    def _read(self, answer: Answer, tools_sent: bool) -> Reply | AdapterError:
        body = answer.whole if answer.whole is not None else self._parsed(answer)
        error = error_in(body)
        if error is not None:
            fault = self._fault(error.status, error.text, answer.headers, tools_sent=tools_sent, inside=True)
            return error.as_ending(fault)
        reply = self.api.read(body)
        return reply if answer.first_token_s is None else replace(reply, first_token_s=answer.first_token_s)

    def _fault(
        self,
        status: int,
        text: str,
        headers: Mapping[str, str] | None = None,
        *,
        tools_sent: bool,
        inside: bool = False,
    ) -> AdapterError | Reply:
        return http_fault(
            status, text, headers, endpoint=self.server.public_url(self.api.path), model=self.name,
            secrets=self.server.secrets, tools_sent=tools_sent, inside=inside,
        )  # fmt: skip

    def _parsed(self, answer: Answer) -> Any:
        try:
            return json.loads(answer.text)
        except (ValueError, RecursionError) as error:
            if looks_like_a_page(answer.text):
                what, asked = first_words(answer.text, self.server.secrets), self.server.public_url(self.api.path)
                raise AdapterError(
                    AdapterTrouble.MALFORMED_BODY,
                    f"{asked} answered with a page, not with JSON: {what}",
                    retryable=True,
                    advice="check the base URL (it usually ends in /v1)",
                ) from None
            excerpt = redact(answer.text, self.server.secrets, limit=120)
            raise AdapterError(
                AdapterTrouble.MALFORMED_BODY, f"the answer is not JSON ({error}): {excerpt!r}", retryable=True,
            ) from None  # fmt: skip

    def _adapt(self, text: str, body: Mapping[str, Any]) -> bool:
        """A field that an endpoint refuses is learnt once, noted, and changed in the retry.

        Reasoning models refuse ``temperature`` or want ``max_completion_tokens``; strict servers refuse the
        ``response`` schema inside a tool, or a field they do not know.
        """
        if self._folds(text, body) or self._limits(text, body):
            return True
        if "max_tokens" in body and "max_completion_tokens" in text and "max_tokens" not in self._renamed:
            self._renamed["max_tokens"] = "max_completion_tokens"
            self.notes.append(f"{self.spec}: max_tokens is sent as max_completion_tokens")
            return True
        if _REFUSING.search(text):
            for name in _LEAVABLE:
                asked = name in self.settings.parameters and name != "temperature"
                if name in body and not asked and re.search(rf"\b{name}\b", text) and name not in self._left_out:
                    self._left_out.add(name)
                    said = f"={body[name]}" if name == "temperature" else ""
                    self.notes.append(f"{self.spec}: the endpoint refuses {name}{said}; sent without it")
                    return True
        # A request that was already on its way when another one taught us.
        late = [*self._left_out, *(old for old, new in self._renamed.items() if new in text)]
        return any(name in body and name in text for name in late)

    def _folds(self, text: str, body: Mapping[str, Any]) -> bool:
        tools = body.get("tools", ())
        if "response" not in text or not any("response" in tool.get("function", tool) for tool in tools):
            return False
        if self._tools.style in ("openai", "responses"):
            style: Style = "folded" if self._tools.style == "openai" else "folded_responses"
            self._tools = CompiledTools(style, self._tools.size)
            note = "response schemas are refused by the endpoint; the descriptions tell them"
            self.notes.append(f"{self.spec}: {note}")
        return True

    def _limits(self, text: str, body: Mapping[str, Any]) -> bool:
        """Anthropic requires a limit of the reply and refuses one above the model's own."""
        said = _LIMIT_SAID.search(text)
        if said is None or self.api.name != "anthropic" or int(said[2]) >= body.get("max_tokens", 0):
            return False
        if self._most_tokens != int(said[2]):
            self._most_tokens = int(said[2])
            self.notes.append(f"{self.spec}: replies are limited to {said[2]} tokens, the model's own limit")
        return True


async def whole_reply(
    ask: Callable[[Request], Awaitable[Reply]],
    request: Request,
    remember: Callable[[Reply, Message], Message],
    most: int,
) -> Reply:
    """The reply to a request, continued while it is unfinished: only the text so far goes back.

    Raises `UnknownEnding` if it is still unfinished after ``most`` further requests.
    """
    reply = await ask(request)
    for _ in range(most):
        if reply.problem != UNFINISHED:
            return reply
        said = remember(reply, {**reply.as_message(0, 0), "content": reply.text or ""})
        reply = _joined(reply, await ask(replace(request, messages=[*request.messages, said])))
    if reply.problem == UNFINISHED:
        raise UnknownEnding(reply.finish_reason)
    return reply


def _joined(first: Reply, more: Reply) -> Reply:
    """Both parts as one reply with the ending of the second; tokens, time and attempts are added."""
    state = more.state
    if state is not None and first.state is not None:
        state = replace(state, parts=(*first.state.parts, *state.parts))
    return replace(
        more,
        text=None if first.text is more.text is None else f"{first.text or ''}{more.text or ''}",
        tool_calls=(*first.tool_calls, *more.tool_calls),
        reasoning="\n".join(filter(None, (first.reasoning, more.reasoning))) or None,
        input_tokens=_sum(first.input_tokens, more.input_tokens),
        output_tokens=_sum(first.output_tokens, more.output_tokens),
        reasoning_tokens=_sum(first.reasoning_tokens, more.reasoning_tokens),
        latency_s=None if more.latency_s is None else round((first.latency_s or 0.0) + more.latency_s, 6),
        first_token_s=first.first_token_s,
        attempts=first.attempts + more.attempts,
        state=state or first.state,
    )


def _sum(first: int | None, more: int | None) -> int | None:
    return None if first is more is None else (first or 0) + (more or 0)
