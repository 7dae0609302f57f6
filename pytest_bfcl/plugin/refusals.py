"""Refused command lines: unknown options, options that need a model, options without effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

import pytest

from pytest_bfcl.failures import UsageError


def refuse_unknown(args: Sequence[str], names: Iterable[str]) -> None:
    """Raise `pytest.UsageError` for an unknown option that resembles ours, with the one that may be meant.

    ``names`` are those of our options, without ``--bfcl-``.
    """
    names = sorted(names)
    for name in named_options(args):
        asked = name.removeprefix("--bfcl").lstrip("-_")
        if name != f"--bfcl-{asked}" or asked not in names:
            from pytest_bfcl.run_options.refusals import written_here
            from pytest_bfcl.suggestions import close_names

            if other := written_here(f"--bfcl-{asked}"):
                raise pytest.UsageError(f"there is no option {name}; here: {other}")
            close = " or ".join(f"--bfcl-{each}" for each in close_names(asked, names))
            told = f"did you mean {close}?" if close else "pytest --bfcl-help lists all"
            raise pytest.UsageError(f"unknown option {name}; {told}")


def refuse_unknown_key(config: pytest.Config, key: str) -> NoReturn:
    """Raise `pytest.UsageError` for an unknown key of the configuration file that resembles ours."""
    from pytest_bfcl.run_options import OPTIONS
    from pytest_bfcl.suggestions import did_you_mean

    meant = did_you_mean(key, [option.key for option in OPTIONS]) or "pytest --bfcl-help lists the options"
    raise pytest.UsageError(f"{config.inipath}: unknown key {key!r}; {meant}")


def refuse_others_words(parser: pytest.Parser, args: Sequence[str], names: Iterable[str]) -> None:
    """Raise `pytest.UsageError` for options of bfcl-eval, and ours without ``bfcl-``, next to a model.

    Registered options of plugins and conftest files are accepted.
    """
    from pytest_bfcl.run_options.refusals import written_here

    if "-model" in args:  # pytest takes it for -m odel
        raise pytest.UsageError("-model selects the mark 'odel' (pytest's -m); write --model, with two dashes")
    _, unknown = parser.parse_known_and_unknown_args(list(args))
    for word in (each.partition("=")[0] for each in unknown if each.startswith("--")):
        if other := written_here(word, list(names)):
            raise pytest.UsageError(f"there is no option {word}; here: {other}")


def refuse_without_model(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for our options without a model, as nothing of ours would run. Options in configuration
    files (ini keys, ``addopts``) are accepted, and so is a recording, which replaces the model.
    """
    named = named_options(config.invocation_params.args)
    if re.search(r"(^|,)(replay|prune)=", config.getoption("bfcl_record") or ""):  # what is recorded needs no model
        named = [name for name in named if name != "--bfcl-record"]
    if named and not hasattr(config, "workerinput"):
        several = "are" if len(named) > 1 else "is"
        raise pytest.UsageError(
            f"{', '.join(named[:3])} {several} given, but no model: "
            "add --model provider:name (--model oracle: tries the set-up without one)"
        )


def named_options(args: Sequence[object]) -> list[str]:
    """Options of ours, or similar ones, on a command line."""
    texts = [str(each) for each in args]
    if "--" in texts:
        texts = texts[: texts.index("--")]
    return list(dict.fromkeys(text.partition("=")[0] for text in texts if text.startswith("--bfcl")))


def refuse_ineffective(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for typed options without effect."""
    from pytest_bfcl.run_options import OPTIONS, refusals

    typed = {option.name: config.getoption(option.key, None) for option in OPTIONS}
    configured = {option.name: value for option in OPTIONS if (value := config.getini(option.key))}
    gates = [f"--bfcl-{option.name}" for option in OPTIONS if option.asks_verdict and typed[option.name] is not None]
    if gates and config.option.collectonly:
        raise pytest.UsageError(f"--collect-only runs no entry, so no gate can be judged: leave out {gates[0]}")
    try:
        refusals.refuse_ineffective(typed, configured, config.invocation_params.dir)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
