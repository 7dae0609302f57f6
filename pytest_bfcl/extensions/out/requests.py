"""Where a run's comment goes: GitHub's pull request or GitLab's merge request, as the job's environment names it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import quote

from pytest_bfcl.extensions.out.api import Api
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed

Environment = Mapping[str, str]


class Comment(NamedTuple):
    """A comment that is there; ``ours``: written by a bot, as a job's token does."""

    id: str
    body: str
    ours: bool


class Discussion(Protocol):
    """The comments of one pull or merge request."""

    def comments(self) -> Iterator[Comment]:
        """All of them, the oldest first."""

    def create(self, body: str) -> None:
        """Add one."""

    def update(self, comment: Comment, body: str) -> None:
        """Write one again."""


class PullRequest:
    """GitHub's."""

    def __init__(self, api: Api, repository: str, number: int) -> None:
        self._api, self._place = api, f"/repos/{quote(repository)}/issues"
        self._number = number

    def comments(self) -> Iterator[Comment]:
        """Issue comments; those on lines of code are others."""
        for each in self._api.pages(f"{self._place}/{self._number}/comments"):
            user = each.get("user") or {}
            yield Comment(str(each.get("id")), str(each.get("body") or ""), user.get("type") == "Bot")

    def create(self, body: str) -> None:
        """Add one."""
        self._api.ask("POST", f"{self._place}/{self._number}/comments", {"body": body})

    def update(self, comment: Comment, body: str) -> None:
        """Write one again."""
        self._api.ask("PATCH", f"{self._place}/comments/{quote(comment.id)}", {"body": body})


class MergeRequest:
    """GitLab's."""

    def __init__(self, api: Api, project: str, number: str) -> None:
        self._api, self._place = api, f"/projects/{quote(project, safe='')}/merge_requests/{quote(number)}/notes"

    def comments(self) -> Iterator[Comment]:
        """Notes; what GitLab itself notes there is none."""
        for each in self._api.pages(self._place, sort="asc", order_by="created_at"):
            if not each.get("system"):
                author = str((each.get("author") or {}).get("username") or "")
                yield Comment(str(each.get("id")), str(each.get("body") or ""), "_bot" in author)

    def create(self, body: str) -> None:
        """Add one."""
        self._api.ask("POST", self._place, {"body": body})

    def update(self, comment: Comment, body: str) -> None:
        """Write one again."""
        self._api.ask("PUT", f"{self._place}/{quote(comment.id)}", {"body": body})


def discussion(environment: Environment) -> Discussion | None:
    """The request this job is about; ``None`` where it is about none. Raises `UsageError` where a token is missing."""
    if environment.get("GITHUB_ACTIONS") or environment.get("GITHUB_EVENT_PATH"):
        return _of_github(environment)
    if environment.get("GITLAB_CI"):
        return _of_gitlab(environment)
    raise UsageError("this is no job of GitHub or GitLab; leave out --post to print the comment")


def job_address(environment: Environment) -> str:
    """The page of the job, empty where it is unknown."""
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


def _of_github(environment: Environment) -> PullRequest | None:
    event = _event(Path(environment.get("GITHUB_EVENT_PATH", "")))
    number = (event.get("pull_request") or event.get("issue") or {}).get("number")
    if not isinstance(number, int):
        return None
    token = environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN")
    if not token:
        raise UsageError("GITHUB_TOKEN is not set; add to the step: env: GITHUB_TOKEN: ${{ github.token }}")
    api = Api(environment.get("GITHUB_API_URL") or "https://api.github.com", {"Authorization": f"Bearer {token}"})
    return PullRequest(api, environment.get("GITHUB_REPOSITORY", ""), number)


def _of_gitlab(environment: Environment) -> MergeRequest | None:
    number = environment.get("CI_MERGE_REQUEST_IID")
    if not number:
        return None
    token = environment.get("GITLAB_TOKEN")
    if not token:
        raise UsageError("GITLAB_TOKEN is not set: a project access token with the scope api, as a masked variable")
    api, project = gitlab_api(environment, {"PRIVATE-TOKEN": token})
    return MergeRequest(api, project, number)


def _event(path: Path) -> Parsed:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"GITHUB_EVENT_PATH: cannot read {path}: {error}") from None
    return found if isinstance(found, dict) else {}
