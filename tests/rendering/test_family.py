"""Families at work, with the templates that need no fetched text, and models' own chat templates."""

from __future__ import annotations

import json

import pytest

from pytest_bfcl.dataset.format_texts import FormatTexts, extract_format_texts, format_sources
from pytest_bfcl.decoding.formats.table import FORMATS
from pytest_bfcl.failures import UsageError
from pytest_bfcl.rendering import Family, open_family
from pytest_bfcl.rendering.hub import read_template
from pytest_bfcl.rendering.templates import TEMPLATES

DOC = {
    "name": "shop.find",
    "description": "Finds things.",
    "parameters": {
        "type": "dict",
        "properties": {"what": {"type": "string", "description": "Ünïcode."}},
        "required": ["what"],
    },
}
HUB = """{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}
{%- for call in m.tool_calls or [] %}[{{ call.function.name }} {{ call.function.arguments | tojson }}]{% endfor %}
{%- endfor %}{% if tools %}{{ tools | tojson }}{% endif %}{% if add_generation_prompt %}<assistant>{% endif %}"""


def family(name: str) -> Family:
    row = FORMATS[name]
    return Family(row, TEMPLATES[row.template])


def hub(tmp_path, template=HUB, **config):
    config = {"chat_template": template, "bos_token": {"content": "<s>"}, "eos_token": "</s>", **config}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return tmp_path


def test_a_prompting_family():
    prompt = family("llama-prompt").render([{"role": "user", "content": " Hi. "}], [DOC])
    assert prompt == (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi.<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )


def test_handlers_change_the_opening():
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "A"}, {"role": "user", "content": "B"}]
    assert family("deepseek-r1").opened(messages, True) == [{"role": "user", "content": "S\n\nA\n\nB"}]
    assert [m["role"] for m in family("hammer-fc").opened(messages, True)] == ["user", "user", "user"]
    assert family("gemma-prompt").opened(messages[1:], False) == [{"role": "user", "content": "A\n\nB"}]
    assert messages[0]["role"] == "system"


def test_what_goes_back():
    qwen = family("qwen-fc")
    text = '<think>\nhm\n</think>\n\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    read = qwen.read(text)
    assert read.answer.startswith("<tool_call>")
    assert read.reasoning == "hm"
    (message,) = read.messages
    assert message["tool_calls"] == [{"name": "f", "arguments": {"a": 1}}]
    assert message["reasoning_content"] == "hm"
    assert qwen.results(["f(a=1)"], ["7"]) == [{"role": "tool", "name": "f(a=1)", "content": "7"}]
    assert family("llama-prompt").results(["f()"], ["7"]) == [{"role": "ipython", "content": "7"}]
    assert FORMATS["minicpm-fc"].stop_token_ids == (2, 73440)


def test_a_text_that_was_not_fetched_is_said_with_the_command():
    with pytest.raises(UsageError, match="pytest-bfcl fetch"):
        family("llama31-fc").check()
    family("mistral-fc").check()


def test_texts_are_found_by_their_digests_only():
    path = "model_handler/local_inference/llama_3_1.py"
    assert path in format_sources()
    assert extract_format_texts({path: "x = 'Something else.'", "other.py": "("}) == {}
    with pytest.raises(UsageError, match="not fetched"):
        FormatTexts()["llama31.instruction"]


def test_a_models_own_template(tmp_path):
    own = open_family(str(hub(tmp_path)), model="my-model", decoder="hermes")
    prompt = own.render([{"role": "user", "content": "Hi"}], [DOC])
    assert prompt.startswith('<s><user>Hi[{"type": "function"')
    assert '"name": "shop_find"' in prompt
    assert "Ünïcode" in prompt
    assert prompt.endswith("<assistant>")
    read = own.read(
        '<think>hm</think><tool_call>\n{"name": "shop_find", "arguments": {"what": "é"}}\n</tool_call>', ["c1"]
    )
    results = own.results(["shop_find(what='é')"], ["none"], ["c1"])
    assert results == [{"role": "tool", "content": "none", "tool_call_id": "c1", "name": "shop_find"}]
    assert '<assistant>[shop_find {"what": "é"}]<tool>none<assistant>' in own.render([*read.messages, *results], [])


def test_templates_in_other_files(tmp_path):
    named = [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]
    assert read_template(hub(tmp_path, named))._template.render() == "T"
    (tmp_path / "tokenizer_config.json").write_text("{}")
    (tmp_path / "chat_template.jinja").write_text("J")
    assert read_template(tmp_path)._template.render() == "J"
    assert read_template(tmp_path / "chat_template.jinja").sha256 == read_template(tmp_path).sha256
    (tmp_path / "chat_template.jinja").unlink()
    with pytest.raises(UsageError, match="no chat template"):
        read_template(tmp_path)


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("{% for", "no template that can be read"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ ''.__class__.__mro__ }}", "fails"),
        ("{{ messages.append(1) }}", "fails"),
        ("{{ nothing.at.all }}", "fails"),
        ("{% for i in range(9**9) %}x{% endfor %}", "fails"),
        ("{% for i in range(99999) %}{{ 'x' * 9999 }}{% endfor %}", "a prompt of more than"),
    ],
)
def test_broken_and_hostile_templates(tmp_path, template, what):
    with pytest.raises(UsageError, match=what):
        open_family(str(hub(tmp_path, template)), model="m", decoder="hermes").check()


def test_mistakes_are_told():
    with pytest.raises(UsageError, match="neither a family nor a file"):
        open_family("no-such-thing")
    with pytest.raises(UsageError, match="no family is known for 'my-model'"):
        open_family("auto", model="my-model")
    with pytest.raises(UsageError, match="give the folder"):
        open_family("falcon3-fc")


def test_a_folder_needs_to_say_how_calls_are_written(tmp_path):
    with pytest.raises(UsageError, match="--bfcl-decoder"):
        open_family(str(hub(tmp_path)), model="my-model")
    assert open_family(str(hub(tmp_path)), model="gpt-oss-20b").format.decoder == "harmony"


def test_stubs_of_minicpm():
    from pytest_bfcl.rendering.minicpm import minicpm3
    from pytest_bfcl.rendering.parts import Prompted

    texts = FormatTexts({"minicpm3.imports": "IMPORTS\n", "minicpm3.rules": "{tools}RULES {{x}}\n"})
    properties = {
        "when": {"type": "array", "items": {"type": "string"}, "description": "Days."},
        "from": {
            "type": "string",
            "description": "Where it begins, and a description that is long enough to be wrapped.",
        },
        "options": {"type": "dict", "properties": {"n": {"type": "integer"}}, "description": "More."},
    }
    doc = {**DOC, "parameters": {"type": "dict", "properties": properties, "required": ["from"]}}
    prompt = minicpm3(Prompted([{"role": "user", "content": "Hi"}], [doc], texts, 2))
    assert prompt.count("RULES {x}") == 2
    assert "def shop_find(when=None, from, options=None):" in prompt
    assert "when: Optional[List[str]] = Field(None, description='Days.')" in prompt
    assert "class Options(BaseModel):\n    n: Optional[int] = None" in prompt
    assert "    from_: str = Field(\n        ...,\n        alias='from',\n" in prompt
