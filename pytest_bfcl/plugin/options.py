"""Every option of the plugin, its ini key, and the plan that they define.

The table is `pytest_bfcl.run_options`. Precedence: command line, ini file, the project's table, profile, default. The
result is a `Plan`: plain values only, because xdist and ssh workers receive no environment variables and no files.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Generator, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from operator import or_
from typing import Any, NoReturn

import pytest

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.run_options import OPTIONS, TITLE, Option


def refuse_unknown(args: Sequence[str], names: Iterable[str]) -> None:
    """Raise `pytest.UsageError` for an unknown option that resembles ours, with the one that may be meant.

    ``names`` are those of our options, without ``--bfcl-``.
    """
    names = sorted(names)
    for name in named_options(args):
        asked = name.removeprefix("--bfcl").lstrip("-_")
        if name != f"--bfcl-{asked}" or asked not in names:
            from pytest_bfcl.failures import close_names
            from pytest_bfcl.run_options.refusals import written_here

            if other := written_here(f"--bfcl-{asked}"):
                raise pytest.UsageError(f"there is no option {name}; here: {other}")
            close = " or ".join(f"--bfcl-{each}" for each in close_names(asked, names))
            told = f"did you mean {close}?" if close else "pytest --bfcl-help lists all"
            raise pytest.UsageError(f"unknown option {name}; {told}")


def refuse_unknown_key(config: pytest.Config, key: str) -> NoReturn:
    """Raise `pytest.UsageError` for an unknown key of the configuration file that resembles ours."""
    from pytest_bfcl.failures import did_you_mean
    from pytest_bfcl.run_options import OPTIONS

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
    """Raise `pytest.UsageError` for our options without a model, as no entry would run. Options in configuration
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
    """Our options, or similar ones, on a command line."""
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
    with pytest_internals.users_mistakes():
        refusals.refuse_ineffective(typed, configured, config.invocation_params.dir)


HELP = "bfcl_help"
"""Destination of ``--bfcl-help``, which has no ini key."""


def add_options(parser: pytest.Parser) -> None:
    """Register the options, twelve of them shown by ``--help``, and the ini keys."""
    group = parser.getgroup("bfcl", TITLE)
    group.addoption("--bfcl-help", dest=HELP, nargs="?", const="", default=None, help=argparse.SUPPRESS)
    for option in OPTIONS:
        told = option.line.replace("%", "%%") if option.short else argparse.SUPPRESS
        attributes: Parsed = {"dest": option.key, "default": None, "help": told}
        if option.flag:
            attributes["action"] = "store_true"
        else:
            attributes["action"] = "append" if option.many else "store"
            attributes["metavar"] = option.metavar
        group.addoption(f"--bfcl-{option.name}", **attributes)
        _add_ini(parser, option)


def _add_ini(parser: pytest.Parser, option: Option) -> None:
    # pytest 9.2 lets native TOML files say 8 where an ini file says "8".
    kind: Any = "bool" if option.flag else "args" if option.many else reduce(or_, (str, int, float))
    try:
        parser.addini(option.key, option.help, type=kind, default=None)
    except (ValueError, AssertionError):
        parser.addini(option.key, option.help, default=None)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> Generator[None, Any, Any]:
    """Add the short ``--model`` last, so that a suite's own option keeps it; explain a misspelt option."""
    result = yield
    if names_ours(args):  # a session without our options pays nothing for it
        refuse_unknown(args, ["help", *(option.name for option in OPTIONS)])
    pytest_internals.add_first_unless_taken(
        parser, "--model", "bfcl", dest="bfcl_model", action="append", metavar="SPEC", help=OPTIONS[0].short
    )
    if any(str(each).partition("=")[0] in ("--model", "-model", "--models", "--bfcl-model") for each in args):
        refuse_others_words(parser, args, [option.name for option in OPTIONS])
    return result


