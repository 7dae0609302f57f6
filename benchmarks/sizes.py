"""What each extra brings, measured in fresh environments: packages and megabytes. ``benchmarks/sizes.py [EXTRA ...]``

Each environment holds this package with one extra, without bytecode, pip and setuptools. Sizes are those of the files,
the core's once more as blocks on disk. The table is Markdown, for docs/installation.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = ("dev", "docs", "release", "browser", "ray", "train", "serve")  # not for users, or gigabytes


def measured(extra: str, folder: Path, uv: str) -> tuple[int, float]:
    """Packages (this one among them) and megabytes of an environment with an extra; "" is the core."""
    environment = folder / (extra or "core")
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    quiet = {"check": True, "capture_output": True}
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(environment)], **quiet)
    python = environment / "bin" / "python"
    constraints = str(ROOT / "constraints.txt")
    subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), "-c", constraints, target], **quiet)
    (site,) = environment.glob("lib/python*/site-packages")
    packages = len(list(site.glob("*.dist-info")))
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return packages, size / 1e6


def main(wanted: list[str]) -> None:
    """Print the table."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    uv = os.environ.get("UV", "uv")
    print("| installed | packages | MB |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for extra in wanted or ["", *(name for name in extras if name not in SKIPPED)]:
            packages, size = measured(extra, Path(folder), uv)
            name = f"`pytest-bfcl[{extra}]`" if extra else "`pytest-bfcl`"
            print(f"| {name} | {packages} | {size:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
