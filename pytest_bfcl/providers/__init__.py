"""Access to the outside: searches and pages; local, live, recorded or replayed."""

from pytest_bfcl.providers.recorded import SearchProvider, check_choice, open_search, search_problem

__all__ = ["SearchProvider", "check_choice", "open_search", "search_problem"]
