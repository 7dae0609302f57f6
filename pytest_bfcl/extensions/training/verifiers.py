"""verifiers: entries as a taskset, their rewards as its rubric, and the harness that plays them (``verifiers>=0.4``).

    from pytest_bfcl.extensions.training.verifiers import load_environment
    env = load_environment("bundled", mode="fc")

The harness runs in this process. It sends requests to the policy through verifiers' endpoint with the entry's tools,
executes calls on the entry's simulators and continues with the user's next turn, as a run does. Your own environment
package needs two lines (``examples/trainers/bfcl_environment.py``); then ``eval bfcl-environment`` finds it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from pytest_bfcl.extensions.training.tasks import Options, Tasks, episode_of, tasks
from pytest_bfcl.extras import naming
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed

with naming("the environment of verifiers", "pip install verifiers"):
    import openai
    import verifiers.v1 as vf

NAME = "pytest_bfcl_environment"
"""The name by which `load_environment` registers the taskset in this process."""


class BfclTaskData(vf.TaskData):  # type: ignore[misc]
    """The parts of an entry that travel: its key and its options."""

    data: str
    data_sha256: str
    entry_id: str
    category: str
    options: dict[str, Any] = {}


class BfclState(vf.State):  # type: ignore[misc]
    """The result of a rollout; ``None`` until the harness has played it."""

    reward: float | None = None
    verdict: float = 0.0
    graded: float = 0.0
    done: float = 0.0


class BfclTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which entries, and `Options` of their episodes; ``--env.taskset.data`` and so on."""

    data: str = "bundled"
    split: Path | None = None
    part: str = "train"
    categories: list[str] | None = None
    mode: str = "fc"
    decoder: str | None = None
    think: str = "auto"
    rules: str = "official"
    partial: bool = False
    names: str | None = None
    call_cost: float | None = None
    step_limit: int | None = None

    def tasks(self) -> Tasks:
        """The entries. Raises `UsageError` as `pytest_bfcl.extensions.training.tasks.tasks` does."""
        given = {name: getattr(self, name, None) for name in Options.__annotations__}
        options: Any = {name: value for name, value in given.items() if value is not None}
        part = cast("Any", self.part)
        return tasks(self.data, split=self.split, part=part, categories=self.categories, **options)


class BfclTask(vf.Task[BfclTaskData, BfclState]):  # type: ignore[misc]
    """One entry; its score is in the state of the trace after its rollout."""

    @property
    def key(self) -> str:
        """The entry in its data; other fields of the row are ignored."""
        return f"{self.data.data_sha256[:16]}:{self.data.entry_id}"

    @vf.reward  # type: ignore[untyped-decorator]
    async def bfcl(self, trace: vf.Trace) -> float:
        """The reward: the verdict, or the graded one with ``partial``. Raises `UsageError` without our harness."""
        state = trace.state
        if not isinstance(state, BfclState) or state.reward is None:
            raise UsageError("the rollout was not played by BfclHarness: leave agent.harness out, or name this taskset")
        return state.reward

    @vf.metric  # type: ignore[untyped-decorator]
    async def figures(self, trace: vf.Trace) -> dict[str, float]:
        """The verdict, the graded reward, and whether the conversation ended."""
        state = trace.state
        return {name: float(getattr(state, name, 0.0)) for name in ("verdict", "graded", "done")}


class BfclTaskset(vf.Taskset[BfclTask, BfclTasksetConfig]):  # type: ignore[misc]
    """The entries of a data set, or of one part of a split of it."""

    def load(self) -> Iterable[BfclTask]:
        """A task for each entry, in the data's order."""
        chosen = self.config.tasks()
        for row in chosen.rows():
            yield BfclTask(
                BfclTaskData(
                    id=row["entry_id"],
                    name=row["entry_id"],
                    prompt=_first_words(row["prompt"]),
                    options=dict(chosen.options),
                    data=row["data"],
                    data_sha256=row["data_sha256"],
                    entry_id=row["entry_id"],
                    category=row["category"],
                ),
                self.config.task,
            )


class BfclHarness(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]
    """Plays one entry with the policy at verifiers' endpoint, in this process; no tool server, no program."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: BfclTaskData,
    ) -> vf.ProgramResult:
        """Play to the end, or until verifiers allows no further request; the state has the result."""
        episode = episode_of(
            data.model_dump(include={"data", "data_sha256", "entry_id"}), cast("Options", data.options)
        )
        episode.reset()
        client = openai.AsyncOpenAI(base_url=endpoint, api_key=secret, max_retries=0)
        refused = ""
        try:
            while not episode.done:
                request: Any = {"model": ctx.model, "messages": episode.messages}
                request |= {"tools": episode.tools} if episode.tools else {}
                episode.step(await client.chat.completions.create(**request))
        except openai.APIError as error:  # the trace says why: its limit of turns, or what the provider said
            refused = str(error)[:2000]
        finally:
            await client.close()
            trace.state.reward, trace.state.verdict = episode.reward, episode.verdict
            trace.state.graded = episode.grades.score if episode.done else 0.0
            trace.state.done = float(episode.done)
        return vf.ProgramResult(exit_code=1 if refused else 0, stdout="", stderr=refused)


def _first_words(messages: Iterable[Parsed]) -> str:
    """The user's first message, for readers of the trace."""
    return next((str(each.get("content")) for each in messages if each["role"] == "user"), "")


def load_environment(data: str = "bundled", *, agent: Parsed | None = None, **taskset: Any) -> vf.Env:
    """The environment of verifiers over a data set.

    ``taskset`` are fields of `BfclTasksetConfig`, ``agent`` those of verifiers' `AgentConfig` (limits, sampling); the
    harness runs in this process.
    """
    sys.modules.setdefault(NAME, sys.modules[__name__])
    given = {"runtime": {"type": "subprocess"}, **(agent or {})}
    return vf.load_environment(vf.SingleAgentEnvConfig(taskset={"id": NAME, "data": data, **taskset}, agent=given))


__all__ = ["BfclHarness", "BfclTaskset", "load_environment"]
