"""Options people type who know bfcl-eval or other runners, and what is typed here; docs/how-to/from-bfcl-eval.md."""

from __future__ import annotations

from collections.abc import Sequence

OTHER_WORDS = {
    "--test-category": "-m CATEGORY, or --bfcl-categories NAMES",
    "--num-threads": "--bfcl-concurrency N",
    "--num-gpus": "--bfcl-serve-args '--tensor-parallel-size N', with --model vllm:NAME --bfcl-serve",
    "--gpu-memory-utilization": "--bfcl-serve-args '--gpu-memory-utilization X', with --bfcl-serve",
    "--backend": "--model vllm:NAME or sglang:NAME, with --bfcl-serve to have it started",
    "--skip-server-setup": "--bfcl-base-url URL of the server that runs",
    "--local-model-path": "--model vllm:PATH --bfcl-serve",
    "--enable-lora": "--bfcl-serve-args '--enable-lora --lora-modules NAME=PATH', with --model vllm:NAME --bfcl-serve",
    "--max-lora-rank": "--bfcl-serve-args '--max-lora-rank N', with --bfcl-serve",
    "--lora-modules": "--bfcl-serve-args '--lora-modules NAME=PATH', with --bfcl-serve",
    "--include-input-log": "nothing: every run keeps its requests (an entry's page shows them)",
    "--exclude-state-log": "nothing: states stand in the entries' pages alone (--bfcl-report index writes none)",
    "--run-ids": "--bfcl-ids test_case_ids_to_generate.json",
    "--result-dir": "--bfcl-out DIR",
    "--score-dir": "--bfcl-out DIR",
    "--allow-overwrite": "--bfcl-out with a new directory; an existing one is gone on with",
    "--partial-eval": "nothing: what did not run is said, and not counted",
    "--temperature": "--bfcl-temperature T",
    "--models": "--model SPEC, once for each",
    "--resume": "--bfcl-out DIR of the run to go on with",
    "--continue": "--bfcl-out DIR of the run to go on with",
    "--threads": "--bfcl-concurrency N",
    "--workers": "--bfcl-concurrency N (or pytest's -n N for processes)",
    "--limit": "--bfcl-sample N",
    "--subset": "--bfcl-sample N",
    "--wandb": "--bfcl-report wandb",
    "--api-key": "the environment variable of the provider (pytest-bfcl models lists them)",
    "--key": "the environment variable of the provider (pytest-bfcl models lists them)",
    "--verbose": "-v",
}
"""Option, without ``bfcl-`` → what to write instead, ready to follow "here:"."""


def written_here(option: str, ours: Sequence[str] = ()) -> str | None:
    """What to type instead of an option: of `OTHER_WORDS`, or one of ours without its ``bfcl-``; ``None``: unknown."""
    name = "--" + option.lstrip("-").removeprefix("bfcl-").replace("_", "-")
    if found := OTHER_WORDS.get(name):
        return found
    return f"--bfcl-{name[2:]}" if name[2:] in ours and not option.startswith("--bfcl-") else None
