"""Simulators of an installed ``bfcl_eval``: ``--bfcl-simulators reference``."""
