"""What servers really say when something is wrong: each is read for what it is, and costs the other entries nothing."""

from __future__ import annotations

from tests.session.conftest import Bench

OPTIONS = ("--bfcl-retries=1", "--bfcl-concurrency=16", "--bfcl-max-errors=100", "-k", "simple_python")
PASSING = ("quota_words", "payment_words", "bad_gateway_page", "error_in_200")
LASTING = ("suspended", "forbidden_page", "not_found", "not_found_page", "bad", "error_in_200")
OVERFLOWS = ("openai", "vllm", "tgi", "groq", "tensorrt", "llamacpp")


def served(bench: Bench, *kinds: str, **more: int) -> list[str]:
    """Each kind of trouble has an entry of its own: their ids."""
    ids = [f"simple_python_{3 * number + 5}" for number, _ in enumerate(kinds)]
    bench.serve(*({"kind": kind, "ids": f"{name}$", **more} for name, kind in zip(ids, kinds, strict=True)))
    return ids


def test_passing_trouble_passes(bench: Bench, session) -> None:
    served(bench, *PASSING, first=1)
    session(*OPTIONS).assert_outcomes(passed=30, deselected=10)


def test_lasting_trouble_of_some_entries_is_theirs(bench: Bench, session) -> None:
    ids = served(bench, *LASTING)
    session(*OPTIONS).assert_outcomes(passed=24, errors=6, deselected=10)
    found = [bench.verdicts()[name] for name in ids]
    assert [(outcome, str(reason).partition(":")[0]) for outcome, reason in found] == [("error", "adapter")] * 6


def test_an_overflow_is_the_models_in_every_servers_words(bench: Bench, session) -> None:
    ids = served(bench, *(f"overflow_{server}" for server in OVERFLOWS))
    session(*OPTIONS).assert_outcomes(passed=24, failed=6, deselected=10)
    assert [bench.verdicts()[name] for name in ids] == [("failed", "reply:context_overflow")] * 6
