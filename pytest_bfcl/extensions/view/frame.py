"""The frame and the addresses of pages: the report's own templates with navigation, style and script in files, and
relative links for server and site. A template names its kind (``index``, ``entry``, ``comparison`` …) as in the report.
The frame that it extends is this package's, so that nothing is inline and the pages' policy forbids inline code.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from pytest_bfcl.extensions import boards
from pytest_bfcl.reporting import rendering
from pytest_bfcl.reporting.rendering import safe_id

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


TEMPLATES = Path(__file__).with_name("templates")
KINDS = ("index", "entry", "comparison", "leaderboard", "pages", "unpack")
"""Page kinds, each with a style sheet and a script. Only this package has ``pages`` and ``unpack``."""
_PARTS: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "unpack": (("entry", "comparison"), "entry", ("unpack.js",))
}
"""Kinds made of others: their styles, script, and scripts of this package."""
PACKED = "packed.js"
"""Unpacks the list of a run before the page's own script."""
ICON = "icon.svg"


class _Files(NamedTuple):
    """Names of a page kind's style sheet and script."""

    style: str
    script: str


def _files(kind: str) -> _Files:
    return _Files(f"{kind}.css", f"{kind}.js")


@cache
def asset(name: str) -> str | None:
    """The text of a style sheet or script; ``None`` for an unknown name."""
    if name == ICON:
        return _read(ICON)
    if name == PACKED:
        return rendering.part_text("inflate.js") + _read(PACKED)
    kind, _, ending = name.rpartition(".")
    if kind not in KINDS:
        return None
    styles, script, own = _PARTS.get(kind, ((kind,), kind, ()))
    if ending == "css":
        return "".join(rendering.style_of(each, _folder(each)) for each in styles) + _read("view.css")
    if ending != "js":
        return None
    inflate = rendering.part_text("inflate.js") if own else ""
    return rendering.script_of(script, _folder(script)) + _read("view.js") + inflate + "".join(map(_read, own))


def assets() -> dict[str, str]:
    """All files that pages need."""
    names = [f"{kind}.{ending}" for kind in KINDS for ending in ("css", "js")] + [ICON, PACKED]
    return {name: text for name in names if (text := asset(name)) is not None}


def _folder(kind: str) -> Path:
    """The folder of a page kind's style and script."""
    return boards.TEMPLATES if kind in ("comparison", "leaderboard") else rendering.TEMPLATES


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = rendering.environment(TEMPLATES, boards.TEMPLATES)
    made.globals |= {"assets": _files, "root": "", "here": "", "static": False, "packed": "", "choices": ()}
    return made


def page(template: str, place: str, here: str = "", **values: Any) -> bytes:
    """A page. ``place`` is its path below the root (``run/a/index.html``), ``here`` its part of the navigation."""
    found = _environment().get_template(template)
    return rendering.encoded(found.render(root="../" * place.count("/"), here=here, **values))


def part(template: str, name: str, /, **values: Any) -> Markup:
    """The output of one macro of a template."""
    made: Markup = getattr(_environment().get_template(template).module, name)(**values)
    return made


class Links:
    """Addresses of pages, escaped; names are those of `Runs`. The server uses this layout.

    ``up_from_entry`` and ``up_from_beside`` lead from an entry's page, and from one side by side, to the root.
    """

    static = False
    up_from_entry = "../../../"
    up_from_beside = "../"

    def run(self, name: str) -> str:
        """A run's report."""
        return f"run/{quote(name)}/index.html"

    def live(self, name: str) -> str:
        """A run in progress; empty without live pages."""
        return f"run/{quote(name)}/live.html"

    def entry(self, name: str, page: str, against: str = "") -> str:
        """An entry of a run; ``against`` is the run for "changed"."""
        return f"run/{quote(name)}/entries/{quote(page)}" + (f"?against={quote(against)}" if against else "")

    def beside(self, entry_id: str, runs: Iterable[str] = ()) -> str:
        """An entry in all runs, or in some."""
        chosen = ",".join(quote(run, safe="") for run in runs)
        return f"entry/{quote(safe_id(entry_id))}.html" + (f"?runs={chosen}" if chosen else "")

    def compare(self, before: str, after: str) -> str:
        """Two runs compared."""
        return f"compare/{quote(before)}/{quote(after)}.html"

    def wire(self, name: str) -> str:
        """The results of the checks of a run's server."""
        return f"run/{quote(name)}/wire.html"

    def audit(self, name: str) -> str:
        """The findings of an audit."""
        return f"audit/{quote(name)}.html"

    def entries_from_run(self, name: str) -> str:
        """The prefix of entries' page names in links of the run's page."""
        return "entries/"

    def run_from_entry(self, name: str) -> str:
        """The run's page, seen from an entry's."""
        return "../index.html"

    def choice(self, page: str, number: int, **values: str) -> str:
        """One of several pages of a kind; ``values`` select it."""
        chosen = "&".join(f"{name}={quote(value)}" for name, value in values.items())
        return f"{page}.html?{chosen}"
