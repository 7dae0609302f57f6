"""The providers, and how a spec becomes a model.

Other packages add providers through the entry point group ``pytest_bfcl.models``: the entry point's name is the
provider, its object a callable ``(spec: ModelSpec, settings: Settings, mode: Mode) -> Model``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError, did_you_mean
from pytest_bfcl.formats.detection import TextReading
from pytest_bfcl.models.base import Model
from pytest_bfcl.models.callable import as_model
from pytest_bfcl.models.spec import ModelSpec, parse_spec
from pytest_bfcl.settings import APIS, DIRECT_PROVIDERS
from pytest_bfcl.transcript import Mode

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pytest_bfcl.models.base import Api
    from pytest_bfcl.settings import Settings

LOCAL_SERVERS = {
    "vllm": ("http://localhost:8000/v1", "vLLM server"),
    "sglang": ("http://localhost:30000/v1", "SGLang server"),
    "llamacpp": ("http://localhost:8080/v1", "llama.cpp server (start it with --jinja for tools)"),
    "transformers": ("http://localhost:8000/v1", "transformers serve"),
    "lmstudio": ("http://localhost:1234/v1", "LM Studio server"),
    "ollama": ("http://localhost:11434/v1", "Ollama server, its OpenAI-compatible side"),
}
"""Provider → (default base URL, description). --bfcl-base-url or <PROVIDER>_BASE_URL changes the base URL."""


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """One line of ``pytest-bfcl models``. ``needs``: environment variables or files; ``modes``: the supported ones."""

    name: str
    what: str
    needs: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ("fc", "prompt")
    via: str = "built in"


_EMBEDDED = (
    ProviderInfo("openai", "OpenAI, or any OpenAI-compatible endpoint with --bfcl-base-url", ("OPENAI_API_KEY",)),
    ProviderInfo("anthropic", "Anthropic's Messages, thinking carried on", ("ANTHROPIC_API_KEY",)),
    *(ProviderInfo(name, what, (), via=f"OpenAI-compatible, {url}") for name, (url, what) in LOCAL_SERVERS.items()),
    ProviderInfo("replay", "replay:PATH, stored replies: replay lines, a run directory, official results", ("PATH",)),
    ProviderInfo("oracle", "answers from the ground truth; shows that the harness can score 100 %"),
    ProviderInfo("adversary", "adversary:NAME, a model that must not pass: idle, parrot, every, repeat, vandal"),
    ProviderInfo("scripted", "scripted:FILE, replies and faults from a JSON file, for tests", ("FILE",)),
)


def list_providers() -> list[ProviderInfo]:
    """Every provider of a spec: embedded ones, those through litellm, and those of other packages."""
    offered = entry_points.offered("models")
    foreign = [_foreign_info(point) for name, point in offered.items() if name not in _BUILDERS]
    many = entry_points.load(offered["litellm"], "provider").needs if "litellm" in offered else {}
    hosted = [ProviderInfo(name, f"{name} through litellm", needs, via="litellm") for name, needs in many.items()]
    return [*_EMBEDDED, *(info for info in foreign if info.name not in many), *hosted]


def create_model(spec: str | ModelSpec, settings: Settings, *, dataset: Any = None, mode: Mode | None = None) -> Model:
    """The adapter for a spec; sends nothing and imports no heavy library.

    The mode is the spec's suffix, else ``mode``, else the settings' (``auto`` begins with native calls).
    Raises `UsageError` for an unknown provider, a missing file, a broken base URL, or an unclear decoder.
    """
    if isinstance(spec, str):
        spec = parse_spec(spec)
    chosen: Mode | None = spec.mode or mode or (settings.mode if settings.mode != "auto" else None)
    settings = settings.for_model(spec.with_mode(chosen).text if chosen else spec.text)
    build = _builder(spec)
    model = build(spec, settings, chosen or "fc", dataset)
    if settings.decoder == "auto" and spec.provider != "replay" and getattr(model, "family", None) is None:
        TextReading("auto").decoder_for(spec.name)  # said now, not with every entry
    return model


def check_provider(spec: ModelSpec, settings: Settings) -> None:
    """Raise `UsageError` for a spec whose provider does not exist, or whose factory's ``check`` refuses it."""
    _builder(spec)
    if spec.provider not in _BUILDERS and (point := _offering(spec.provider)) is not None:
        check = getattr(entry_points.load(point, "provider"), "check", None)
        if check is not None:
            check(spec, settings)


Builder = Callable[["ModelSpec", "Settings", "Mode", Any], Model]


def _builder(spec: ModelSpec) -> Builder:
    provider = spec.provider
    if provider in _BUILDERS:
        return _BUILDERS[provider]
    point = _offering(provider)
    if point is not None:
        return _foreign(point)
    if not spec.name and (likely := _likely_provider(provider)):
        name = provider.replace("_", "-")
        meant = f"{name[:-3]}@fc" if name.endswith("-fc") else name  # bfcl-eval's way to ask for native calls
        raise UsageError(f"{name!r} names no provider: a model is written provider:name, for instance {likely}:{meant}")
    names = [info.name for info in list_providers()]
    meant = (
        did_you_mean(provider, names)
        or f"known: {', '.join(names[: len(_EMBEDDED)])} and more (pytest-bfcl models lists them)"
    )
    raise UsageError(
        f"unknown provider {provider!r} in {spec.text!r}; {meant}\n"
        "a model is written provider:name; any other provider of litellm is litellm:PROVIDER/NAME"
    )


