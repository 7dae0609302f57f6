"""Nonsense in options: no value, and one message without a traceback."""

from __future__ import annotations

import pytest

from pytest_bfcl.run_options import OPTIONS
from pytest_bfcl.run_options import values as kinds

NONSENSE = [
    "concurrency=-1", "concurrency=1e3", "concurrency=99999999", "timeout=0", "timeout=-3", "timeout=nan",
    "timeout=inf", "retries=-1", "temperature=nan", "temperature=hot", "max-tokens=0", "shard=3/2", "shard=1/",
    "shard=-1/2", "sample=0", "seed=x", "price=x", "price=1,2,3", "price=nan", "price=-1", "budget=-1", "budget=nan",
    "gpu-hour=-1", "repeat=0", "max-errors=nan", "max-errors=101", "baseline=r,margin=x", "sample=3,schema=2",
    "sample=3,precision=0", "timeout=3,grace=-1", "concurrency=4,agents=x", "rules=official,steps=0", "mode=fc,names=x",
    "search=local,rest=x", "report=full,none", "report=,", "record=replay=", "split=trained-on=", "baseline=",
]  # fmt: skip
OPTION = {option.name: option for option in OPTIONS}


@pytest.mark.parametrize("option", NONSENSE)
def test_nonsense_is_no_value(option: str) -> None:
    """What is said of it under pytest: test_mistake_table.py."""
    name, _, text = option.partition("=")
    with pytest.raises(ValueError, match=" "):
        OPTION[name].convert(text)


@pytest.mark.parametrize("option", ["out=own.jsonl/below", "out=strange", "base-url=http://user:secretsecret@:bad"])
def test_a_place_that_cannot_be_is_one_message(pytester: pytest.Pytester, option: str) -> None:
    entry = '{"id": "irrelevance_1", "question": [[{"role": "user", "content": "x"}]], "function": []}\n'
    pytester.path.joinpath("own.jsonl").write_text(entry, encoding="utf-8")
    strange = pytester.mkdir("strange")
    strange.joinpath("run.json").write_text('{"dataset": 7}', encoding="utf-8")
    model = "openai:x" if option.startswith("base-url") else "oracle:"
    done = pytester.runpytest_inprocess("own.jsonl", "--model", model, f"--bfcl-{option}")
    printed = done.stdout.str() + done.stderr.str()
    assert done.ret == pytest.ExitCode.USAGE_ERROR, printed
    assert not any(each in printed for each in ("Traceback", "pluggy/", "secretsecret"))
    assert printed.count("ERROR: ") == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,2", [1.0, 2.0]), ("1/2", [1.0, 2.0]), ("out=3,in=2", [2.0, 3.0]), ("in=1;out=2", [1.0, 2.0])],
)
def test_prices(text: str, value: list[float]) -> None:
    assert kinds.price(text) == value


@pytest.mark.parametrize("text", ["1", "out=3", "1,2,3", "in=1,2", "nan,1", "-1,2"])
def test_a_price_names_input_and_output(text: str) -> None:
    with pytest.raises(ValueError, match="OUT"):
        kinds.price(text)
