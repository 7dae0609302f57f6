"""Renders templates as pages: everything escaped, nothing loaded from outside, hidden characters made visible.

Pages are single files that open from disk. Style and script are inlined and named by hash in the page's content
security policy. So no text can add code or load anything.

Here are also the place of an entry's page, and the command that runs only this entry again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.tables import filled
from pytest_bfcl.runs.paths import write_here

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


TEMPLATES = Path(__file__).with_name("templates")

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


_JOINTS = re.compile(r"(?<=_)|(?<=\w[.:/])(?=[^\W\d])")
ENTRIES = "entries"
"""Folder of the entry pages inside a run directory."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
MAX_STEM = 90


def visible(text: str) -> str:
    """The text with control, bidirectional, invisible and unpaired surrogate characters written as escapes.

    Line breaks and tabs stay. So no character can reorder or hide its neighbours.
    """
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        return text  # nothing to do, told quickly: no hidden character counts as printable
    return _HIDDEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return "" if character == "\r" else character.encode("unicode_escape").decode()


def render(template: str, folder: Path = TEMPLATES, /, **values: Any) -> str:
    """One page from a template of this package, or of an extension's ``folder``; every value is escaped."""
    return environment(folder).get_template(template).render(**values)


def macro(template: str, name: str, /, *values: Any, **named: Any) -> Markup:
    """The output of one macro of a template of this package; every value is escaped."""
    made: Markup = getattr(environment(TEMPLATES).get_template(template).module, name)(*values, **named)
    return made


def framed(kind: str, title: str, body: Markup) -> bytes:
    """A page of a kind (`assets`) as a complete file; the title is escaped."""
    from markupsafe import escape

    head, middle, end = _frame(kind)
    return b"".join((head, encoded(escape(visible(title))), middle, encoded(body), end))


@cache
def _frame(kind: str) -> tuple[bytes, bytes, bytes]:
    """The text before the title, between title and body, and after the body of all pages of a kind."""
    from markupsafe import escape

    title, body = "<title here>", "<body here>"
    text = render("base.html.jinja", page=assets(kind), title=title, body=body)
    head, rest = text.split(str(escape(title)))
    middle, end = rest.split(str(escape(body)))
    return encoded(head), encoded(middle), encoded(end)


def encoded(text: str) -> bytes:
    """Text for a file; remaining unpaired surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace")


@cache
def environment(*folders: Path) -> Environment:
    """The environment of this package's templates, with those of ``folders`` first, earlier ones before later ones."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([*dict.fromkeys((*folders, TEMPLATES))]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        auto_reload=False,
    )
    made.filters |= {
        "percent": percent,
        "points": points,
        "thousands": thousands,
        "seconds": seconds,
        "usd": usd,
        "span": span,
    }
    made.filters |= {"breakable": breakable, "filled": filled}
    made.globals["assets"] = partial(assets, folder=folders[0])
    return made


ANY_VALUE = "any value"
"""The text for an interval that excludes nothing."""


def is_open(interval: Sequence[float], least: float = 0.0) -> bool:
    """Whether an interval excludes nothing between ``least`` and 1."""
    return interval[0] <= least and interval[1] >= 1


def span(interval: Sequence[float] | None, least: float = 0.0) -> str:
    """An interval of shares in percent (of differences: ``least`` is -1); a word if it excludes nothing."""
    if interval is None:
        return "–"
    if is_open(interval, least):
        return ANY_VALUE
    return " – ".join(points(bound) if least == 0 else f"{100 * bound:+.1f}" for bound in interval)


def breakable(text: str) -> Any:
    """A text in which long names may break after ``_``, and after ``.``, ``:`` or ``/`` before a letter."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(visible(part)) for part in _JOINTS.split(str(text)))


def _finalize(value: object) -> Any:
    if type(value) is not str or value.isprintable():
        return value  # markup made by a template is its own class
    return visible(value)


class Assets(NamedTuple):
    """A page's style and script as inlined markup, and the policy that allows exactly these."""

    style: Markup
    script: Markup
    policy: str


_STYLES = {"entry": ("entry.css",), "index": ("index.css", "entry.css")}
"""Styles of a page kind after the common one; other kinds have the first page's and their own."""


@cache
def assets(kind: str, folder: Path = TEMPLATES) -> Assets:
    """Style and script of a page kind (``index``, ``entry``, or one whose files are in ``folder``).

    Only the first page of a report may also load scripts next to it: its shards.
    """
    from markupsafe import Markup

    style, script = style_of(kind, folder), script_of(kind, folder)
    beside = " 'self'" if kind == "index" else ""
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}{beside}; "
        "base-uri 'none'; form-action 'none'"
    )
    return Assets(Markup(style), Markup(script), policy)


def style_of(kind: str, folder: Path = TEMPLATES) -> str:
    """The style sheet of a page kind."""
    own = "" if kind in _STYLES else _own(folder / f"{kind}.css")
    return "".join(map(part_text, ("common.css", *_STYLES.get(kind, ("index.css",))))) + own