def _offering(provider: str) -> EntryPoint | None:
    """The source of a provider: a package with its name, else ``litellm`` if it ``takes`` the provider."""
    point, many = entry_points.find("models", provider), entry_points.find("models", "litellm")
    if point is None and many is not None and entry_points.load(many, "provider").takes(provider):
        return many
    return point


_LIKELY = (
    (r"(chat_?)?gpt|o[134](_|$)|text_embedding|davinci", "openai"),
    (r"claude", "anthropic"),
    (r"gemini", "gemini"),
    (r"mi[sx]tral|ministral|codestral|devstral|magistral", "mistral"),
    (r"deepseek", "deepseek"),
    (r"grok", "xai"),
    (r"command", "cohere"),
    (r"llama|qwen|qwq|phi|gemma|hermes|xlam|granite|glm|kimi", "vllm"),
)
"""The usual provider of models with such names."""


def _likely_provider(name: str) -> str | None:
    return next((provider for pattern, provider in _LIKELY if re.match(pattern, name)), None)


def _direct(spec: ModelSpec, settings: Settings, mode: Mode, dataset: Any) -> Model:
    """A model of our own adapter, with the API of settings and provider."""
    from pytest_bfcl.models.anthropic import VERSION
    from pytest_bfcl.models.endpoint import check_url
    from pytest_bfcl.models.openai import OpenAIModel

    prefix, url = spec.provider.upper(), _base_url(spec, settings)
    check_url(url)  # before anything looks for a host in it
    api = _api(spec, settings, url, mode)
    anthropic = api.name == "anthropic"
    return OpenAIModel(
        spec,
        settings,
        mode,
        base_url=url,
        key_variable=f"{prefix}_API_KEY",
        key_header="x-api-key" if anthropic else "authorization",
        headers={"anthropic-version": VERSION} if anthropic else None,
        api=api,
    )


def _base_url(spec: ModelSpec, settings: Settings) -> str:
    """The server that this run started or found, else the user's address, else the provider's."""
    from pytest_bfcl.models.anthropic import ANTHROPIC_URL
    from pytest_bfcl.models.openai import OPENAI_URL

    usual = {"openai": OPENAI_URL, "anthropic": ANTHROPIC_URL}
    provider = spec.provider
    named = settings.served.get(spec.base) or settings.base_url or os.environ.get(f"{provider.upper()}_BASE_URL")
    if not named:
        return usual.get(provider) or LOCAL_SERVERS[provider][0]
    # Anthropic's own clients take the address without the version.
    return f"{named.rstrip('/')}/v1" if provider == "anthropic" and not urlsplit(named).path.strip("/") else named


def _api(spec: ModelSpec, settings: Settings, url: str, mode: Mode) -> Api:
    """The wire format of a model. Raises `UsageError` for one that does not exist or lacks something."""
    from pytest_bfcl.models.anthropic import Messages
    from pytest_bfcl.models.chat import Chat, dialect_of
    from pytest_bfcl.models.endpoint import is_openai
    from pytest_bfcl.models.responses import Responses

    name = settings.api_for(spec.provider)
    if name == "responses":
        return Responses(spec.name, settings.reasoning)
    if name == "anthropic":
        return Messages(settings.reasoning)
    if name == "chat":
        store = False if is_openai(url) else None
        return Chat(dialect_of(spec.provider, url), settings.reasoning, store=store)
    if name == "completions":
        make = entry_points.require("apis", name, "the API completions, whose prompts are rendered here,")
        return cast("Api", make(spec, settings, mode))
    raise UsageError(f"unknown API {name!r}; known: {', '.join(APIS)}")


def _packaged(spec: ModelSpec, settings: Settings, mode: Mode, dataset: Any) -> Model:
    """A model of this package that sends nothing; its module is loaded when it is needed."""
    if spec.provider == "replay":
        from pytest_bfcl.models.replay import ReplayModel

        # Lines know their mode; the run's default mode must not contradict them, a suffix may.
        return ReplayModel(spec, settings, spec.mode, dataset)
    if spec.provider == "scripted":
        from pytest_bfcl.models.scripted import ScriptedModel

        return ScriptedModel(spec, settings, mode)
    if spec.provider == "oracle":
        from pytest_bfcl.models.oracle import OracleModel

        return OracleModel(spec, mode)
    from pytest_bfcl.models.adversaries import Adversary

    return Adversary(spec, mode)


_PACKAGED = ("replay", "oracle", "adversary", "scripted")

_BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(DIRECT_PROVIDERS, _direct),
    **dict.fromkeys(_PACKAGED, _packaged),
}

WITHOUT_ENDPOINT = frozenset({*_PACKAGED, "lexical", "agent"})
"""Our providers that send nothing to a base URL; those of other packages may."""


_OWN = {
    "lexical": ProviderInfo("lexical", "a demonstration without a language model: word overlap, no network"),
    "litellm": ProviderInfo("litellm", "litellm:PROVIDER/NAME, any provider litellm knows", via="litellm"),
    "agent": ProviderInfo(
        "agent", "agent:MODULE:FACTORY, an agent of your own that plays whole entries", ("MODULE",), ("fc",)
    ),
}
"""Facts about our providers that are entry points."""


def _foreign_info(point: EntryPoint) -> ProviderInfo:
    own = point.value.startswith("pytest_bfcl.")
    told = ProviderInfo(point.name, point.value, via=entry_points.origin(point))
    return _OWN.get(point.name, told) if own else told


def _foreign(point: EntryPoint) -> Builder:
    def build(spec: ModelSpec, settings: Settings, mode: Mode, dataset: Any) -> Model:
        factory = entry_points.load(point, "provider")
        made = factory(spec, settings, mode)
        return as_model(made, spec.with_mode(mode).text, mode=mode)

    return build
