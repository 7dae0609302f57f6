"""Specs and the registry of providers."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import create_model, list_providers, parse_spec, registry
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply
from tests.models.loopback import CLOCK, request, run


@pytest.mark.parametrize(
    ("text", "provider", "name", "mode", "canonical"),
    [
        ("openai:gpt-4o", "openai", "gpt-4o", None, "openai:gpt-4o"),
        ("openai:gpt-4o@fc", "openai", "gpt-4o", "fc", "openai:gpt-4o@fc"),
        ("openai:gpt-4o@prompt", "openai", "gpt-4o", "prompt", "openai:gpt-4o@prompt"),
        ("ollama:llama3:8b@FC", "ollama", "llama3:8b", "fc", "ollama:llama3:8b@fc"),
        ("vllm:meta-llama/Llama-3.1-8B", "vllm", "meta-llama/Llama-3.1-8B", None, "vllm:meta-llama/Llama-3.1-8B"),
        ("vertex_ai:claude@20240620@prompt", "vertex_ai", "claude@20240620", "prompt",
         "vertex_ai:claude@20240620@prompt"),
        ("vertex_ai:claude@20240620", "vertex_ai", "claude@20240620", None, "vertex_ai:claude@20240620"),
        ("litellm:bedrock/eu.x:0", "litellm", "bedrock/eu.x:0", None, "litellm:bedrock/eu.x:0"),
        ("oracle:", "oracle", "", None, "oracle:"),
        ("oracle", "oracle", "", None, "oracle:"),
        ("fc", "fc", "", None, "fc:"),
        ("a:prompt", "a", "prompt", None, "a:prompt"),
        ("oracle:@prompt", "oracle", "", "prompt", "oracle:@prompt"),
        ("replay:/a/b c.jsonl@fc", "replay", "/a/b c.jsonl", "fc", "replay:/a/b c.jsonl@fc"),
        (" Together-AI:x ", "together_ai", "x", None, "together_ai:x"),
    ],
)  # fmt: skip
def test_specs(text, provider, name, mode, canonical):
    spec = parse_spec(text)
    assert (spec.provider, spec.name, spec.mode, spec.text) == (provider, name, mode, canonical)
    assert parse_spec(spec.text) == spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("openai:m@promt", "did you mean @prompt"), ("openai:m@fcc", "did you mean @fc"), ("m@promt", None),
        ("openai:m@Tools ", "did you mean @fc"), ("openai:m@prompting", "did you mean @prompt"),
        ("openai:m@fc@prompt", "names two modes"), ("openai:a,anthropic:b", "once for each model"),
        ("openai:a; b:c", "once for each model"), ("openai:a 1:c", None),
        ("m@x:promt", None), ("a/b:c", None),
        ("openai:m@20240620", None), ("http://h/v1", "is an address: .* --bfcl-base-url http://h/v1$"),
        ("localhost:8000", "is an address: .* --bfcl-base-url http://localhost:8000$"),
        ("10.0.0.7:8000/v1", "is an address: .* http://10.0.0.7:8000/v1$"), ("a.b:x", None), ("ab:8000", None),
        ("openai/gpt", "for instance openai:gpt$"), ("meta/llama", "for instance openai:gpt-4o or oracle:$"),
        *((text, "write provider:name") for text in (":m", "", "@fc")),
    ],
)  # fmt: skip
def test_specs_that_are_nearly_right(text, said):
    if said is None:
        assert parse_spec(text).mode is None
        return
    with pytest.raises(UsageError, match=said):
        parse_spec(text)


def test_unknown_providers_name_what_exists():
    with pytest.raises(UsageError) as caught:
        create_model("nobody:x", Settings())
    for name in ("openai", "anthropic", "oracle", "litellm:PROVIDER/NAME"):
        assert name in str(caught.value)
    with pytest.raises(UsageError, match="did you mean 'openai'"):
        create_model("opnai:x", Settings())
    with pytest.raises(UsageError, match="openai:gpt-4"):
        create_model("gpt-4", Settings())


def test_a_decoder_nobody_can_tell(monkeypatch):
    with pytest.raises(UsageError, match="decoder"):
        create_model("vllm:nobody-knows", Settings(decoder="auto"))
    assert create_model("vllm:Qwen/Qwen3-8B", Settings(decoder="auto")).mode == "fc"
    known = SimpleNamespace(family="its own")  # a model that renders its prompts knows how they are answered
    monkeypatch.setattr(registry, "_builder", lambda spec: lambda *asked: known)
    assert create_model("vllm:nobody-knows", Settings(decoder="auto")) is known


@pytest.mark.parametrize("url", ["http://[h", "ftp://h"])
def test_an_address_is_checked_before_anything_looks_for_a_host_in_it(url):
    with pytest.raises(UsageError, match="is not an http"):
        create_model("openai:m", Settings(base_url=url))


def test_a_local_server_never_gets_the_openai_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-private-0123456789")
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    model = create_model("vllm:m", Settings())
    assert model.server.key_variable == "VLLM_API_KEY"
    assert "private" not in repr(vars(model)) + repr(vars(model.server))


def make_parrot(spec, settings, mode):
    """What another package's entry point would name."""

    async def parrot(messages):
        return f"{spec.name}: {messages[-1]['content']}"

    return parrot


