"""The dark picture of a report for the README: a real run of ``lexical:`` over the bundled data, drawn by Chromium.

python scripts/pictures.py [CHROMIUM]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from pytest_bfcl.cli import main as verb

PICTURE = Path(__file__).resolve().parents[1] / "docs/images/report-dark.png"
SIZE = (1200, 860)


def main(chromium: str = "chromium") -> None:
    """Run, report, draw. Raises `CalledProcessError` where the browser fails."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "example"
        verb(["run", "--model", "lexical:", "--data", "bundled", "-o", str(run)])
        verb(["export", "report", str(run)])
        page = run / "index.html"
        dark = page.read_text(encoding="utf-8").replace('<html lang="en">', '<html lang="en" data-theme="dark">')
        page.write_text(dark, encoding="utf-8")
        width, height = SIZE
        subprocess.run(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-javascript",
             f"--window-size={width},{height}", f"--screenshot={PICTURE}", "--force-dark-mode", page.as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:2])
