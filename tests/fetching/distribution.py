"""A small distribution of our own with the benchmark's file layout, for tests of fetching without the real one."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

PROMPTS = '''
VERSION = 1
OUTPUT_FORMAT_MAPPING = {"python": "[f(a=1)]", "json": '[{"function": "f"}]', "verbose_xml": "<v>", "concise_xml": ""}
PARAM_TYPE_MAPPING = {"python": "", "json": "", "verbose_xml": "types", "concise_xml": "types"}
PROMPT_STYLE_TEMPLATES = {style: {} for style in ("not", "literal")}
PROMPT_STYLE_TEMPLATES = {"classic": {"persona": "You " "call."}, "experimental": {"persona": "You" + " dial."}}
_PLAIN = ("{persona}"
          "{task}")
PROMPT_TEMPLATE_MAPPING: dict = {"plaintext": _PLAIN, "markdown": "# " + _PLAIN}
DEFAULT_SYSTEM_PROMPT_FORMAT = "ret_fmt=python"
DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC = "More."
DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING = (
    "{functions}\\n" + DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC
)
ADDITIONAL_SYSTEM_PROMPT_FOR_AGENTIC_RESPONSE_FORMAT = """Answer {'answer': x}"""
MEMORY_AGENT_SETTINGS = {"student": "S"}
MEMORY_BACKEND_INSTRUCTION_CORE_ARCHIVAL = "{scenario_setting} core {memory_content}"
MEMORY_BACKEND_INSTRUCTION_UNIFIED = "{scenario_setting} all {memory_content}"
SIDE_EFFECT = open("/nonexistent").read()
'''

HINTS = """
def _get_language_specific_hint(test_category):
    if is_java(test_category):
        return " J"
    elif is_js(test_category):
        return " S"
    else:
        return " P"

def _func_doc_language_specific_pre_processing(function, test_category):
    for item in function:
        item["description"] = item["description"] + _get_language_specific_hint(test_category)
        if is_java(test_category):
            for key, value in item.items():
                if value["type"] == "any":
                    value["description"] += " any J {x}"
                else:
                    value["description"] += f" J {value['type']} {{braces}}"
                    value["description"] += f" of {value['items']['type']}"
        elif is_js(test_category):
            for key, value in item.items():
                value["description"] += " any S"
                value["description"] += f" S {value['type']}"
                value["description"] += f" S of {value['items']['type']}"
                value["description"] += f" with {json.dumps(value['properties'])}"
    return function
"""

LONG_CONTEXT = 'LIST = ["A", -1.5, ...]\nTEXT = "x" "y"\n'

MEMORY = '''
class MemoryAPI_{name}:
    def _dump_core_memory_to_context(self):
        """Not this sentence."""
        if not self.core_memory:
            return "Nothing in {name}."
        return json.dumps(self.core_memory)
'''

SIMULATORS = "eval_checker/multi_turn_eval/func_source_code"


def sources() -> dict[str, str]:
    """Python modules of the distribution, by path below the package."""
    memory = {f"{SIMULATORS}/memory_{name}.py": MEMORY.replace("{name}", name) for name in ("kv", "vector", "rec_sum")}
    return {
        "constants/default_prompts.py": PROMPTS,
        "utils.py": HINTS,
        f"{SIMULATORS}/long_context.py": LONG_CONTEXT,
        **memory,
    }


def data() -> dict[str, str]:
    """Data files, by path below the package: one question with its answer."""
    question = {
        "id": "simple_python_0",
        "question": [[{"role": "user", "content": "Ring the bell twice."}]],
        "function": [
            {
                "name": "bell.ring",
                "description": "Rings.",
                "parameters": {
                    "type": "dict",
                    "properties": {"times": {"type": "integer", "description": "How often."}},
                    "required": ["times"],
                },
            }
        ],
    }
    answer = {"id": "simple_python_0", "ground_truth": [{"bell.ring": {"times": [2]}}]}
    return {
        "data/BFCL_v4_simple_python.json": json.dumps(question),
        "data/possible_answer/BFCL_v4_simple_python.json": json.dumps(answer),
    }


def members() -> dict[str, str]:
    """Every file of the distribution, some of which must not be unpacked."""
    package = {f"bfcl_eval/{name}": text for name, text in {**sources(), **data()}.items()}
    return {**package, "bfcl_eval/data/README.md": "card", "bfcl_eval/evil.py": "raise SystemExit"}


def write_wheel(path: Path, extra: dict[str, str] | None = None, without: str = "") -> Path:
    """Write the distribution as a wheel."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**members(), **(extra or {})}.items():
            if name != without:
                archive.writestr(name, text)
    return path


def write_folder(path: Path) -> Path:
    """Write the distribution unpacked."""
    for name, text in members().items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return path
