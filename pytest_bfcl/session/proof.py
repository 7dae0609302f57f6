"""The do-nothing proof: an entry of one's own must not be passed by a model that does nothing.

It is the twin of the oracle's proof (what is right must pass). The oracle goes first, so that what a trial leaves
behind is there when nothing is done: an entry whose state outlives its trial passes then, as it would in repeats.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from typing import TYPE_CHECKING

from pytest_bfcl.checkers import judge
from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.fetching.official import cache_root
from pytest_bfcl.models import create_model
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset import Entry, Texts
    from pytest_bfcl.settings import Settings

TIMES = 2
UNEARNED = "passes for a model that does nothing, after another one played it: it measures nothing"
REMEDY = (
    "expect what only the right calls bring about, and keep the state in {workdir} "
    "(docs/own-entries.md, The do-nothing proof)"
)
_VERSION = "1"


def is_at_risk(entry: Entry) -> bool:
    """Whether doing nothing could pass an entry and must not.

    Everywhere else doing nothing is either the right answer (irrelevance) or wrong by rule: calls are compared. An
    entry on a server that says what must not happen, and whose way has no calls, means it.
    """
    if entry.official or entry.row.checker not in ("state", "served"):
        return False
    return not (any(each.is_restraint for each in entry.expect) and not any(entry.possible_answer or [True]))


class Proofs:
    """The proofs of one run: each entry is played once for all its trials, and not again while it stays the same."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[str, asyncio.Future[None]] = {}

    async def require(self, entry: Entry, texts: Texts, search: object = None) -> None:
        """Come back if the entry, which `is_at_risk`, is proved; ``search`` is the provider behind its web tools.

        Raises `HarnessError` (kind ``unearned``), or what its server raises.
        """
        found = self._made.get(entry.id)
        if found is None or found.cancelled():
            found = self._made[entry.id] = asyncio.ensure_future(self._prove(entry, texts, search))
        await asyncio.shield(found)

    async def _prove(self, entry: Entry, texts: Texts, search: object) -> None:
        mark = cache_root() / "proved" / self._digest(entry)
        if mark.is_file():
            return
        if await is_unearned(entry, texts, self._settings, search):
            raise HarnessError(HarnessTrouble.UNEARNED, f"{entry.id} {UNEARNED}", advice=REMEDY)
        with contextlib.suppress(OSError):  # then it is proved again the next time
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()

    def _digest(self, entry: Entry) -> str:
        settings, name = self._settings, entry.mcp or ""
        around = [each.get(name, "") for each in (settings.mcp, settings.mcp_setup, settings.mcp_teardown)]
        said = [_VERSION, entry.model_dump_json(exclude={"source"}), *around]
        return hashlib.sha256("\0".join(said).encode("utf-8", "surrogatepass")).hexdigest()


async def is_unearned(entry: Entry, texts: Texts, settings: Settings, search: object = None) -> bool:
    """Whether doing nothing passes the entry, tried `TIMES` times after the oracle where that knows a way."""
    contenders = ["oracle:"] if entry.possible_answer is not None else []
    for name in [*contenders, *["idle:"] * TIMES]:
        model = create_model(name, settings, mode="fc")
        transcript = await converse(entry, model, settings=settings, texts=texts, search=search)
        if name == "idle:" and judge(entry, transcript, simulators=settings.simulators).valid:
            return True
    return False
