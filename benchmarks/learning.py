"""Whether generated tasks teach: a linear policy learns from rewards which function to call and when to stop.

python benchmarks/learning.py FOLDER [EPISODES] [-o docs/images/learning.svg]     # tasks of `pytest-bfcl new tasks`

What it decides: after each message one of the functions offered, or the end of the turn; a turn without a call ends
with a question. What it knows: the words of the user's turn that are neither rare nor frequent in training (no names
and numbers), the function called before, how many calls the turn has had, and how much of each function's name and
description stands in the turn; a word that few of the offered functions have counts more. Arguments are not learned:
a call that is due gets those of the ground truth, every other call gets none. It begins with weights of zero, except
that it ends a turn with a chance of about one half.

It learns from nothing but the graded rewards of turns. A task is played `GROUP` times; each turn is compared with the
mean of its group, and the best one of a group is repeated later by as much as it earned more than the mean. The
control gets the same rewards, dealt to other turns. Both are measured without chance, on generated tasks and official
entries they have not seen: the first generated ones (so that twins stay together), and official ones of odd numbers,
from which no words of the generated requests come.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache, lru_cache
from pathlib import Path
from statistics import mean, stdev
from sys import intern
from typing import NamedTuple

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.decoding.ground_truth import parse_ground_truth_call
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.transcript import Reply, ToolCall

STOP = "<stop>"
RATE, TASKS, GROUP, REPEATED, MOST_CALLS = 0.3, 4, 6, 240, 6
"""Tasks of a batch, how often each is played, and earlier turns that are repeated after each batch."""
SEEDS, POINTS, HELD_OUT, OFFICIAL = 4, 4, 80, 100
KNOWN = 0.01, 0.2
"""Shares of the training turns in which a word stands that the learner knows."""
_IDLE = frozenset(
    ("and", "are", "for", "from", "please", "than", "that", "the", "then", "this", "to", "what", "with", "you")
)
Features = dict[str, float]
Tools = tuple[tuple[str, str], ...]
Curve = list[tuple[int, list[float]]]
"""After how many episodes each test earned what."""


class Choice(NamedTuple):
    """One choice: what is known of each option, and the chosen one."""

    options: dict[str, list[Features]]
    chosen: str


class Played(NamedTuple):
    """One turn: its task and number, what it earned, and its choices."""

    turn: tuple[str, int]
    earned: float
    choices: list[Choice]


@cache
def stems(text: str) -> frozenset[str]:
    """The beginnings of a text's words, without names: words in the middle of a sentence with a capital letter."""
    plain = re.sub(r"(?<=[a-z,;] )[A-Z]\w*", " ", text)
    spread = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", plain).replace("_", " ").lower()
    return frozenset(word[:6] for word in re.findall(r"[a-z]{2,}", spread) if word not in _IDLE)


@cache
def document(name: str, text: str) -> tuple[frozenset[str], frozenset[str]]:
    return stems(name), stems(text.split("Tool description:")[-1])


@lru_cache(maxsize=20_000)
def worth(tools: Tools) -> dict[str, float]:
    """How much each word of the documents says about which function is meant."""
    counts = Counter(word for tool in tools for word in document(*tool)[0] | document(*tool)[1])
    return {word: math.log((1 + len(tools)) / count) for word, count in counts.items()}


