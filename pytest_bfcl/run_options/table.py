"""Every option of a run: its name, what it means, what its text may be, its default and where its value goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from pytest_bfcl.run_options import values as kinds
from pytest_bfcl.settings import APIS, LEVELS, MOST_PAGES, REASONING_POLICIES, THINK, Settings

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
    takes the value, ``gate`` that of `GateOptions`. Without ``needs`` it would do nothing. ``short`` is its line in
    ``--help``, for the twelve that most runs need; ``--bfcl-help GROUP`` shows all.
    """

    name: str
    help: str
    convert: Callable[[str], Any] = str
    default: Any = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    flag: bool = False
    file: bool = False
    pair: Callable[[str], tuple[str, Any]] | None = None
    setting: str = ""
    gate: str = ""
    needs: str = ""
    short: str = ""
    group: Group = "entries"

    @property
    def line(self) -> str:
        """The line of ``--help``, with the default."""
        return self.short if self.default in (None, "") else f"{self.short} (default: {self.default})"

    @property
    def asks_verdict(self) -> bool:
        """Whether it is a gate; a switch only changes what gates look at."""
        return bool(self.gate) and not self.flag

    @property
    def key(self) -> str:
        """Destination of the option and name of its ini twin."""
        return "bfcl_" + self.name.replace("-", "_")


def _group(group: Group, *options: Option) -> Iterator[Option]:
    return (option._replace(group=group) for option in options)


_ELSE = Settings()
"""The defaults, where an option is a setting: they stand in `Settings` only."""