def offer(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Have a package installed that offers the provider ``parrot``."""
    point = EntryPoint("parrot", value, "pytest_bfcl.models")
    monkeypatch.setattr(entry_points, "offered", lambda kind: {"parrot": point} if kind == "models" else {})


def test_other_packages_add_providers(monkeypatch):
    offer(monkeypatch, f"{__name__}:make_parrot")
    model = create_model("parrot:polly@prompt", Settings())
    assert model.spec == "parrot:polly@prompt"
    assert run(model.generate(request(CLOCK, text="hello"))) == Reply(text="polly: hello")
    assert any(info.name == "parrot" for info in list_providers())
    registry.check_provider(parse_spec("parrot:polly"), Settings())
    agent = EntryPoint("agent", f"{__name__}:make_parrot", "pytest_bfcl.models")
    assert registry._foreign_info(agent).modes == ("fc", "prompt"), "another package's, whatever its name"


def test_creating_models_imports_nothing_heavy():
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from pytest_bfcl.models import create_model\n"
        "from pytest_bfcl.settings import Settings\n"
        "for s in ('openai:m', 'anthropic:m', 'oracle:'): create_model(s, Settings())\n"
        "from pytest_bfcl.models.prices import listed_price\n"
        "assert listed_price('openai:gpt-4o')\n"
        "heavy = [m for m in ('litellm', 'httpx', 'aiohttp', 'tenacity', 'pytest', 'numpy') if m in sys.modules]\n"
        "sys.exit(','.join(heavy) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_local_server_is_asked_by_our_own_adapter() -> None:
    from pytest_bfcl.models.registry import LOCAL_SERVERS
    from pytest_bfcl.settings import DIRECT_PROVIDERS

    assert set(LOCAL_SERVERS) == set(DIRECT_PROVIDERS) - {"openai", "anthropic"}


def test_stores_keys_and_versions(monkeypatch):
    openai, other = (create_model("openai:m", Settings(api="chat", base_url=url)) for url in (None, "http://h/v1"))
    assert (openai.api.store, other.api.store) == (False, None)
    anthropic, vllm = create_model("anthropic:m", Settings()), create_model("vllm:m", Settings())
    assert (anthropic.server._key_header, vllm.server._key_header) == ("x-api-key", "authorization")
    assert (anthropic.server._headers, vllm.server._headers) == ({"anthropic-version": "2023-06-01"}, {})
    assert anthropic.server.key_variable == "ANTHROPIC_API_KEY"
    with pytest.raises(UsageError, match="is not an http"):
        create_model("vllm:m", Settings(base_url="localhost"))
    with pytest.raises(UsageError, match="unknown API 'odd'; known: chat, responses, completions, anthropic"):
        create_model("vllm:m", Settings(api="odd"))
    monkeypatch.setattr(entry_points, "require", lambda *asked: lambda *about: asked[:2])
    made = registry._api(parse_spec("vllm:m"), Settings(api="completions"), "http://localhost:8000/v1", "prompt")
    assert made == ("apis", "completions")


def test_lists_of_providers():
    infos = {info.name: info for info in list_providers()}
    assert (infos["openai"].via, infos["vllm"].via) == ("built in", "OpenAI-compatible, http://localhost:8000/v1")
    assert infos["agent"].modes == ("fc",)
    with pytest.raises(UsageError, match="unknown provider 'nobody'"):
        registry.check_provider(parse_spec("nobody:x"), Settings())
    for spec in ("oracle:", "agent:json:loads", "agent:http://127.0.0.1:1/play"):
        registry.check_provider(parse_spec(spec), Settings())
    with pytest.raises(UsageError, match="there is no module 'nowhere'"):
        registry.check_provider(parse_spec("agent:nowhere:play"), Settings())
