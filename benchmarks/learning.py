"""Whether generated tasks teach: a linear policy learns from rewards which function to call and when to stop.

python benchmarks/learning.py FOLDER [EPISODES] [-o docs/images/learning.svg]     # tasks of `pytest-bfcl new tasks`

What it decides: after each message one of the functions offered, or the end of the turn; a turn without a call ends
with a question. What it knows: the words of the user's turn that are neither rare nor frequent in training, the
function called before, how many calls the turn has had, and how many words of the turn stand in each function's name
and description. Arguments are not learned: a call that is due gets those of the ground truth,
every other call gets none. It is trained by REINFORCE on graded rewards, turn by turn; the control by the same rewards
dealt to other turns. Both are measured with the mean of their weights and without chance, on generated tasks and
official entries they have not seen.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean, stdev

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.decoding.ground_truth import parse_ground_truth_call
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.transcript import Reply, ToolCall

STOP = "<stop>"
RATE, BATCH, MOST_CALLS = 0.15, 20, 6
SEEDS, POINTS = 5, 10
KNOWN = 0.01, 0.2
"""Shares of the training turns in which a word stands that the learner knows."""
_IDLE = frozenset(
    ("and", "are", "for", "from", "please", "than", "that", "the", "then", "this", "to", "what", "with", "you")
)
Features = dict[tuple[str, str], float]
Curve = list[tuple[int, float]]
Turns = list[tuple[float, list[Features]]]
"""What each turn earned, with the slopes of its choices."""


def stems(text: str) -> set[str]:
    spread = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text).replace("_", " ").lower()
    return {word[:6] for word in re.findall(r"[a-z]{2,}", spread) if word not in _IDLE}


class Learner:
    """Weights of a softmax over the functions offered and the end of the turn."""

    def __init__(self, seed: int, known: set[str]) -> None:
        self.weights: dict[tuple[str, str], float] = defaultdict(float)
        self.sums: dict[tuple[str, str], float] = defaultdict(float)
        """Weights times the batches before which they came to be, so that the mean over all batches costs little."""
        self.known, self.rng, self.batches = known, random.Random(seed), 0

    def change(self, slopes: Features, by: float) -> None:
        for key, value in slopes.items():
            self.weights[key] += by * value
            self.sums[key] += by * value * self.batches

    def averaged(self) -> Learner:
        """A learner with the mean of the weights after each batch."""
        mean = Learner(0, self.known)
        mean.weights.update({key: each - self.sums[key] / max(1, self.batches) for key, each in self.weights.items()})
        return mean

    def features(self, option: str, text: str, said: set[str], before: str, made: int, called: set[str]) -> Features:
        if option == STOP:
            found = {("stop", f"after {min(made, 3)}"): 1.0, ("stop", f"before {before}"): 1.0}
            return found | {("stop", f"word {word} {min(made, 2)}"): 0.3 for word in said}
        found = {("all", "name"): 1.0 * len(stems(option) & said) / max(1, len(stems(option)))}
        found["all", "text"] = len(stems(text) & said) / math.sqrt(len(stems(text)) + 1)
        found["all", "again"] = float(option in called)
        found[option, f"before {before}"] = 0.5
        return found | {(option, f"word {word}"): 0.5 for word in said}

    def choose(self, options: dict[str, Features], greedy: bool) -> tuple[str, Features]:
        scores = {name: sum(self.weights[key] * each for key, each in found.items()) for name, found in options.items()}
        top = max(scores.values())
        shares = {name: math.exp(score - top) for name, score in scores.items()}
        total = sum(shares.values())
        best = max(scores, key=lambda name: scores[name])
        chosen = best if greedy else self.rng.choices([*shares], [*shares.values()])[0]
        slope: Features = defaultdict(float)
        if not greedy:
            for key, value in options[chosen].items():
                slope[key] += value
            for name, found in options.items():
                for key, value in found.items():
                    slope[key] -= value * shares[name] / total
        return chosen, slope


def played(entry: Entry, learner: Learner, greedy: bool) -> tuple[float, Turns]:
    """The graded reward, and for each turn what it earned with the slopes of its choices."""
    episode = Episode(entry, partial=True)
    texts = {each["function"]["name"]: str(each["function"].get("description")) for each in episode.tools}
    truth = [[parse_ground_truth_call(text, entry) for text in turn] for turn in entry.possible_answer or []]
    turns: Turns = []
    while not episode.done:
        turn, before, called, slopes, earned = episode.user_turn, "", set(), [], 0.0
        said = stems(next((str(each["content"]) for each in reversed(episode.messages) if each["role"] == "user"), ""))
        said &= learner.known
        due = list(truth[turn]) if turn < len(truth) else []
        for made in range(MOST_CALLS + 1):
            texts |= {each["function"]["name"]: str(each["function"].get("description")) for each in episode.tools}
            names = [STOP, *texts] if made < MOST_CALLS else [STOP]
            options = {name: learner.features(name, texts.get(name, ""), said, before, made, called) for name in names}
            chosen, slope = learner.choose(options, greedy)
            slopes.append(slope)
            if chosen == STOP:
                earned += episode.step(Reply("That is done." if made else "What do you mean?")).reward
                break
            place = next((number for number, call in enumerate(due) if call and call.name == chosen), None)
            given = due.pop(place).arguments if place is not None else {}
            before = chosen
            called.add(chosen)
            earned += episode.step(Reply("", tool_calls=(ToolCall(chosen, json.dumps(given)),))).reward
            if episode.done:
                break
        turns.append((earned * max(1, sum(map(bool, truth))), slopes))
    return episode.reward, turns


def trained(
    tasks: list[Entry], tests: dict[str, list[Entry]], episodes: int, shuffled: bool, seed: int
) -> dict[str, Curve]:
    learner, baseline = Learner(seed, known_words(tasks)), 0.0
    curves: dict[str, Curve] = {name: [] for name in tests}
    for begun in range(0, episodes + 1, BATCH):
        if begun % max(BATCH, episodes // POINTS) < BATCH:
            now = learner.averaged()
            for name, entries in tests.items():
                score = sum(played(entry, now, True)[0] for entry in entries) / len(entries)
                curves[name].append((begun, score))
            told = {name: round(curve[-1][1], 3) for name, curve in curves.items()}
            print("shuffled" if shuffled else "learner", seed, begun, told, flush=True)
        batch = [turn for entry in learner.rng.sample(tasks, BATCH) for turn in played(entry, learner, False)[1]]
        rewards = [earned for earned, _ in batch]
        if shuffled:
            learner.rng.shuffle(rewards)
        for reward, (_, slopes) in zip(rewards, batch, strict=True):
            for slope in slopes:
                learner.change(slope, RATE * (reward - baseline))
        learner.batches += 1
        baseline += 0.2 * (sum(rewards) / len(rewards) - baseline)
    return curves


def known_words(tasks: list[Entry]) -> set[str]:
    turns = [stems(str(turn[0]["content"])) for entry in tasks for turn in entry.question if turn]
    counts = Counter(word for turn in turns for word in turn)
    return {word for word, count in counts.items() if KNOWN[0] < count / len(turns) < KNOWN[1]}


def entries_of(source: str, categories: Iterable[str] | None = None) -> list[Entry]:
    data = open_data(source)
    return [data.load(ref) for name in categories or data.categories() for ref in data.index(name)]


def averaged(runs: list[dict[str, Curve]]) -> dict[str, Curve]:
    """The mean of several seeds' curves."""
    return {
        name: [(at, sum(run[name][n][1] for run in runs) / len(runs)) for n, (at, _) in enumerate(runs[0][name])]
        for name in runs[0]
    }


