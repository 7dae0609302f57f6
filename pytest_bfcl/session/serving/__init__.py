"""Servers of a run: finding one that is there, what it makes of a question, those that are started for it."""

from pytest_bfcl.session.serving.addresses import Addressed, named_specs, needs_a_name
from pytest_bfcl.session.serving.discovery import FoundServer, find_servers, only_model
from pytest_bfcl.session.serving.parsers import suggested_parser
from pytest_bfcl.session.serving.started import Fleet, fleet_of

__all__ = [
    "Addressed",
    "Fleet",
    "FoundServer",
    "find_servers",
    "fleet_of",
    "named_specs",
    "needs_a_name",
    "only_model",
    "suggested_parser",
]
