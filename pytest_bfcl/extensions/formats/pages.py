"""The pages of docs/families from the table: ``python -m pytest_bfcl.extensions.formats.pages docs/families``."""

from __future__ import annotations

import sys
from pathlib import Path

from pytest_bfcl.formats.decoders import HANDLER, HANDLERS
from pytest_bfcl.formats.table import FORMATS, Format, registered_models

_THINKING = {
    "none": "Thoughts in the text are left where they are.",
    "think": "What stands before `</think>` is reasoning and no part of the answer; an unclosed thought stays in it.",
    "r1": "The answer is what follows the last `</think>`, untrimmed; the history keeps the thoughts.",
    "harmony": "The analysis channel is reasoning, the final channel the answer.",
}
_HISTORY = {
    "plain": "The reply goes back as it is; each result as a message of role `tool` with the call's text as its name.",
    "reasoning": "The answer goes back with its reasoning; the template decides what it shows. Results as `tool`.",
    "calls": "Calls go back parsed, the other text of such a reply is lost; replies without a call as they are.",
    "raw": "The reply goes back unparsed; each result as a message of role `tool`.",
    "mistral": "Calls go back as a list with ids, results by these ids.",
    "user": "Results go back in one user message, as a Python list.",
    "ipython": "Results go back as messages of role `ipython`.",
    "native": "As OpenAI's messages.",
}
_UNREPRODUCED = {
    "falcon3-fc": "Its prompt comes from the tokenizer's own template, so it needs the folder that has it; the "
    "recorded cases hold no prompt to compare with.",
    "minicpm-fc": "The reference lets a code generator write the Python stubs of its prompt; usual schemas come out "
    "the same here, unusual ones (constraints, odd names) may not.",
    "chat-fc": "A reply with text whose list of calls is empty, not missing, loses its text at the reference; we "
    "keep it.",
    "cohere-fc": "Only recorded outputs are read so; live, litellm asks with native calls.",
    "gemini-fc": "Only recorded outputs are read so; live, litellm asks with native calls.",
    "nemotron-fc": "The handler's own prompt is not asked with; recorded outputs are read.",
    "mining-prompt": "The handler's own prompt is not asked with; recorded outputs are read.",
    "mining-fc": "No call of this handler ever decodes; recorded outputs are read.",
    "gorilla": "The handler's endpoint is gone; recorded outputs are read.",
    "nexus": "Registered nowhere; recorded outputs are read.",
}
_NO_PROMPTS = frozenset({"falcon3-fc"})


def family_pages() -> dict[str, str]:
    """File name → text of every page, the index among them."""
    pages = {f"{name}.md": _page(row) for name, row in FORMATS.items()}
    return {"README.md": _index(), **pages}


def _index() -> str:
    cells = (
        (
            f"[{row.name}]({row.name}.md)",
            row.mode,
            row.template or "the server's",
            row.decoder or "native",
            _models(row),
        )
        for row in FORMATS.values()
    )
    rows = "\n".join(f"| {' | '.join(row)} |" for row in cells)
    return f"""# Families of models

How the benchmark asks and reads the models it lists, one page each. What the words mean stands in
[formats](../formats.md).

| family | mode | template | decoder | registered models |
|---|---|---|---|---|
{rows}
"""


def _models(row: Format) -> str:
    names = registered_models(row.name)
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else "".join(names) or "none"


def _page(row: Format) -> str:
    parts = [f"# {row.name}", _command_of(row), _read(row)]
    if row.defects:
        listed = "\n".join(f"- {defect}" for defect in row.defects)
        parts.append(f"Defects of the handler, kept under official rules, mended under corrected ones:\n\n{listed}")
    parts.append(_compared(row))
    models = "\n".join(f"- `{name}`" for name in registered_models(row.name))
    if models:
        parts.append(f"## Registered models\n\n{models}")
    return "\n\n".join(parts) + "\n"


def _command_of(row: Format) -> str:
    names = registered_models(row.name)
    model = (names[0] if names else "NAME").removesuffix("-FC")
    if row.template is not None:
        command = f"pytest --model vllm:{model}@{row.mode} --bfcl-template {row.name}"
        system = "is put before the entry's own system text" if row.system else "is left out"
        extra = "".join(f" `{field}` is sent as {value}." for field, value in _fields(row))
        return (
            f"The row on the leaderboard is reproduced by\n\n    {command}\n\nThe prompt is rendered by the template "
            f"`{row.template}` and sent to `/v1/completions`. The benchmark's system prompt {system}.{extra}"
        )
    if row.name == "falcon3-fc":
        return f"Ask it with\n\n    pytest --model vllm:{model}@fc --bfcl-template DIR --bfcl-decoder handler:falcon"
    if row.name in ("chat-fc", "chat-fc-dotted", "chat-prompt"):
        return f"Asked through its provider's API: `provider:NAME@{row.mode}`, without further options."
    return "Recorded outputs of this family are read with its decoder; see below for asking."


def _fields(row: Format) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    if row.stop_token_ids:
        found.append(("stop_token_ids", list(row.stop_token_ids)))
    if row.skip_special_tokens is not None:
        found.append(("skip_special_tokens", str(row.skip_special_tokens).lower()))
    return found


def _read(row: Format) -> str:
    decoder = (
        f"the decoder `{row.decoder}` (`{HANDLERS[row.decoder.removeprefix(HANDLER)]}`)"
        if row.decoder
        else "what the server parsed, native calls"
    )
    names = "with dots replaced by `_`" if row.underscore_names else "as documented"
    return f"Calls are read by {decoder}. {_THINKING[row.thinking]} {_HISTORY[row.history]} Names are compared {names}."


def _compared(row: Format) -> str:
    lines = ["## Compared with recorded cases", ""]
    if row.name.startswith(("chat-", "gemini", "cohere", "mining", "nemotron", "gorilla", "nexus")):
        lines.append("Decoding of recorded replies, for checking and for execution.")
    elif row.name in _NO_PROMPTS:
        lines.append("Decoding of recorded replies and what goes back of them.")
    else:
        lines.append("Decoding of recorded replies, what goes back of them, and 16 conversations with every prompt.")
    if row.name in _UNREPRODUCED:
        lines += ["", _UNREPRODUCED[row.name]]
    return "\n".join(lines)


def main(folder: str) -> None:
    """Write every page."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, text in family_pages().items():
        (target / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
