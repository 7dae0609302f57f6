"""A static site without a browser: every link leads to a file, every entry is in its part, nothing else is touched."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.failures import UsageError
from pytest_bfcl.reporting.links import safe_id
from pytest_bfcl.viewing.library import Library
from pytest_bfcl.viewing.shelf import open_shelf
from pytest_bfcl.viewing.site import bucket, write_site
from tests.reporting.samples import stored_run
from tests.viewing.samples import Tags, records


@pytest.fixture(scope="module")
def library(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(open_shelf([folder], tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def site(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_site(library, tmp_path_factory.mktemp("site")).parent


def unpacked(site: Path) -> dict[int, dict[str, dict[str, list[str]]]]:
    """The parts by number."""
    parts = {}
    for file in (site / "data").iterdir():
        found = re.fullmatch(r'bfclPart\((\d+),"([A-Za-z0-9+/=]*)"\);\n', file.read_text())
        assert found is not None
        assert file.name == f"{found.group(1)}.js"
        parts[int(found.group(1))] = json.loads(zlib.decompress(base64.b64decode(found.group(2)), -zlib.MAX_WBITS))
    return parts


def test_every_link_leads_somewhere(site: Path) -> None:
    parts = unpacked(site)
    pages = {page for part in parts.values() for page in part["pages"]}
    beside = {name for part in parts.values() for name in part["beside"]}
    texts = [(path.relative_to(site), path.read_text()) for path in site.rglob("*.html")]
    for part in parts.values():
        for _, body in [*part["pages"].values(), *part["beside"].values()]:
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
                assert (name in beside) if run == "beside" else (f"{run}/{name}" in pages), (place, link)
                seen += 1
    assert seen > 500


def test_every_entry_is_in_the_part_that_is_looked_in(site: Path, library: Library) -> None:
    parts = unpacked(site)
    about = json.loads(re.search(r'id="about">(.*?)</script>', (site / "entry.html").read_text()).group(1))  # type: ignore[union-attr]
    assert about["parts"] == len(parts)
    cards, _ = library.cards()
    assert len(cards) == 5
    for shelved in (library.shelf.look()[card.name] for card in cards):
        for page, row in library.open(shelved).rows.items():
            part = parts[bucket(safe_id(row.id), about["parts"])]
            title, body = part["pages"][f"{shelved.name}/{page}"]
            assert title == f"{row.id} · {row.outcome}"
            for digest in re.findall(r'data-shared="([0-9a-f]+)"', body):
                assert digest in part["shared"]
            assert safe_id(row.id) in part["beside"]


def test_it_is_written_again_but_over_nothing_else(site: Path, library: Library, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="other files"):
        write_site(library, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    run = stored_run(tmp_path / "run", records(1, 2))
    with pytest.raises(UsageError, match="run directory"):
        write_site(library, run)
    small = Library(open_shelf([run], tmp_path / "cache"))
    out = tmp_path / "again"
    write_site(library, out)
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
    assert main(["site", *names, "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr()
    assert said.out.strip() == str(tmp_path / "out" / "index.html")
    assert "broken" in said.err
    assert main(["site", str(folder / "night-1"), "-o", str(tmp_path / "one")]) == 0
    assert main(["site", str(folder / "foreign"), "-o", str(tmp_path / "none")]) == 2
    assert main(["site", str(folder / "nowhere"), "-o", str(tmp_path / "none")]) == 2
    assert "no folder" in capsys.readouterr().err
    assert main(["view", "--no-open", "--port", "99999"]) == 2
