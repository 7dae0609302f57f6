"""The recipes for GitHub and GitLab, run by a runner of ours: a first run, one that is as good, one that is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings
from tests.extensions.out.forge import TOKEN, Forge
from tests.extensions.out.runner import BASH, Action, bash
from tests.extensions.out.test_comments import zipped

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BASH is None, reason="the recipes are written for bash")]
ROOT = Path(__file__).resolve().parents[3]
MODEL = "replay:answers.jsonl"
CHOSEN = "-m 'simple_java or irrelevance'"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Recorded outputs of one model at two commits: ``good`` ones, and ``worse`` ones that never call anything."""
    folder = tmp_path_factory.mktemp("answers")
    result = run(
        "bundled", "oracle:", out=folder / "run", settings=Settings(), categories=["simple_java", "irrelevance"]
    )
    lines = [json.loads(line) for line in (result.path / "results.jsonl").read_text().splitlines()]
    kept = [
        {name: line[name] for name in ("id", "mode", "output", "underscore_names")} | {"model": "mine@fc"}
        for line in lines
    ]
    worse = [line | {"output": "Sorry."} for line in kept]
    return {
        name: "".join(json.dumps(line) + "\n" for line in found) for name, found in (("good", kept), ("worse", worse))
    }


class Workflow:
    """A repository on GitHub whose workflow is one step: the action."""

    def __init__(self, folder: Path, forge: Forge) -> None:
        self.folder, self.forge, self.caches, self.runs = folder, forge, {}, 0
        self.definition = yaml.safe_load((ROOT / "action.yml").read_text())

    def job(self, answers: str, ref: str, event: dict[str, Any], **inputs: str) -> Action:
        self.runs += 1
        place = self.folder / f"job-{self.runs}"
        place.joinpath("work").mkdir(parents=True)
        place.joinpath("work", "answers.jsonl").write_text(answers)
        event = {"repository": {"default_branch": "main"}, **event}
        place.joinpath("event.json").write_text(json.dumps(event))
        environment = {
            "GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": str(place / "event.json"),
            "GITHUB_API_URL": self.forge.address, "GITHUB_REPOSITORY": "o/r",
            "GITHUB_RUN_ID": str(self.runs), "GITHUB_SERVER_URL": "https://forge.test",
            "GITHUB_STEP_SUMMARY": str(place / "summary.md"), "RUNNER_TEMP": str(place),
        }  # fmt: skip
        github = {
            "action_path": ROOT,
            "ref": ref,
            "event": event,
            "run_id": self.runs,
            "run_attempt": 1,
            "token": TOKEN,
        }
        given = {"model": MODEL, "arguments": CHOSEN, **inputs}
        found = Action(self.definition, place / "work", self.caches, github, environment, given)
        found.run()
        return found


PULL = {"pull_request": {"number": 7}}


def test_the_documented_recipes_pass_a_model_that_has_not_changed(tmp_path: Path, forge: Forge) -> None:
    """Word for word, but for the model and its server: main, then a request; and the scripts by hand, twice."""
    page = (ROOT / "docs/how-to/github.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    (step,) = [
        each for each in blocks[0]["jobs"]["function-calling"]["steps"] if "pytest-bfcl@" in each.get("uses", "")
    ]
    given = step["with"] | {"model": "oracle:", "base-url": ""}
    workflow = Workflow(tmp_path, forge)
    for ref, event in (("refs/heads/main", {}), ("refs/pull/7/merge", PULL)):
        job = workflow.job("", ref, event, **given)
        assert job.failed == 0, job.log
    assert "--bfcl-noninferior" not in "".join(job.log)  # it was not refused, either
    by_hand = next(each["run"] for each in blocks[1] if "--bfcl-noninferior" in each.get("run", ""))
    told = (ROOT / "docs/how-to/gitlab.md").read_text(encoding="utf-8")
    included, job_by_hand = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", told, re.DOTALL))
    script = "\n".join(each for each in job_by_hand["score"]["script"] if "comment baseline" not in each)
    for number, text in enumerate((by_hand, script.replace("pip install", "true"))):
        folder = tmp_path / f"hand-{number}" / "work"
        folder.mkdir(parents=True)
        text = text.replace("openai:checkpoint@fc", "oracle:").replace('--bfcl-base-url "$SERVER"', "")
        for place in ("reports/main", "reports/pr"):
            done = bash(text.replace("reports/pr", place) if place == "reports/main" else text, folder, {})
            assert done.returncode == 0, done.stdout + done.stderr
    words = included["function-calling"]["variables"]
    options = f"{words['BFCL_ARGUMENTS']} --bfcl-baseline reports/main --bfcl-noninferior {words['BFCL_MARGIN']}"
    done = bash(f"python -m pytest --model oracle: --bfcl-data bundled {options}", folder, {})
    assert done.returncode == 0, done.stdout + done.stderr


