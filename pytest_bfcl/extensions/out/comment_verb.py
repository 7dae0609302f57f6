"""Write one comment with a run's gates, scores and causes into its pull request, and update it.

  pytest-bfcl comment reports/pr --against reports/main            print it
  pytest-bfcl comment reports/pr --against reports/main --post     write it, on GitHub or GitLab

If the baseline exists, the comment also shows the differences. A job that runs again updates the same comment. GitHub
needs GITHUB_TOKEN and `permissions: pull-requests: write`. GitLab needs GITLAB_TOKEN, a project access token with the
scope api. Exit code 0; 1 when GitHub or GitLab refused the comment; 2 for usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from pytest_bfcl.plain_text import say

SUMMARY = "write a run's scores and causes into its pull request"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory")
    parser.add_argument("--against", type=Path, metavar="RUN", help="the main branch's run; may be missing")
    parser.add_argument("--post", action="store_true", help="write it into the pull or merge request of this job")
    parser.add_argument(
        "--key", default="run", help="name of this comment, when one pull request has several (default: run)"
    )
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="write it to a file, too")


def run(args: argparse.Namespace) -> int:
    """Print or post the comment."""
    from pytest_bfcl.cli import write_file
    from pytest_bfcl.extensions.out.finished import body, marker
    from pytest_bfcl.extensions.out.forge import Refused, discussion, job_address

    text = body(args.run, args.against, key=args.key, link=job_address(os.environ))
    if args.out is not None:
        write_file(args.out, text)
    if not args.post:
        if args.out is None:
            say(text)
        return 0
    place = discussion(os.environ)
    if place is None:
        say("this job belongs to no pull request: nothing was posted")
        return 0
    try:
        known = [each for each in place.comments() if each.body.startswith(marker(args.key))]
        if known:
            place.update(next((each for each in known if each.ours), known[0]), text)
        else:
            place.create(text)
    except Refused as error:
        mend = {
            401: "the token is not valid",
            403: "the token may not write comments (GitHub: permissions: pull-requests: write; not from forks)",
        }
        say(f"pytest-bfcl comment: {error}{'; ' + mend[error.status] if error.status in mend else ''}", file=sys.stderr)
        return 1
    say("the comment was updated" if known else "the comment was written")
    return 0
