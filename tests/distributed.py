"""The same session in one process and on workers: the latter costs seconds each, so most of them are in the slow tier.

What only workers can break has one session each in the fast tier: a gate's verdict (test_gate_matrix.py), a refused
continuation (test_gates.py), a model that breaks there (test_fixtures.py), memory's write stages (tests/agentic).
"""

import pytest

WORKERS = [
    pytest.param((), id="one_process"),
    pytest.param(("-n2",), id="two_workers", marks=pytest.mark.slow),
]
