"""Every option of a run: its name, what it means, what its text may be, its default and where its value goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pytest_bfcl.run_options import values as kinds
from pytest_bfcl.settings import APIS, MOST_PAGES, REASONING_POLICIES, THINK, Settings

Group = Literal["entries", "asking", "running", "gates", "results"]
GROUPS: dict[Group, str] = {
    "entries": "the model, and which entries it is asked",
    "asking": "how it is asked",
    "running": "the run",
    "gates": "what has to be reached",
    "results": "what is written",
}
"""The parts of ``--bfcl-help``."""
TITLE = "function-calling benchmark; --bfcl-help [GROUP] shows every option"
"""Over the options of ``--help``."""


class Option(NamedTuple):
    """One row: ``--bfcl-<name>`` and the ini key ``bfcl_<name>`` (dashes become underscores).

    ``pair`` reads the texts of a repeatable option into names and values. ``setting`` is the field of `Settings` that
    takes the value, ``gate`` that of `GateOptions`, ``parts`` the fields of what is written behind it (`Parted`), part
    by part. ``file``: the value is a path; ``files``: the parts that are. Without ``needs`` it would do nothing.
    ``short`` is its line in ``--help``, for the twelve that most runs need; ``--bfcl-help GROUP`` shows all.
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
    group: Group = "entries"

    @property
    def line(self) -> str:
        """The line of ``--help``, with the default."""
        return self.short if self.default in (None, "") else f"{self.short} (default: {self.default})"

    def placed(self, text: str, folder: Path) -> str:
        """The text, with paths in it counted from the folder of the file it stands in."""
        head, parts = kinds.split_parts(text, getattr(self.convert, "parts", ()))
        paths = [str(folder / head) if head and self.file else head]
        paths += [f"{name}={folder / said if name in self.files else said}" for name, said in parts]
        return ",".join(each for each in paths if each)

    @property
    def asks_verdict(self) -> bool:
        """Whether it is a gate; a switch only changes what gates look at."""
        return bool(self.gate) and not self.flag

    @property
    def key(self) -> str:
        """Destination of the option and its ini key."""
        return "bfcl_" + self.name.replace("-", "_")


def _group(group: Group, *options: Option) -> Iterator[Option]:
    return (option._replace(group=group) for option in options)


_ELSE = Settings()
"""The defaults, where an option is a setting: they stand in `Settings` only."""