def print_help(config: pytest.Config) -> bool:
    """Print the page of ``--bfcl-help``; returns whether the option was given. Raises `pytest.UsageError`."""
    asked = config.getoption(HELP, None)
    if asked is None:
        return False
    from pytest_bfcl.plain_text import say
    from pytest_bfcl.run_options.reading import help_page

    with pytest_internals.users_mistakes():
        say(help_page(asked))
    return True


def names_ours(args: Sequence[object]) -> bool:
    """Whether a command line has our options, or similar ones."""
    return any(str(each).startswith("--bfcl") for each in args)


def read(config: pytest.Config, option: Option) -> Any:
    """The option's converted value. Raises `pytest.UsageError` with option and value."""
    value = config.getoption(option.key, None)
    name = f"--bfcl-{option.name}"
    if value is None or value is False:
        ini = config.getini(option.key)
        if ini in (None, "", []):
            return _fallback(config, option)
        name = f"ini option {option.key}"
        value = ini if option.flag or option.many else str(ini)
        if not option.flag and not option.many:
            value = option.placed(str(ini), config.inipath.parent if config.inipath else config.rootpath)
    if option.flag or option.many:
        return value
    try:
        converted = option.convert(value)
    except ValueError as error:
        raise pytest.UsageError(f"{name}: {value!r} is not valid: {error}") from None
    return converted


def _fallback(config: pytest.Config, option: Option) -> Any:
    from pytest_bfcl.run_options.profiles import fallback_of

    profile = config.getoption("bfcl_profile", None) or config.getini("bfcl_profile")
    with pytest_internals.users_mistakes():
        return fallback_of(option, config.rootpath, str(profile) if profile else None)


def is_active(config: pytest.Config) -> bool:
    """Whether a model is given on the command line, in the ini file, or by the controller."""
    if getattr(config, "workerinput", {}).get("bfcl"):
        return True
    return bool(config.getoption("bfcl_model", None) or config.getini("bfcl_model"))


@dataclass(frozen=True, slots=True)
class Plan:
    """The options' meaning in plain values.

    ``ids`` are entry ids, read from ``ids_file`` by the controller; ``gates`` the fields of `GateOptions`.
    ``own_tests``: replies are recorded or replayed, which concerns own tests and adds no entries.
    """

    models: list[str]
    data: str
    categories: list[str]
    settings: Parsed
    ids_file: str | None = None
    ids: list[str] | None = None
    sample: int | None = None
    shard: list[int] | None = None
    dry_run: bool = False
    precision: float | None = None
    out: str | None = None
    report: str | None = None
    gates: Parsed = field(default_factory=dict)
    write_expected: str | None = None
    model_info: Parsed = field(default_factory=dict)
    own_tests: bool = False

    def to_dict(self) -> Parsed:
        """A copy that execnet can send."""
        return asdict(self)


def make_plan(config: pytest.Config) -> Plan:
    """Read every option. Raises `pytest.UsageError`."""
    from pytest_bfcl.run_options.reading import gates_of, model_info_of, settings_of
    from pytest_bfcl.run_options.table import unfolded

    values = {option.name: read(config, option) for option in OPTIONS}
    refuse_ineffective(config)
    with pytest_internals.users_mistakes():
        settings = settings_of(values)
        gates = gates_of(values)
    values = unfolded(values)
    return Plan(
        models=list(dict.fromkeys(values["model"] or [])),
        data=values["data"],
        categories=[name for text in values["categories"] or [] for name in text.replace(",", " ").split()],
        settings=settings.to_dict(),
        ids_file=values["ids"],
        sample=values["sample"],
        shard=values["shard"],
        dry_run=values["dry-run"],
        precision=values.get("sample.precision"),
        out=values["out"],
        report=values["report"],
        gates=asdict(gates),
        write_expected=values["write-expected"],
        model_info=model_info_of(values["model-info"]),
        own_tests=any(name.startswith("record") and value for name, value in values.items()),
    )