def test_githubs_action(tmp_path: Path, forge: Forge, answers: dict[str, str]) -> None:
    workflow = Workflow(tmp_path, forge)
    first = workflow.job(answers["worse"], "refs/pull/7/merge", PULL, extras="litellm,memory")
    assert first.log[0].endswith(f" {ROOT}[litellm,memory]\n")  # the action's own checkout, never a name on an index
    assert first.failed == 0, first.log
    gated = workflow.job(
        answers["worse"],
        "refs/heads/topic",
        {},
        arguments=f"{CHOSEN} --bfcl-fail-under irrelevance=100 --bfcl-fail-under simple_java=50",
    )
    assert (gated.failed, gated.outputs["score"]["code"]) == (
        1,
        "1",
    )  # the user's own gate counts from the first run on
    assert "no baseline yet" in "".join(first.log)
    (comment,) = forge.comments.values()
    assert "There is no run of the main branch to compare with yet" in comment["body"]
    assert not workflow.caches  # a pull request writes no baseline
    assert (first.artifacts["bfcl-run"] / "results.jsonl").is_file()

    main = workflow.job(answers["good"], "refs/heads/main", {})
    assert (main.failed, len(workflow.caches)) == (0, 1), main.log

    same = workflow.job(answers["good"], "refs/pull/7/merge", PULL)
    assert same.failed == 0, same.log
    assert "| group | entries | before | after |" in comment["body"]

    worse = workflow.job(answers["worse"], "refs/pull/7/merge", PULL, margin="14")
    assert worse.failed == 1, worse.log
    assert "**The score fell by" in comment["body"]
    assert "replies are words, no call" in comment["body"]
    assert "❌" in comment["body"]
    assert len(forge.comments) == 1
    assert "The score fell by" in worse.folder.parent.joinpath("summary.md").read_text()
    assert worse.artifacts  # the run that failed is what people want to look at
    assert TOKEN not in "".join(worse.log)

    broken_main = workflow.job(answers["worse"], "refs/heads/main", {})
    assert (broken_main.failed, len(workflow.caches)) == (1, 1)  # a worse main does not become the baseline
    forge.forbidden = True
    forked = workflow.job(answers["good"], "refs/pull/8/merge", {"pull_request": {"number": 8}})
    assert forked.failed == 0, forked.log
    assert "::warning::no comment was written" in "".join(forked.log)


def test_gitlabs_include(tmp_path: Path, forge: Forge, answers: dict[str, str]) -> None:
    job = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text())[".pytest-bfcl"]
    environment = {
        **job["variables"], "BFCL_PACKAGE": str(ROOT),
        "BFCL_MODEL": MODEL, "BFCL_ARGUMENTS": '-k simple_java', "GITLAB_CI": "true",
        "CI_API_V4_URL": forge.address, "CI_PROJECT_ID": "5", "CI_DEFAULT_BRANCH": "main", "CI_JOB_NAME": "score",
        "CI_JOB_NAME_SLUG": "score", "CI_JOB_TOKEN": TOKEN, "GITLAB_TOKEN": TOKEN,
    }  # fmt: skip

    def pipeline(name: str, words: str, request: str) -> tuple[int, Path]:
        folder = tmp_path / name / "work"
        folder.mkdir(parents=True)
        folder.joinpath("answers.jsonl").write_text(answers[words])
        given = environment | ({"CI_MERGE_REQUEST_IID": request} if request else {})
        done = bash("\n".join(job["script"]), folder, given)
        after = bash("\n".join(job["after_script"]), folder, given)
        assert TOKEN not in done.stdout + done.stderr + after.stdout + after.stderr
        assert (folder / "bfcl-junit.xml").is_file(), done.stdout + done.stderr
        return done.returncode, folder / environment["BFCL_OUT"]

    code, kept = pipeline("main", "good", "")
    assert (code, dict(forge.comments)) == (0, {})
    assert pipeline("first", "worse", "")[0] == 0  # failed entries alone fail no job that has nothing to compare with
    forge.artifacts = zipped(
        *((f"bfcl-run/{name}", (kept / name).read_text()) for name in ("run.json", "results.jsonl"))
    )
    assert pipeline("same", "good", "7")[0] == 0
    (comment,) = forge.comments.values()
    assert "| group | entries | before | after |" in comment["body"]
    assert pipeline("worse", "worse", "7")[0] == 1
    assert "**The score fell by" in comment["body"]
    assert len(forge.comments) == 1


def test_the_recipes_run_nothing_that_a_branch_name_or_input_could_change() -> None:
    """Expressions are filled in before bash reads a script: they stand in ``env`` alone."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert [step["name"] for step in action["runs"]["steps"] if "${{" in step.get("run", "")] == []
