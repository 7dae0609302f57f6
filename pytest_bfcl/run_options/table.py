"""Every option of a run: its name, help, type, default and the setting that it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pytest_bfcl.run_options import values as kinds
from pytest_bfcl.settings import APIS, MOST_PAGES, REASONING_POLICIES, THINK, Settings

Group = Literal["entries", "requests", "running", "gates", "results"]
GROUPS: dict[Group, str] = {
    "entries": "the model and its entries",
    "requests": "how requests are made and replies read",
    "running": "speed, money and sources of a run",
    "gates": "what decides the exit code",
    "results": "the files a run writes",
}
"""The parts of ``--bfcl-help``."""
TITLE = "function-calling benchmark; --bfcl-help [GROUP] shows every option"
"""Headings over the options of ``--help``."""


class Option(NamedTuple):
    """One row: ``--bfcl-<name>`` and the ini key ``bfcl_<name>`` (dashes become underscores).

    ``pair`` reads the texts of a repeatable option into names and values. ``setting`` is the field of `Settings` that
    takes the value, ``gate`` that of `GateOptions`, ``parts`` the fields of its parts (`Parted`). ``file``: the value
    is a path; ``files``: the parts that are. Without ``needs`` it has no effect. ``short`` is its line in ``--help``,
    for the twelve that most runs need; ``--bfcl-help GROUP`` shows all. ``use`` ends the sentence "Use this when";
    ``page`` is the page of the documentation that explains it.
    """

    name: str
    help: str
    convert: Callable[[str], Any] = str
    default: Any = None
    metavar: str | None = None
    many: bool = False
    flag: bool = False
    file: bool = False
    pair: Callable[[str], tuple[str, Any]] | None = None
    setting: str = ""
    gate: str = ""
    parts: Mapping[str, str] = MappingProxyType({})
    files: tuple[str, ...] = ()
    needs: str = ""
    short: str = ""
    use: str = ""
    page: str = ""
    group: Group = "entries"

    @property
    def line(self) -> str:
        """The line of ``--help``, with the default."""
        return self.short if self.default in (None, "") else f"{self.short} (default: {self.default})"

    def placed(self, text: str, folder: Path) -> str:
        """The text, with relative paths resolved against the folder of its file."""
        head, parts = kinds.split_parts(text, getattr(self.convert, "parts", ()))
        paths = [str(folder / head) if head and self.file else head]
        paths += [f"{name}={folder / said if name in self.files else said}" for name, said in parts]
        return ",".join(each for each in paths if each)

    @property
    def asks_verdict(self) -> bool:
        """Whether it is a gate; a switch only changes other gates."""
        return bool(self.gate) and not self.flag

    @property
    def key(self) -> str:
        """Destination of the option and its ini key."""
        return "bfcl_" + self.name.replace("-", "_")


def _group(group: Group, *options: Option) -> Iterator[Option]:
    return (option._replace(group=group) for option in options)


_ELSE = Settings()
"""The defaults of options that are settings: only `Settings` has them."""

OPTIONS: tuple[Option, ...] = (
    *_group("entries",
    Option("model", "model to test, provider:name[@fc|@prompt]; repeatable; without it this plugin does nothing. "
           "Write --bfcl-model where a test suite has its own --model", metavar="SPEC", many=True,
           short="model to test, provider:name[@fc|@prompt]; repeatable",
           use="you want to measure a model", page="models"),
    Option("profile", "a named set of options: leaderboard, vllm-nightly, mlperf-edge, or FILE.toml; options on the "
           "command line override it", metavar="NAME|FILE.toml",
           use="several people or jobs must run with the same options", page="profiles"),
    Option("data", "entries to run: auto (the fetched official set, else the bundled one), bundled, official, "
           "verified, a folder in the official layout, or your own .jsonl file. Write --bfcl-data=PATH: after a blank "
           "pytest takes PATH for a test path", default="auto", metavar="SET",
           short="entries: auto, bundled, official, verified, a folder or a .jsonl file",
           use="a gate or a published score needs one fixed set, or you have entries of your own", page="running"),
    Option("categories", "categories or groups to run, separated by commas; repeatable (default: all_scoring)",
           metavar="NAMES", many=True, short="categories or groups, comma-separated; repeatable",
           use="you want one ability, or a group that no default run has", page="retired"),
    Option("ids", "file with the ids of the entries to run: one id a line, or BFCL's test_case_ids_to_generate.json; "
           "an unknown id stops the run", metavar="FILE", file=True,
           use="you want to repeat exactly these entries", page="gates"),
    Option("sample", "run N entries in total, spread over the categories by their size. schemas=N: number of tool "
           f"schemas that -m wire generates ({_ELSE.wire_schemas}). precision=PTS: a dry run prints how many "
           "entries of each category give an interval of this half width",
           kinds.PartedReader(kinds.whole(1), schemas=kinds.whole(0, 10_000),
                              precision=kinds.decimal(0, 50, above=True)),
           None, "N[,schemas=N][,precision=PTS]", parts={"schemas": "wire_schemas"},
           short="run N entries in total, stratified by category",
           use="a whole run takes too long or costs too much", page="gates"),
    Option("split", "run one part of a split that `pytest-bfcl new split` wrote (default: its test part); "
           "trained-on=FILE: a split whose training part the model was trained on; the run marks these entries",
           kinds.PartedReader(kinds.named, trained_on=kinds.named), metavar="[FILE[:train|:test]][,trained-on=FILE]",
           file=True, files=("trained-on",), use="you train on some entries and test on the others", page="splits"),
    Option("shard", "run part I of N; `pytest-bfcl merge` joins the parts", kinds.shard, None, "I/N",
           use="several machines share one run", page="scale"),
    Option("repeat", "run every entry K times", kinds.whole(1, 10_000), _ELSE.repeat, "K", setting="repeat",
           use="you want to know how much a score varies between runs", page="statistics"),
    Option("transform", "also run a changed copy of every entry and report the loss: shuffle-tools, rename-tools, "
           "rename-parameters, distractors, enum-order, short-descriptions, whitespace, lower-case, upper-case, or a "
           ".jsonl file of your own wordings; repeatable", metavar="NAME", many=True,
           use="you want to know if a model depends on the exact wording", page="robustness"),
    Option("mode", "fc: native calls; prompt: calls written as text; auto: native calls if the endpoint accepts them, "
           "else prompt. names=: spelling of names in replayed lines without it; auto infers it from the calls",
           kinds.PartedReader(kinds.one_of("auto", "fc", "prompt"), names=kinds.one_of("auto", "dots", "underscores")),
           _ELSE.mode, "auto|fc|prompt[,names=dots|underscores]", setting="mode", parts={"names": "names"},
           short="native calls (fc), calls as text (prompt), or auto",
           use="the model or its server handles only one of the two, or you compare both", page="models"),
    Option("seed", "seed of --bfcl-sample", kinds.whole(0), _ELSE.seed, "N", setting="seed",
           use="you want another sample of the same size", page="running"),
    ),
    *_group("requests",
    Option("base-url", "base URL of an OpenAI-compatible endpoint", metavar="URL", setting="base_url",
           short="base URL of an OpenAI-compatible endpoint",
           use="the model runs on your own server or gateway", page="models"),
    Option("api", "wire format: chat completions, OpenAI's Responses, text completions, Anthropic's Messages (default: "
           "the provider's; responses at OpenAI's own address)", convert=kinds.one_of(*APIS),
           metavar="|".join(APIS), setting="api", use="a server offers several APIs and you test one", page="models"),
    Option("param", "add a field to every request, NAME=VALUE; VALUE is JSON, else text; null removes the field; "
           "repeatable", metavar="NAME=VALUE", many=True, setting="parameters", pair=kinds.parameter,
           use="the provider has a parameter that no other option sets", page="models"),
    Option("header", "add an HTTP header to every request, 'NAME: VALUE'; no file of the run contains the value; "
           "repeatable", metavar="'NAME: VALUE'", many=True, setting="headers", pair=kinds.header,
           use="a gateway needs a tenant, a route or its own credential", page="models"),
    Option("temperature", "sampling temperature; none: send none, the provider's default applies", kinds.temperature,
           _ELSE.temperature, "T", setting="temperature", short="sampling temperature",
           use="a model refuses the default, or its vendor recommends another value", page="models"),
    Option("max-tokens", "limit of output tokens of a reply (default: the provider's); a reply cut here is an "
           "infrastructure error, not a failure of the model", kinds.whole(1), None, "N", setting="max_tokens",
           use="replies are cut, or too long", page="models"),
    Option("decoder", "format of calls that the server leaves in the text: a decoder's name, auto (by the model's "
           "name), or vllm:PARSER or sglang:PARSER of an installed engine", kinds.decoder, None, "NAME|auto",
           setting="decoder", use="the server has no tool-call parser for the model", page="formats"),
    Option("template", "render prompts here and send them as text completions: a model family's name, auto (by the "
           "model's name), or the file or folder with the model's own chat template", metavar="NAME|FILE|DIR",
           setting="template", use="you want to exclude the server's own chat template", page="formats"),
    Option("serve", "start the engine that the model names (vllm:, sglang:, llamacpp:, transformers:, ollama:) for "
           "this run; without it a server must be running", flag=True,
           use="no server is running yet", page="serving"),
    Option("serve-args", "arguments for the engine, quoted as in a shell", default="", metavar="ARGS",
           needs="serve", use="the engine needs a flag, such as a tool-call parser", page="serving"),
    Option("stream", "request server-sent events and measure the time to the first token", flag=True,
           setting="stream", use="your users stream, or a proxy drops long requests", page="models"),
    Option("reasoning", "whether later requests contain the reasoning of earlier replies: reference (as the reference "
           "handler does), keep, or drop", default=_ELSE.reasoning, convert=kinds.one_of(*REASONING_POLICIES),
           metavar="|".join(REASONING_POLICIES), setting="reasoning",
           use="a model needs its reasoning in later steps, or must not see it", page="formats"),
    Option("think", "thoughts in texts (<think>…</think>): auto separates them as the model's family marks them, strip "
           "removes them everywhere, keep leaves them", default=_ELSE.think, convert=kinds.one_of(*THINK),
           metavar="|".join(THINK), setting="think",
           use="the server has no reasoning parser for the model", page="formats"),
    Option("system-prompt", "file that replaces the prompting text (placeholder {functions}); such runs are not "
           "comparable with others", metavar="FILE", file=True, use="you develop a prompt", page="models"),
    Option("simulators", "own: the simulators of this package; reference: those of an installed bfcl-eval",
           default=_ELSE.simulators, convert=kinds.one_of("own", "reference"), metavar="own|reference",
           setting="simulators", use="you doubt that our simulators equal the reference's", page="simulators"),
    Option("mcp", "command or URL of an MCP server that your own entries name: NAME=COMMAND or NAME=URL; repeatable. "
           "{workdir} in a command is the directory of the trial. NAME.setup=COMMAND and NAME.teardown=COMMAND run "
           "there before and after each trial. Without this option such entries are skipped", metavar="NAME=WHERE",
           many=True, setting="mcp", pair=kinds.server,
           use="your entries call the tools of an MCP server", page="own-entries"),
    ),
    *_group("running",
    Option("concurrency", "requests in flight per process; auto: as many as the server handles, at most N (256). "
           f"agents=N: processes that run an agent:MODULE:FACTORY, one entry at a time each ({_ELSE.agent_workers}); "
           "0 runs them in this process",
           kinds.PartedReader(kinds.concurrency, agents=kinds.whole(0, 256)), kinds.Concurrency(_ELSE.concurrency),
           "N|auto[:N][,agents=N]", parts={"agents": "agent_workers"}, short="requests in flight",
           use="a run is slow, or a server refuses many requests", page="running"),
    Option("timeout", "seconds without a byte until a request fails; grace=SECONDS: how long the run waits for open "
           f"replies after Ctrl-C or SIGTERM ({_ELSE.grace_s:g})",
           kinds.PartedReader(kinds.decimal(0, above=True), grace=kinds.decimal(0)), _ELSE.timeout_s,
           "SECONDS[,grace=SECONDS]", setting="timeout_s", parts={"grace": "grace_s"},
           use="a model thinks for minutes before its first byte", page="running"),
    Option("retries", "how often a failed request is sent again; after that the entry is an infrastructure error",
           kinds.whole(0, 1_000), _ELSE.retries, "N", setting="retries",
           use="an endpoint is often overloaded, or you want faults at once", page="running"),
    Option("budget", "stop the run when it has cost this much; the same command resumes it", kinds.decimal(0), None,
           "USD", setting="budget_usd", use="a paid provider must not cost more than you planned", page="running"),
    Option("dry-run", "print the expected requests, tokens and cost; send nothing", flag=True,
           short="print expected calls, tokens and cost; send nothing",
           use="you want to know the price and what a run skips", page="running"),
    Option("search", "source of web searches: auto, local, serpapi, record, replay, replay:RUN; rest=SOURCE: who "
           "answers the requests of retired categories: auto, local, live, record, replay, replay:PATH. Without a "
           "source the run skips these categories and reports it",
           kinds.PartedReader(kinds.search, rest=kinds.rest), _ELSE.search, "SOURCE[,rest=SOURCE]", setting="search",
           parts={"rest": "rest"}, use="you want the Overall score, or searches that repeat", page="how-to/overall"),
    Option("record", "tests with the fixture ask: record models' replies and tools' results in FILE. replay=FILE: read "
           "them from FILE, without a model; a missing one fails the test. new=FILE: send only missing requests. "
           "prune=FILE: remove records that no test uses. ignore=POINTER (/messages/0/content, * for every item; "
           "repeatable): part of a request that is neither compared nor recorded",
           kinds.PartedReader(kinds.named, replay=kinds.named, new=kinds.named, prune=kinds.named, ignore=kinds.named),
           metavar="[replay=|new=|prune=]FILE[,ignore=POINTER]", file=True, files=("replay", "new", "prune"),
           use="your own tests must pass in CI without a model", page="own_tests"),
    Option("price", "USD per million tokens, 1,2 or in=1,out=2; overrides the list price", kinds.price, None,
           "IN,OUT", use="the list has no price for the model, or you pay another one", page="running"),
    Option("gpu-hour", "price of one hour of the machine that serves the model", kinds.decimal(0), None, "USD",
           setting="gpu_hour_usd", use="you serve the model yourself", page="running"),
    ),
    *_group("gates",
    Option("fail-under", "gate: fail when the accuracy of a group is lower, in percent; repeatable. entries=PCT or "
           "entries:GROUP=PCT: the plain share of passed entries. n=N: fail when a gate has fewer measured entries, "
           "unless these are all of its group", metavar="GROUP=PCT|n=N", many=True, gate="fail_under",
           short="gate: fail below this accuracy in percent; repeatable",
           use="a model must reach a fixed accuracy", page="gates"),
    Option("baseline", "gate: fail when the model is significantly worse than in this run; margin=PTS: accepted loss "
           "in percentage points",
           kinds.PartedReader(kinds.named, margin=kinds.decimal(0, 100)), metavar="RUN[,margin=PTS]", gate="baseline",
           parts={"margin": "baseline_margin"}, short="gate: fail when significantly worse than this run",
           use="a change must not make a model worse", page="gates"),
    Option("noninferior", "gate: fail unless the run rules out a loss of more than PTS points (1.5), or a score below "
           "PCT% (97%) of the baseline's; of one group: GROUP=1.5; repeatable. A gate that cannot pass at this number "
           "of entries is refused", metavar="[GROUP=]PTS|PCT%", many=True, gate="noninferior",
           use="you must show that a cheaper model or engine is as good", page="gates"),
    Option("verify", "gate: fail unless the server gives the same model as in this run; several runs measure the noise "
           "floor; repeatable", metavar="RUN", many=True, gate="verify",
           use="you check a provider's or an engine's serving of a model", page="verify"),
    Option("expected", "file of entries expected to fail (xfail); only other failures turn the run red",
           metavar="FILE", file=True, gate="expected", use="you want to see only new failures", page="gates"),
    Option("max-errors", "accepted infrastructure errors, in percent of the entries; beyond it the run claims no score "
           f"and every gate fails (default: {_ELSE.max_errors_pct:g})",
           kinds.decimal(0, 100), None, "PCT", setting="max_errors_pct", gate="max_errors",
           use="an endpoint fails often and you accept it", page="gates"),
    Option("rules", "rules of the headline verdict; every run reports both. steps=N: limit of steps in a turn. With "
           "another limit than the reference's 20 a run is not comparable with published scores",
           kinds.PartedReader(kinds.one_of("official", "corrected"), steps=kinds.whole(1, 1_000)), _ELSE.rules,
           "official|corrected[,steps=N]", setting="rules", parts={"steps": "step_limit"},
           use="you want scores without the known defects of the official rules", page="fidelity"),
    Option("write-expected", "write the failed entries to this file, for --bfcl-expected", metavar="FILE",
           use="you accept today's failures", page="gates"),
    Option("allow-missing", "leave categories that did not run out of the gates; without it a gate on them fails",
           flag=True, gate="allow_missing", use="a gate must pass without a search key or an extra", page="gates"),
    ),
    *_group("results",
    Option("out", "run directory (default: reports/<time>-<model>); an existing run is resumed",
           metavar="DIR", short="run directory; an existing run is resumed",
           use="you want a fixed place, or to resume a stopped run", page="running"),
    Option("report", "HTML report: none, index (summary and list), or full (also a page for every entry; default, "
           f"beyond {MOST_PAGES:,} results index; `pytest-bfcl export report RUN` writes it later). Add wandb, otel or "
           "another package's sink to send results during the run", kinds.report,
           metavar="none|index|full[,SINK…]", parts={"sinks": "sinks"},
           use="you need no pages, or follow runs in a tracker", page="exports"),
    Option("model-info", "TOML file: display name, link, organisation, licence, prices", metavar="FILE", file=True,
           use="tables and pages must show a model's name and price", page="models"),
    Option("board", "a published data_overall.csv: reports list its models too, marked as not measured in this run, "
           "each with the difference", metavar="FILE.csv", file=True, setting="board",
           use="you want to compare a run with the published leaderboard", page="gates"),
    ),
)  # fmt: skip


PYTESTS_OWN = frozenset(("record",))
"""Options of test sessions only: recordings of own tests."""


def unfolded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Option → its value without parts; and ``OPTION.PART`` → a given part."""
    found = dict(values)
    for option in OPTIONS:
        value = values[option.name]
        if isinstance(value, kinds.Parted):
            found[option.name] = option.default if value.value is None else value.value
            found |= {f"{option.name}.{name}": part for name, part in value.parts}
    return found


def of_run() -> tuple[Option, ...]:
    """The options that a run without pytest has, too."""
    return tuple(option for option in OPTIONS if option.name not in PYTESTS_OWN)
