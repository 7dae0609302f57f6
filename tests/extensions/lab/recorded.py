"""Everything recorded of the reference, judged again: the proof in docs/fidelity.md.

    python -m tests.extensions.lab.recorded -o docs/fidelity.md

`make proof` runs it where the recorded data are (``PYTEST_BFCL_GOLDEN``, else ``../shared/golden``) and the official
set is fetched. What counts as equal is what the tests of each room say.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.lab.official_folder import prove_folder
from pytest_bfcl.extensions.lab.proof import (
    CRASH,
    EVALUATED,
    FAILED_REQUEST,
    UNKNOWN,
    Cause,
    Difference,
    Part,
    proof_markdown,
)
from pytest_bfcl.rescoring import open_data, score_lines
from pytest_bfcl.runs.replay_lines import entry_from_line, transcript_from_line

REPOSITORY = Path(__file__).resolve().parents[3]
ABOUT = (
    "Made by `make proof`: every recorded output, conversation and reply is judged, played or decoded again and "
    "compared with what the reference (bfcl-eval 2026.3.23, unless said otherwise) made of it. "
    "`pytest-bfcl score prove FOLDER` does the same for the `result/` and `score/` folders of anyone's BFCL run.",
    "Equal means: the same verdict, error type and error types of every tried call, and in conversations the same "
    "turn. For simulators it means every result and state except free wording, for replies the decoded calls in every "
    "notation, for prompts and score tables every byte. [The exceptions](#the-exceptions) have letters (a) to (d).",
)
OLD_HANDLER = Cause(
    "handler of 2024",
    "Verdicts of August 2024, by handlers that are gone: one did not put brackets around a bare call, one refused "
    "calls with an object by position ([retired.md](retired.md)).",
)
GRAMMAR = Cause(
    "grammar", "A current JavaScript grammar refuses texts that an older one read as JSX or as a template call."
)
REFUSAL = Cause("refusal", "Nexus: the reference parses before it looks for the word of refusal, we after.")
EMPTY_TEXT = Cause("empty text", "Gemini's handler returns an empty text without a call; here that is no call.")

Lines = Iterable[dict[str, Any]]


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a recorded file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


class Recorded:
    """The recorded data and the official set."""

    def __init__(self, folder: Path, data: DataSet) -> None:
        self.folder = folder
        self.data = data
        self._held: dict[str, Entry] = {}

    def entry(self, line: dict[str, Any]) -> Entry:
        """The line's own question, or that of its id."""
        own = entry_from_line(line)
        if own is not None:
            return own
        if line["id"] not in self._held:
            self._held[line["id"]] = self.data.entry(line["id"])
        return self._held[line["id"]]

    def parts(self) -> Iterator[Part]:
        """Everything, part by part."""
        for make in PARTS:
            yield from make(self)


def verdicts(name: str, compared: str, lines: Lines, recorded: Recorded) -> Part:
    """Recorded verdicts with error types, and ours."""
    part = Part(name, compared)
    for line in lines:
        entry = recorded.entry(line)
        verdict = judge(entry, transcript_from_line({**line, "category": entry.category}))
        crashed = line.get("reference_raises") or str(line["error_type"]).startswith("reference_crash")
        wanted = line["error_type"] or ("a crash" if crashed else "passed")
        here = "passed" if verdict.valid else str(verdict.reason)
        tried = list(verdict.detail.get("sub_error_types", [])) == line.get("sub_error_types", [])
        part.lines += 1
        if (verdict.valid, here) == (line["valid"], wanted) and tried:
            continue
        cause = UNKNOWN
        if crashed and verdict.outcome == "failed":
            cause = CRASH
        elif here.endswith(":inference_error") and not line["valid"]:
            cause = FAILED_REQUEST
        where = f"{line['config']} {line['id']}" if "config" in line else str(line["id"])
        part.differences.append(Difference(where, wanted, here, cause))
    return part


TRIED = "verdict, error types of every call tried"


def worked_examples(recorded: Recorded) -> Iterator[Part]:
    """Of the checker's rules; one of them runs code in the reference."""
    part = verdicts("worked examples of the rules", TRIED, read(recorded.folder.parent / "spec" / "ast_examples.jsonl"),
                    recorded)  # fmt: skip
    part.differences = [
        each._replace(cause=EVALUATED) if each.where == "ast_021" else each for each in part.differences
    ]
    yield part