class Learner:
    """Weights of a softmax over the functions offered and the end of the turn."""

    def __init__(self, seed: int, known: set[str]) -> None:
        self.weights: Features = defaultdict(float)
        self.weights["stop always"] = 3.4
        self.squares: Features = defaultdict(lambda: 1.0)
        self.seen: dict[tuple[str, Tools], dict[str, Features]] = {}
        self.known, self.rng = known, random.Random(seed)
        self.best: dict[tuple[str, int], Played] = {}
        """Of each turn the play that earned the most above its group; ``earned`` is by how much."""

    def facts(self, said: str, tools: Tools) -> dict[str, Features]:
        """What is known of each option for a whole turn."""
        if (said, tools) in self.seen:
            return self.seen[said, tools]
        sentences = [stems(each) for each in re.split(r"(?<=[.!?]) ", said)]
        words = frozenset().union(*sentences)
        known = [word for word in words if word in self.known]
        weight = worth(tools)
        found: dict[str, Features] = {STOP: {"stop always": 1.0}}
        for tool in tools:
            name, text = document(*tool)
            of_name = sum(weight[word] for word in name) or 1.0
            of_text = sum(weight[word] for word in text) or 1.0
            facts = {intern(f"{tool[0]} word {word}"): 0.5 for word in known}
            facts["all name"] = sum(weight[word] for word in name & words) / of_name
            facts["all text"] = sum(weight[word] for word in text & words) / math.sqrt(of_text)
            facts["all one sentence"] = max(
                sum(weight[word] for word in name & each) / of_name
                + sum(weight[word] for word in text & each) / of_text
                for each in sentences
            )
            facts[intern(f"{tool[0]} always")] = 0.5
            found[tool[0]] = facts
        self.seen[said, tools] = found
        return found

    def options(
        self, facts: dict[str, Features], before: str, made: int, called: Counter[str]
    ) -> dict[str, list[Features]]:
        now: dict[str, list[Features]] = {
            STOP: [facts[STOP], {f"stop after {min(made, 3)}": 1.0, f"stop before {before}": 0.5}]
        }
        for name in facts:
            if name != STOP:
                now[name] = [facts[name], {f"all again {min(called[name], 2)}": 1.0, f"{name} before {before}": 0.5}]
        return now

    def shares(self, options: dict[str, list[Features]]) -> dict[str, float]:
        found = self.weights.get
        scores = {
            name: sum([found(key, 0.0) * value for part in parts for key, value in part.items()])
            for name, parts in options.items()
        }
        top = max(scores.values())
        shares = {name: math.exp(score - top) for name, score in scores.items()}
        total = sum(shares.values())
        return {name: share / total for name, share in shares.items()}

    def choose(self, options: dict[str, list[Features]], greedy: bool) -> str:
        shares = self.shares(options)
        if greedy:
            return max(shares, key=lambda name: shares[name])
        return self.rng.choices([*shares], [*shares.values()])[0]

    def change(self, choices: list[Choice], by: float) -> None:
        """Make choices likelier, or less likely, with a rate for each weight (Adagrad)."""
        slope: Features = defaultdict(float)
        for options, chosen in choices:
            for name, share in self.shares(options).items():
                much = (name == chosen) - share
                if abs(much) > 0.003:
                    for part in options[name]:
                        for key, value in part.items():
                            slope[key] += much * value
        for key, each in slope.items():
            self.squares[key] += (by * each) ** 2
            self.weights[key] += RATE * by * each / math.sqrt(self.squares[key])

    def learn(self, plays: list[Played]) -> None:
        groups: dict[tuple[str, int], list[Played]] = defaultdict(list)
        for play in plays:
            groups[play.turn].append(play)
        for turn, group in groups.items():
            usual = mean(play.earned for play in group)
            for play in group:
                if play.earned != usual:
                    self.change(play.choices, play.earned - usual)
            best = max(group, key=lambda play: play.earned)
            gain = best.earned - usual
            if gain > 0 and (turn not in self.best or gain > self.best[turn].earned):
                self.best[turn] = best._replace(earned=gain)
        remembered = [*self.best.values()]
        for play in self.rng.sample(remembered, min(REPEATED, len(remembered))):
            self.change(play.choices, play.earned)


