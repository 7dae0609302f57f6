"""One entry as an environment: `Episode.reset` gives messages and tools, `Episode.step` takes a reply.

The steps are the conversation engine's own (`pytest_bfcl.conversation.dialogue`), the verdict is the checkers', so a
policy trained here is asked and judged as in a run. Nothing is asked of a model and nothing a model wrote is executed
as code: calls act on simulators that belong to this episode alone.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.conversation.dialogue import OVERFLOW, Dialogue
from pytest_bfcl.extensions.training.grades import CALL_COST, Grades, grades_of
from pytest_bfcl.extensions.training.rewards import as_entry, reward
from pytest_bfcl.extensions.training.travelling import packed, unpacked
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.models.callable import on_the_wire
from pytest_bfcl.replies import read_reply
from pytest_bfcl.settings import Settings
from pytest_bfcl.tools.schemas import compile_tools
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.conversation import Services, Snapshots
    from pytest_bfcl.dataset import Entry, Texts
    from pytest_bfcl.dataset.entry import FunctionDoc
    from pytest_bfcl.formats.thinking import Think
    from pytest_bfcl.json_types import Fields, Parsed
    from pytest_bfcl.settings import Rules
    from pytest_bfcl.transcript import Message, Mode, Transcript


class Opening(NamedTuple):
    """What a policy is told first: chat messages, and tools in the OpenAI shape (none in prompting mode)."""

    messages: list[Message]
    tools: list[Parsed]


class StepResult(NamedTuple):
    """What a reply led to.

    ``observations``: the messages after the reply, to be appended to the conversation: results of calls, the user's
    next turn, the hand-over of held-out functions (then `Episode.tools` has grown). ``reward``: what this reply earned.
    Graded (``partial``), a reply that ends a user turn earns the turn's share of the conversation; the verdict comes
    with the last reply. All rewards of an episode add up to `Episode.reward`. ``user_turn``: the zero-based user turn
    that the next reply belongs to.
    """

    observations: list[Message]
    done: bool
    reward: float
    user_turn: int


@dataclass(slots=True)
class _Policy:
    """Who answers, as the conversation knows it."""

    spec: str
    mode: Mode
    underscore_names: bool


class Episode:
    """One entry, played by a policy; see the module.

    Args:
        entry: An `Entry`, or a mapping as `pytest_bfcl.rewards.reward` takes it.
        mode: ``fc``: the policy is given tools and answers with native calls; ``prompt``: it is told of the functions
            in a system message and writes calls as text.
        decoder: The format of calls written in texts (`pytest_bfcl.formats`), whatever the mode.
        think: Thoughts in a text: ``auto`` as the decoder's family does, ``strip``, ``keep``.
        rules: ``official`` or ``corrected``.
        partial: The graded reward, turn by turn, instead of 1.0 or 0.0 at the end.
        call_cost: What calls beyond need cost the graded reward (`.grades`); 0 for nothing.
        settings: Further settings of a run (step limit, system prompt); the arguments above count before it.
        texts: The data set's wording (``open_data("official").texts``). Default: our own for own and bundled entries;
            that of the fetched set for official ones.
        snapshots: Where write stages of memory entries leave what their questions read; share one among a chain's
            episodes (`HeldSnapshots`).
        search: The provider behind the web tools, where an entry has them.
        services: What calls of executable entries reach; give one that is kept open, or each verdict makes its own.
        underscore_names: Whether names go over the wire with dots replaced; default: with native calls, as in `tools`.

    An episode may be copied (`copy.deepcopy`) and pickled at any moment; copies go on apart. Copies share what never
    changes (entry, texts, settings) and what lies outside (``snapshots``, ``search``, ``services``); the last is left
    out of a pickle, and so are the texts of the package and of the official set: they are found where it arrives.
    Raises `UsageError` for unknown options and for entries on a user's MCP server, `HarnessError` for an entry that is
    none.
    """

    def __init__(
        self,
        entry: Entry | Fields,
        *,
        mode: Mode = "fc",
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
        underscore_names: bool | None = None,
    ) -> None:
        if mode not in ("fc", "prompt"):
            raise UsageError(f"an episode's mode is 'fc' or 'prompt', not {mode!r}")
        if rules not in (None, "official", "corrected"):
            raise UsageError(f"an episode's rules are 'official' or 'corrected', not {rules!r}")
        given = {"decoder": decoder, "think": think, "rules": rules}
        self.entry = as_entry(entry)
        if self.entry.mcp is not None:
            raise UsageError(
                f"{self.entry.id} is played on an MCP server of your own ({self.entry.mcp!r}), which an Episode cannot "
                f'wait for: let a run play it, pytest FILE --model … --bfcl-mcp {self.entry.mcp}="COMMAND or URL"'
            )
        self.settings = replace(settings or Settings(), **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
        self.partial = partial
        self.call_cost = call_cost
        self.texts = texts if texts is not None else texts_of_the_set(self.entry.official)
        self.snapshots = snapshots
        self.search = search
        self.services = services
        under = mode == "fc" if underscore_names is None else underscore_names
        self._policy = _Policy(f"policy:episode@{mode}", mode, under)
        self._dialogue: Dialogue | None = None
        self._reward: float | None = None
        self._grades: Grades | None = None
        self._earned = 0.0

    # -- playing -------------------------------------------------------------------------------------------------

    def reset(self) -> Opening:
        """Begin (again): fresh simulators, the first user turn. Raises `HarnessError` when the entry's data is bad."""
        self._reward = self._grades = None
        self._earned = 0.0
        dialogue = Dialogue(self.entry, self._policy, self.settings, self.texts)
        dialogue.open(self.snapshots, self.search)
        self._dialogue = dialogue
        return Opening(self.messages, self.tools)

    def step(self, reply: object) -> StepResult:
        """Take one reply: text, calls, or what an SDK returned (`pytest_bfcl.replies.read_reply`).

        Never raises for what a model wrote. Raises `UsageError` when the episode is not going on or the reply has no
        known shape, `HarnessError` when the entry cannot be judged.
        """
        dialogue = self._begun
        if dialogue.ended:
            raise UsageError(f"the episode of {self.entry.id} has ended: call reset()")
        said = read_reply(reply)
        if self._policy.underscore_names:
            said = on_the_wire(said, dialogue.functions)
        known, turn = len(dialogue.messages), self.user_turn
        self._take(said)
        shown = len(dialogue.messages)
        heard = next((n for n in range(known, shown) if dialogue.messages[n]["role"] != "assistant"), shown)
        if not dialogue.ended and dialogue.too_long:
            self._take(OVERFLOW)  # no model could be asked any more
        reward = self._newly_earned() if dialogue.ended or self.user_turn > turn else 0.0
        return StepResult(_copies(dialogue.messages[heard:shown]), dialogue.ended, reward, self.user_turn)

    def _newly_earned(self) -> float:
        """What the turns that have ended earn beyond what was given for them before."""
        before, self._earned = self._earned, self.reward if self.done else self._so_far()
        return self._earned - before

    def _so_far(self) -> float:
        """The graded reward if nothing more were said."""
        if not self.partial or self.entry.row.checker != "state":
            return 0.0
        ended = replace(self.transcript, turns=self.transcript.turns[: self.user_turn])
        return self._grades_of(ended, valid=False).score

    def _take(self, said: Any) -> None:
        dialogue = self._begun
        step = dialogue.hear(said)
        for call in dialogue.due_calls(step):
            step.results.append(dialogue.world.execute_now(call))
        dialogue.go_on(step)

    # -- looking -------------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the conversation has ended."""
        return self._dialogue is not None and self._dialogue.ended

    @property
    def messages(self) -> list[Message]:
        """The whole history, as it goes with the next request; a copy."""
        return _copies(self._begun.messages)

    @property
    def tools(self) -> list[Parsed]:
        """The tools offered now, in the OpenAI shape; they grow when held-out functions arrive."""
        return compile_tools(self.functions)

    @property
    def functions(self) -> list[FunctionDoc]:
        """The function documents behind `tools`, in the benchmark's types; empty in prompting mode."""
        return list(self._begun.functions) if self._policy.mode == "fc" else []

    @property
    def user_turn(self) -> int:
        """The zero-based user turn that is going on, or the last one."""
        return max(len(self._begun.transcript.turns) - 1, 0)

    @property
    def mode(self) -> Mode:
        """How the policy answers: with native calls, or with calls written in texts."""
        return self._policy.mode

    @property
    def user_turns(self) -> int:
        """The number of user turns of the entry."""
        return len(self.entry.question) if self.entry.row.multi_step else 1

    @property
    def transcript(self) -> Transcript:
        """The record of the conversation so far, as a run stores and the checkers read it."""
        return self._begun.transcript

    @property
    def reward(self) -> float:
        """The reward in [0, 1]: official 1.0 or 0.0, or the graded one with ``partial``; 0.0 until the end."""
        if not self.done:
            return 0.0
        return self.grades.score if self.partial else self.verdict

    @property
    def earned(self) -> float:
        """The rewards of all steps so far together; at the end `reward`."""
        return self._earned

    @property
    def verdict(self) -> float:
        """1.0 or 0.0 under the rules, as a run judges; 0.0 until the end. Write stages, never scored, give 1.0."""
        if not self.done:
            return 0.0
        if self._reward is None:
            self._reward = self._judged(partial=False)
        return self._reward

    @property
    def grades(self) -> Grades:
        """The graded reward; turn by turn for multi-turn entries. Raises `UsageError` before the end.

        Single-turn entries are graded as by `pytest_bfcl.rewards.reward`; answers of memory and web entries are right
        or wrong.
        """
        if not self.done:
            raise UsageError(f"the episode of {self.entry.id} has not ended: grades come at the end")
        if self._grades is None:
            self._grades = self._graded()
        return self._grades

    def _graded(self) -> Grades:
        valid = self.verdict == 1.0
        if self.entry.row.checker == "state":
            return self._grades_of(self.transcript, valid=valid)
        return Grades(1.0 if valid else self._judged(partial=True))

    def _grades_of(self, transcript: Transcript, *, valid: bool) -> Grades:
        return grades_of(self.entry, transcript, valid=valid, rules=self.settings.rules, call_cost=self.call_cost)

    def _judged(self, *, partial: bool) -> float:
        return reward(self.entry, self.transcript, rules=self.settings.rules, partial=partial, services=self.services)

    @property
    def _begun(self) -> Dialogue:
        if self._dialogue is None:
            raise UsageError(f"the episode of {self.entry.id} has not begun: call reset()")
        return self._dialogue

    # -- copies --------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Episode:
        """A copy that goes on apart; what never changes, and what lies outside, is shared."""
        entry, texts, dialogue = self.entry, self.texts, self._dialogue
        shared: list[Any] = [entry, texts, self.settings, self._policy, self.snapshots, self.search, self.services]
        if dialogue is not None:
            shared += [dialogue.speech, *dialogue.functions, *dialogue.transcript.functions]
            shared += [texts.sentences, texts.long_context, entry.sentences, entry.long_context_texts]
        for each in shared:
            memo[id(each)] = each
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update({name: copy.deepcopy(value, memo) for name, value in vars(self).items()})
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Processes and locks stay where they are, and so do the data set's texts."""
        state, official = {**vars(self), "services": None}, self.entry.official
        sha256 = digest_of_the_set(official) if self._texts_are_of_the_set else ""
        return (
            {"official": official, "sha256": sha256, "packed": packed(state, self.texts, self.entry)}
            if sha256
            else state
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "packed" in state:
            state = unpacked(state["packed"], _texts_where_it_arrives(state["official"], state["sha256"]))
        self.__dict__.update(state)

    @cached_property
    def _texts_are_of_the_set(self) -> bool:
        """Whether whoever gets a pickle finds the texts in the package, or in the official set."""
        try:
            found = texts_of_the_set(self.entry.official)
        except UsageError:
            return False
        return self.texts is found or self.texts == found

    def __repr__(self) -> str:
        state = "not begun" if self._dialogue is None else "done" if self.done else f"turn {self.user_turn}"
        return f"<Episode {self.entry.id} {self._policy.mode} {state}>"


def _copies(messages: list[Message]) -> list[Message]:
    return [dict(message) for message in messages]


@cache
def texts_of_the_set(official: bool) -> Texts:
    """The wording that the package brings, or that of the fetched official set. Raises `UsageError` without one."""
    from pytest_bfcl.dataset import Texts, open_dataset

    return open_dataset("official").texts if official else Texts.own()


@cache
def digest_of_the_set(official: bool) -> str:
    """The digest of that wording."""
    return texts_of_the_set(official).sha256


def _texts_where_it_arrives(official: bool, sha256: str) -> Texts:
    try:
        texts = texts_of_the_set(official)
    except UsageError as error:
        raise HarnessError(HarnessTrouble.DATA, f"an episode of official entries needs their texts: {error}") from None
    if digest_of_the_set(official) != sha256:
        raise HarnessError(
            HarnessTrouble.DATA, f"the episode was made with other texts ({sha256[:8]}) than are here: use one version"
        )
    return texts
