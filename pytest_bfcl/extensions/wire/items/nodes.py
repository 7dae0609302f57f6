"""Wire checks as nodes of pytest's tree: ``bfcl/wire.jsonl::<check>``. What happens to them is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.check_sets import CheckFile
from pytest_bfcl.plugin.failure_repr import FailureRepr

if TYPE_CHECKING:
    from pytest_bfcl.extensions.wire.record import WireRecord
    from pytest_bfcl.session.contender import Contender

NODEID = "bfcl/wire.jsonl"
RECORD = pytest.StashKey["WireRecord"]()


class WireFault(AssertionError):
    """The server broke a rule."""

    def __init__(self, record: WireRecord) -> None:
        super().__init__(f"WIRE_FAULT: {record.reason}")
        self.record = record


class WireTest(Protocol):
    """What an item does."""

    def set_up(self, item: WireItem) -> None:
        """Wait for the check's outcome; raise when the endpoint could not be asked."""
        ...

    def check(self, item: WireItem) -> None:
        """Raise `WireFault`, or skip."""
        ...


@dataclass(frozen=True, slots=True)
class WireContext:
    """What the nodes share: the models, each with the names of the checks that its API has."""

    checks: Sequence[tuple[Contender, Sequence[str]]]
    test: WireTest
    only: frozenset[str] | None = None
    """Names asked for on the command line, with or without a label; ``None``: all."""


class WireFile(CheckFile):
    """All checks of the session's endpoints."""

    context: WireContext

    @classmethod
    def make(cls, parent: pytest.Collector, context: WireContext) -> WireFile:
        """The file node; there is no such file."""
        path = parent.config.invocation_params.dir / NODEID
        node: WireFile = cls.from_parent(parent, path=path, nodeid=NODEID, name="wire.jsonl")
        node.context = context
        node.add_marker("wire")
        return node

    @property
    def ihook(self) -> Any:
        """Hooks of the user's conftest files."""
        return self.session.gethookproxy(self.config.invocation_params.dir)

    def collect(self) -> Iterator[WireItem]:
        """One item per check and model."""
        only = self.context.only
        several = len(self.context.checks) > 1
        for contender, names in self.context.checks:
            for name in names:
                label = contender.label if several else None
                if only is None or name in only or f"{name}[{label}]" in only:
                    yield WireItem.of(self, contender, name, label)


class WireItem(pytest.Item):
    """One check of one model's endpoint: it is asked in setup and judged in the call."""

    contender: Contender
    check: str

    @classmethod
    def of(cls, parent: WireFile, contender: Contender, check: str, label: str | None) -> WireItem:
        """The item; its label tells models apart."""
        item: WireItem = cls.from_parent(parent, name=f"{check}[{label}]" if label else check)
        if label:
            pytest_internals.set_label(item, parent, check, label)
        item.contender, item.check = contender, check
        return item

    @property
    def ihook(self) -> Any:
        """As the file's."""
        assert self.parent is not None
        return self.parent.ihook

    @property
    def test(self) -> WireTest:
        """Who asks and judges."""
        assert isinstance(self.parent, WireFile)
        return self.parent.context.test

    def setup(self) -> None:
        """Ask."""
        self.test.set_up(self)

    def runtest(self) -> None:
        """Judge."""
        self.test.check(self)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The rule, what broke it and the proof; anything else as pytest shows it."""
        if isinstance(excinfo.value, WireFault):
            record = excinfo.value.record
            return FailureRepr("\n".join(fault_lines(record)), f"WIRE_FAULT {record.reason}")
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Any, int, str]:
        """The virtual file and the name."""
        return self.config.rootpath / NODEID, 0, self.name


def fault_lines(record: WireRecord) -> Iterator[str]:
    """A fault for the terminal; the page has request and answer in full."""
    yield f"WIRE_FAULT: {record.reason}"
    yield f"  server    {record.endpoint}, {record.api}, held {record.held_text}"
    yield f"  broke     {record.why}" + ("" if record.certain else "  (likely the server's: no model is known for it)")
    if record.proof:
        yield f"  proof     {_one_line(record.proof)}"
    elif record.exchanges:
        yield f"  answer    HTTP {record.exchanges[0].status} {_one_line(record.exchanges[0].received)}"
    yield f"  rule      {record.rule}"
    yield f"  written   {record.where}"


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in flat[:300])
    return shown + (" …" if len(flat) > 300 else "")
