"""Checks built distributions: ``python scripts/check_wheel.py DIST``. What must be inside is, what must not is not.

The wheel is installed without extras into a fresh environment and run there: all modules, all verbs, bundled entries.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WANTED = ("pytest_bfcl/py.typed", "pytest_bfcl/models/prices.json", "pytest_bfcl/plugin/__init__.py",
          "pytest_bfcl/reporting/templates/base.html.jinja")  # fmt: skip
MOST_BYTES = {".whl": 6_000_000, ".gz": 12_000_000}
"""Larger ones have something in them that is not ours to ship."""
JUNK = ("__pycache__", ".pyc", ".venv", ".git/", "reports/", ".hypothesis", "_cache/", ".ruff_cache")


def wheel_faults(names: Iterable[str]) -> list[str]:
    """What is wrong with the contents of a wheel."""
    found = set(names)
    bundled = {f"pytest_bfcl/_bundled/{path.relative_to(ROOT / 'data').as_posix()}"
               for path in (ROOT / "data").rglob("*") if path.is_file()}  # fmt: skip
    faults = [f"missing: {name}" for name in sorted({*WANTED, *bundled} - found)]
    faults += [f"not ours to ship: {name}" for name in sorted(found) if name.split("/")[0] in ("tests", "docs", "data")]
    return faults + _junk(found)


def sdist_faults(names: Iterable[str]) -> list[str]:
    """What is wrong with the contents of a source distribution: its tests must be able to run."""
    found = {name.partition("/")[2] for name in names}
    wanted = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile", "conftest.py", "constraints.txt",
              "data/simple_python.jsonl", "tests/conftest.py", "docs/contracts.md", "scripts/prices.py")  # fmt: skip
    return [f"missing: {name}" for name in wanted if name not in found] + _junk(found)


def _junk(names: Iterable[str]) -> list[str]:
    junk = [f"junk: {name}" for name in sorted(names) if any(word in name for word in JUNK)]
    official = re.compile(r"(^|/)(BFCL_v\d_\w+\.json|possible_answer/)")
    return junk + [f"official data: {name}" for name in sorted(names) if official.search(name)]


def size_faults(sizes: Mapping[str, int]) -> list[str]:
    """Files that are too large; ``sizes``: name → bytes."""
    limits = {name: MOST_BYTES[Path(name).suffix] for name in sizes}
    return [f"too large: {name} has {size:,} bytes" for name, size in sizes.items() if size > limits[name]]


def asked_index(name: str) -> str:
    """What pip says of a name, this environment's or the one on the path; empty without any."""
    own = [sys.executable, "-m", "pip"] if find_spec("pip") else [shutil.which("pip3") or shutil.which("pip") or ""]
    if not own[0]:
        return ""
    command = [*own, "index", "versions", name, "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


def index_says(name: str, version: str, told: str) -> str:
    """What `pip index versions` or its error means for a release of that name and version."""
    if found := re.search(r"Available versions: (.*)", told):
        taken = version in found[1].replace(",", " ").split()
        return f"{name} {version} is published already" if taken else f"{name} is there, without {version}"
    if "No matching distribution" in told:
        return f"{name} is free"
    return f"{name}: the index was not reached, nothing is known of the name"


def try_wheel(wheel: Path, folder: Path) -> str:
    """Install into a fresh environment and run; pytest's last line. Raises when something fails, a missed gate too."""
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(scripts / "python")

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
        if done.returncode:
            raise SystemExit(
                f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
        return done.stdout

    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    print("the core alone:", run(python, str(ROOT / "scripts" / "core_alone.py"), str(folder)).strip())
    score = "--model lexical: --bfcl-data bundled --bfcl-out run --bfcl-fail-under single_turn=20 --bfcl-allow-missing"
    shown = run(python, "-m", "pytest", "-q", "--tb=no", *score.split())
    return shown.strip().splitlines()[-1]


def main(dist: Path) -> int:
    """Check the one wheel and the one source distribution of a folder; exit code 1 when something is wrong."""
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as packed, tarfile.open(source) as sources:
        faults = wheel_faults(packed.namelist()) + sdist_faults(sources.getnames())
    faults += size_faults({path.name: path.stat().st_size for path in (wheel, source)})
    name, version = wheel.name.split("-")[:2]
    said = index_says(name.replace("_", "-"), version, asked_index(name.replace("_", "-")))
    print(f"the index: {said}")
    faults += [said] if said.endswith("already") else []
    if faults:
        print("\n".join(faults))
        return 1
    print(f"contents are complete: {wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB), {source.name}")
    with tempfile.TemporaryDirectory() as folder:
        print("installed without extras and run:", try_wheel(wheel.resolve(), Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
