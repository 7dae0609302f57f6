"""Every option of the plugin, its ini twin, and the plan they add up to.

One table names each option once; the command line wins over the ini file, the ini file over the default. The
result is a `Plan`: plain values only, so that it travels to xdist and ssh workers as it is (environment variables
and files on the controller's disk do not).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plugin import option_values as kinds
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.settings import APIS, REASONING_POLICIES, THINK

if TYPE_CHECKING:
    from pytest_bfcl.dataset.splits import Part
    from pytest_bfcl.settings import SplitPart


class Option(NamedTuple):
    """One row: ``--bfcl-<name>`` and the ini key ``bfcl_<name>`` (dashes become underscores)."""

    name: str
    help: str
    convert: Callable[[str], Any] = str
    default: Any = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    flag: bool = False
    file: bool = False

    @property
    def key(self) -> str:
        """Destination of the option and name of its ini twin."""
        return "bfcl_" + self.name.replace("-", "_")


OPTIONS: tuple[Option, ...] = (
    Option("model", "model under test, provider:name[@fc|@prompt]; repeatable; without it this plugin does nothing",
           metavar="SPEC", many=True),
    Option("data", "entries to run: auto (fetched official set, else bundled), bundled, official, verified, a folder "
           "in the official layout, or a .jsonl file of your own (write --bfcl-data=PATH: pytest takes PATH after a "
           "blank for a place to look for its configuration)", default="auto", metavar="SET"),
    Option("mode", "native calls (fc), calls written as text (prompt), or auto", default="auto",
           choices=("auto", "fc", "prompt")),
    Option("categories", "categories or groups, comma-separated; repeatable (default: all_scoring)", metavar="NAMES",
           many=True),
    Option("ids", "file of entry ids: one a line, or BFCL's test_case_ids_to_generate.json", metavar="FILE", file=True),
    Option("split", "run one part of a split that `pytest-bfcl split` wrote (default: its test part)",
           metavar="FILE[:train|:test]", file=True),
    Option("trained-on", "the split whose training part the models were trained on: such entries are marked",
           metavar="FILE", file=True),
    Option("concurrency", "requests in flight per process; auto: as many as the server takes, at most N (256)",
           kinds.concurrency, kinds.Concurrency(32), "N|auto[:N]"),
    Option("timeout", "seconds without a byte before a request is given up", kinds.decimal(0, above=True), 120.0,
           "SECONDS"),
    Option("retries", "how often a failed request is repeated", kinds.whole(0, 1_000), 5, "N"),
    Option("temperature", "sampling temperature; none lets the provider decide", kinds.temperature, 0.001, "T"),
    Option("max-tokens", "limit of a reply (default: the provider's)", kinds.whole(1), None, "N"),
    Option("base-url", "base URL of an OpenAI-compatible endpoint", metavar="URL"),
    Option("api", "wire format: chat completions, OpenAI's responses, text completions, Anthropic's messages (default: "
           "the provider's; responses at OpenAI's own address)", default=None, choices=APIS),
    Option("stream", "ask for server-sent events and measure the time to the first token", flag=True),
    Option("param", "a further field of every request, NAME=VALUE; VALUE is JSON, else text; null leaves the field "
           "out; repeatable", metavar="NAME=VALUE", many=True),
    Option("header", "an HTTP header of every request, 'NAME: VALUE'; no file shows the value; repeatable",
           metavar="'NAME: VALUE'", many=True),
    Option("reasoning", "reasoning of earlier replies in later requests: as the reference's handler sends it, always, "
           "or never", default="reference", choices=REASONING_POLICIES),
    Option("decoder", "format of calls that a server leaves in the text: a decoder's name, or auto (by the model's "
           "name)", kinds.decoder, None, "NAME|auto"),
    Option("think", "<think>…</think> in texts: as the model family's handler does, taken out, or left", default="auto",
           choices=THINK),
    Option("template", "render prompts here and ask for text completions: a model family's name, auto (by the model's "
           "name), or the file or folder with the model's own chat template", metavar="NAME|FILE|DIR"),
    Option("names", "native names in a replayed official result folder: with dots, with underscores, or as the calls "
           "prove it", default="auto", choices=("auto", "dots", "underscores")),
    Option("record", "own tests with the fixture ask: write the model's answers to this file", metavar="FILE",
           file=True),
    Option("replay", "own tests with the fixture ask: take the answers from this file, without a model", metavar="FILE",
           file=True),
    Option("serve", "start the engine the model names (vllm:, sglang:, llamacpp:, transformers:, ollama:) for this run",
           flag=True),
    Option("serve-args", "further arguments of the engine, quoted as for a shell", default="", metavar="ARGS"),
    Option("system-prompt", "file that replaces the prompting text (placeholder {functions}); such runs are not "
           "comparable", metavar="FILE", file=True),
    Option("repeat", "run every entry K times", kinds.whole(1, 10_000), 1, "K"),
    Option("sample", "run N entries in total, stratified by category", kinds.whole(1), None, "N"),
    Option("seed", "seed of --bfcl-sample", kinds.whole(0), 0, "N"),
    Option("shard", "run the I-th of N parts", kinds.shard, None, "I/N"),
    Option("budget", "stop when this much is spent", kinds.decimal(0), None, "USD"),
    Option("price", "USD per million tokens, 1,2 or in=1,out=2; goes before the list price", kinds.price, None,
           "IN,OUT"),
    Option("gpu-hour", "price of an hour of the machine that serves the model", kinds.decimal(0), None, "USD"),
    Option("model-info", "TOML file: display name, link, organisation, licence, prices", metavar="FILE", file=True),
    Option("dry-run", "print the expected calls, tokens and cost; send nothing", flag=True),
    Option("precision", "with --bfcl-dry-run: how many entries of each category so many points of precision take",
           kinds.decimal(0, 50, above=True), metavar="PTS"),
    Option("out", "run directory (default: reports/<time>-<model>); naming an existing run continues it",
           metavar="DIR"),
    Option("label", "what `pytest-bfcl leaderboard --history` calls this run: a commit, a version", default="",
           metavar="TEXT"),
    Option("report", "HTML report: none, index (summary and list), or full (a page for every entry, too; default, "
           "beyond 20,000 results index); pytest-bfcl report RUN writes it later", default=None,
           choices=("none", "index", "full")),
    Option("search", "where the web search comes from: auto, local, serpapi, record, replay, replay:RUN", kinds.search,
           "auto", "SOURCE"),
    Option("rest", "who answers the requests of retired categories: auto, local, live, record, replay, replay:PATH",
           kinds.rest, "auto", "SOURCE"),
    Option("transform", "put every entry otherwise too and show the drop: shuffle-tools, rename-tools, "
           "rename-parameters, distractors, enum-order, short-descriptions, whitespace, lower-case, upper-case, or a "
           ".jsonl of own words; repeatable", metavar="NAME", many=True),
    Option("mcp", "where the MCP server is that entries of your own name: NAME=COMMAND or NAME=URL; repeatable",
           metavar="NAME=WHERE", many=True),
    Option("simulators", "our own simulators, or those of an installed bfcl-eval", default="own",
           choices=("own", "reference")),
    Option("fail-under", "gate: fail when the group's accuracy in percent is lower; repeatable", metavar="GROUP=PCT",
           many=True),
    Option("baseline", "gate: fail when significantly worse than this run", metavar="RUN"),
    Option("baseline-margin", "loss against the baseline that is accepted, in percentage points",
           kinds.decimal(0, 100), 0.0, "PTS"),
    Option("noninferior", "gate: fail unless a loss against the baseline of more than so many points (1.5), or below "
           "so much of its score (97%), is ruled out; of one group: GROUP=1.5; repeatable", metavar="[GROUP=]PTS|PCT%",
           many=True),
    Option("expected", "file of entries expected to fail (xfail)", metavar="FILE", file=True),
    Option("write-expected", "write the failed entries to this file", metavar="FILE"),
    Option("max-errors", "errors allowed, in percent of the entries; beyond it no score is claimed",
           kinds.decimal(0, 100), 2.0, "PCT"),
    Option("allow-missing", "gates on categories that did not run are met", flag=True),
    Option("rules", "which rules give the headline verdict", default="official", choices=("official", "corrected")),
)  # fmt: skip


def add_options(parser: pytest.Parser) -> None:
    """Register the option group and the ini keys."""
    group = parser.getgroup("bfcl", "function-calling benchmark (pytest-bfcl)")
    for option in OPTIONS:
        attributes: Parsed = {"dest": option.key, "default": None, "help": _help(option).replace("%", "%%")}
        if option.flag:
            attributes["action"] = "store_true"
        else:
            attributes["action"] = "append" if option.many else "store"
            attributes["metavar"] = option.metavar
            attributes["choices"] = option.choices or None
        group.addoption(f"--bfcl-{option.name}", **attributes)
        _add_ini(parser, option)


def _help(option: Option) -> str:
    """What the option means, with its default where the words do not tell it."""
    if option.default in (None, "") or "default" in option.help:
        return option.help
    return f"{option.help} (default: {option.default})"


def _add_ini(parser: pytest.Parser, option: Option) -> None:
    # pytest 9.2 lets native TOML files say 8 where an ini file says "8".
    kind: Any = "bool" if option.flag else "args" if option.many else reduce(or_, (str, int, float))
    try:
        parser.addini(option.key, option.help, type=kind, default=None)
    except (ValueError, AssertionError):
        parser.addini(option.key, option.help, default=None)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> Generator[None, Any, Any]:
    """Add the short ``--model`` last, so that a suite which defines its own keeps it; say what a misspelt option is."""
    result = yield
    if names_ours(args):  # a session without our options pays nothing for it
        from pytest_bfcl.plugin.refusals import refuse_unknown

        refuse_unknown(args, [option.name for option in OPTIONS])
    pytest_internals.add_unless_taken(
        parser, "--model", "bfcl", dest="bfcl_model", action="append", metavar="SPEC", help="short for --bfcl-model"
    )
    return result


def names_ours(args: Sequence[object]) -> bool:
    """Whether a command line names options of ours, or nearly."""
    return any(str(each).startswith("--bfcl") for each in args)


def read(config: pytest.Config, option: Option) -> Any:
    """The option's value, converted; raises `pytest.UsageError` naming option and value."""
    value = config.getoption(option.key, None)
    name = f"--bfcl-{option.name}"
    if value is None or value is False:
        ini = config.getini(option.key)
        if ini in (None, "", []):
            return False if option.flag else option.default
        name = f"ini option {option.key}"
        value = ini if option.flag or option.many else str(ini)
        if option.file and not Path(str(ini)).is_absolute():
            value = str((config.inipath.parent if config.inipath else config.rootpath) / str(ini))
    if option.flag or option.many:
        return value
    try:
        converted = option.convert(value)
    except ValueError as error:
        raise pytest.UsageError(f"{name}: {value!r} does not fit: {error}") from None
    if option.choices and converted not in option.choices:
        raise pytest.UsageError(f"{name}: {value!r} is not one of {', '.join(option.choices)}")
    return converted


