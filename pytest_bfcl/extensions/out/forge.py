"""Download the default branch's run from GitLab, as a baseline: the latest successful job of the same name.

  pytest-bfcl comment baseline -o reports/main

If there is no such run, the command reports this, writes nothing and exits with 0. It reads CI_API_V4_URL,
CI_PROJECT_ID, CI_DEFAULT_BRANCH, CI_JOB_NAME and CI_JOB_TOKEN of the job. On GitHub the action uses its cache instead.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import clean, say
from pytest_bfcl.redaction import redact
from pytest_bfcl.spread_json import json_file

if TYPE_CHECKING:
    import httpx

    from pytest_bfcl.confined.zips import Archive


TIMEOUT_S = 30.0
PER_PAGE = 100
MOST_PAGES = 50
MOST_BYTES = 16 * 2**20
MOST_FILE_BYTES = 2 * 2**30
SUMMARY = "download the default branch's run from GitLab"
FILES = ("run.json", "results.jsonl", "summary.json")
"""The files of a run that a comparison reads."""
MOST_RUN_BYTES = 2**30


class Refused(UsageError):
    """An error of the API. ``status``: HTTP's, 0 without an answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Api:
    """GitHub's or GitLab's API below ``base``; ``headers`` hold the token, which goes only to the API's own host."""

    def __init__(self, base: str, headers: Mapping[str, str]) -> None:
        if urlsplit(base).scheme not in ("http", "https"):
            raise UsageError(f"{redact(base)!r} is no address of an API")
        self._base = base.rstrip("/")
        self._headers = dict(headers)

    def pages(self, path: str, **query: str) -> Iterator[Parsed]:
        """The objects of a list, page by page."""
        for page in range(1, MOST_PAGES + 1):
            found = self.ask("GET", f"{path}?{urlencode({**query, 'per_page': PER_PAGE, 'page': page})}")
            if not isinstance(found, list):
                raise Refused(0, f"{self._base}{path} answers with no list")
            yield from (each for each in found if isinstance(each, dict))
            if len(found) < PER_PAGE:
                return

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request; returns its parsed answer. Raises `Refused`."""
        text = bytearray()
        with self._open(method, path, body) as answer:
            for piece in answer.iter_bytes():
                text += piece
                if len(text) > MOST_BYTES:
                    raise Refused(0, f"{self._base}{path} is longer than {MOST_BYTES:,} bytes")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refused(0, f"{self._base}{path} answers with something else than JSON") from error

    def download(self, path: str, target: Path) -> None:
        """A file. Raises `Refused`."""
        with self._open("GET", path) as answer, target.open("wb") as file:
            left = MOST_FILE_BYTES
            for piece in answer.iter_bytes():
                if (left := left - len(piece)) < 0:
                    raise Refused(0, f"{self._base}{path} is longer than a run can be")
                file.write(piece)

    @contextmanager
    def _open(self, method: str, path: str, body: object = None) -> Iterator[httpx.Response]:
        """An answer below 300. Only reads follow redirects; a redirected change is refused."""
        import httpx

        shown = f"{method} {self._base}{path.partition('?')[0]}"
        headers = {"User-Agent": "pytest-bfcl", "Accept": "application/json", **self._headers}
        try:
            with (
                httpx.Client(
                    timeout=TIMEOUT_S, follow_redirects=method == "GET", event_hooks={"request": [self._guard]}
                ) as client,
                client.stream(method, self._base + path, json=body, headers=headers) as answer,
            ):
                if answer.status_code >= 300:
                    said = clean(next(answer.iter_bytes(300), b"").decode("utf-8", "replace"))
                    raise Refused(answer.status_code, redact(f"{shown}: {answer.status_code} {said}"))
                yield answer
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise Refused(0, redact(f"{shown}: {error}")) from None

    def _guard(self, request: httpx.Request) -> None:
        """Remove the token from redirected requests, because files are on other hosts."""
        import httpx

        own = httpx.URL(self._base)
        if (request.url.scheme, request.url.netloc) != (own.scheme, own.netloc):
            for name in self._headers:
                request.headers.pop(name, None)


Environment = Mapping[str, str]


class Comment(NamedTuple):
    """An existing comment; ``ours``: written by a bot, like a job's token."""

    id: str
    body: str
    ours: bool


