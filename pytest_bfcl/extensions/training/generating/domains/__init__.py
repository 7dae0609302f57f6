"""The simulators for tasks, each with its worlds, moves and words."""

from pytest_bfcl.extensions.training.generating.domains import (
    broker,
    car,
    files,
    messenger,
    posts,
    sums,
    tickets,
    travel,
)

DOMAINS = {each.DOMAIN.simulator: each.DOMAIN for each in (files, broker, travel, car, messenger, posts, tickets, sums)}
"""Class name → domain."""
