"""Download the default branch's run from GitLab, as a baseline: the latest successful job of the same name.

  pytest-bfcl comment baseline -o reports/main

If there is no such run, the command reports this, writes nothing and exits with 0. It reads CI_API_V4_URL,
CI_PROJECT_ID, CI_DEFAULT_BRANCH, CI_JOB_NAME and CI_JOB_TOKEN of the job. On GitHub the action uses its cache instead.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say

if TYPE_CHECKING:
    from pytest_bfcl.confined.zips import Archive

SUMMARY = "download the default branch's run from GitLab"
FILES = ("run.json", "results.jsonl", "summary.json")
"""The files of a run that a comparison reads."""
_NOT_YET = (404,)
_MOST_BYTES = 2**30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="folder for the run")
    parser.add_argument("--job", help="the job's name (default: CI_JOB_NAME)")
    parser.add_argument("--branch", help="its branch (default: CI_DEFAULT_BRANCH)")


def run(args: argparse.Namespace) -> int:
    """Download it, or report that there is none yet."""
    from pytest_bfcl.confined.zips import zip_archive
    from pytest_bfcl.extensions.out.forge import Refused, gitlab_api

    if args.out.exists():
        raise UsageError(f"{args.out} is there already: name a new folder with -o")
    environment = os.environ
    branch = args.branch or environment.get("CI_DEFAULT_BRANCH", "main")
    job = args.job or environment.get("CI_JOB_NAME", "")
    api, project = gitlab_api(environment, {"JOB-TOKEN": environment.get("CI_JOB_TOKEN", "")})
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder, "artifacts.zip")
        try:
            place = f"/projects/{quote(project, safe='')}/jobs/artifacts/{quote(branch, safe='')}/download"
            api.download(f"{place}?job={quote(job, safe='')}", packed)
        except Refused as error:
            if error.status not in _NOT_YET:
                raise
            say(f"no baseline yet: no successful job {job!r} of {branch} has artefacts")
            return 0
        with zip_archive(packed) as archive:
            _unpack(archive, args.out, branch)
    say(f"the run of {branch} is in {args.out}")
    return 0


def _unpack(archive: Archive, out: Path, branch: str) -> None:
    root = next((PurePosixPath(name).parent for name in archive.sizes if PurePosixPath(name).name == FILES[0]), None)
    if root is None:
        raise UsageError(f"the artefacts of {branch} hold no run: no {FILES[0]}")
    out.mkdir(parents=True)
    for name in FILES:
        member = str(root / name)
        if member in archive.sizes:
            with (out / name).open("wb") as file:
                file.writelines(archive.pieces(member, _MOST_BYTES))
