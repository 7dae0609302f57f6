"""Rewards of single outputs for reinforcement learning (docs/training.md)."""

from pytest_bfcl.extensions.training.rewards import batch_rewards, compute_score, reward, reward_function

__all__ = ["batch_rewards", "compute_score", "reward", "reward_function"]
