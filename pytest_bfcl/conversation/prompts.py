"""What a model receives: the system prompt of prompting mode, memory instructions, held-out functions.

All wording comes from the data set's `Texts`; this module only puts it together, in the order the reference does
(agentic spec §4): tool instructions, memory instruction, final-answer instruction, in one system message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.conversation.documents import documents_text
from pytest_bfcl.transcript import Message, Mode

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry, FunctionDoc
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.simulators import Simulator


def system_prompt(entry: Entry, functions: Sequence[FunctionDoc], texts: Texts, template: str | None = None) -> str:
    """The system prompt of prompting mode for an entry's formats.

    ``template`` is a user's own text; ``{functions}`` in it is replaced by the documents (in the entry's layout), all
    other braces stay.
    """
    documents = documents_text(functions, entry.doc_format)
    if template is not None:
        return template.replace("{functions}", documents)
    style = texts.prompt_styles[entry.prompt_style]
    tagged = "tool_call_with_tag" if entry.tool_call_tag else "tool_call_no_tag"
    return texts.prompt_templates[entry.prompt_format].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=style[tagged].format(
            output_format=texts.output_format(entry.return_format),
            param_types=texts.param_type_note(entry.return_format),
        ),
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=style["available_tools"].format(format=entry.doc_format, functions=documents),
    )


def first_messages(
    entry: Entry,
    functions: Sequence[FunctionDoc],
    texts: Texts,
    *,
    mode: Mode,
    memory: Simulator | None = None,
    template: str | None = None,
) -> list[Message]:
    """Turn 0 as sent: the user's messages behind at most one system message."""
    messages = list(map(dict, entry.question[0])) if entry.question else []
    if memory is not None:
        messages = with_system(messages, memory_instruction(entry, memory, texts))
    if mode == "prompt" and entry.row.checker != "chat":  # chat is offered no tools and told of none
        messages = with_system(messages, system_prompt(entry, functions, texts, template))
    return messages


def with_system(messages: list[Message], text: str) -> list[Message]:
    """The messages with ``text`` as system message, in front of the one they have, a blank line between."""
    if messages and messages[0]["role"] == "system":
        return [{**messages[0], "content": f"{text}\n\n{messages[0]['content']}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def memory_instruction(entry: Entry, memory: Any, texts: Texts) -> str:
    """The memory's part of the system message, with its content as it stands now (agentic spec §4)."""
    backend = entry.row.backend
    template = texts.memory_unified if backend == "rec_sum" else texts.memory_core_archival
    return template.format(
        scenario_setting=texts.memory_scenarios.get(str(entry.scenario), ""),
        memory_content=memory.prompt_text(texts.memory_empty.get(backend, "")),
    )


def additional_functions(held_out: Sequence[FunctionDoc], texts: Texts) -> str:
    """The user message that hands over held-out functions in prompting mode, with the documents' Python repr."""
    return texts.additional_functions_prompt.format(functions=list(held_out))
