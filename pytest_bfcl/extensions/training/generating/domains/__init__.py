"""The simulators for tasks, each with its worlds, moves and words: a table, made alive by rules."""

from pytest_bfcl.extensions.training.generating.domains.rules import RULES
from pytest_bfcl.extensions.training.generating.domains.worlds import WORLDS
from pytest_bfcl.extensions.training.generating.moves import domain_of

DOMAINS = {simulator: domain_of(table, simulator, world, RULES) for table, simulator, world in WORLDS}
"""Class name → domain."""
