"""Makes the `Settings` of a run from its options, and the pages of ``--bfcl-help`` (all, one group, one option)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_bfcl.failures import UsageError, of_option
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.run_options import values as kinds
from pytest_bfcl.run_options.table import GROUPS, OPTIONS, Option, unfolded
from pytest_bfcl.settings import Settings
from pytest_bfcl.spread_json import text_file, toml_file

if TYPE_CHECKING:
    from pytest_bfcl.scoring.gating import GateOptions
    from pytest_bfcl.selection.splits import Part
    from pytest_bfcl.settings import SplitPart


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The settings; ``values``: option (`pytest_bfcl.run_options.OPTIONS`) → its converted value. Raises `UsageError`
    that names the option.
    """
    from pytest_bfcl.run_options.profiles import profile_text
    from pytest_bfcl.scoring.model_info import settings_by_model

    profile = profile_text(values)
    values = unfolded(values)
    price, prompt_file = values["price"], values["system-prompt"]
    transforms, rewordings = _transforms(values["transform"] or ())
    found = _fields(values, "setting")
    if values["max-errors"] is None:  # gates tell one that was asked for from the default
        del found["max_errors_pct"]
    found |= {
        "concurrency": values["concurrency"].most,
        "paced": values["concurrency"].paced,
        "transforms": list(transforms),
        "rewordings": rewordings,
        "models": settings_by_model(model_info_of(values["model-info"]), "--bfcl-model-info"),
        "price": {"input": price[0], "output": price[1]} if price else {},
        **kinds.servers(found["mcp"]),
        "profile": profile,
        "split": _split(values["split"], "test"),
        "trained_on": _split(values.get("split.trained-on"), "train"),
        "serve": values["serve-args"] if values["serve"] else None,
        "system_prompt": None if prompt_file is None else _system_prompt(Path(prompt_file)),
    }
    return Settings.from_dict(found)


def gates_of(values: Mapping[str, Any]) -> GateOptions:
    """The gates that the options ask for. Raises `UsageError`."""
    from pytest_bfcl.scoring.expectations import read_expected
    from pytest_bfcl.scoring.gating import GateOptions

    found = _fields(unfolded(values), "gate")
    if found["expected"] is not None:
        found["expected"] = read_expected(found["expected"])
    counts = [text for text in found["fail_under"] if text.partition("=")[0].strip() == "n"]
    found["fail_under"] = [text for text in found["fail_under"] if text not in counts]
    try:
        found["min_entries"] = max((kinds.whole(1)(text.partition("=")[2]) for text in counts), default=None)
    except ValueError as error:
        raise UsageError(f"--bfcl-fail-under {counts[-1]}: {error}") from None
    if found["baseline"] is None and found.get("baseline_margin") is not None:
        raise UsageError(f"--bfcl-baseline: name the run: RUN,margin={found['baseline_margin']:g}")
    return GateOptions(**found)


def _fields(values: Mapping[str, Any], home: Literal["setting", "gate"]) -> Parsed:
    """Field of `Settings` or `GateOptions` → the value of the option, or of its part."""
    found = {field: _value(option, values[option.name]) for option in OPTIONS if (field := getattr(option, home))}
    for option in OPTIONS:
        if bool(option.gate) == (home == "gate"):
            told = {field: f"{option.name}.{part}" for part, field in option.parts.items()}
            found |= {field: values[key] for field, key in told.items() if key in values}
    return found


def _value(option: Option, value: Any) -> Any:
    """The value, for a repeatable option a list; of pairs, by name: the last one of a name counts."""
    if option.pair is None:
        return list(value or ()) if option.many else value
    found: Parsed = {}
    for text in value or ():
        try:
            name, told = option.pair(text)
        except ValueError as error:
            raise UsageError(f"--bfcl-{option.name}: {error}") from None
        found[name] = told
    return found


@of_option("system-prompt")
def _system_prompt(path: Path) -> str:
    text = text_file(path, "it takes the name of a file in UTF-8")
    if "{functions}" not in text:
        raise UsageError(f"{path} lacks {{functions}}, the place of the tools: a model would not see them")
    return text


def model_info_of(path: str | None) -> Parsed:
    """The content of the model information file. Raises `UsageError`."""
    with of_option("model-info"):
        return {} if path is None else toml_file(Path(path))


def _transforms(asked: Sequence[str]) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    if not asked:
        return (), {}
    from pytest_bfcl.dataset.transforms import read_transforms

    with of_option("transform"):
        return read_transforms(asked)


def _split(text: str | None, part: Part) -> SplitPart | None:
    """One part of a split; ``part`` is the default for a split that was trained on ``train`` alone."""
    if text is None:
        return None
    from pytest_bfcl.selection.splits import read_part

    with of_option("split"):
        split, chosen = read_part(text, part)
    if part == "train" and chosen != "train":
        raise UsageError(f"--bfcl-split trained-on={text}: a model is trained on the training part; name FILE alone")
    return split.chosen(chosen)


_INDENT = " " * 24


def help_page(asked: str, options: Sequence[Option] = OPTIONS, width: int = 100) -> str:
    """The page of a group, an option, ``all``, or (empty) of the groups. Raises `UsageError`."""
    asked = asked.removeprefix("--").removeprefix("bfcl-")
    if not asked:
        return _groups(options)
    named = [option for option in options if asked in ("all", option.group, option.name)]
    if not named:
        from pytest_bfcl.failures import instead_of

        words = [*GROUPS, *(option.name for option in options)]
        raise UsageError(f"--bfcl-help: there is no group or option {asked!r}; {instead_of(asked, words)}")
    return "\n".join(line for option in named for line in _lines(option, max(60, width)))


def _groups(options: Sequence[Option]) -> str:
    told = ["--bfcl-help GROUP shows the options of a group, --bfcl-help NAME one option, --bfcl-help all everything."]
    for group, about in GROUPS.items():
        names = ", ".join(option.name for option in options if option.group == group)
        told += [f"{group}: {about}", *textwrap.wrap(names, 96, initial_indent="  ", subsequent_indent="  ",
                                                     break_on_hyphens=False)]  # fmt: skip
    told.append("Each is --bfcl-NAME on the command line and bfcl_NAME in the ini file, with _ for -.")
    return "\n".join(told)


def _lines(option: Option, width: int) -> list[str]:
    values = option.metavar or ""
    about = option.help
    if option.default not in (None, "", False) and "default" not in about:
        about += f" (default: {option.default})"
    use = f"Use this when {option.use} (docs/{option.page}.md)."
    return [f"  --bfcl-{option.name} {values}".rstrip(), *_wrapped(about, width), *_wrapped(use, width)]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False)