def played(entry: Entry, learner: Learner, greedy: bool) -> tuple[float, list[Played]]:
    """The graded reward, and what each turn earned with its choices."""
    episode = Episode(entry)
    truth = [[parse_ground_truth_call(text, entry) for text in turn] for turn in entry.possible_answer or []]
    choices: dict[int, list[Choice]] = {}
    while not episode.done:
        turn, before, called, made = episode.user_turn, "", Counter[str](), 0
        said = next((str(each["content"]) for each in reversed(episode.messages) if each["role"] == "user"), "")
        tools = ((each["function"]["name"], str(each["function"].get("description"))) for each in episode.tools)
        facts = learner.facts(said, tuple(tools))
        due = list(truth[turn]) if turn < len(truth) else []
        choices[turn] = []
        while not episode.done:
            chosen = STOP
            if made < MOST_CALLS:
                options = learner.options(facts, before, made, called)
                chosen = learner.choose(options, greedy)
                choices[turn].append(Choice(options, chosen))
            if chosen == STOP:
                episode.step(Reply("That is done." if made else "What do you mean?"))
                break
            place = next((number for number, call in enumerate(due) if call and call.name == chosen), None)
            given = due.pop(place).arguments if place is not None else {}
            before, made = chosen, made + 1
            called[chosen] += 1
            episode.step(Reply("", tool_calls=(ToolCall(chosen, json.dumps(given)),)))
    score, grades = episode.grades
    earned = {each.turn: each.score or 0.0 for each in grades}
    return score, [Played((entry.id, turn), earned.get(turn, 0.0), made) for turn, made in choices.items()]


def trained(
    tasks: list[Entry], tests: dict[str, list[Entry]], episodes: int, shuffled: bool, seed: int
) -> dict[str, Curve]:
    learner, begun, order = Learner(seed, known_words(tasks)), 0, list[Entry]()
    curves: dict[str, Curve] = {name: [] for name in tests}
    while True:
        if begun >= len(next(iter(curves.values()))) * episodes / POINTS:
            for name, entries in tests.items():
                curves[name].append((begun, [played(entry, learner, True)[0] for entry in entries]))
            told = {name: round(mean(curve[-1][1]), 3) for name, curve in curves.items()}
            print("shuffled" if shuffled else "learner", seed, begun, told, flush=True)
        if begun >= episodes:
            return curves
        if len(order) < TASKS:
            order = learner.rng.sample(tasks, len(tasks))
        batch, order = order[:TASKS], order[TASKS:]
        plays = [play for entry in batch for _ in range(GROUP) for play in played(entry, learner, False)[1]]
        if shuffled:
            rewards = [play.earned for play in plays]
            learner.rng.shuffle(rewards)
            plays = [play._replace(earned=reward) for play, reward in zip(plays, rewards, strict=True)]
        learner.learn(plays)
        begun += len(batch) * GROUP


def known_words(tasks: list[Entry]) -> set[str]:
    turns = [stems(str(turn[0]["content"])) for entry in tasks for turn in entry.question if turn]
    counts = Counter(word for turn in turns for word in turn)
    return {word for word, count in counts.items() if KNOWN[0] < count / len(turns) < KNOWN[1]}


def overlap() -> Learner:
    """The rule to compare with: each turn one call, of the function that has the most words in common with the turn."""
    learner = Learner(0, set())
    learner.weights |= {"all name": 1.0, "all text": 1.0, "all one sentence": 1.0}
    learner.weights |= {"stop after 0": -100.0, "stop after 1": 100.0}
    return learner


def number(entry: Entry) -> int:
    return int(entry.id.rsplit("_", 1)[1])


def entries_of(source: str, categories: Iterable[str] | None = None) -> list[Entry]:
    data = open_data(source)
    return [data.load(ref) for name in categories or data.categories() for ref in data.index(name)]


