"""``--bfcl-dry-run``: what a run would ask and cost, estimated from the data; nothing is sent."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from pytest_bfcl.plugin.nodes import EntryItem

CHARACTERS_PER_TOKEN = 4.0
REPLY_TOKENS = 60
LOOKED_AT = 20
"""Entries of a category whose size is measured; the rest are taken to be like them."""


def print_estimate(config: pytest.Config, items: list[EntryItem], precision: float | None = None) -> None:
    """Print expected calls, tokens and cost per model, and the entries that so many points of precision take."""
    from pytest_bfcl.conversation.planning import expected_requests
    from pytest_bfcl.models.prices import cost

    reporter: Any = config.pluginmanager.getplugin("terminalreporter")
    say = reporter.write_line if reporter is not None else print
    grouped: dict[str, dict[str, list[EntryItem]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        grouped[item.contender.label][item.ref.category].append(item)
    for text, categories in grouped.items():
        calls = tokens_in = tokens_out = 0.0
        for category, members in categories.items():
            requests = expected_requests(category)
            step = max(1, len(members) // LOOKED_AT)
            looked = members[::step]
            size = sum(_tokens(item) for item in looked) / len(looked)
            calls += requests * len(members)
            tokens_out += requests * len(members) * REPLY_TOKENS
            tokens_in += len(members) * requests * (size + (requests - 1) / 2 * 2 * REPLY_TOKENS)
        price = categories[next(iter(categories))][0].contender.price
        usd = cost(round(tokens_in), round(tokens_out), price)
        money = "no price known (--bfcl-price IN,OUT)" if usd is None else f"about {usd:.2f} USD"
        say(
            f"dry run: {text}: {sum(map(len, categories.values()))} entries, about {calls:,.0f} calls, "
            f"{tokens_in:,.0f} tokens in, {tokens_out:,.0f} out, {money}; nothing was sent"
        )

    if precision is not None and grouped:
        for line in _sizes(next(iter(grouped.values())), precision):
            say(f"dry run: {line}")


def _sizes(categories: dict[str, list[EntryItem]], precision: float) -> Iterator[str]:
    """Entries of each category that give its score within ``precision`` points; repeats of an entry count once."""
    from pytest_bfcl.scoring.sample_size import entries_needed, half_width

    yield f"for ±{precision:g} points (95 %) of what all entries of a category would give:"
    for category, members in categories.items():
        entries = len({item.ref.id for item in members})
        needed = entries_needed(precision / 100, entries)
        ability = 100 * half_width(entries)
        yield f"  {category}: {needed} of {entries} entries; all of them tell the ability behind within ±{ability:.1f}"


def _tokens(item: EntryItem) -> float:
    entry = item.file.dataset.load(item.ref)
    return len(json.dumps([entry.question[:1], entry.function])) / CHARACTERS_PER_TOKEN
