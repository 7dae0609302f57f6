"""Where pages lie below the root: the same places for the server and for a static site, links between them relative."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from pytest_bfcl.reporting.links import safe_id


class Links:
    """Places of pages, escaped for addresses; names are those of `Runs`. This is how the server lays them out.

    ``up_from_entry`` and ``up_from_beside`` lead from an entry's page, and from one side by side, to the root.
    """

    static = False
    up_from_entry = "../../../"
    up_from_beside = "../"

    def run(self, name: str) -> str:
        """A run's report."""
        return f"run/{quote(name)}/index.html"

    def live(self, name: str) -> str:
        """A run in progress; empty where nothing is live."""
        return f"run/{quote(name)}/live.html"

    def entry(self, name: str, page: str, against: str = "") -> str:
        """An entry of a run; ``against`` is the run that "changed" means."""
        return f"run/{quote(name)}/entries/{quote(page)}" + (f"?against={quote(against)}" if against else "")

    def beside(self, entry_id: str, runs: Iterable[str] = ()) -> str:
        """An entry in all runs, or in some."""
        chosen = ",".join(quote(run, safe="") for run in runs)
        return f"entry/{quote(safe_id(entry_id))}.html" + (f"?runs={chosen}" if chosen else "")

    def compare(self, before: str, after: str) -> str:
        """Two runs compared."""
        return f"compare/{quote(before)}/{quote(after)}.html"

    def wire(self, name: str) -> str:
        """What the checks of a run's server came to."""
        return f"run/{quote(name)}/wire.html"

    def audit(self, name: str) -> str:
        """What an audit of data found."""
        return f"audit/{quote(name)}.html"

    def entries_from_run(self, name: str) -> str:
        """What comes before the name of an entry's page in links of the run's page."""
        return "entries/"

    def run_from_entry(self, name: str) -> str:
        """The run's page, seen from an entry's."""
        return "../index.html"

    def choice(self, page: str, number: int, **values: str) -> str:
        """One of several pages of a kind; ``values`` say which."""
        chosen = "&".join(f"{name}={quote(value)}" for name, value in values.items())
        return f"{page}.html?{chosen}"
