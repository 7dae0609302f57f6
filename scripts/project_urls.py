"""Writes the addresses of a release's repository into pyproject.toml and README: ``project_urls.py URL``.

The sources name no host: a fork's release must not lead to somebody else's issues. An index shows the README without
the files beside it, so that its pictures and links become addresses of the release's tag, and installing is one line.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
INSTALL = re.compile(r"<!-- install: begin -->.*?<!-- install: end -->", re.DOTALL)
INSTALLED = "    pip install pytest-bfcl            # Python 3.11 or newer"
PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
PLACES = {
    "Repository": "",
    "Issues": "/issues",
    "Changelog": "/blob/main/CHANGELOG.md",
    "Documentation": "/tree/main/docs",
}


def with_urls(text: str, repository: str) -> str:
    """The project file with the addresses below ``[project.urls]``. Raises `ValueError` for anything but https."""
    repository = repository.rstrip("/")
    if not re.fullmatch(r"https://[\w.-]+(?::\d+)?(?:/[\w.-]+)+", repository):
        raise ValueError(f"not the address of a repository: {repository!r}")
    lines = "".join(f'{name} = "{repository}{place}"\n' for name, place in PLACES.items())
    if text.count("[project.urls]\n") != 1:
        raise ValueError("pyproject.toml has no [project.urls]")
    return text.replace("[project.urls]\n", f"[project.urls]\n{lines}")


def with_addresses(readme: str, repository: str, tag: str) -> str:
    """The README as an index shows it: pictures and links by address, installing from there."""
    if len(INSTALL.findall(readme)) != 1:
        raise ValueError("README.md has no block between install: begin and install: end")

    def address(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        kind = "raw" if picture else "blob"
        return f"{picture}[{text}]({repository.rstrip('/')}/{kind}/{tag}/{target})"

    return re.sub(r"(!?)\[([^]]*)\]\((?!https?://|#)([^)]+)\)", address, INSTALL.sub(INSTALLED, readme))


if __name__ == "__main__":
    TAG = "v" + tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"]
    README.write_text(with_addresses(README.read_text(encoding="utf-8"), sys.argv[1], TAG), encoding="utf-8")
    PROJECT.write_text(with_urls(PROJECT.read_text(encoding="utf-8"), sys.argv[1]), encoding="utf-8")
