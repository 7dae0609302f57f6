"""Sentences of the benchmark's simulators: located by class, function and order, read as literals."""

from __future__ import annotations

import ast

from pytest_bfcl.fetching.sentences import FILES, PLACES, extract_sentences, sentences

SOURCE = '''
class Kettle:
    def boil(self, litres, who):
        """A docstring is no sentence."""
        if litres > 2:
            return {"error": f"{who} cannot boil {litres:.1f} litres, {who}."}
        words = "one" + "word"
        return {"status": "Boiling for " + ", ".join(who) + "; {wait}."}
'''


def _function() -> ast.FunctionDef:
    owner = ast.parse(SOURCE).body[0]
    assert isinstance(owner, ast.ClassDef)
    function = owner.body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


def test_sentences_become_templates_with_one_number_for_each_different_expression() -> None:
    assert list(sentences(_function())) == ["{0} cannot boil {1:.1f} litres, {0}.", "Boiling for {0}; {{wait}}."]


def test_braces_and_formats_survive_filling() -> None:
    first, second = sentences(_function())
    assert first.format("Ann", 3) == "Ann cannot boil 3.0 litres, Ann."
    assert second.format("{0.__class__}") == "Boiling for {0.__class__}; {wait}."


def test_another_version_keeps_our_own_words() -> None:
    tree = ast.parse('class MessageAPI:\n    def send_message(self):\n        return "something else entirely"\n')
    assert extract_sentences({FILES["MessageAPI"]: tree}) == {}


def test_no_place_is_named_twice() -> None:
    for name, places in PLACES.items():
        located = list(places.values())
        assert len(set(located)) == len(located), name
