"""``lexical:``, a baseline without a language model: words choose the function, patterns fill the arguments."""

from pytest_bfcl.models.lexical.model import LexicalModel, choose_calls

__all__ = ["LexicalModel", "choose_calls"]