def picture(curves: dict[str, list[dict[str, Curve]]], path: Path) -> None:
    """Two panels, one a set of tests: learner and control over episodes, each seed thin, their mean thick."""
    colours = {"learner": "#1f6f54", "shuffled rewards": "#b3552e"}
    means = {name: averaged(runs) for name, runs in curves.items()}
    panels = list(next(iter(means.values())))
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 280" font-family="sans-serif" font-size="12">']
    every = [curve for runs in curves.values() for run in runs for curve in run.values()]
    top = max(score for curve in every for _, score in curve) * 1.15
    for number, panel in enumerate(panels):
        left = 50 + 350 * number
        parts.append(f'<text x="{left}" y="20" font-weight="bold">{panel}</text>')
        parts.append(f'<path d="M{left} 30V240H{left + 290}" fill="none" stroke="#888"/>')
        parts += [
            f'<text x="{left - 6}" y="{y}" text-anchor="end">{text}</text>'
            for y, text in ((36, f"{top:.2f}"), (240, "0"))
        ]
        for row, (name, found) in enumerate(means.items()):
            last, colour = found[panel][-1][0], colours[name]
            for width, curve in [*((0.5, run[panel]) for run in curves[name]), (2.5, found[panel])]:
                points = " ".join(f"{left + 290 * at / last:.0f},{240 - 210 * each / top:.1f}" for at, each in curve)
                parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
            ends = [run[panel][-1][1] for run in curves[name]]
            told = f"{name}: {found[panel][-1][1]:.2f} ({min(ends):.2f} to {max(ends):.2f})"
            parts.append(f'<text x="{left + 6}" y="{44 + 15 * row}" fill="{colour}">{told}</text>')
        parts.append(f'<text x="{left + 290}" y="256" text-anchor="end">{last} episodes</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    arguments = [each for each in sys.argv[1:] if each != "-o"]
    target = Path(arguments.pop()) if "-o" in sys.argv else None
    ours = entries_of(arguments[0])
    random.Random(1).shuffle(ours)
    official = entries_of("official", ["multi_turn_base"])[::2]
    tests = {"generated tasks, held out": ours[:80], "official turns (multi_turn_base)": official}
    count = int(arguments[1]) if len(arguments) > 1 else 4000
    curves: dict[str, list[dict[str, Curve]]] = {}
    with ProcessPoolExecutor(2) as pool:
        for name in ("learner", "shuffled rewards"):
            made = [pool.submit(trained, ours[80:], tests, count, name != "learner", seed) for seed in range(SEEDS)]
            curves[name] = [each.result() for each in made]
            for panel in tests:
                ends = [run[panel][-1][1] for run in curves[name]]
                print(f"{name}, {panel}: {mean(ends):.3f} ± {stdev(ends):.3f} over {SEEDS} seeds")
    if target:
        picture(curves, target)
