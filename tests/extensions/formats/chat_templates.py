# ruff: noqa: E501 - a template is a line
"""Forty chat templates in the manners of published ones, written here; each shows something that templates do."""

from __future__ import annotations

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + (m.content or '') + '<|im_end|>' + '\n' }}{% endfor %}"
)
OPENED = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
CALLS = "{% for c in m.tool_calls or [] %}{{ c.function.name }}({{ c.function.arguments | tojson }}){% endfor %}"


def each(body: str, before: str = "", after: str = "") -> str:
    """A loop over the messages."""
    return f"{before}{{% for m in messages %}}{body}{{% endfor %}}{after}"


TEMPLATES: dict[str, str] = {
    "chatml": CHATML + OPENED,
    "bos": "{{ bos_token }}" + CHATML,
    "eos after the assistant": each("{{ m.role }}: {{ m.content }}{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}\n"),
    "pad and unknown tokens": "{{ pad_token }}|{{ unk_token }}|{{ sep_token is defined }}" + CHATML,
    "lines of blocks are trimmed": "{% for m in messages %}\n    {% if m.role == 'user' %}\n  U {{ m.content }}\n    {% else %}\n  O\n    {% endif %}\n{% endfor %}\n",
    "dashes": "a  {%- for m in messages -%}  {{- m.role -}}  {%- endfor -%}  b",
    "tools as JSON": "{% if tools %}{{ tools | tojson }}{% endif %}" + CHATML + OPENED,
    "tools, indented": "{% for t in tools or [] %}{{ t | tojson(indent=4) }}\n{% endfor %}" + CHATML,
    "tools, sorted": "{% for t in tools or [] %}{{ t.function | tojson(sort_keys=true) }}{% endfor %}",
    "tools, narrow": "{% for t in tools or [] %}{{ t.function | tojson(separators=(',', ':')) }}{% endfor %}",
    "tools, ASCII": "{{ messages | tojson(ensure_ascii=true) }}",
    "quotes and tags in JSON": "{{ {'a': '<b> & \"c\" é'} | tojson }}",
    "tools is none": "{{ 'none' if tools is none else tools | length }}",
    "tools not none": "{%- if tools is not none %}{{ tools[0].function.name }}{% endif -%}",
    "calls": each("{{ m.role }}" + CALLS + "|"),
    "calls as items": each("{% for c in m.tool_calls or [] %}{% for k, v in c.function.arguments.items() %}<{{ k }}>{{ v }}</{{ k }}>{% endfor %}{% endfor %}"),
    "null content": each("[{{ m.content is defined }}{{ 'content' in m }}{{ m.get('content', 'gone') }}]"),
    "thoughts": each("{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"),
    "thoughts by another name": each("{{ m.thinking | default('-') }}/{{ m.reasoning is defined }}/{{ m.reasoning_content is string }};"),
    "thoughts cut from content": each("{% set c = m.content or '' %}{% if '</think>' in c %}{% set c = c.split('</think>')[-1].lstrip('\n') %}{% endif %}{{ c }}|"),
    "the last user message": "{% set ns = namespace(last=-1) %}{% for m in messages[::-1] %}{% if ns.last == -1 and m.role == 'user' %}{% set ns.last = messages | length - 1 - loop.index0 %}{% endif %}{% endfor %}{{ ns.last }}" + CHATML,
    "loop facts": each("{{ loop.index }}/{{ loop.length }}{{ '!' if loop.first }}{{ '.' if loop.last }}{{ loop.previtem.role if loop.previtem else '' }} "),
    "a macro": "{% macro say(who, what='') %}<{{ who }}>{{ what }}</{{ who }}>{% endmacro %}" + each("{{ say(m.role, m.content) }}"),
    "a recursive macro": "{% macro show(v) %}{% if v is mapping %}{% for k, x in v | dictsort %}{{ k }}={{ show(x) }};{% endfor %}{% elif v is iterable and v is not string %}{% for x in v %}{{ show(x) }},{% endfor %}{% else %}{{ v }}{% endif %}{% endmacro %}{{ show(tools or []) }}",
    "the system message apart": "{% if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set rest = messages[1:] %}{% else %}{% set system = 'none' %}{% set rest = messages %}{% endif %}S:{{ system | trim }}{% for m in rest %}|{{ m.role }}{% endfor %}",
    "break and continue": "{% for m in messages %}{% if m.role == 'system' %}{% continue %}{% endif %}{{ m.role }}{% if loop.index > 3 %}{% break %}{% endif %}{% endfor %}",
    "generation": each("{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}\n"),
    "generation, trimmed": each("{%- if m.role == 'assistant' -%}\n  {%- generation -%}\n  {{ m.content }}\n  {%- endgeneration -%}\n{%- endif -%}"),
    "set inside generation": "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}",
    "filters": each("{{ m.content | default('', true) | upper | replace('A', '4') | trim | truncate(20) }};"),
    "more filters": "{{ messages | map(attribute='role') | unique | list | join(',') }}|{{ messages | selectattr('role', 'equalto', 'user') | list | length }}|{{ [3, 1, 2] | sort | first }}|{{ 'a b' | wordcount }}",
    "methods of texts": each("{{ (m.content or '').strip().split(' ')[0].lower().startswith('w') }}{{ '%s-%d' | format(m.role, loop.index) }}{{ m.role.title() }}"),
    "the year": "{{ strftime_now('%Y') | length }}{{ strftime_now('%%') }}",
    "what a caller says": "{{ 'off' if enable_thinking is defined and enable_thinking is false else 'on' }}{{ effort | default('medium') }}" + CHATML,
    "a caller's bos": "{{ bos_token }}{{ budget }}",
    "dict and range": "{% set d = dict(a=1, b=[1, 2]) %}{{ d.a }}{{ d | tojson }}{% for i in range(3) %}{{ i }}{% endfor %}{% set _ = d.update if false %}",
    "numbers and nothing": "{{ 1.0 }}|{{ none }}|{{ true }}|{{ 7 // 2 }}|{{ 'x' ~ 1 ~ none }}|{{ nothing }}|{{ nothing is undefined }}",
    "raw and comments": "{# not shown #}{% raw %}{{ as it is }}{% endraw %}{{ '{{' }}",
    "call blocks and filters": "{% macro box() %}[{{ caller() }}]{% endmacro %}{% call box() %}{% filter upper %}{{ messages[0].role }}{% endfilter %}{% endcall %}",
    "documents": "{{ 'no' if documents is none else 'some' }}{{ messages | length }}{{ messages[-1]['role'] }}{{ messages[-1].role in ['tool', 'user'] }}",
}  # fmt: skip
