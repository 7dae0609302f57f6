"""Making entries of one's own: skeletons from tools, entries from recorded conversations, and what to mend in them."""

from pytest_bfcl.authoring.lint import lint_entry
from pytest_bfcl.authoring.proof import unprovable

__all__ = ["lint_entry", "unprovable"]
