"""The small web of our own: served on loopback, searched the same way every time, closed to everything else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_bfcl.providers.local_site import HOST, LocalSite, snippet
from pytest_bfcl.session.evaluation import open_data


@pytest.fixture
def site(tmp_path: Path) -> Iterator[LocalSite]:
    pages = {
        "cats": "<title>Cats &amp; more</title><p>A cat sleeps on the <a href='dogs.html'>dog</a>.</p>"
        "<script>cat()</script>",
        "dogs": "<html><head><title>Dogs</title></head><body><p>A dog barks.</p><p>It saw a cat.</p></body></html>",
        "empty": "",
    }
    for name, source in pages.items():
        (tmp_path / f"{name}.html").write_text(source, encoding="utf-8")
    (tmp_path / "secret.txt").write_text("not a page")
    local = LocalSite(tmp_path)
    yield local
    local.close()


def test_search_ranks_and_leaves_out(site: LocalSite) -> None:
    found = site.search("the CAT", 10, "wt-wt")
    assert [row["href"] for row in found] == [f"http://{HOST}/cats.html", f"http://{HOST}/dogs.html"]
    assert found[0]["title"] == "Cats & more"  # type: ignore[index]
    assert "sleeps" in found[0]["body"]  # type: ignore[index]
    assert "error" in site.search("giraffe", 10, "wt-wt")
    assert "error" in site.search("", 10, "wt-wt")
    assert site.search("cat " * 10_000, 10, "wt-wt") == site.search("cat", 10, "wt-wt")


@pytest.mark.parametrize(
    "url",
    [
        f"http://{HOST}/", f"http://{HOST}/none.html", f"http://{HOST}/secret.txt", f"http://{HOST}/../conftest.py",
        f"http://{HOST}/%2e%2e/%2e%2e/etc/passwd", "http://127.0.0.1/", "http://localhost/cats.html",
        "https://example.com/", f"http://{HOST}@example.com/", "http://[bad", f"http://{HOST}/a b\r\nX: y",
    ],
)  # fmt: skip
def test_nothing_else_can_be_reached(site: LocalSite, url: str) -> None:
    assert list(site.fetch(url, "raw")) == ["error"]


@pytest.mark.slow
def test_many_threads_at_once(site: LocalSite) -> None:
    found: list[object] = []

    def ask() -> None:
        found.append((str(site.search("cat", 3, "wt-wt")), site.fetch(f"http://{HOST}/dogs.html", "raw")["content"]))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1


def test_snippets_show_the_words_found() -> None:
    text = "one\ntwo words here\nthree " + "long " * 100
    assert snippet(text, {"words"}).startswith("two words here three long")
    assert len(snippet(text, {"words"})) < 170
    assert snippet("", {"x"}) == ""


def test_every_link_of_our_pages_leads_to_a_page() -> None:
    folder = open_data("bundled").site
    assert folder is not None
    site = LocalSite(folder)
    from bs4 import BeautifulSoup

    names = {page.name for page in site.pages}
    assert len(names) == 30
    for page in site.pages:
        for link in BeautifulSoup(page.source, "html.parser").find_all("a"):
            assert link["href"] in names, page.name
