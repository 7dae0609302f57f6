"""Rollouts as tokens, with a tokenizer of single characters; the slow tests play them in TRL itself."""

from __future__ import annotations

import json
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.extensions.training.trl_rollout import KEY, REWARD, rollout, rollout_reward
from pytest_bfcl.failures import UsageError
from pytest_bfcl.training import tasks
from tests.extensions.training.policies import oracle

END = "\x03"


class Characters:
    """A token a character; a reply ends with `END`."""

    eos_token, eos_token_id, pad_token_id = END, 3, 0

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        return list(map(ord, text))

    def decode(self, ids: list[int], skip_special_tokens: bool = False) -> str:
        return "".join(map(chr, ids))

    def apply_chat_template(self, messages: Any, tools: Any, add_generation_prompt: bool, tokenize: bool) -> str:
        told = "".join(f"<{each['role']}>{each['content']}{END}\n" for each in messages)
        return f"{json.dumps(tools) if tools else ''}{told}{'<assistant>' if add_generation_prompt else ''}"


def _played(monkeypatch: pytest.MonkeyPatch, *, ended: bool, limit: int = 10**6) -> tuple[dict[str, Any], list[str]]:
    """What the rollout function gives for one entry with a held-out function, and each context it asked with."""
    from pytest_bfcl.extensions.training import trl_rollout

    ours = tasks("bundled", categories=["multi_turn_miss_func"], mode="fc", decoder="hermes", partial=True)
    entry = ours.entries[0]
    made: list[Any] = []
    seen: list[str] = []
    plain = trl_rollout.episode_of
    monkeypatch.setattr(trl_rollout, "episode_of", lambda *given: made.append(plain(*given)) or made[-1])
    tokenizer = Characters()

    def generated(contexts: list[list[int]], *args: Any, num_generations: int) -> Any:
        seen.append(tokenizer.decode(contexts[0]))
        calls = oracle(made[0]).tool_calls
        text = "\n".join(
            f'<tool_call>\n{{"name": "{call.name}", "arguments": {call.arguments}}}\n</tool_call>' for call in calls
        )
        ids = tokenizer.encode((text or "What do you mean?") + (END if ended else ""), add_special_tokens=False)
        return [ids], [[-0.5] * len(ids)]

    trainer = SimpleNamespace(
        processing_class=tokenizer, args=SimpleNamespace(max_completion_length=limit), _generate_single_turn=generated
    )
    prompt = [{"role": "user", "content": "as the row says", KEY: json.dumps(ours.key(entry))}]
    found = rollout(ours)([prompt], trainer)
    (arrival, documents), *_ = entry.missed_function.items()
    assert arrival > 0
    for context in seen:
        assert (f'"name": "{documents[0]["name"]}"' in context) == ("These functions are available" in context)
    return found, seen


@pytest.mark.parametrize("ended", [True, False])
def test_a_rollout_is_the_measured_conversation(ended: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every context is the one before with reply and observations behind it; only replies are the policy's tokens."""
    found, seen = _played(monkeypatch, ended=ended)
    assert rollout_reward([], **found) == [1.0]
    assert all(later.startswith(earlier) for earlier, later in pairwise(seen))
    (ids,), (mask,), (logprobs,) = found["completion_ids"], found["env_mask"], found["logprobs"]
    assert len(ids) == len(mask) == len(logprobs)
    assert all((value == -0.5) == bool(own) for value, own in zip(logprobs, mask, strict=True))
    assert f"{END}{END}" not in seen[-1]


def test_out_of_tokens_earns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = _played(monkeypatch, ended=True, limit=40)
    assert found[REWARD] == [0.0]
    assert len(found["completion_ids"][0]) == 40


def test_what_is_missing_is_said() -> None:
    with pytest.raises(UsageError):
        rollout(tasks("bundled", categories=["multi_turn_base"], mode="fc"))
    play = rollout(tasks("bundled", categories=["multi_turn_base"], mode="fc", decoder="hermes"))
    trainer: Any = SimpleNamespace(processing_class=Characters(), args=SimpleNamespace(max_completion_length=9))
    with pytest.raises(UsageError, match="rollout_dataset"):
        play([[{"role": "user", "content": "x"}]], trainer)
