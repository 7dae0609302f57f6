"""Where the outside comes in: searches, pages and REST services; local, live, recorded or replayed."""

from pytest_bfcl.providers.rest import check_rest_choice, open_rest, rest_problem
from pytest_bfcl.providers.rest_provider import RestProvider
from pytest_bfcl.providers.search import check_choice, open_search, search_problem
from pytest_bfcl.providers.search_provider import SearchProvider

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
