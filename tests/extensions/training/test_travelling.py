"""Episodes as bytes: small, played on elsewhere, and only with the texts they were made with."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.judging.conversation import Task
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data

PLAY_ON = """
import pickle, sys
from pytest_bfcl.models.oracle import answer
episode = pickle.load(open(sys.argv[1], "rb"))
while not episode.done:
    step = len(episode.transcript.turns[-1].steps)
    episode.step(answer(episode.entry, "fc", episode.user_turn, step))
print(episode.earned, episode.verdict)
"""


def in_the_middle(data: DataSet, entry_id: str, **options: object) -> Episode:
    episode = Episode(data.entry(entry_id), partial=True, **options)  # type: ignore[arg-type]
    episode.reset()
    while not episode.user_turn:
        step = len(episode.transcript.turns[-1].steps)
        episode.step(answer(episode.entry, "fc", 0, step))
    return episode


def test_it_is_played_on_in_another_process(tmp_path: Path) -> None:
    file = tmp_path / "episode"
    file.write_bytes(pickle.dumps(in_the_middle(open_data("bundled"), "multi_turn_base_0")))
    told = subprocess.run([sys.executable, "-c", PLAY_ON, file], capture_output=True, text=True, check=True).stdout
    assert [round(float(each), 9) for each in told.split()] == [1.0, 1.0]


@pytest.mark.parametrize("own_texts", [True, False], ids=["texts of the data set", "texts found"])
@pytest.mark.parametrize("entry_id", ["multi_turn_base_0", "multi_turn_long_context_3", "multi_turn_miss_func_7"])
def test_official_texts_do_not_travel(official: DataSet, entry_id: str, own_texts: bool) -> None:
    data = open_data("official")
    episode = in_the_middle(data, entry_id, texts=data.texts if own_texts else None)
    carried = pickle.dumps(episode)
    assert len(carried) < 48_000
    again = pickle.loads(carried)
    assert again.texts == episode.texts
    assert again.messages == episode.messages
    assert again.entry == episode.entry
    assert again.entry.long_context_texts == episode.entry.long_context_texts
    assert again.entry.sentences == episode.entry.sentences
    reply = answer(episode.entry, "fc", 1, 0)
    assert again.step(reply) == episode.step(reply)


def test_texts_of_another_make_travel_whole() -> None:
    data = open_data("bundled")
    theirs = replace(data.texts, agentic_answer="Answer in Latin.")
    episode = in_the_middle(data, "multi_turn_base_0", texts=theirs)
    assert pickle.loads(pickle.dumps(episode)).texts == theirs


def test_a_task_of_other_data_than_is_here_is_refused(official: DataSet) -> None:
    stored = Task(official.entry("multi_turn_base_0"), "official", official.sha256).to_json()
    assert Task.from_json(stored).id == "multi_turn_base_0"
    with pytest.raises(HarnessError, match="another version of the official data"):
        Task.from_json(stored | {"data_sha256": "0" * 64})
