"""The causes by name: whose fault each is, what happened, how much has to agree before it is named, what to try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Whose = Literal["server", "template", "parser", "model", "data", "unknown"]
Strength = Literal["sure", "habit", "loose"]
"""``sure``: a trace that nothing else leaves, named wherever it recurs. ``habit``: also made by mistake, named where it
is the rule. ``loose``: what any mistake looks like, named only where it is confined to one kind of place."""


class Kind(NamedTuple):
    """A kind of cause. ``title`` may hold ``{told}``, the parameter; ``next`` is a key of `NEXT`."""

    whose: Whose
    title: str
    strength: Strength = "sure"
    next: str = "again"
    told: Literal["if one", "apart", "only one"] = "if one"
    """Of the parameter: told where nearly all have the same; another one is another cause, and those that stand for
    themselves are one that changes; another one is another cause always."""


_RAW = "arguments are no JSON: "
KINDS: Mapping[str, Kind] = {
    # Names of functions.
    "name_prefix": Kind("parser", "names have the prefix `{told}`", told="apart", next="parser"),
    "name_suffix": Kind("parser", "names have the suffix `{told}`", told="apart", next="parser"),
    "name_around": Kind("parser", "names stand inside `{told}`", told="apart", next="parser"),
    "name_style": Kind("template", "names are written in another style ({told})", next="template"),
    "name_cut": Kind("server", "names are cut after {told} characters", next="doctor"),
    "name_begin_cut": Kind("parser", "the beginning of names is lost", next="parser"),
    "name_number": Kind("template", "functions are called by number (`{told}`)", next="template"),
    "name_letter": Kind("model", "names have one wrong letter", "habit"),
    "name_same": Kind("parser", "every call has the name `{told}`", told="only one", next="parser"),
    "name_other": Kind("server", "names that were never offered", "loose", next="doctor"),
    "mixed_up": Kind("server", "replies answer other requests", next="doctor"),
    # Names and shape of arguments.
    "key_prefix": Kind("parser", "argument names have the prefix `{told}`", told="apart", next="parser"),
    "key_suffix": Kind("parser", "argument names have the suffix `{told}`", told="apart", next="parser"),
    "key_around": Kind("parser", "argument names stand inside `{told}`", told="apart", next="parser"),
    "key_style": Kind("template", "argument names are written in another style ({told})", next="template"),
    "key_cut": Kind("server", "argument names are cut after {told} characters", next="doctor"),
    "key_begin_cut": Kind("parser", "the beginning of argument names is lost", next="parser"),
    "key_letter": Kind("model", "argument names have one wrong letter", "habit"),
    "call_in_name": Kind("parser", "the whole call stands in the name", next="parser"),
    "schema_echoed": Kind("template", "arguments are the schema itself", next="template"),
    "key_number": Kind("template", "arguments are named by number (`{told}`)", next="template"),
    "key_extra": Kind("template", "calls have an argument `{told}` that no tool has", told="only one", next="template"),
    "key_lost": Kind("parser", "arguments are lost", "loose", next="parser"),
    "no_arguments": Kind("parser", "calls have no arguments at all", next="parser"),
    "nested_lost": Kind("parser", "objects and lists arrive empty", "habit", next="parser"),
    "defaults": Kind("model", "arguments nobody asked for are filled in", "habit", next="template"),
    "wrapped": Kind("parser", "arguments are wrapped in `{told}`", told="apart", next="parser"),
    "flattened": Kind("parser", "objects are taken apart into arguments", next="parser"),
    "key_renamed": Kind("template", "the argument {told}", told="apart", next="template"),
    "key_other": Kind("template", "arguments have other names", "habit", next="template"),
    "doubled_names": Kind("server", "arguments come twice under one name", next="doctor"),
    "boxed": Kind("template", "values stand in an object under `{told}`", told="apart", next="template"),
    "pairs": Kind("template", "arguments are a list of names and values", next="template"),
    "listed_arguments": Kind("parser", "arguments stand in a list", next="parser"),
    # Raw arguments.
    "json_twice": Kind("server", "arguments are encoded as JSON twice", next="doctor"),
    "json_string": Kind("parser", _RAW + "a bare text", next="parser"),
    "json_no_object": Kind("parser", _RAW + "a {told}", next="parser"),
    "json_empty": Kind("parser", "the text of arguments is empty", next="parser"),
    "json_cut": Kind("server", _RAW + "cut off", next="doctor"),
    "json_python": Kind("template", _RAW + "Python literals", next="template"),
    "json_fenced": Kind("parser", _RAW + "inside a code fence", next="parser"),
    "json_quotes": Kind("server", _RAW + "typographic quotes", next="doctor"),
    "json_commas": Kind("parser", _RAW + "a comma too many", next="parser"),
    "json_keys": Kind("parser", _RAW + "names without quotes", next="parser"),
    "json_trailing": Kind("parser", _RAW + "something stands behind them", next="parser"),
    "json_leading": Kind("parser", _RAW + "`{told}` stands before them", next="parser"),
    "json_comments": Kind("model", _RAW + "comments", next="strict"),
    "json_encoded": Kind("server", _RAW + "{told}", next="doctor"),
    "json_lines": Kind("server", _RAW + "bare line breaks", next="doctor"),
    "json_braces": Kind("parser", _RAW + "braces are missing", next="parser"),
    "json_keywords": Kind("parser", _RAW + "arguments of a Python call", next="parser"),
    "json_broken": Kind("model", _RAW + "broken", "habit", next="strict"),
    # Texts and values.
    "tokens": Kind("parser", "pieces of the template (`{told}`) are left in calls", next="parser"),
    "encoding": Kind("server", "texts are damaged: {told}", told="apart", next="doctor"),
    "quoted": Kind("parser", "texts have quotes of their own", next="parser"),
    "reversed": Kind("server", "texts are written backwards", next="doctor"),
    "space": Kind("server", "texts have spaces too many", "habit", next="doctor"),
    "value_prefix": Kind("parser", "texts have `{told}` before them", "habit", told="apart", next="parser"),
    "value_suffix": Kind("parser", "texts have `{told}` behind them", "habit", told="apart", next="parser"),
    "value_around": Kind("parser", "texts stand inside `{told}`", "habit", told="apart", next="parser"),
    "value_style": Kind("model", "texts are written in another style ({told})", "habit"),
    "value_cut": Kind("server", "texts are cut after {told} characters", "habit", next="doctor"),
    "value_begin_cut": Kind("server", "the beginning of texts is lost", "habit", next="doctor"),
    "value_letter": Kind("server", "texts have one wrong letter", "habit", next="doctor"),
    "first_word": Kind("parser", "only the first word of texts arrives", "habit", next="parser"),
    "last_word": Kind("parser", "only the last word of texts arrives", "habit", next="parser"),
    "script": Kind("model", "texts are in another script", "habit"),
    "date_order": Kind("model", "dates are in another order ({told})", "habit", next="template"),
    "date_format": Kind("model", "dates and times are in another format", "habit", next="template"),
    "letters": Kind("server", "only the letters of values are wrong", "habit", next="doctor"),
    "word_order": Kind("server", "words are in another order", "habit", next="doctor"),
    "thinned": Kind("server", "letters are missing inside texts", "habit", next="doctor"),
    "digits": Kind("server", "only the digits of values are wrong", "habit", next="doctor"),
    "number_text": Kind("parser", "numbers are texts", next="parser"),
    "number_words": Kind("model", "numbers are words", next="strict"),
    "number_with_unit": Kind("model", "numbers have a unit", "habit", next="strict"),
    "number_type": Kind("parser", "numbers have the wrong type ({told})", "habit", next="parser"),
    "text_number": Kind("parser", "texts of digits are numbers", next="parser"),
    "boolean_text": Kind("parser", "truth values are words", next="parser"),
    "boolean_number": Kind("parser", "truth values are numbers", next="parser"),
    "list_text": Kind("parser", "lists are texts", next="parser"),
    "json_text": Kind("parser", "objects and lists are texts of JSON", next="parser"),
    "listed": Kind("parser", "values stand in a list of one", next="parser"),
    "unlisted": Kind("parser", "lists of one have lost their list", next="parser"),
    "list_reversed": Kind("server", "lists are in reverse order", "habit", next="doctor"),
    "list_order": Kind("server", "lists are in another order", "habit", next="doctor"),
    "list_cut": Kind("parser", "only a part of lists arrives", "habit", next="parser"),
    "list_longer": Kind("model", "lists have elements too many", "habit"),
    "list_object": Kind("parser", "lists are objects with numbers for names", next="parser"),
    "inverted": Kind("model", "truth values are the wrong way round", "habit"),
    "scaled": Kind("model", "numbers are wrong by a factor ({told})", "habit", told="only one"),
    "shifted": Kind("model", "numbers are wrong by {told}", "habit", told="only one"),
    "sign": Kind("model", "numbers have the wrong sign", "habit"),
    "rounded": Kind("server", "numbers are rounded", "habit", next="doctor"),
    "swapped": Kind("parser", "values of two arguments are exchanged", "habit", next="parser"),
    "argument_name": Kind("template", "values are the names or descriptions of arguments", "habit", next="template"),
    "question": Kind("model", "values are the words of the question", "habit", next="strict"),
    "enum": Kind("template", "values are outside the enum", "habit", next="strict"),
    "same_value": Kind("template", "every value is {told}", "habit", told="only one", next="template"),
    "value_other": Kind("model", "other values", "loose"),
    # Calls of a reply.
    "doubled": Kind("parser", "calls come twice in one reply", next="parser"),
    "repeated_steps": Kind("template", "calls are repeated after their results", next="template"),
    "first_only": Kind("parser", "only the first of several calls arrives", "habit", next="parallel"),
    "last_only": Kind("parser", "only the last of several calls arrives", "habit", next="parallel"),
    "at_most": Kind("server", "no reply has more than {told} calls", "habit", next="parallel"),
    "call_inside": Kind("parser", "calls are the arguments of `{told}`, which was never offered", next="parser"),
    "merged": Kind("parser", "calls of one function arrive as one", next="parallel"),
    "arguments_of_other": Kind("parser", "calls have arguments of another call of the reply", "habit", next="parser"),
    "call_order": Kind("server", "calls are in another order", "habit", next="parallel"),
    "restarted": Kind("template", "later turns answer the first one again", next="template"),
    "extra_call": Kind("model", "calls of `{told}`, which was never offered", told="only one", next="template"),
    "call_missing": Kind("model", "calls are missing", "loose"),
    "undue_call": Kind("model", "calls nobody asked for", "loose"),
    "other_function": Kind("model", "another offered function is called", "loose", next="rename"),
    "undue": Kind("model", "calls although nothing fits", "habit"),
    # No call.
    "call_in_text": Kind("parser", "calls stand in the text ({told}), not as tool calls", next="decoder"),
    "call_in_thoughts": Kind("parser", "calls stand in the thoughts ({told})", next="reasoning"),
    "text_notation": Kind("model", "calls are written in another notation ({told})", next="decoder"),
    "text_around": Kind("model", "words stand around the calls", next="strict"),
    "text_fenced": Kind("model", "calls stand in a code fence with words around it", next="strict"),
    "text_cut": Kind("server", "texts of calls are cut off", next="tokens"),
    "text_quotes": Kind("server", "calls are written with typographic quotes", next="doctor"),
    "text_lines": Kind("model", "calls stand one a line, not in a list", next="strict"),
    "empty": Kind("server", "replies are empty", next="doctor"),
    "thoughts": Kind("parser", "replies are thoughts and nothing else", next="reasoning"),
    "refused": Kind("model", "replies refuse", next="prompt"),
    "asked": Kind("model", "replies ask back instead of calling", "habit", next="prompt"),
    "words": Kind("model", "replies are words, no call", "habit", next="prompt"),
    "length": Kind("model", "replies are cut at the token limit", next="tokens"),
    "filtered": Kind("server", "replies are stopped by a filter", next="doctor"),
    "overflow": Kind("server", "conversations do not fit into the context", next="context"),
    # What did not reach the model.
    "system_lost": Kind("template", "the system message does not reach the model", next="template"),
    "tools_lost": Kind("template", "no tool reaches the model", next="wire"),
    "descriptions_lost": Kind("template", "descriptions of tools do not reach the model", next="template"),
    "first_tool_only": Kind("template", "only the first tools reach the model", next="template"),
    "history_lost": Kind("template", "earlier turns do not reach the model", next="template"),
    "results_lost": Kind("template", "results of calls do not reach the model", next="template"),
    # The data.
    "answer_wrong": Kind("data", "the expected answer is wrong: the corrected one accepts these"),
    "rule_wrong": Kind("data", "an official rule refuses what is right ({told})", told="apart", next="corrected"),
    "unexplained": Kind("unknown", "unexplained: nothing that recurs, undone, makes these right", "loose"),
}  # fmt: skip

NEXT: Mapping[str, tuple[str, ...]] = {
    "again": ("--temperature 0", "--repeat 3"),
    "parser": ("--decoder auto", "--mode prompt", "--stream"),
    "decoder": ("--decoder auto", "--mode prompt"),
    "template": ("--mode prompt", "--mode fc"),
    "prompt": ("--mode prompt", "--mode fc"),
    "strict": ("--temperature 0", "--mode prompt", "--mode fc"),
    "reasoning": ("--think strip", "--decoder auto", "--mode prompt"),
    "tokens": ("--max-tokens 8192", "--max-tokens 16384"),
    "context": ("--max-tokens 512", "--max-tokens 256"),
    "rename": ("--transform rename-tools", "--temperature 0"),
    "corrected": ("--rules corrected", "--rules official"),
    "parallel": ("--param parallel_tool_calls=true", "--mode prompt", "--mode fc"),
    "doctor": ("--stream", "--concurrency 1", "--mode prompt"),
    "wire": ("--mode prompt", "--mode fc"),
}
"""What to change, the first that the run did not have already."""