def is_active(config: pytest.Config) -> bool:
    """Whether a model is given, on the command line, in the ini file, or by the controller."""
    if getattr(config, "workerinput", {}).get("bfcl"):
        return True
    return bool(config.getoption("bfcl_model", None) or config.getini("bfcl_model"))


@dataclass(frozen=True, slots=True)
class Plan:
    """What the options ask for, in plain values. ``ids`` are entry ids, read from ``ids_file`` by the controller."""

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
    fail_under: list[str] = field(default_factory=list)
    baseline: str | None = None
    baseline_margin: float = 0.0
    noninferior: list[str] = field(default_factory=list)
    expected: Parsed | None = None
    write_expected: str | None = None
    allow_missing: bool = False
    model_info: Parsed = field(default_factory=dict)

    def to_dict(self) -> Parsed:
        """A copy that execnet can send."""
        return asdict(self)


def make_plan(config: pytest.Config) -> Plan:
    """Read every option; raises `pytest.UsageError`."""
    from pytest_bfcl.plugin.refusals import refuse_ineffective
    from pytest_bfcl.scoring.model_info import settings_by_model
    from pytest_bfcl.settings import Settings

    values = {option.name: read(config, option) for option in OPTIONS}
    refuse_ineffective(config)
    price, model_info = values["price"], _toml(values["model-info"])
    transforms, rewordings = _transforms(values["transform"] or ())
    settings = Settings.from_dict(
        {
            "mode": values["mode"], "concurrency": values["concurrency"].most,
            "paced": values["concurrency"].paced, "timeout_s": values["timeout"],
            "retries": values["retries"], "temperature": values["temperature"], "max_tokens": values["max-tokens"],
            "seed": values["seed"], "base_url": values["base-url"], "repeat": values["repeat"],
            "rules": values["rules"], "search": values["search"], "rest": values["rest"],
            "transforms": list(transforms), "rewordings": rewordings,
            "mcp": _pairs(values["mcp"], "mcp", kinds.server),
            "simulators": values["simulators"], "api": values["api"], "stream": values["stream"],
            "reasoning": values["reasoning"], "decoder": values["decoder"], "think": values["think"],
            "template": values["template"],
            "parameters": _pairs(values["param"], "param", kinds.parameter),
            "headers": _pairs(values["header"], "header", kinds.header),
            "models": settings_by_model(model_info, "--bfcl-model-info"),
            "max_errors_pct": values["max-errors"], "budget_usd": values["budget"], "gpu_hour_usd": values["gpu-hour"],
            "price": {"input": price[0], "output": price[1]} if price else {},
            "names": values["names"], "label": values["label"].strip()[:200],
            "split": _split(values["split"], "split", "test"),
            "trained_on": _split(values["trained-on"], "trained-on", "train"),
            "serve": values["serve-args"] if values["serve"] else None,
            "system_prompt": _text(values["system-prompt"], "system-prompt"),
        }
    )  # fmt: skip
    return Plan(
        models=list(dict.fromkeys(values["model"] or [])),
        data=values["data"],
        categories=[name for text in values["categories"] or [] for name in text.replace(",", " ").split()],
        settings=settings.to_dict(),
        ids_file=values["ids"],
        sample=values["sample"],
        shard=values["shard"],
        dry_run=values["dry-run"],
        precision=values["precision"],
        out=values["out"],
        report=values["report"],
        fail_under=list(values["fail-under"] or []),
        baseline=values["baseline"],
        baseline_margin=values["baseline-margin"],
        noninferior=list(values["noninferior"] or []),
        expected=_json(values["expected"], "expected"),
        write_expected=values["write-expected"],
        allow_missing=values["allow-missing"],
        model_info=model_info,
    )


