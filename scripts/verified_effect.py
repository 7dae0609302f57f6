"""What the verified data changes: the figures of docs/verified.md, from recorded outputs (PYTEST_BFCL_GOLDEN) and the
fetched official data.

    PYTEST_BFCL_GOLDEN=… python scripts/verified_effect.py
"""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_bfcl.checkers.judge import judge, judge_both
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.rescoring import open_data
from pytest_bfcl.runs.replay_lines import transcript_from_line

RULES = ("official", "corrected", "verified")


def main() -> None:
    """Print the tables."""
    golden = Path(os.environ["PYTEST_BFCL_GOLDEN"])
    data = open_data("official")
    print("\n".join(seldom_passed(golden / "consensus", data)), end="\n\n")
    print("\n".join(by_run(golden / "consensus", data)), end="\n\n")
    print("\n".join(recorded(golden / "real_outputs", data)))


def seldom_passed(folder: Path, data: DataSet) -> Iterator[str]:
    """Category by category: the mean share of runs that pass, before and after."""
    with (folder / "pass_rates.csv").open(encoding="utf-8") as file:
        rates = {row["id"]: (int(row["passed"]), int(row["judged"])) for row in csv.DictReader(file)}
    after = dict(rates)
    left_out, corrected = set(), set()
    for raw in gzip.decompress((folder / "seldom_passed.jsonl.gz").read_bytes()).splitlines():
        row = json.loads(raw)
        entry = data.entry(row["id"])
        if entry.verified == "excluded":
            left_out.add(entry.id)
            continue
        if entry.verified is None:
            continue
        corrected.add(entry.id)
        right = sum(passes(entry.verified, entry, each["output"]) for each in row["outputs"])
        after[entry.id] = (right, len(row["outputs"]))
    yield "| category | entries | excluded | corrected | runs that pass, official | verified |"
    yield "|---|---|---|---|---|---|"
    by_category: dict[str, list[str]] = defaultdict(list)
    for entry_id in rates:
        ref = data.find(entry_id)
        if ref is not None and rates[entry_id][1]:
            by_category[ref.category].append(entry_id)
    for name, ids in by_category.items():
        if not left_out & set(ids) and not corrected & set(ids):
            continue
        before = _mean(rates, ids)
        kept = [entry_id for entry_id in ids if entry_id not in left_out]
        counts = f"{len(left_out & set(ids))} | {len(corrected & set(ids))}"
        yield f"| {name} | {len(ids)} | {counts} | {before:.2%} | {_mean(after, kept):.2%} |"


def by_run(folder: Path, data: DataSet) -> Iterator[str]:
    """Run by run: how many of the seldom passed entries pass, and its rank; runs of one name are numbered."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys((*RULES, "judged", "left"), 0))
    for raw in gzip.decompress((folder / "seldom_passed.jsonl.gz").read_bytes()).splitlines():
        row = json.loads(raw)
        entry = data.entry(row["id"])
        verified = entry if entry.verified is None else entry.verified
        seen: Counter[str] = Counter()
        for each in row["outputs"]:
            seen[each["model"]] += 1
            name = each["model"].split("_snapshots")[0] + (
                f" ({seen[each['model']]})" if seen[each["model"]] > 1 else ""
            )
            told = counts[name]
            told["judged"] += 1
            told["official"] += passes(entry, entry, each["output"])
            told["corrected"] += passes(entry, entry, each["output"], corrected=True)
            if isinstance(verified, Entry):
                told["left"] += 1
                told["verified"] += passes(verified, entry, each["output"])
    share = {
        name: {"official": told["official"] / told["judged"], "corrected": told["corrected"] / told["judged"],
               "verified": told["verified"] / max(1, told["left"])}
        for name, told in counts.items() if told["judged"] > 100
    }  # fmt: skip
    yield from _ranked("run", share)


def _ranked(head: str, shares: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    ranks = {rules: sorted(shares, key=lambda name, rules=rules: -shares[name][rules]) for rules in RULES}
    yield f"| {head} | official | corrected | verified |"
    yield "|---|---|---|---|"
    for name in ranks["official"]:
        cells = (f"{shares[name][rules]:.2%} ({ranks[rules].index(name) + 1})" for rules in RULES)
        yield f"| {name} | {' | '.join(cells)} |"


def _mean(rates: Mapping[str, tuple[int, int]], ids: list[str]) -> float:
    return sum(rates[entry_id][0] / rates[entry_id][1] for entry_id in ids) / len(ids)


def passes(judged: Entry, entry: Entry, output: Any, *, corrected: bool = False) -> bool:
    """Whether a stored reply passes, read as text or as the calls it spells out."""
    text = output if isinstance(output, str) else json.dumps(output)
    line: dict[str, Any] = {"id": entry.id, "category": entry.category, "mode": "prompt", "output": text.strip()}
    if calls := _calls(text):
        line |= {"mode": "fc", "underscore_names": True, "output": calls}
    return judge(judged, transcript_from_line(line), rules="corrected" if corrected else "official").valid


def _calls(text: str) -> list[dict[str, str]]:
    """The calls of a reply written as JSON, in the shapes that occur in the archive."""
    found = []
    pieces = text.split("<tool_call>")[1:] or [text]
    for piece in pieces:
        try:
            value = json.loads(piece.replace("</tool_call>", "").strip())
        except ValueError:
            return []
        for call in value if isinstance(value, list) else [value]:
            if not isinstance(call, dict) or not call:
                return []
            name, arguments = next(iter(call.items()))
            if "name" in call:
                name, arguments = call["name"], call.get("arguments", call.get("parameters", {}))
            given = arguments if isinstance(arguments, str) else json.dumps(arguments)
            found.append({"name": str(name).replace(".", "_"), "arguments": given})
    return found


def recorded(folder: Path, data: DataSet) -> Iterator[str]:
    """Model by model: accuracy and rank under the three rule sets, over everything that was recorded."""
    scores: dict[str, dict[str, float]] = {}
    for path in sorted(folder.glob("*.jsonl.gz")):
        right, total = dict.fromkeys(RULES, 0), dict.fromkeys(RULES, 0)
        for raw in gzip.decompress(path.read_bytes()).splitlines():
            line = json.loads(raw)
            entry = data.entry(line["id"])
            spoken = transcript_from_line(line)
            both = judge_both(entry, spoken)
            told = {"official": both.official.valid, "corrected": both.corrected.valid}
            if entry.verified != "excluded":
                told["verified"] = both.official.valid
                if isinstance(entry.verified, Entry):
                    told["verified"] = judge(entry.verified, spoken).valid
            for rules, valid in told.items():
                right[rules] += valid
                total[rules] += 1
        scores[path.name.removesuffix(".jsonl.gz")] = {rules: right[rules] / total[rules] for rules in RULES}
    yield from _ranked("configuration", scores)


if __name__ == "__main__":
    main()
