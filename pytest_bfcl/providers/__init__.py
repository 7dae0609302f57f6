"""Where the outside comes in: web searches and pages, local, live, recorded or replayed, behind one protocol."""

from pytest_bfcl.providers.search import SearchProvider, check_choice, open_search, search_problem

__all__ = ["SearchProvider", "check_choice", "open_search", "search_problem"]
