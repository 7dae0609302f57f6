"""Where the outside comes in: searches, pages and REST services; local, live, recorded or replayed."""

from pytest_bfcl.providers.rest import RestProvider, check_rest_choice, open_rest, rest_problem
from pytest_bfcl.providers.search import SearchProvider, check_choice, open_search, search_problem

__all__ = [
    "RestProvider",
    "SearchProvider",
    "check_choice",
    "check_rest_choice",
    "open_rest",
    "open_search",
    "rest_problem",
    "search_problem",
]