OPTIONS: tuple[Option, ...] = (
    *_group("entries",
    Option("model", "model under test, provider:name[@fc|@prompt]; repeatable; without it this plugin does nothing "
           "(--bfcl-model where a suite has its own --model)", metavar="SPEC", many=True,
           short="model to test, provider:name[@fc|@prompt]; repeatable"),
    Option("profile", "options under one name: leaderboard, vllm-nightly, mlperf-edge, or FILE.toml; what is given "
           "besides counts first", metavar="NAME|FILE.toml"),
    Option("data", "entries to run: auto (fetched official set, else bundled), bundled, official, verified, a folder "
           "in the official layout, or a .jsonl file of your own (write --bfcl-data=PATH: pytest takes PATH after a "
           "blank for a place to look for its configuration)", default="auto", metavar="SET",
           short="entries: auto, bundled, official, verified, a folder or a .jsonl file"),
    Option("categories", "categories or groups, comma-separated; repeatable (default: all_scoring)", metavar="NAMES",
           many=True,
           short="categories or groups, comma-separated; repeatable"),
    Option("ids", "file of entry ids: one a line, or BFCL's test_case_ids_to_generate.json", metavar="FILE", file=True),
    Option("sample", "run N entries in total, stratified by category; schemas=N: tool schemas that -m wire generates "
           f"({_ELSE.wire_schemas}); precision=PTS: --bfcl-dry-run says how many entries of each category that takes",
           kinds.PartedReader(kinds.whole(1), schemas=kinds.whole(0, 10_000),
                              precision=kinds.decimal(0, 50, above=True)),
           None, "N[,schemas=N][,precision=PTS]", parts={"schemas": "wire_schemas"},
           short="run N entries in total, stratified by category"),
    Option("split", "run one part of a split that `pytest-bfcl new split` wrote (default: its test part); "
           "trained-on=FILE: the split whose training part the models were trained on, such entries are marked",
           kinds.PartedReader(kinds.named, trained_on=kinds.named), metavar="[FILE[:train|:test]][,trained-on=FILE]",
           file=True, files=("trained-on",)),
    Option("shard", "run the I-th of N parts", kinds.shard, None, "I/N"),
    Option("repeat", "run every entry K times", kinds.whole(1, 10_000), _ELSE.repeat, "K", setting="repeat"),
    Option("transform", "put every entry otherwise too and show the drop: shuffle-tools, rename-tools, "
           "rename-parameters, distractors, enum-order, short-descriptions, whitespace, lower-case, upper-case, or a "
           ".jsonl of own words; repeatable", metavar="NAME", many=True),
    Option("mode", "native calls (fc), calls written as text (prompt), or auto; names: how replayed lines that do not "
           "say it write native names, auto as their calls prove it",
           kinds.PartedReader(kinds.one_of("auto", "fc", "prompt"), names=kinds.one_of("auto", "dots", "underscores")),
           _ELSE.mode, "auto|fc|prompt[,names=dots|underscores]", setting="mode", parts={"names": "names"},
           short="native calls (fc), calls as text (prompt), or auto"),
    Option("seed", "seed of --bfcl-sample", kinds.whole(0), _ELSE.seed, "N", setting="seed"),
    ),
    *_group("asking",
    Option("base-url", "base URL of an OpenAI-compatible endpoint", metavar="URL", setting="base_url",
           short="base URL of an OpenAI-compatible endpoint"),
    Option("api", "wire format: chat completions, OpenAI's responses, text completions, Anthropic's messages (default: "
           "the provider's; responses at OpenAI's own address)", convert=kinds.one_of(*APIS),
           metavar="|".join(APIS), setting="api"),
    Option("param", "a further field of every request, NAME=VALUE; VALUE is JSON, else text; null leaves the field "
           "out; repeatable", metavar="NAME=VALUE", many=True, setting="parameters", pair=kinds.parameter),
    Option("header", "an HTTP header of every request, 'NAME: VALUE'; no file shows the value; repeatable",
           metavar="'NAME: VALUE'", many=True, setting="headers", pair=kinds.header),
    Option("temperature", "sampling temperature; none lets the provider decide", kinds.temperature,
           _ELSE.temperature, "T", setting="temperature",
           short="sampling temperature"),
    Option("max-tokens", "limit of a reply (default: the provider's)", kinds.whole(1), None, "N",
           setting="max_tokens"),
    Option("decoder", "format of calls that a server leaves in the text: a decoder's name, auto (by the model's "
           "name), or vllm:PARSER, sglang:PARSER of an installed engine", kinds.decoder, None, "NAME|auto",
           setting="decoder"),
    Option("template", "render prompts here and ask for text completions: a model family's name, auto (by the model's "
           "name), or the file or folder with the model's own chat template", metavar="NAME|FILE|DIR",
           setting="template"),
    Option("serve", "start the engine the model names (vllm:, sglang:, llamacpp:, transformers:, ollama:) for this run",
           flag=True),
    Option("serve-args", "further arguments of the engine, quoted as for a shell", default="", metavar="ARGS",
           needs="serve"),
    Option("stream", "ask for server-sent events and measure the time to the first token", flag=True,
           setting="stream"),
    Option("reasoning", "reasoning of earlier replies in later requests: as the reference's handler sends it, always, "
           "or never", default=_ELSE.reasoning, convert=kinds.one_of(*REASONING_POLICIES),
           metavar="|".join(REASONING_POLICIES), setting="reasoning"),
    Option("think", "thoughts in texts (<think>…</think>): parted as the model's family marks them, taken out "
           "everywhere, or left", default=_ELSE.think, convert=kinds.one_of(*THINK), metavar="|".join(THINK),
           setting="think"),
    Option("system-prompt", "file that replaces the prompting text (placeholder {functions}); such runs are not "
           "comparable", metavar="FILE", file=True),
    Option("simulators", "our own simulators, or those of an installed bfcl-eval", default=_ELSE.simulators,
           convert=kinds.one_of("own", "reference"), metavar="own|reference", setting="simulators"),
    Option("mcp", "where the MCP server is that entries of your own name: NAME=COMMAND or NAME=URL; {workdir} in a "
           "command is the trial's own directory; NAME.setup=COMMAND and NAME.teardown=COMMAND run there before and "
           "after each trial; repeatable", metavar="NAME=WHERE", many=True, setting="mcp", pair=kinds.server),
    ),
    *_group("running",
    Option("concurrency", "requests in flight per process; auto: as many as the server takes, at most N (256); "
           f"agents=N: processes that play an agent:MODULE:FACTORY, each one entry at a time ({_ELSE.agent_workers}), "
           "0: this process plays them all",
           kinds.PartedReader(kinds.concurrency, agents=kinds.whole(0, 256)), kinds.Concurrency(_ELSE.concurrency),
           "N|auto[:N][,agents=N]", parts={"agents": "agent_workers"}, short="requests in flight"),
    Option("timeout", "seconds without a byte before a request is given up; grace=SECONDS: how long replies on their "
           f"way are still kept after Ctrl-C or SIGTERM ({_ELSE.grace_s:g})",
           kinds.PartedReader(kinds.decimal(0, above=True), grace=kinds.decimal(0)), _ELSE.timeout_s,
           "SECONDS[,grace=SECONDS]", setting="timeout_s", parts={"grace": "grace_s"}),
    Option("retries", "how often a failed request is repeated", kinds.whole(0, 1_000), _ELSE.retries, "N",
           setting="retries"),
    Option("budget", "stop when this much is spent", kinds.decimal(0), None, "USD", setting="budget_usd"),
    Option("dry-run", "print the expected calls, tokens and cost; send nothing", flag=True,
           short="print expected calls, tokens and cost; send nothing"),
    Option("search", "where the web search comes from: auto, local, serpapi, record, replay, replay:RUN; rest=SOURCE: "
           "who answers the requests of retired categories: auto, local, live, record, replay, replay:PATH",
           kinds.PartedReader(kinds.search, rest=kinds.rest), _ELSE.search, "SOURCE[,rest=SOURCE]", setting="search",
           parts={"rest": "rest"}),
    Option("record", "own tests with the fixture ask: write what models answer and tools give to FILE; replay=FILE: "
           "take it from there, without a model; new=FILE: ask only what is not there; prune=FILE: take out what no "
           "test asks; ignore=POINTER (/messages/0/content, * for every item; repeatable): what of a request does not "
           "count and is not recorded",
           kinds.PartedReader(kinds.named, replay=kinds.named, new=kinds.named, prune=kinds.named, ignore=kinds.named),
           metavar="[replay=|new=|prune=]FILE[,ignore=POINTER]", file=True, files=("replay", "new", "prune")),
    Option("price", "USD per million tokens, 1,2 or in=1,out=2; goes before the list price", kinds.price, None,
           "IN,OUT"),
    Option("gpu-hour", "price of an hour of the machine that serves the model", kinds.decimal(0), None, "USD",
           setting="gpu_hour_usd"),
    ),
    *_group("gates",
    Option("fail-under", "gate: fail when the group's accuracy in percent is lower; entries=PCT or entries:GROUP=PCT: "
           "the plain share of right entries; n=N: fail when fewer entries were measured, by every gate or all that "
           "its group has; repeatable", metavar="GROUP=PCT|n=N", many=True, gate="fail_under",
           short="gate: fail below this accuracy in percent; repeatable"),
    Option("baseline", "gate: fail when significantly worse than this run; margin=PTS: the loss in percentage points "
           "that is accepted",
           kinds.PartedReader(kinds.named, margin=kinds.decimal(0, 100)), metavar="RUN[,margin=PTS]", gate="baseline",
           parts={"margin": "baseline_margin"}, short="gate: fail when significantly worse than this run"),
    Option("noninferior", "gate: fail unless a loss against the baseline of more than so many points (1.5), or below "
           "so much of its score (97%), is ruled out; of one group: GROUP=1.5; repeatable", metavar="[GROUP=]PTS|PCT%",
           many=True, gate="noninferior"),
    Option("verify", "gate: fail unless the model is served as in this run of the same model (docs/verify.md); several "
           "measure the noise floor; repeatable", metavar="RUN", many=True, gate="verify"),
    Option("expected", "file of entries expected to fail (xfail)", metavar="FILE", file=True, gate="expected"),
    Option("max-errors", "errors allowed, in percent of the entries; beyond it no score is claimed (default: "
           f"{_ELSE.max_errors_pct:g})",
           kinds.decimal(0, 100), None, "PCT", setting="max_errors_pct", gate="max_errors"),
    Option("rules", "which rules give the headline verdict; steps=N: steps a turn may take before the conversation is "
           "ended, with another number than the reference's 20 runs are not comparable with published scores",
           kinds.PartedReader(kinds.one_of("official", "corrected"), steps=kinds.whole(1, 1_000)), _ELSE.rules,
           "official|corrected[,steps=N]", setting="rules", parts={"steps": "step_limit"}),
    Option("write-expected", "write the failed entries to this file", metavar="FILE"),
    Option("allow-missing", "categories that did not run are left out of gates", flag=True, gate="allow_missing"),
    ),
    *_group("results",
    Option("out", "run directory (default: reports/<time>-<model>); naming an existing run continues it",
           metavar="DIR",
           short="run directory; an existing run is continued"),
    Option("report", "HTML report: none, index (summary and list), or full (a page for every entry, too; default, "
           f"beyond {MOST_PAGES:,} results index; pytest-bfcl export report RUN writes it later); and who hears of the "
           "run while it goes on: wandb, otel, or another package's sink (docs/exports.md)", kinds.report,
           metavar="none|index|full[,SINK…]", parts={"sinks": "sinks"}),
    Option("model-info", "TOML file: display name, link, organisation, licence, prices", metavar="FILE", file=True),
    Option("board", "a published data_overall.csv: its rows stand beside this run's models, marked as not measured "
           "here, each with its distance", metavar="FILE.csv", file=True, setting="board"),
    ),
)  # fmt: skip


PYTESTS_OWN = frozenset(("record",))
"""What only a test session has: recordings of own tests."""


def unfolded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Option → its value, where parts stand behind it without them; and ``OPTION.PART`` → the part that was given."""
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
