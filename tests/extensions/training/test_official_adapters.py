"""An oracle over every official entry, through the adapters that need no library of a trainer.

It earns everything: the few entries whose own answers the official rules refuse in a run are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.training.splits import make_split
from pytest_bfcl.failures import UsageError
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.training import Tasks, tasks, trl
from tests.extensions.training.policies import first_reply, message
from tests.extensions.training.test_adapters import keys_as_columns, poor_in_environments, poor_in_interactions

pytestmark = pytest.mark.slow
MEMORY = ["memory_kv", "memory_rec_sum"]
HELD_OUT = ["multi_turn_miss_func_49"]
"""Its answer calls a function before it is handed over: a run carries that out, an environment says "not yet"."""


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        made = make_split(open_data("official"), train=0.5, seed=1)
    except UsageError as error:
        pytest.skip(str(error))
    path = tmp_path_factory.mktemp("split") / "official.split.json"
    made.write(path)
    return path


def halves(split: Path, mode: str, categories: list[str] | None = None) -> list[Tasks]:
    """Both parts of the official set, everything that is scored without asking the web."""
    return [
        tasks("official", split=split, part=part, mode=mode, categories=categories)  # type: ignore[arg-type]
        for part in ("train", "test")
    ]


def test_the_official_set_needs_a_split_of_its_own(split: Path) -> None:
    with pytest.raises(UsageError, match="test set: split them first") as caught:
        tasks("official")
    assert str(caught.value).count("\n") < 5
    with pytest.raises(UsageError, match="made of official"):
        tasks("bundled", split=split)


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_rewards_of_one_step(split: Path, mode: Any) -> None:
    """What a run refuses is left out."""
    function, poor, seen = trl.reward_function(mode=mode), [], 0
    left_out: set[str] = set()
    for chosen in halves(split, mode, ["single_turn"]):
        said = [[message(first_reply(entry, mode))] for entry in chosen]
        rewards = function(prompts=None, completions=said, **keys_as_columns(chosen, chosen))
        poor += [entry.id for entry, got in zip(chosen, rewards, strict=True) if got != 1.0]
        left_out |= {*chosen.unpassable}
        seen += len(chosen)
    assert seen > 3_500
    assert not poor
    result = run("official", f"oracle:@{mode}", categories=["single_turn"])
    assert left_out == {record["id"] for record in result.records if record["outcome"] != "passed"}
    assert len(left_out) <= 17


def test_conversations(split: Path) -> None:
    for mode, poor_in, expected in (("fc", poor_in_environments, HELD_OUT), ("prompt", poor_in_interactions, [])):
        chosen = [each for categories in (None, MEMORY) for each in halves(split, mode, categories)]
        assert sum(map(len, chosen)) > 4_400
        assert [entry_id for each in chosen for entry_id in poor_in(each)] == expected
