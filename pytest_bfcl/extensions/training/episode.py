"""One entry as an environment: `Episode.reset` gives messages and tools, `Episode.step` takes a reply.

An episode is a conversation of the judge (`pytest_bfcl.judging`) with rewards, so a policy is trained under the
conditions of a run. No request goes to a model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.endings import UnknownEnding
from pytest_bfcl.extensions.training.rewards import CALL_COST, Grades, grades_of, reward
from pytest_bfcl.failures import UsageError
from pytest_bfcl.judging.conversation import Conversation, Task
from pytest_bfcl.judging.entries import entry_of
from pytest_bfcl.judging.said import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_bfcl.conversation.journal import Snapshots
    from pytest_bfcl.conversation.services import Services
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.formats.thinking import Think
    from pytest_bfcl.json_types import Fields, Parsed
    from pytest_bfcl.settings import Rules, Settings
    from pytest_bfcl.transcript import Message, Mode, Transcript


class Opening(NamedTuple):
    """The start of an episode: chat messages, and tools in the OpenAI shape (none in prompting mode)."""

    messages: list[Message]
    tools: list[Parsed]


class StepResult(NamedTuple):
    """The result of a reply.

    ``observations``: the messages to append after the reply: results of calls, the user's next turn, or held-out
    functions (then `Episode.tools` has more). ``reward``: the reward of this reply. Graded (``partial``), a reply that
    ends a user turn earns the turn's share of the conversation; the verdict comes with the last reply. All rewards of
    an episode add up to `Episode.reward`. ``user_turn``: the zero-based user turn of the next reply.
    """

    observations: list[Message]
    done: bool
    reward: float
    user_turn: int

    @property
    def text(self) -> str:
        """The observations as one text."""
        return "\n\n".join(str(message.get("content") or "") for message in self.observations)


class Episode(Conversation):
    """One entry, played by a policy; see the module.

    Args:
        entry: An `Entry`, or a mapping as for `pytest_bfcl.rewards.reward`.
        rules: ``official`` or ``corrected``.
        partial: The graded reward, turn by turn, instead of 1.0 or 0.0 at the end.
        call_cost: The cost of unneeded calls in the graded reward (`.rewards`); 0 for none.
        snapshots: Memories from write stages for their questions; share one among a chain's episodes
            (`HeldSnapshots`).

    The other arguments are those of `Conversation`. A new episode has begun; `reset` begins it again. Raises
    `UsageError` for unknown options and for entries on a user's MCP server, `HarnessError` for an invalid entry.
    """

    def __init__(
        self,
        entry: Entry | Fields,
        *,
        mode: Mode = "fc",
        names: str | None = None,
        decoder: str | None = None,
        think: Think | None = None,
        rules: Rules | None = None,
        partial: bool = False,
        call_cost: float = CALL_COST,
        settings: Settings | None = None,
        texts: Texts | None = None,
        snapshots: Snapshots | None = None,
        search: object = None,
        services: Services | None = None,
    ) -> None:
        if rules not in (None, "official", "corrected"):
            raise UsageError(f"an episode's rules are 'official' or 'corrected', not {rules!r}")
        self.partial = partial
        self.call_cost = call_cost
        super().__init__(
            Task(entry_of(entry)), mode, names, decoder=decoder, think=think, rules=rules, settings=settings,
            memories=snapshots, search=search, services=services, texts=texts,
        )  # fmt: skip

    def _begin(self) -> None:
        self._verdict: float | None = None
        self._grades: Grades | None = None
        self._earned = 0.0
        super()._begin()

    # -- playing -------------------------------------------------------------------------------------------------

    def reset(self) -> Opening:
        """Begin (again): new simulators, the first user turn. Raises `HarnessError` for invalid data of the entry."""
        if self._heard:
            self._begin()
        return Opening(self.messages, self.tools)

    def step(self, reply: object) -> StepResult:
        """Take one reply: text, calls, or an SDK's object (`pytest_bfcl.replies.read_reply`).

        Never raises for a model's text. Raises `UnknownEnding` for a reply that its server cut off, which earns nothing
        and may be sampled again; `UsageError` if the episode has ended or the reply has an unknown shape,
        `HarnessError` if the entry cannot be judged.
        """
        if self.done:
            raise UsageError(f"the episode of {self.entry.id} has ended: call reset()")
        said = whole(reply)
        if said.failure is not None:
            raise UnknownEnding(said.reply.finish_reason)
        turn = self.user_turn
        observations = self.reply(said)
        return StepResult(observations, self.done, self._newly_earned(turn), self.user_turn)

    def decoded(self, tokenizer: Any, ids: Sequence[int]) -> str:
        """A reply's tokens as text. Own formats may mark calls by special tokens; those that only end a reply do not
        count.
        """
        kept = [each for each in ids if each not in (tokenizer.eos_token_id, tokenizer.pad_token_id)]
        return str(tokenizer.decode(kept, skip_special_tokens=not self.settings.decoder))

    def _newly_earned(self, turn: int) -> float:
        """The reward of the turns that have ended since this one began."""
        before = self._earned
        if self.done:
            self._earned = self.reward
        elif self.partial and self.user_turn > turn and self.entry.row.checker == "state":
            ended = replace(self.transcript, turns=self.transcript.turns[: self.user_turn])
            self._earned = self._grades_of(ended, valid=False).score  # as if the model stopped here
        return self._earned - before

    # -- looking -------------------------------------------------------------------------------------------------

    @property
    def entry(self) -> Entry:
        """The entry that is played."""
        return self.task.entry

    @property
    def user_turn(self) -> int:
        """The zero-based user turn of the next reply, or the last one."""
        return self.turn

    @property
    def user_turns(self) -> int:
        """The number of user turns of the entry."""
        return len(self.entry.question) if self.entry.row.multi_step else 1

    @property
    def reward(self) -> float:
        """The reward in [0, 1]: official 1.0 or 0.0, or the graded one with ``partial``; 0.0 until the end."""
        if not self.done:
            return 0.0
        return self.grades.score if self.partial else self.verdict

    @property
    def earned(self) -> float:
        """The sum of all steps' rewards so far; at the end `reward`."""
        return self._earned

    @property
    def verdict(self) -> float:
        """1.0 or 0.0 under the rules, judged as in a run; 0.0 until the end. Write stages, which are never scored, give
        1.0."""
        if not self.done:
            return 0.0
        if self._verdict is None:
            self._verdict = self._judged(partial=False)
        return self._verdict

    @property
    def grades(self) -> Grades:
        """The graded reward; turn by turn for multi-turn entries. Raises `UsageError` before the end.

        Single-turn entries are graded as by `pytest_bfcl.rewards.reward`; answers of memory and web entries are right
        or wrong.
        """
        if not self.done:
            raise UsageError(f"the episode of {self.entry.id} has not ended, so it has no grade yet")
        if self._grades is None:
            valid = self.verdict == 1.0
            if self.entry.row.checker == "state":
                self._grades = self._grades_of(self.transcript, valid=valid)
            else:
                self._grades = Grades(1.0 if valid else self._judged(partial=True))
        return self._grades

    def _grades_of(self, transcript: Transcript, *, valid: bool) -> Grades:
        return grades_of(self.entry, transcript, valid=valid, call_cost=self.call_cost)

    def _judged(self, *, partial: bool) -> float:
        return reward(self.entry, self.transcript, rules=self.settings.rules, partial=partial, services=self._services)

    def __repr__(self) -> str:
        return f"<Episode {self.entry.id} {self.mode} {'done' if self.done else f'turn {self.user_turn}'}>"