@dataclass(frozen=True)
class Discussion:
    """The comments of one pull or merge request: ``place`` lists and takes them, ``each`` holds one.

    ``read`` gives a comment of the API, ``None`` for the forge's own; ``query`` sorts them, ``change`` is the method
    that replaces one.
    """

    api: Api
    place: str
    each: str
    change: str
    read: Callable[[Parsed], Comment | None]
    query: Mapping[str, str] = field(default_factory=dict)

    def comments(self) -> Iterator[Comment]:
        """All of them, oldest first."""
        return filter(None, map(self.read, self.api.pages(self.place, **self.query)))

    def create(self, body: str) -> None:
        """Add one."""
        self.api.ask("POST", self.place, {"body": body})

    def update(self, comment: Comment, body: str) -> None:
        """Replace one."""
        self.api.ask(self.change, f"{self.each}/{quote(comment.id)}", {"body": body})


def _githubs(each: Parsed) -> Comment:
    """An issue's comment; those on lines of code are separate."""
    user = each.get("user") or {}
    return Comment(str(each.get("id")), str(each.get("body") or ""), user.get("type") == "Bot")


def _gitlabs(each: Parsed) -> Comment | None:
    """A note that is not GitLab's own."""
    author = str((each.get("author") or {}).get("username") or "")
    return None if each.get("system") else Comment(str(each.get("id")), str(each.get("body") or ""), "_bot" in author)


def discussion(environment: Environment) -> Discussion | None:
    """The request of this job; ``None`` without one. Raises `UsageError` if a token is missing."""
    if environment.get("GITHUB_ACTIONS") or environment.get("GITHUB_EVENT_PATH"):
        return _of_github(environment)
    if environment.get("GITLAB_CI"):
        return _of_gitlab(environment)
    raise UsageError("this is no job of GitHub or GitLab; leave out --post to print the comment")


def job_address(environment: Environment) -> str:
    """The page of the job, empty if unknown."""
    if run := environment.get("GITHUB_RUN_ID"):
        return (
            f"{environment.get('GITHUB_SERVER_URL', '')}/{environment.get('GITHUB_REPOSITORY', '')}/actions/runs/{run}"
        )
    return environment.get("CI_JOB_URL", "")


def gitlab_api(environment: Environment, headers: Mapping[str, str]) -> tuple[Api, str]:
    """GitLab's API and the project. Raises `UsageError` outside of its jobs."""
    base, project = environment.get("CI_API_V4_URL"), environment.get("CI_PROJECT_ID")
    if not base or not project:
        raise UsageError("CI_API_V4_URL and CI_PROJECT_ID are not set: this is no job of GitLab's")
    return Api(base, headers), project


def _of_github(environment: Environment) -> Discussion | None:
    event = _event(Path(environment.get("GITHUB_EVENT_PATH", "")))
    number = (event.get("pull_request") or event.get("issue") or {}).get("number")
    if not isinstance(number, int):
        return None
    token = environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN")
    if not token:
        raise UsageError("GITHUB_TOKEN is not set; add to the step: env: GITHUB_TOKEN: ${{ github.token }}")
    api = Api(environment.get("GITHUB_API_URL") or "https://api.github.com", {"Authorization": f"Bearer {token}"})
    issues = f"/repos/{quote(environment.get('GITHUB_REPOSITORY', ''))}/issues"
    return Discussion(api, f"{issues}/{number}/comments", f"{issues}/comments", "PATCH", _githubs)


def _of_gitlab(environment: Environment) -> Discussion | None:
    number = environment.get("CI_MERGE_REQUEST_IID")
    if not number:
        return None
    token = environment.get("GITLAB_TOKEN")
    if not token:
        raise UsageError("GITLAB_TOKEN is not set: a project access token with the scope api, as a masked variable")
    api, project = gitlab_api(environment, {"PRIVATE-TOKEN": token})
    notes = f"/projects/{quote(project, safe='')}/merge_requests/{quote(number)}/notes"
    return Discussion(api, notes, notes, "PUT", _gitlabs, {"sort": "asc", "order_by": "created_at"})


def _event(path: Path) -> Parsed:
    found = json_file(path, "GITHUB_EVENT_PATH names it")
    return found if isinstance(found, dict) else {}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="folder for the run")
    parser.add_argument("--job", help="the job's name (default: CI_JOB_NAME)")
    parser.add_argument("--branch", help="its branch (default: CI_DEFAULT_BRANCH)")


def run(args: argparse.Namespace) -> int:
    """Download it, or report that there is none yet."""
    from pytest_bfcl.confined.zips import zip_archive

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
            if error.status != HTTPStatus.NOT_FOUND:
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
                file.writelines(archive.pieces(member, MOST_RUN_BYTES))