def script_of(kind: str, folder: Path = TEMPLATES) -> str:
    """The script of a page kind; a missing one adds nothing to the common ones."""
    tables = () if kind == "entry" else ("sort.js",)
    packed = ("inflate.js", "packed_entry.js") if kind == "index" else ()
    return "".join(map(part_text, ("theme.js", *tables, *packed))) + _own(folder / f"{kind}.js")


def part_text(name: str) -> str:
    """One file of styles or scripts."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _own(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _digest(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def embedded_json(value: object) -> Any:
    """Compact JSON that is safe inside ``<script type="application/json">``: no ``<``, no line separators."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def write_page(path: Path | str, page: str | bytes) -> None:
    """Write one page."""
    write_here(path, encoded(page) if isinstance(page, str) else page)


# Numbers as people read them.


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction as percent."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def points(value: float | None) -> str:
    """A fraction as percent without the sign, for intervals."""
    return "–" if value is None else f"{100 * value:.1f}"


def signed(fraction: float) -> str:
    """Percentage points with their sign."""
    return f"{100 * fraction:+.2f}"


def thousands(value: float | None) -> str:
    """A count with separators."""
    return "–" if value is None else f"{value:,}"


def seconds(value: float | None) -> str:
    """A duration in seconds."""
    if value is None:
        return "–"
    return f"{value:.2f} s" if value < 100 else f"{value:.0f} s"


def usd(value: float | None) -> str:
    """Money in US dollars, small sums with enough digits."""
    if value is None:
        return "–"
    return f"${value:.2f}" if value >= 1 or value == 0 else f"${value:.4g}"


def safe_id(entry_id: str) -> str:
    """An entry id as a file name: unusual characters become ``_`` and a short hash keeps ids apart."""
    stem = _UNSAFE.sub("_", entry_id).strip(".")
    if stem == entry_id and len(stem) <= MAX_STEM:
        return stem
    return f"{stem[:MAX_STEM]}-{hashlib.sha256(entry_id.encode('utf-8', 'replace')).hexdigest()[:8]}"


_safe_model = lru_cache(maxsize=64)(safe_id)


def models_apart(counts: Mapping[str, int], models: Sequence[object]) -> list[str]:
    """The models whose pages need distinct names; ``counts``: model → lines, ``models`` are those of the fingerprint.

    Results may name another model than the run's spec: a replay names the recorded one, and a run may have changed to
    prompting. In a run of one model, the one with most results has plain names.
    """
    return list(counts) if len(models) > 1 or not counts else [max(counts, key=lambda name: counts[name])]


def model_suffix(model: str, models: Sequence[str]) -> str:
    """The part of page names that distinguishes models in one run; empty for a single model."""
    return "" if list(models) == [model] else f"-{_safe_model(model)}"


def page_name(record: Fields, models: Sequence[str]) -> str:
    """File name of a record's page in the folder `ENTRIES`; ``models`` are those of the run's fingerprint."""
    repeat = record.get("repeat") or 1
    number = f"-r{repeat}" if repeat != 1 else ""
    return f"{safe_id(str(record['id']))}{model_suffix(str(record.get('model') or ''), models)}{number}.html"


def is_packed(outcome: object) -> bool:
    """Whether an entry's page is packed with others: only failed ones are files."""
    return outcome in ("passed", "skipped")


def page_link(record: Fields, models: Sequence[str]) -> str:
    """The link to a record's page from the run's folder: a file, or a place in ``index.html``."""
    name = page_name(record, models)
    return f"index.html{place_in_index(name)}" if is_packed(record.get("outcome")) else f"{ENTRIES}/{quote(name)}"


def place_in_index(name: str) -> str:
    """The place in ``index.html`` of the packed page with that name (`page_name`)."""
    return f"#entry={quote(name.removesuffix('.html'))}"


def relative_link(there: Path, folder: Path) -> str:
    """The link to a file from a page in ``folder``, also on another drive."""
    try:
        return quote(Path(os.path.relpath(there.resolve(), folder.resolve())).as_posix())
    except ValueError:
        return there.resolve().as_uri()


@cache
def documentation_of(page: str) -> str:
    """The address of a documentation page for this release; empty for a build without addresses (a checkout)."""
    try:
        addresses = metadata("pytest-bfcl").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    found = dict(str(address).split(", ", 1) for address in addresses if ", " in str(address))
    place = found.get("Documentation", "")
    return f"{place.rstrip('/')}/{page}" if place.startswith("https://") else ""


def rerun_command(record: Fields, model: str, *, data: str, base_url: str | None = None) -> str:
    """The shell command that runs one entry with ``model`` again; ``data`` in the form of ``--bfcl-data``.

    A recorded name does not show the provider, so the command has the placeholder ``PROVIDER``.
    """
    model = model if ":" in model else f"PROVIDER:{model}"
    words = ["pytest", "--model", model, "--bfcl-data", data]
    if base_url:
        words += ["--bfcl-base-url", base_url]
    words.append(f"bfcl/{record['category']}.jsonl::{record['id']}")
    return shlex.join(words)
