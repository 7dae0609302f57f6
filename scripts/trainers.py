"""The table of trainers in docs/training.md, from what ran: slow tests of the adapters, and the libraries' versions.

    BFCL_TRAINERS=… BFCL_VERL_INTERACTIONS=… python scripts/trainers.py [--junit RUN.xml]

Runs ``tests/extensions/training/test_libraries.py`` in its slow tier (`make slow` installs the Pythons that the
variables name), or reads the JUnit file of such a run. Every test of the file must be in `DOORS` and must have passed;
else nothing is written, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "training.md"
BEGIN, END = "<!-- trainers: begin -->", "<!-- trainers: end -->"
TESTS = "tests/extensions/training/test_libraries.py"
DOORS: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "TRL": ("`…trl`, `…trl_rollout` ([TRL](#trl))", ("trl", "transformers", "torch"), {
        "trl_takes_two_steps_with_the_reward_function": "two steps of GRPO with the reward function",
        "trl_takes_two_steps_on_prompts_with_native_tools": "two steps on prompts with native tools",
        "trl_takes_two_steps_through_environments": "two steps through environments",
        "trl_takes_two_steps_through_rollouts": "two steps through rollouts of the measured conversation",
        "every_example_runs[trl_reward.py]": "", "every_example_runs[trl_environments.py]": "",
    }),
    "verl": ("`…verl`, `.verl_loop`, `.verl_interaction` ([verl](#verl))", ("verl", "transformers", "torch"), {
        "verl_reads_our_rows_and_rewards_them": "its data set reads our rows, its reward manager rewards them",
        "verls_agent_loop_plays_episodes": "its agent loop plays episodes with a tiny tokenizer",
        "verl_takes_three_steps_through_its_agent_loop": "three steps of GRPO with its agent loop, advantages and FSDP "
        "worker, in one process and with sampling by transformers",
        "verls_interactions_play_episodes": "the interactions of 0.7.1 play every bundled entry",
        "every_example_runs[verl_rows.py]": "",
    }),
    "verifiers": ("`…verifiers` ([verifiers](#verifiers))", ("verifiers",), {
        "verifiers_evaluates_a_right_server": "its own evaluation against a server",
        "every_example_runs[verifiers_evaluation.py]": "",
    }),
    "SkyRL": ("`…skyrl` ([SkyRL](#skyrl))", ("skyrl", "skyrl-gym", "transformers", "torch"), {
        "skyrl_gym_plays_everything": "every bundled entry in its environment", "every_example_runs[skyrl_env.py]": "",
        "skyrl_takes_two_steps_through_its_generator": "two steps of GRPO with its data set, generator, trainer and "
        "policy worker, in one process and with sampling by transformers",
    }),
    "OpenEnv": ("`…openenv` ([OpenEnv](#openenv))", ("openenv",), {
        "openenv_serves_everything_and_bears_strangers": "every bundled entry over HTTP and sockets, hostile clients",
        "every_example_runs[openenv_server.py]": "",
    }),
}  # fmt: skip
"""Library → adapter, packages whose versions are shown, and what each of its tests does; examples say nothing."""
VERSIONS = """
import importlib.metadata as m, json, sys
found = {}
for name in sys.argv[1:]:
    try: found[name] = m.version(name)
    except m.PackageNotFoundError: pass
print(json.dumps(found))
"""


def passed(junit: Path) -> set[str]:
    """Names of the tests that passed, without ``test_``."""
    return {
        str(case.get("name")).removeprefix("test_") for case in ElementTree.parse(junit).iter("testcase")
        if not any(case.find(each) is not None for each in ("failure", "error", "skipped"))
    }  # fmt: skip


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """The versions in the first Python that has the library itself."""
    for python in filter(None, os.environ.get("BFCL_TRAINERS", "").split(os.pathsep)):
        done = subprocess.run([python, "-c", VERSIONS, *packages], capture_output=True, text=True, check=True)
        found: dict[str, str] = json.loads(done.stdout)
        if packages[0] in found:
            return found
    raise SystemExit(f"no Python with {packages[0]} in BFCL_TRAINERS")


def rows(ran: set[str]) -> list[str]:
    """The table. Raises `SystemExit` for a door that did not run whole."""
    lines = ["| library | adapter | versions | ran |", "|---|---|---|---|"]
    for library, (adapter, packages, tests) in DOORS.items():
        if missing := sorted({*tests} - ran):
            raise SystemExit(f"{library}: did not pass, so nothing is written: {', '.join(missing)}")
        told = ", ".join(f"{name} {number}" for name, number in versions(packages).items())
        lines.append(f"| {library} | {adapter} | {told} | {'; '.join(filter(None, tests.values()))}; its examples |")
    return lines


def main() -> None:
    """Run, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--junit", type=Path, help="a run of the slow tests, instead of running them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        junit = options.junit or Path(folder) / "run.xml"
        if options.junit is None:
            command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-m", "slow", TESTS, "--junitxml", str(junit)]
            subprocess.run(command, cwd=ROOT, check=False)
        ran = passed(junit)
    if unknown := ran - {"the_examples_are_all_there"} - {test for _, _, tests in DOORS.values() for test in tests}:
        raise SystemExit(f"no door has these tests: {', '.join(sorted(unknown))}")
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text("\n".join([f"{before}{BEGIN}", *rows(ran), f"{END}{after}"]), encoding="utf-8")


if __name__ == "__main__":
    main()