def _pairs(texts: list[str] | None, option: str, read_pair: Callable[[str], tuple[str, Any]]) -> Parsed:
    """What a repeatable option says, by name; the last one of a name counts."""
    found: Parsed = {}
    for text in texts or []:
        try:
            name, value = read_pair(text)
        except ValueError as error:
            raise pytest.UsageError(f"--bfcl-{option}: {error}") from None
        found[name] = value
    return found


def _transforms(asked: Sequence[str]) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    if not asked:
        return (), {}
    from pytest_bfcl.dataset.transforms import read_transforms
    from pytest_bfcl.failures import UsageError

    try:
        return read_transforms(asked)
    except UsageError as error:
        raise pytest.UsageError(f"--bfcl-transform: {error}") from None


def _split(text: str | None, option: str, part: Part) -> SplitPart | None:
    if text is None:
        return None
    from pytest_bfcl.dataset.splits import read_part
    from pytest_bfcl.failures import UsageError

    try:
        split, chosen = read_part(text, part)
    except UsageError as error:
        raise pytest.UsageError(f"--bfcl-{option}: {error}") from None
    if option == "trained-on" and chosen != "train":
        raise pytest.UsageError(f"--bfcl-{option}: {text}: a model is trained on the training part; name FILE alone")
    return split.chosen(chosen)


def _text(path: str | None, option: str) -> str | None:
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise pytest.UsageError(f"--bfcl-{option}: cannot read {path}: {error}") from None


def _json(path: str | None, option: str) -> Any:
    import json

    text = _text(path, option)
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise pytest.UsageError(f"--bfcl-{option}: {path} is not JSON: {error}") from None


def _toml(path: str | None) -> Parsed:
    import tomllib

    text = _text(path, "model-info")
    try:
        return tomllib.loads(text) if text else {}
    except tomllib.TOMLDecodeError as error:
        raise pytest.UsageError(f"--bfcl-model-info: {path} is not TOML: {error}") from None
