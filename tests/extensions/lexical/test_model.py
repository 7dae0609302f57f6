"""The baseline without a language model: honest, deterministic, neither useless nor good."""

from __future__ import annotations

import time

import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.extensions.lexical import choose_calls
from pytest_bfcl.models import create_model
from pytest_bfcl.models.base import Request
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Step, Transcript, Turn
from tests.models.loopback import run
from tests.patience import patience

FORECAST = {
    "name": "weather.forecast",
    "description": "Forecast of the weather of a city for some days.",
    "parameters": {
        "type": "dict",
        "properties": {
            "city": {"type": "string", "description": "Name of the city."},
            "days": {"type": "integer", "description": "Number of days."},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "Unit."},
        },
        "required": ["city", "days"],
    },
}
PLAY = {
    "name": "play_song",
    "description": "Plays a song of an artist.",
    "parameters": {
        "type": "dict",
        "properties": {"title": {"type": "string", "description": "Title."}},
        "required": ["title"],
    },
}


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Weather forecast for Lisbon for the next 3 days?", [("weather.forecast", {"city": "Lisbon", "days": 3})]),
        ("Weather forecast in Porto for 5 days in fahrenheit, please.",
         [("weather.forecast", {"city": "Porto", "days": 5, "unit": "fahrenheit"})]),
        ("Play the song 'Blue Moon'.", [("play_song", {"title": "Blue Moon"})]),
        ("Weather forecast for Oslo and Bergen for 2 days.",
         [("weather.forecast", {"city": "Oslo", "days": 2}), ("weather.forecast", {"city": "Bergen", "days": 2})]),
        ("Weather forecast for Rome for 4 days. Then play the song 'Azzurro'.",
         [("weather.forecast", {"city": "Rome", "days": 4}), ("play_song", {"title": "Azzurro"})]),
        ("Please translate this letter into Dutch.", []),
        ("", []),
    ],
)  # fmt: skip
def test_choices(text, calls):
    assert choose_calls(text, [FORECAST, PLAY]) == calls


def scores(data, mode="fc"):
    model = create_model(f"lexical:@{mode}", Settings())
    groups: dict[str, list[bool]] = {}
    for category, row in CATEGORIES.items():
        if row.group not in ("non_live", "live") or category not in data.categories():
            continue
        for ref in data.index(category):
            entry = data.load(ref)
            reply = run(model.generate(Request(entry, list(entry.question[0]), list(entry.function))))
            transcript = Transcript(
                entry.id,
                category,
                model.spec,
                model.mode,
                underscore_names=mode == "fc",
                turns=[Turn(steps=[Step(reply)])],
            )
            groups.setdefault(row.group, []).append(judge(entry, transcript).valid)
    return {group: sum(valid) / len(valid) for group, valid in groups.items()}


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_it_is_neither_useless_nor_good_on_bundled_data(mode):
    for group, share in scores(open_dataset("bundled"), mode).items():
        assert 0.2 <= share <= 0.8, (group, share)


def test_it_never_looks_at_the_answers():
    data = open_dataset("bundled")
    model = create_model("lexical:", Settings())
    for ref in data.index("simple_python"):
        entry = data.load(ref)
        blind = entry.model_copy(update={"possible_answer": None, "category": "multiple", "id": "multiple_0"})
        replies = [
            run(model.generate(Request(e, list(e.question[0]), list(e.function)))).output for e in (entry, blind)
        ]
        assert replies[0] == replies[1]


def test_hostile_text_stays_quick():
    started = time.perf_counter()
    for text in ("a " * 50_000, "'" * 50_000, "A, B and " * 5_000, "1," * 20_000, "[" * 50_000, "Aa " * 20_000):
        choose_calls(text, [FORECAST, PLAY])
    assert time.perf_counter() - started < patience(5)
