"""Rewards of single outputs for reinforcement learning (docs/training.md)."""

from pytest_bfcl.extensions.training.rewards import compute_score, reward

__all__ = ["compute_score", "reward"]
