"""The garbage collector is let alone by whoever is not running, and comes back as it was."""

import gc

import pytest

from pytest_bfcl.running import fewer_collections


def test_thresholds_hold_for_the_run_only() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError), fewer_collections():
        assert gc.get_threshold() > before
        raise ValueError
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_a_collector_that_is_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.disable()
    try:
        with fewer_collections():
            assert gc.get_threshold() == before
        assert not gc.isenabled()
    finally:
        gc.enable()
