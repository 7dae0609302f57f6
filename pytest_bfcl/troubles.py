"""Infrastructure errors: every kind that our `AdapterError` or `HarnessError` can have.

A kind is the second part of a line's reason (``adapter:timeout``). Each kind has the broken rule and the remedy. The
code that raises an error writes its text. Other packages may raise their own kinds, as texts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self

_ASK_AGAIN = "Resume the run (`--bfcl-out` of the same folder): only entries without a verdict are retried."
_REPORT = "Please report it with the text of the error. Other entries are not affected."


class _Trouble(StrEnum):
    """A kind of infrastructure error: its name, the broken rule, and what a user can do."""

    rule: str
    remedy: str

    def __new__(cls, kind: str, rule: str, remedy: str) -> Self:
        """A text with a rule and a remedy."""
        member = str.__new__(cls, kind)
        member._value_ = kind
        member.rule, member.remedy = rule, remedy
        return member


class AdapterTrouble(_Trouble):
    """The provider could not be reached, or its answer is unusable: the kinds of `AdapterError`."""

    AUTH = ("auth", "the provider must accept the key", "Set the key that the error names, then resume the run.")
    QUOTA = ("quota", "the account must have credit", "Add credit to the account, then resume the run.")
    RATE_LIMIT = (
        "rate_limit",
        "the provider must let requests through in time",
        f"Lower `--bfcl-concurrency` or raise `--bfcl-retries`. {_ASK_AGAIN}",
    )
    TIMEOUT = (
        "timeout",
        "the reply must arrive in time",
        f"Raise `--bfcl-timeout` or lower `--bfcl-concurrency`. {_ASK_AGAIN}",
    )
    CONNECTION = (
        "connection",
        "the endpoint must be reachable",
        f"Is the server up, and `--bfcl-base-url` right? {_ASK_AGAIN}",
    )
    SERVER = ("server", "the server must not fail", f"Look at the server's log. {_ASK_AGAIN}")
    BAD_REQUEST = (
        "bad_request",
        "the server must take the request",
        "Its message says what it refuses: often a parameter, a tool's schema, or tools at all (then `@prompt`).",
    )
    MALFORMED_BODY = (
        "malformed_body",
        "the answer must be what the interface promises",
        "Is `--bfcl-base-url` the interface's (usually it ends in `/v1`)? A proxy may return its own pages.",
    )
    ENDING = (
        "ending",
        "a reply must have a known normal ending",
        f"The summary counts the ending words. Look at the server's log ([endings](answers.md)). {_ASK_AGAIN}",
    )
    CIRCUIT_OPEN = (
        "circuit_open",
        "the provider must answer at least some requests",
        f"Requests failed one after the other. {_ASK_AGAIN}",
    )
    NOT_RECORDED = (
        "not_recorded",
        "a replay must hold the reply, search or request",
        "The recording does not contain it: record it once with the live provider.",
    )
    TEMPLATE = (
        "template",
        "the model's chat template must render the conversation",
        "The error names the template: choose another with `--bfcl-template`, or use the chat endpoint.",
    )
    FIXTURE = (
        "fixture",
        "the model fixture or callable must give a reply",
        "The traceback points into your code; a reply is text, calls or a `Reply`.",
    )
    INFERENCE = ("inference_error", "the reply must have arrived", "The recorded line is an error: record it again.")


class HarnessTrouble(_Trouble):
    """A defect of the data, of this package or of its environment: the kinds of `HarnessError`."""

    DATA = (
        "data",
        "entry, documents and answers must be usable",
        "Fix the line that the error names; `pytest-bfcl validate` lists all of them.",
    )
    INCOMPLETE = (
        "incomplete",
        "only a complete conversation is judged",
        f"An infrastructure error ended it. {_ASK_AGAIN}",
    )
    CHECKER = ("checker", "a checker must return a verdict", _REPORT)
    CONVERSATION = ("conversation", "a conversation must finish", _REPORT)
    EXECUTOR = ("executor", "calls must be executed in worker processes", _REPORT)
    NOT_EXECUTED = (
        "not_executed",
        "calls of executable entries must be executed before they are judged",
        "Judge through `pytest-bfcl score` or `pytest_bfcl.score_lines`, which execute them.",
    )
    SEARCH = ("search", "a web search entry needs a search provider", "Choose one with `--bfcl-search`.")
    MCP = (
        "mcp",
        "the MCP server of an entry must answer",
        "Try it with `pytest-bfcl new entry --from-mcp …`; name it with `--bfcl-mcp NAME=…`, then resume the run.",
    )
    UNEARNED = (
        "unearned",
        "an own entry's ground truth must pass, and no adversary",
        "Correct `possible_answer`, expect what only the right calls can reach, give each trial its own state "
        "(`{workdir}`), or list the adversary in `allows`.",
    )
    SIMULATOR = (
        "simulator",
        "the entry's systems must load",
        "Look at the entry's `initial_config`, or at your own simulator.",
    )
    STOPPED = ("stopped", "the run must not stop", _ASK_AGAIN)
    STORAGE = (
        "storage",
        "the run directory must be writable",
        f"Is the disk full, or the folder read-only? {_ASK_AGAIN}",
    )
    WORKER_CRASH = ("worker_crash", "a worker must not die", _ASK_AGAIN)
    WRITE_STAGE = (
        "write_stage",
        "the write stage of a memory question must be complete",
        f"Look at the error of the write stage. {_ASK_AGAIN}",
    )
    WIRE = ("wire", "a wire check must return a result", _REPORT)
    SETUP = ("setup", "fixtures must set up", "The traceback points to the fixture.")
    CALL = ("call", "the test of an entry must end with a verdict", _REPORT)
