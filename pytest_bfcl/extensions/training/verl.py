"""verl: rows in its parquet layout, a reward function, and an interaction (``pip install verl``).

    verl.write_parquet(tasks("bundled"), "train.parquet")
    custom_reward_function.path=pkg://pytest_bfcl.extensions.training.verl custom_reward_function.name=compute_score

`compute_score` needs nothing of verl. `BfclInteraction` plays entries of several turns with verl 0.5 to 0.7, which has
interactions; later releases have agent loops (`pytest_bfcl.extensions.training.verl_loop`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.training import rewards
from pytest_bfcl.extensions.training.tasks import Options, Tasks, key_of, options_of, reward_of
from pytest_bfcl.extras import require
from pytest_bfcl.json_types import Fields, Parsed

if TYPE_CHECKING:
    from pytest_bfcl.extensions.training.episode import Episode

AGENT = "bfcl"
"""Name of the interaction and of the agent loop in rows and configurations."""


def compute_score(
    data_source: str, solution_str: str, ground_truth: object, extra_info: Fields | None = None, **options: Any
) -> float:
    """The reward of one completion.

    ``extra_info`` of `rows` names the entry. If an interaction or an agent loop has played the episode, the sum of its
    rewards counts (``turn_scores``); otherwise the text is the reply to a single-turn entry. Other rows go to
    `pytest_bfcl.rewards.compute_score`. ``options`` are `Options`; other arguments of verl are ignored. Never raises
    for a policy's text.
    """
    given = extra_info if isinstance(extra_info, Mapping) else {}
    scores = given.get("turn_scores")
    played = [score for score in scores if isinstance(score, int | float)] if isinstance(scores, Sequence) else []
    if played:
        return float(sum(played))
    kept = {name: value for name, value in options.items() if name in Options.__annotations__}
    if key_of(given) is None:
        wanted = {name: value for name, value in kept.items() if name not in ("step_limit", "names")}
        return rewards.compute_score(data_source, solution_str, ground_truth, extra_info, **wanted)
    return reward_of(given, solution_str, options_of(kept))


def rows(tasks: Tasks) -> Iterator[Parsed]:
    """Rows in the form of verl's data set."""
    for number, row in enumerate(tasks.rows()):
        key = {name: value for name, value in row.items() if name != "prompt"}
        yield {
            "data_source": f"bfcl/{tasks.data.name}",
            "agent_name": AGENT,
            "prompt": row["prompt"],
            "ability": "function calling",
            "reward_model": {"style": "rule", "ground_truth": row["entry_id"]},
            "extra_info": {"index": number, **key, "interaction_kwargs": {"name": AGENT, **key}},
        }


def write_parquet(tasks: Tasks, path: str | Path) -> int:
    """Write `rows` to a parquet file; returns their number. Raises `UsageError` without the extra ``tables``."""
    require("tables", "a parquet file of rows")
    import pyarrow
    from pyarrow import parquet

    made = list(rows(tasks))
    parquet.write_table(pyarrow.Table.from_pylist(made), str(path))
    return len(made)


def answered(episode: Episode, messages: Sequence[Fields]) -> tuple[bool, str, float, Parsed]:
    """Take the policy's last message: whether the episode has ended, the user's next words, the reward, facts."""
    said = next((each for each in reversed(messages) if each.get("role") == "assistant"), {"content": ""})
    found = episode.step(_text(said.get("content")) if episode.mode == "prompt" else said)
    facts = {"entry_id": episode.entry.id, "user_turn": found.user_turn, "verdict": episode.verdict}
    return found.done, found.text, found.reward, facts


def _text(content: object) -> str | None:
    """The text of a message; for parts, those that are text."""
    if content is None or isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))
