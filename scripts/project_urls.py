"""Writes the addresses of the repository a release is built from into pyproject.toml: ``project_urls.py URL``.

The sources name no host: a fork's release must not lead to somebody else's issues.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

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


if __name__ == "__main__":
    PROJECT.write_text(with_urls(PROJECT.read_text(encoding="utf-8"), sys.argv[1]), encoding="utf-8")