OPTIONS: tuple[Option, ...] = (
    *_group("entries",
    Option("model", "model under test, provider:name[@fc|@prompt]; repeatable; without it this plugin does nothing "
           "(--bfcl-model where a suite has a --model of its own)", metavar="SPEC", many=True,
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
    Option("sample", "run N entries in total, stratified by category", kinds.whole(1), None, "N",
           short="run N entries in total, stratified by category"),
    Option("shard", "run the I-th of N parts", kinds.shard, None, "I/N"),
    Option("repeat", "run every entry K times", kinds.whole(1, 10_000), _ELSE.repeat, "K", setting="repeat"),
    Option("transform", "put every entry otherwise too and show the drop: shuffle-tools, rename-tools, "
           "rename-parameters, distractors, enum-order, short-descriptions, whitespace, lower-case, upper-case, or a "
           ".jsonl of own words; repeatable", metavar="NAME", many=True),
    Option("mode", "native calls (fc), calls written as text (prompt), or auto", default=_ELSE.mode,
           choices=("auto", "fc", "prompt"), setting="mode",
           short="native calls (fc), calls as text (prompt), or auto"),
    Option("split", "run one part of a split that `pytest-bfcl new split` wrote (default: its test part)",
           metavar="FILE[:train|:test]", file=True),
    Option("trained-on", "the split whose training part the models were trained on: such entries are marked",
           metavar="FILE", file=True),
    Option("seed", "seed of --bfcl-sample", kinds.whole(0), _ELSE.seed, "N", setting="seed"),
    Option("step-limit", "steps a turn may take before the conversation is ended; with another than the reference's 20 "
           "runs are not comparable with published scores", kinds.whole(1, 1_000), _ELSE.step_limit, "N",
           setting="step_limit"),
    ),
    *_group("asking",
    Option("base-url", "base URL of an OpenAI-compatible endpoint", metavar="URL", setting="base_url",
           short="base URL of an OpenAI-compatible endpoint"),
    Option("api", "wire format: chat completions, OpenAI's responses, text completions, Anthropic's messages (default: "
           "the provider's; responses at OpenAI's own address)", default=None, choices=APIS, setting="api"),
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
           "or never", default=_ELSE.reasoning, choices=REASONING_POLICIES, setting="reasoning"),
    Option("think", "thoughts in texts (<think>…</think>): parted as the model's family marks them, taken out "
           "everywhere, or left", default=_ELSE.think, choices=THINK, setting="think"),
    Option("names", "native names of replayed lines that do not say it: with dots, with underscores, or as the calls "
           "prove it", default=_ELSE.names, choices=("auto", "dots", "underscores"), setting="names"),
    Option("system-prompt", "file that replaces the prompting text (placeholder {functions}); such runs are not "
           "comparable", metavar="FILE", file=True),
    Option("simulators", "our own simulators, or those of an installed bfcl-eval", default=_ELSE.simulators,
           choices=("own", "reference"), setting="simulators"),
    Option("mcp", "where the MCP server is that entries of your own name: NAME=COMMAND or NAME=URL; {workdir} in a "
           "command is the trial's own directory; repeatable", metavar="NAME=WHERE", many=True, setting="mcp",
           pair=kinds.server),
    Option("mcp-setup", "command before each trial on that MCP server, in the trial's own directory; repeatable",
           metavar="NAME=COMMAND", many=True, setting="mcp_setup", pair=kinds.server),
    Option("mcp-teardown", "command after each trial on that MCP server; repeatable", metavar="NAME=COMMAND",
           many=True, setting="mcp_teardown", pair=kinds.server),
    Option("agent-workers", "processes that play an agent:MODULE:FACTORY, each one entry at a time; 0: this process "
           "plays them all", kinds.whole(0, 256), _ELSE.agent_workers, "N", setting="agent_workers"),
    Option("rest", "who answers the requests of retired categories: auto, local, live, record, replay, replay:PATH",
           kinds.rest, _ELSE.rest, "SOURCE", setting="rest"),
    ),
    *_group("running",
    Option("concurrency", "requests in flight per process; auto: as many as the server takes, at most N (256)",
           kinds.concurrency, kinds.Concurrency(_ELSE.concurrency), "N|auto[:N]",
           short="requests in flight"),
    Option("timeout", "seconds without a byte before a request is given up", kinds.decimal(0, above=True),
           _ELSE.timeout_s, "SECONDS", setting="timeout_s"),
    Option("retries", "how often a failed request is repeated", kinds.whole(0, 1_000), _ELSE.retries, "N",
           setting="retries"),
    Option("budget", "stop when this much is spent", kinds.decimal(0), None, "USD", setting="budget_usd"),
    Option("dry-run", "print the expected calls, tokens and cost; send nothing", flag=True,
           short="print expected calls, tokens and cost; send nothing"),
    Option("search", "where the web search comes from: auto, local, serpapi, record, replay, replay:RUN", kinds.search,
           _ELSE.search, "SOURCE", setting="search"),
    Option("record", "own tests with the fixture ask: write what models answer and tools give to this file; or what to "
           "do with the file of --bfcl-replay: new (ask what is not there), all, none, prune", metavar="FILE|MODE",
           file=True),
    Option("replay", "own tests with the fixture ask: take the answers from this file, without a model", metavar="FILE",
           file=True),
    Option("record-ignore", "JSON pointer to what of a request does not count, and is not recorded "
           "(/messages/0/content, * for every item); repeatable", metavar="POINTER", many=True),
    Option("grace", "seconds in which replies on their way are still kept after Ctrl-C or SIGTERM", kinds.decimal(0),
           _ELSE.grace_s, "SECONDS", setting="grace_s"),
    Option("wire-schemas", "-m wire: how many tool schemas are generated; 0: none", kinds.whole(0, 10_000),
           _ELSE.wire_schemas, "N", setting="wire_schemas"),
    Option("precision", "with --bfcl-dry-run: how many entries of each category so many points of precision take",
           kinds.decimal(0, 50, above=True), metavar="PTS", needs="dry-run"),
    Option("price", "USD per million tokens, 1,2 or in=1,out=2; goes before the list price", kinds.price, None,
           "IN,OUT"),
    Option("gpu-hour", "price of an hour of the machine that serves the model", kinds.decimal(0), None, "USD",
           setting="gpu_hour_usd"),
    ),
    *_group("gates",
    Option("fail-under", "gate: fail when the group's accuracy in percent is lower; entries=PCT or entries:GROUP=PCT: "
           "the plain share of right entries; repeatable", metavar="GROUP=PCT", many=True, gate="fail_under",
           short="gate: fail below this accuracy in percent; repeatable"),
    Option("baseline", "gate: fail when significantly worse than this run", metavar="RUN", gate="baseline",
           short="gate: fail when significantly worse than this run"),
    Option("noninferior", "gate: fail unless a loss against the baseline of more than so many points (1.5), or below "
           "so much of its score (97%), is ruled out; of one group: GROUP=1.5; repeatable", metavar="[GROUP=]PTS|PCT%",
           many=True, gate="noninferior"),
    Option("verify", "gate: fail unless the model is served as in this run of the same model (docs/verify.md); several "
           "measure the noise floor; repeatable", metavar="RUN", many=True, gate="verify"),
    Option("expected", "file of entries expected to fail (xfail)", metavar="FILE", file=True, gate="expected"),
    Option("max-errors", "errors allowed, in percent of the entries; beyond it no score is claimed (default: "
           f"{_ELSE.max_errors_pct:g})",
           kinds.decimal(0, 100), None, "PCT", setting="max_errors_pct", gate="max_errors"),
    Option("rules", "which rules give the headline verdict", default=_ELSE.rules, choices=("official", "corrected"),
           setting="rules"),
    Option("baseline-margin", "loss against the baseline that is accepted, in percentage points",
           kinds.decimal(0, 100), 0.0, "PTS", gate="baseline_margin", needs="baseline"),
    Option("write-expected", "write the failed entries to this file", metavar="FILE"),
    Option("min-entries", "gate: fail when fewer entries were measured; other gates need as many, or all that their "
           "group has", kinds.whole(1), None, "N", gate="min_entries"),
    Option("allow-missing", "categories that did not run are left out of gates", flag=True, gate="allow_missing"),
    ),
    *_group("results",
    Option("out", "run directory (default: reports/<time>-<model>); naming an existing run continues it",
           metavar="DIR",
           short="run directory; an existing run is continued"),
    Option("report", "HTML report: none, index (summary and list), or full (a page for every entry, too; default, "
           f"beyond {MOST_PAGES:,} results index); pytest-bfcl export report RUN writes it later", default=None,
           choices=LEVELS),
    Option("model-info", "TOML file: display name, link, organisation, licence, prices", metavar="FILE", file=True),
    Option("sink", "tell others of the run while it goes on: wandb, otel, or another package's; comma-separated or "
           "repeated (docs/exports.md)", metavar="NAME", many=True, setting="sinks"),
    Option("label", "what `pytest-bfcl leaderboard --history` calls this run: a commit, a version", default=_ELSE.label,
           metavar="TEXT", setting="label"),
    Option("board", "a published data_overall.csv: its rows stand beside this run's models, marked as not measured "
           "here, each with its distance", metavar="FILE.csv", file=True, setting="board"),
    ),
)  # fmt: skip


RecordMode = Literal["new", "all", "none", "prune"]
RECORD_MODES: tuple[RecordMode, ...] = ("new", "all", "none", "prune")
"""What ``--bfcl-record`` may say instead of a file. ``all``: ask and write everything; ``new``: only what is not
recorded; ``none``: nothing; ``prune``: nothing, and what the tests that ran do not ask any more is taken out."""
PYTESTS_OWN = frozenset(("record", "record-ignore", "replay"))
"""What only a test session has: recordings of own tests."""


def of_run() -> tuple[Option, ...]:
    """The options that a run without pytest has, too."""
    return tuple(option for option in OPTIONS if option.name not in PYTESTS_OWN)