def outputs(recorded: Recorded) -> Iterator[Part]:
    """Real and mutated outputs."""
    files = sorted((recorded.folder / "real_outputs").glob("*.jsonl.gz"))
    lines = ({**line, "config": path.name.removesuffix(".jsonl.gz")} for path in files for line in read(path))
    yield verdicts(f"real outputs of {len(files)} models, 7 categories", TRIED, lines, recorded)
    yield verdicts("mutated answers, all single-turn categories", TRIED, read(recorded.folder / "ast_fuzz.jsonl.gz"),
                   recorded)  # fmt: skip
    yield verdicts("outputs of sql", TRIED, read(recorded.folder / "sql_outputs.jsonl.gz"), recorded)


def executed(recorded: Recorded) -> Iterator[Part]:
    """Outputs of the retired executable categories that need no network."""
    part = Part("outputs of the exec categories, verdicts of 2024", "verdict and error type")
    lines = list(read(recorded.folder / "exec_outputs.jsonl.gz"))
    offline = [line for line in lines if line["offline"]]
    for line, verdict in zip(offline, score_lines(offline, recorded.data), strict=True):
        part.lines += 1
        here = "passed" if verdict["valid"] else str(verdict["reason"])
        wanted = "passed" if line["valid"] else str(line["error_type"])
        if here != wanted:
            bare = wanted == "executable_decoder:decoder_failed" and not line["output"].strip().startswith("[")
            by_position = not line["valid"] and ("({" in line["output"] or "([" in line["output"])
            cause = OLD_HANDLER if bare or by_position else UNKNOWN
            part.differences.append(Difference(f"{line['config']} {line['id']}", wanted, here, cause))
    part.notes.append(f"{len(lines) - len(offline):,} more outputs need network services of 2024 and are not judged")
    yield part


def conversations(recorded: Recorded) -> Iterator[Part]:
    """Mutated multi-turn conversations."""
    part = Part("mutated conversations", "verdict, error type, turn")
    for line in read(recorded.folder / "multi_turn_mutations.jsonl"):
        transcript = transcript_from_line({key: line[key] for key in ("id", "category", "trajectory")})
        verdict = judge(recorded.entry({"id": line["id"]}), transcript)
        here = (verdict.valid, verdict.reason, verdict.detail.get("turn"))
        wanted = (line["valid"], line["error_type"], line["failed_turn"])
        part.lines += 1
        if here != wanted:
            where = f"{line['id']} {line['mutation']}"
            part.differences.append(Difference(where, str(wanted), str(here), UNKNOWN))
    yield part


def simulators(recorded: Recorded) -> Iterator[Part]:
    """Recorded call sequences of the simulated systems and the memories."""
    from tests.simulators.trace_comparison import CLASSES, memory_problems, read_traces, trace_problems

    part = Part("call sequences of simulated systems", "results and states")
    path = recorded.folder / "simulator_traces.jsonl"
    found: list[tuple[str, str]] = []
    for name in CLASSES:
        part.lines += sum(len(line["calls"]) for line in read_traces(path, name))
        for long_context in (False, True):
            texts = recorded.data.texts.long_context if long_context else None
            problems = trace_problems(recorded.folder, name, long_context=long_context, texts=texts)
            found += [(name, problem) for problem in problems]
    for backend in ("kv", "vector", "rec_sum"):
        part.lines += sum(len(line["calls"]) for line in read_traces(path, f"MemoryAPI_{backend}"))
        found += [(f"MemoryAPI_{backend}", problem) for problem in memory_problems(recorded.folder, backend)]
    part.differences = [Difference(name, problem, "see there", UNKNOWN) for name, problem in found]
    yield part


def replies(recorded: Recorded) -> Iterator[Part]:
    """Raw replies in models' own formats."""
    from pytest_bfcl.extensions.formats.family import read_reply
    from pytest_bfcl.transcript import Reply
    from tests.extensions.formats.recorded_formats import differences, family, native_reply, rows

    texts = Part("raw replies in models' own formats", "decoded calls in six notations")
    native = Part("native replies", "decoded calls in six notations")
    reasons = {"ast_javascript": GRAMMAR, "ast_java": REFUSAL, "ast": REFUSAL}
    for number, record in enumerate(rows(recorded.folder)):
        where = f"{record['family']} {number}"
        if "text" in record:
            row = family(record["family"])
            said = read_reply(record["text"], row)
            texts.lines += 1
            odd = differences(record, Reply(text=said.answer, reasoning=said.reasoning), row)
            if odd:
                cause = reasons.get(odd[0], UNKNOWN) if len(odd) == 1 else UNKNOWN
                texts.differences.append(Difference(where, ", ".join(odd), "other calls", cause))
        elif (reply := native_reply(record)) is not None:
            native.lines += 1
            if odd := differences(record, reply, family(record["family"])):
                cause = EMPTY_TEXT if record["family"] == "api_gemini_fc" else UNKNOWN
                native.differences.append(Difference(where, ", ".join(odd), "other calls", cause))
    yield texts
    yield native


