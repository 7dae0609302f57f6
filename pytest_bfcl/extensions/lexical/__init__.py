"""``lexical:``, a baseline without a language model: words select the function, patterns fill the arguments."""

from pytest_bfcl.extensions.lexical.model import LexicalModel, choose_calls, create_lexical

__all__ = ["LexicalModel", "choose_calls", "create_lexical"]
