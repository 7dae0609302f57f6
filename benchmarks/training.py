"""How fast rewards and episodes are, on one core: ``python benchmarks/training.py [bundled|official] [SECONDS]``.

CPU time, every way in turn, three rounds, the best of each. Each has a floor; the exit code is 1 below one.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pytest_bfcl.models.oracle import answer
from pytest_bfcl.rewards import reward
from pytest_bfcl.selection.splits import make_split
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.training import Episode, Tasks, tasks, trl, verl
from pytest_bfcl.transcript import Mode

VERDICTS, EPISODES = 10_000, 300
"""Floors: verdicts on one-step replies, multi-turn episodes, each a second of one core."""


def chosen(data: str, mode: Mode, categories: list[str]) -> Tasks:
    if data != "official":
        return tasks(data, mode=mode, categories=categories)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "split.json"
        make_split(open_data(data)).write(path)
        return tasks(data, mode=mode, categories=categories, split=path)


def rate(work: Callable[[], int], seconds: float) -> float:
    """Units a second of this process."""
    start, done = time.process_time(), 0
    while (spent := time.process_time() - start) < seconds:
        done += work()
    return done / spent


def played(episode: Episode) -> Episode:
    episode.reset()
    while not episode.done:
        step = len(episode.transcript.turns[-1].steps)
        episode.step(answer(episode.entry, episode.mode, episode.user_turn, step))
    return episode


def measures(data: str) -> dict[str, tuple[Callable[[], int], int]]:
    single = {mode: chosen(data, mode, ["single_turn"]) for mode in ("fc", "prompt")}
    several = {mode: chosen(data, mode, ["multi_turn"]) for mode in ("fc", "prompt")}
    said = {mode: [answer(entry, mode) for entry in single[mode]] for mode in single}
    wrong = [reply.text for reply in [*said["prompt"][1:], said["prompt"][0]]]
    keys = [single["prompt"].key(entry) for entry in single["prompt"]]
    columns = {name: [key[name] for key in keys] for name in ("entry_id", "data", "data_sha256")}
    function, graded = trl.reward_function(), trl.reward_function(partial=True)

    def rewarded(mode: Mode) -> int:
        return len(
            [
                reward(e, r, mode=mode, underscore_names=mode == "fc")
                for e, r in zip(single[mode], said[mode], strict=True)
            ]
        )

    def batch(made: Callable[..., list[float]], completions: list[str | None]) -> int:
        return len(made(completions=completions, **columns))

    def scores() -> int:
        pairs = zip(said["prompt"], keys, strict=True)
        return len([verl.compute_score("bfcl", reply.text or "", "", key) for reply, key in pairs])

    def episodes(mode: Mode, *, partial: bool = False) -> int:
        ours = several[mode]
        ours = replace(ours, options={**ours.options, "partial": partial})
        return len([played(ours.episode(entry)).reward for entry in ours])

    def interactions() -> int:
        held = verl.Interactions()
        for entry in several["prompt"]:
            episode, done = held.start("x", several["prompt"].key(entry)), False
            while not done:
                step = len(episode.transcript.turns[-1].steps)
                text = answer(entry, "prompt", episode.user_turn, step).text
                done, *_ = held.answer("x", [{"role": "assistant", "content": text}])
        return len(several["prompt"])

    texts = [reply.text for reply in said["prompt"]]
    return {
        "reward, native calls": (lambda: rewarded("fc"), VERDICTS),
        "reward, texts": (lambda: rewarded("prompt"), VERDICTS),
        "TRL reward function": (lambda: batch(function, texts), VERDICTS),
        "TRL reward function, graded, all wrong": (lambda: batch(graded, wrong), 0),
        "verl compute_score": (scores, VERDICTS),
        "episodes, native calls": (lambda: episodes("fc"), EPISODES),
        "episodes, texts": (lambda: episodes("prompt"), EPISODES),
        "episodes, texts, graded": (lambda: episodes("prompt", partial=True), EPISODES),
        "verl interaction": (interactions, EPISODES),
    }


def main(data: str, seconds: float) -> int:
    made = measures(data)
    for work, _ in made.values():
        work()
    best = dict.fromkeys(made, 0.0)
    for _ in range(3):
        for name, (work, _) in made.items():
            best[name] = max(best[name], rate(work, seconds))
    below = False
    for name, (_, floor) in made.items():
        below |= best[name] < floor
        print(f"{name:<40} {best[name]:>10,.0f}/s" + (f"   floor {floor:,}" if floor else ""))
    return int(below)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "bundled", float(sys.argv[2]) if len(sys.argv) > 2 else 2.0))