def prompts(recorded: Recorded) -> Iterator[Part]:
    """Every prompt of recorded conversations of self-hosted families."""
    from pytest_bfcl.extensions.formats.family import TEMPLATES, Family
    from pytest_bfcl.fetching.official import fetched_folder
    from pytest_bfcl.fetching.texts import FormatTexts
    from pytest_bfcl.formats.table import FORMATS
    from tests.extensions.formats.recorded_formats import Conversation

    part = Part("prompts of self-hosted families", "every prompt of a conversation, byte for byte")
    texts = FormatTexts.beside(fetched_folder())
    for record in read(recorded.folder / "formats" / "prompts.jsonl.gz"):
        row = FORMATS[record["family"][4:].replace("_", "-")]
        ours = Conversation(record, Family(row, TEMPLATES[row.template], texts), recorded.data.texts).hold()
        part.lines += 1
        if ours != [query["prompt"] for query in record["queries"]]:
            where = f"{record['family']} {record['conversation']}"
            part.differences.append(Difference(where, "prompts", "other prompts", UNKNOWN))
    yield part


def tables(recorded: Recorded) -> Iterator[Part]:
    """The leaderboard's CSV files of complete, partial, re-scored and rebuilt runs."""
    from pytest_bfcl.extensions.boards.official_csv import write_csvs
    from tests.scoring.golden import CASES, Golden

    golden = Golden(recorded.folder)
    part = Part(f"leaderboard tables of {len(CASES)} cases", "CSV files, byte for byte")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            for path in write_csvs(golden.case(case), Path(folder) / case, official=True):
                part.lines += 1
                if path.read_bytes() != (golden.folder / "csv" / case / path.name).read_bytes():
                    part.differences.append(Difference(f"{case} {path.name}", "bytes", "other bytes", UNKNOWN))
    yield part


def folders(recorded: Recorded) -> Iterator[Part]:
    """Complete public V4 runs in the official layout."""
    for path in sorted((recorded.folder / "v4_runs").glob("*.tar.gz")):
        with tempfile.TemporaryDirectory() as folder, tarfile.open(path) as packed:
            packed.extractall(folder, filter="data")
            name = path.name.removesuffix(".tar.gz")
            found = prove_folder(Path(folder), recorded.data)
            part = Part(f"V4 run {name}, {len(found)} categories", "verdict and error type")
            for each in found:
                part.lines += each.lines
                part.differences += each.differences
                part.notes += each.notes
            yield part


PARTS: tuple[Callable[[Recorded], Iterator[Part]], ...] = (
    worked_examples, outputs, folders, conversations, executed, simulators, replies, prompts, tables,
)  # fmt: skip


def text_of(parts: Iterable[Part]) -> str:
    """The page."""
    return re.sub(r"^#", "##", proof_markdown(list(parts), "Proof", ABOUT), flags=re.MULTILINE)


BEGIN, END = "<!-- proof: begin -->\n", "<!-- proof: end -->"


def written(page: str) -> tuple[str, str, str]:
    """What stands before the proof in the page, the proof, and what follows it."""
    before, _, rest = page.partition(BEGIN)
    proof, _, after = rest.partition(END)
    return before, proof, after


def main() -> int:
    """Write the page, or say that it is not the committed one; 1 where something is not explained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=REPOSITORY / "docs" / "fidelity.md")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when the page would be another one")
    args = parser.parse_args()
    folder = Path(os.environ.get("PYTEST_BFCL_GOLDEN") or REPOSITORY.parent / "shared" / "golden")
    if not folder.is_dir():
        print("no recorded data here: nothing is proved (set PYTEST_BFCL_GOLDEN)", file=sys.stderr)
        return 0 if args.check else 2
    parts = list(Recorded(folder, open_data("official")).parts())
    text = text_of(parts)
    odd = [each for part in parts for each in part.unexplained]
    counts = Counter(each.cause.name for part in parts for each in part.differences)
    lines, equal = sum(part.lines for part in parts), sum(part.equal for part in parts)
    print(f"{equal:,} of {lines:,} equal; exceptions: {dict(counts)}; not explained: {len(odd)}")
    before, proof, after = written(args.output.read_text(encoding="utf-8"))
    if args.check:
        if text != proof:
            print(f"{args.output.name} is not what `make proof` writes now: run it and commit the page")
            return 1
    else:
        args.output.write_text(f"{before}{BEGIN}{text}{END}{after}", encoding="utf-8")
    return 1 if odd else 0


if __name__ == "__main__":
    sys.exit(main())