def picture(curves: dict[str, list[dict[str, Curve]]], rule: dict[str, list[float]], path: Path) -> None:
    """A panel for each set of tests: learner and control, each seed thin and their mean thick; the rule is dashed."""
    colours = {"learner": "#1f6f54", "shuffled rewards": "#b3552e"}
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 280" font-family="sans-serif" font-size="12">']
    every = [curve for runs in curves.values() for run in runs for curve in run.values()]
    top = max(mean(scores) for curve in every for _, scores in curve) * 1.4
    last = every[0][-1][0]
    for place, panel in enumerate(rule):
        left = 50 + 350 * place
        parts.append(f'<text x="{left}" y="20" font-weight="bold">{panel}</text>')
        parts.append(f'<path d="M{left} 30V240H{left + 290}" fill="none" stroke="#888"/>')
        parts += [
            f'<text x="{left - 6}" y="{y}" text-anchor="end">{text}</text>'
            for y, text in ((36, f"{top:.2f}"), (240, "0"))
        ]
        for row, (name, runs) in enumerate(curves.items()):
            lines = [[(at, mean(scores)) for at, scores in run[panel]] for run in runs]
            ends = [line[-1][1] for line in lines]
            usual = [(points[0][0], mean(score for _, score in points)) for points in zip(*lines, strict=True)]
            for width, line in [*((0.5, line) for line in lines), (2.5, usual)]:
                points = " ".join(f"{left + 290 * at / last:.0f},{240 - 210 * each / top:.1f}" for at, each in line)
                parts.append(
                    f'<polyline points="{points}" fill="none" stroke="{colours[name]}" stroke-width="{width}"/>'
                )
            told = f"{name}: {mean(ends):.2f} ({min(ends):.2f} to {max(ends):.2f})"
            parts.append(f'<text x="{left + 6}" y="{44 + 15 * row}" fill="{colours[name]}">{told}</text>')
        height = 240 - 210 * mean(rule[panel]) / top
        dashes = 'stroke="#666" stroke-dasharray="4 4"'
        parts.append(f'<path d="M{left} {height:.0f}H{left + 290}" fill="none" {dashes}/>')
        parts.append(f'<text x="{left + 6}" y="74" fill="#666">most words in common: {mean(rule[panel]):.2f}</text>')
        parts.append(f'<text x="{left + 290}" y="256" text-anchor="end">{last} episodes</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    arguments = [each for each in sys.argv[1:] if each != "-o"]
    target = Path(arguments.pop()) if "-o" in sys.argv else None
    ours = sorted(entries_of(arguments[0]), key=number)
    official = [entry for entry in entries_of("official", ["multi_turn_base"]) if number(entry) % 2]
    tests = {
        "generated tasks, held out": ours[:HELD_OUT],
        "official entries (multi_turn_base)": official[:OFFICIAL],
    }
    count = int(arguments[1]) if len(arguments) > 1 else 1200
    curves: dict[str, list[dict[str, Curve]]] = {}
    rule = {name: [played(entry, overlap(), True)[0] for entry in entries] for name, entries in tests.items()}
    print("most words in common:", {name: round(mean(scores), 3) for name, scores in rule.items()}, flush=True)
    with ProcessPoolExecutor() as pool:
        begun: dict[str, list[Future[dict[str, Curve]]]] = {"learner": [], "shuffled rewards": []}
        for seed in range(SEEDS):
            for name, made in begun.items():
                made.append(pool.submit(trained, ours[HELD_OUT:], tests, count, name != "learner", seed))
        for name, made in begun.items():
            curves[name] = [each.result() for each in made]
            for panel in tests:
                ends = [run[panel][-1][1] for run in curves[name]]
                seeds = [mean(scores) for scores in ends]
                print(f"{name}, {panel}: {mean(seeds):.3f} ± {stdev(seeds):.3f} over {SEEDS} seeds")
                above = [mean(scores) - each for *scores, each in zip(*ends, rule[panel], strict=True)]
                error = stdev(above) / math.sqrt(len(above))
                print(f"  above the rule: {mean(above):.3f}, standard error over the tests {error:.3f}", flush=True)
    if target:
        picture(curves, rule, target)
