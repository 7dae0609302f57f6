"""A static site without a browser: every link leads to a file, every entry is in its part, nothing else is touched."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.view.pages import Pages
from pytest_bfcl.extensions.view.runs import open_runs
from pytest_bfcl.extensions.view.site import Part, SiteLinks, place_of, write_site
from pytest_bfcl.extensions.view.store import Store
from pytest_bfcl.failures import UsageError
from pytest_bfcl.reporting.rendering import safe_id
from tests.extensions.view.samples import Tags, records
from tests.reporting.samples import inflated, stored_run


@pytest.fixture(scope="module")
def store(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(open_runs([folder], tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def site(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_site(store, tmp_path_factory.mktemp("site")).parent


Unpacked = dict[str, tuple[str, str]]
"""Name → title and body of the pages of a part."""


def unpacked(script: bytes, name: str = "0.js") -> Unpacked:
    """What a part's file holds."""
    found = re.fullmatch(r'bfclPart\((\d+),"([^"\\]*)"\);\n', script.decode("ascii"))
    assert found is not None
    assert name == f"{found.group(1)}.js"
    content = inflated(found.group(2))

    def text(cut: list[int]) -> str:
        return "".join("".join(content["pieces"][a : a + n]) for a, n in zip(cut[::2], cut[1::2], strict=True))

    return {name: (title, text(cut)) for name, (title, cut) in content["pages"].items()}


@pytest.fixture(scope="module")
def parts(site: Path) -> list[Unpacked]:
    """The parts in order."""
    files = sorted((site / "data").iterdir(), key=lambda file: int(file.stem))
    return [unpacked(file.read_bytes(), file.name) for file in files]


def test_every_link_leads_somewhere(site: Path, parts: list[Unpacked]) -> None:
    pages = {page for part in parts for page in part}
    texts = [(path.relative_to(site), path.read_text()) for path in site.rglob("*.html")]
    for part in parts:
        for _, body in part.values():
            texts.append((Path("entry.html"), body))
    seen = 0
    for place, text in texts:
        found = Tags(text)
        assert found.inline == [], place
        for link in set(found.found):
            parted = urlsplit(link)
            assert not parted.scheme, link
            target = (site / place.parent / unquote(parted.path)).resolve() if parted.path else site / place
            assert target.is_relative_to(site.resolve()), (place, link)
            assert target.is_file(), (place, link)
            if target.name == "entry.html" and parted.fragment:
                run, _, name = map(unquote, parted.fragment.partition("/"))
                assert f"{run}/{name}" in pages, (place, link)
                seen += 1
    assert seen > 500


def test_every_entry_is_in_the_part_that_is_looked_in(site: Path, parts: list[Unpacked], store: Store) -> None:
    about = json.loads(re.search(r'id="about">(.*?)</script>', (site / "entry.html").read_text()).group(1))  # type: ignore[union-attr]
    firsts = [place_of(name) for name in about["parts"]]
    assert len(firsts) == len(parts)
    summaries, _ = store.summaries()
    assert len(summaries) == 5
    for listed in (store.runs.look()[summary.name] for summary in summaries):
        for page, row in store.open(listed).rows.items():
            part = parts[bisect_right(firsts, place_of(safe_id(row.id))) - 1]
            title, body = part[f"{listed.name}/{page}"]
            assert title == f"{row.id} · {row.outcome}"
            assert body == str(Pages(store, SiteLinks()).entry_parts(listed, page)[1])
            assert f"beside/{safe_id(row.id)}" in part


def test_a_part_keeps_what_pages_share_once() -> None:
    part, apart = Part(), Part()
    shared = "".join(f"<p>{hashlib.sha256(bytes([n])).hexdigest()}</p>\n" for n in range(200))
    part.add("a/x", "A", f"<h1>x</h1>{shared}")
    apart.add("a/x", "A", f"<h1>x</h1>{shared}")
    for run in "bcde":
        part.add(f"{run}/x", "B", f'<h1>"</h1>{shared}<div>\ud800</div>')
    assert len(part.script(0)) < len(apart.script(0)) + 200
    assert unpacked(part.script(0))["e/x"] == ("B", f'<h1>"</h1>{shared}<div>\ud800</div>')


def test_it_is_written_again_but_over_nothing_else(site: Path, store: Store, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="other files"):
        write_site(store, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    run = stored_run(tmp_path / "run", records(1, 2))
    with pytest.raises(UsageError, match="run directory"):
        write_site(store, run)
    small = Store(open_runs([run], tmp_path / "cache"))
    out = tmp_path / "again"
    write_site(store, out)
    write_site(small, out)
    assert [path.name for path in (out / "run").iterdir()] == ["run"]
    (out / "data").rename(tmp_path / "elsewhere")
    (out / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="link"):
        write_site(small, out)


def test_the_verb(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path / "cache"))
    names = [str(folder / name) for name in ("night-1", "night-2", "broken")]
    assert main(["view", "site", *names, "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr()
    assert said.out.strip() == str(tmp_path / "out" / "index.html")
    assert "broken" in said.err
    assert main(["view", "site", str(folder / "night-1"), "-o", str(tmp_path / "one")]) == 0
    assert main(["view", "site", str(folder / "foreign"), "-o", str(tmp_path / "none")]) == 2
    assert main(["view", "site", str(folder / "nowhere"), "-o", str(tmp_path / "none")]) == 2
    assert "nowhere does not exist" in capsys.readouterr().err
    assert main(["view", "--no-open", "--port", "99999"]) == 2
