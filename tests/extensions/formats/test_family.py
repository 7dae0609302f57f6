"""Families at work, with the templates that need no fetched text, and models' own chat templates."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from pytest_bfcl.extensions.formats.family import TEMPLATES, Family, open_family
from pytest_bfcl.extensions.formats.hub import read_template
from pytest_bfcl.extensions.formats.templates import Prompted
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching.texts import FormatTexts, extract_format_texts, format_sources
from pytest_bfcl.formats.table import FORMATS
from pytest_bfcl.models import create_model
from pytest_bfcl.models.base import Request
from pytest_bfcl.settings import Settings
from tests.conversation.worlds import shelf_entry

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
    shown = Prompted([], [], FormatTexts())
    both = read_template(hub(tmp_path, named))
    assert (both(shown), both(replace(shown, functions=[DOC]))) == ("D", "T")
    (tmp_path / "chat_template.jinja").write_text("J")  # goes before the config, as transformers has it
    assert read_template(tmp_path)(shown) == "J"
    assert read_template(tmp_path / "tokenizer_config.json")(shown) == "D"
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text("A")
    two = read_template(tmp_path)
    assert (two(shown), two(replace(shown, functions=[DOC]))) == ("J", "A")
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").unlink()
    (tmp_path / "tokenizer_config.json").write_text("{}")
    assert read_template(tmp_path / "chat_template.jinja").sha256 == read_template(tmp_path).sha256
    (tmp_path / "chat_template.jinja").unlink()
    with pytest.raises(UsageError, match="no chat template"):
        read_template(tmp_path)


def test_what_a_caller_says_reaches_the_models_own_template(tmp_path):
    path = hub(tmp_path, "{% generation %}{{ 'off' if enable_thinking is false else 'on' }}{% endgeneration %}")
    variables = {"chat_template_kwargs": {"enable_thinking": False}}
    model = create_model("vllm:m@prompt", Settings(template=str(path), decoder="hermes", parameters=variables))
    request = Request(shelf_entry(("?",), None), [{"role": "user", "content": "?"}], parameters=variables)
    assert model.payload(request) == {"model": "m", "prompt": "off", "max_tokens": 4096}
    assert model.payload(replace(request, parameters={}))["prompt"] == "on"
    with pytest.raises(UsageError, match="is an object"):
        create_model("vllm:m@prompt", Settings(template=str(path), decoder="hermes",
                                               parameters={"chat_template_kwargs": "off"}))  # fmt: skip
    with pytest.raises(UsageError, match=r"family gemma-prompt takes no chat_template_kwargs .enable_thinking"):
        create_model("vllm:m@prompt", Settings(template="gemma-prompt", parameters=variables))


TOO_MUCH = "too much (time or )?memory"


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("{% for", "cannot be read"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ raise_exception('\x1b[31mred\n::error::seen') }}", r"ValueError: \\x1b\[31mred\\n::error::seen$"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ '{x.__class__.__init__}'.format_map({'x': 1}).foo.bar }}", "no attribute 'foo'"),
        ("{{ nothing.at.all }}", "nothing"),
        ("{% include '/etc/passwd' %}", "no loader"),
        ("{% for i in range(9**9) %}x{% endfor %}", "too big|Range"),
        ("{% for i in range(99999) %}{{ 'x' * 9999 }}{% endfor %}", "a prompt of more than"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "RecursionError|too much"),
        ("{{ 'a' * 3000000000 }}", TOO_MUCH),
        pytest.param("{{ 9 ** (9 ** 9) }}", TOO_MUCH, marks=pytest.mark.slow),
        pytest.param("{{ ('a.com ' * 9999999) | urlize }}", TOO_MUCH, marks=pytest.mark.slow),
        pytest.param("{{ '%999999999d' % 1 }}", TOO_MUCH, marks=pytest.mark.slow),
        pytest.param("{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}", TOO_MUCH,
                     marks=pytest.mark.slow),
    ],
    ids=lambda text: text[:30].encode("unicode_escape").decode(),
)  # fmt: skip
def test_broken_and_hostile_templates_end_as_one_sentence(tmp_path, template, what):
    opened = open_family(str(hub(tmp_path, template)), model="m", decoder="hermes")
    with pytest.raises(UsageError, match=what) as caught:
        opened.check()
    assert "\n" not in str(caught.value)
    opened.template._source = "fine"  # the next request finds a worker in order
    assert opened.render([], []) == "fine"


def test_ctrl_c_works_while_a_template_computes(tmp_path):
    """As a user has it: the process ends at once, not when the template does."""
    hub(tmp_path, "{{ 9 ** (9 ** 9) }}")
    read = "from pathlib import Path; from pytest_bfcl.extensions.formats.hub import read_template"
    asked = "from pytest_bfcl.extensions.formats.templates import Prompted; print('asking', flush=True)"
    program = f"{read}; {asked}; read_template(Path({str(tmp_path)!r}))(Prompted([], [], None))"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "asking\n"
        time.sleep(0.3)
        started = time.perf_counter()
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert "KeyboardInterrupt" in told
    assert time.perf_counter() - started < 1.5


def test_what_usual_templates_use_is_there(tmp_path):
    """Filters that jinja2 loads late, too: nothing can be imported once a worker's limits hold."""
    template = (
        "{{ strftime_now('%Y') | length }}{{ [3, 1] | sort | join(',') }}{{ 7 | pprint }}{{ 'x y' | truncate(3) }}"
        "{{ {'a': 1} | xmlattr }}{{ 'a b' | urlencode }}{{ '<b>x</b>' | striptags }}{{ [1] | random }}"
        "{{ lipsum(1) | length > 9 }}{{ '\\u00e9' | tojson }}{{ 'a b' | wordwrap(1) }}{% for i in [1, 2] %}"
        "{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}{{ 'http://x.com' | urlize | length > 14 }}"
    )
    own = open_family(str(hub(tmp_path, template)), model="m", decoder="hermes")
    assert own.render([], []) == '41,37x y a="1"a%20bx1True"é"a\nb1True'


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
    from pytest_bfcl.extensions.formats.stubs import minicpm3
    from pytest_bfcl.extensions.formats.templates import Prompted

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
