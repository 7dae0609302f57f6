"""What each extra brings, measured in fresh folders: packages and megabytes. ``benchmarks/sizes.py [EXTRA ...]``

Each folder holds this package with one extra, without bytecode. Sizes are those of the files. The table, in Markdown,
is that of docs/installation.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = ("dev", "docs", "release", "browser", "ray", "train", "serve")  # not for users, or gigabytes


def measured(extra: str, folder: Path) -> tuple[int, float]:
    """Packages (this one among them) and megabytes that an extra installs; "" is the core."""
    site = folder / (extra or "core")
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), "--target", str(site), target], check=True)
    packages = len(list(site.glob("*.dist-info")))
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return packages, size / 1e6


def main(wanted: list[str]) -> None:
    """Print the table."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    print("| installed | packages | MB |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for extra in wanted or ["", *(name for name in extras if name not in SKIPPED)]:
            packages, size = measured(extra, Path(folder))
            name = f"`pytest-bfcl[{extra}]`" if extra else "`pytest-bfcl`"
            print(f"| {name} | {packages} | {size:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
