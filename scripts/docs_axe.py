"""Runs axe over every page of the built documentation, light and dark: ``docs_axe.py build/site axe.min.js [PATTERN]``.

Prints serious findings, alike ones once, with the first place; exit code 1 where there is one. Needs a Chromium.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.reporting.browser import chromium, find_chromium

ASKED = """axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(found.violations
    .filter(each => ['serious', 'critical'].includes(each.impact))
    .flatMap(each => each.nodes.map(node => [each.id, node.html.slice(0, 120), node.any.concat(node.all)
        .map(check => check.message).join(' ').slice(0, 160)]))))"""


def main(site: Path, axe: str, pattern: str = "*.html") -> int:
    """The exit code."""
    program = find_chromium()
    if program is None:
        print("no Chromium here: nothing was checked")
        return 0
    found: dict[str, list[str]] = defaultdict(list)
    pages = sorted(page for page in site.rglob(pattern) if page.name != "404.html")  # its addresses begin at the root
    with tempfile.TemporaryDirectory() as profile, chromium(program, Path(profile)) as browser:
        browser.size(1280, 900)
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            for page in pages:
                browser.open(page.resolve().as_uri())
                browser.js(axe)
                for rule, html, why in json.loads(browser.js(ASKED)):
                    found[f"{rule}: {why}"].append(f"{scheme} {page.relative_to(site)}: {' '.join(html.split())}")
    for what, places in sorted(found.items()):
        print(f"{what}\n    {len(places)} times, the first: {places[0]}")
    print(f"{len(pages)} pages, light and dark: {len(found)} serious findings")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8"), *sys.argv[3:]))
