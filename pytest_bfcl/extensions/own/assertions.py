"""Assertions for users' own tests: the benchmark's rules on a model's output and a plain list of functions.

Each raises `Failure` with exactly one tag if the model is wrong, and `UsageError` if the assertion itself is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.agentic import contains_answer
from pytest_bfcl.checkers.corrected import rule_set
from pytest_bfcl.checkers.details import AnswerDetails
from pytest_bfcl.checkers.judge import judge
from pytest_bfcl.checkers.state import ABSENT, state_difference
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.entry_checks import unknown_names
from pytest_bfcl.dataset.expectation import Expectation
from pytest_bfcl.explaining.facts import value_text
from pytest_bfcl.extensions.own.expecting import has_functions, raise_unless_valid
from pytest_bfcl.extensions.own.sources import assertable_documents
from pytest_bfcl.failures import Failure, FailureTag, UsageError, Verdict, instead_of, without_our_frames
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.judging.entries import plain_answers, possible_answers
from pytest_bfcl.replies import read_reply
from pytest_bfcl.runs.wire_names import proven_underscores
from pytest_bfcl.transcript import Mode, Reply, Step, Transcript, Turn


@without_our_frames
def assert_calls(
    output: object,
    functions: object = None,
    possible_answer: object = None,
    *,
    expected: object = None,
    category: str | None = None,
    rule: str | None = None,
    language: str | None = None,
    mode: Mode | None = None,
    return_format: str | None = None,
    underscore_names: bool | None = None,
    rules: str | Iterable[str] = "official",
    request: str = "",
) -> None:
    """The output has the expected calls.

    Args:
        output: The model's output: a `Reply`, text, a list of calls (``{"name", "arguments"}``, one-key ``{name: {…}}``
            objects, `ToolCall`), a message or completion of any common library (OpenAI chat and Responses, Anthropic,
            litellm, LangChain, pydantic-ai, smolagents, LlamaIndex, Gemini), as object or dict, or a list of messages
            (see `pytest_bfcl.replies.read_reply`).
        functions: Python functions, function documents, or OpenAI-style tools (JSON-schema types are fine); an answer
            of the fixture ``ask`` has its own.
        possible_answer: One ``{function: {parameter: [acceptable values]}}`` or a list of them; ``""`` among the values
            makes the parameter optional.
        expected: Instead of ``possible_answer``: plain calls, ``{"get_weather": {"city": "Paris"}}`` or a list of them;
            only these arguments and values are right.
        category: A benchmark category whose pairing rule and language to use.
        rule: ``simple``, ``multiple`` or ``parallel``; without category and rule it follows from the number of expected
            calls and functions.
        language: ``python`` (default), ``java`` or ``javascript``: how values are read and typed.
        mode: ``fc`` for native calls, ``prompt`` for text; default: by the output's type.
        return_format: Notation of a text; default: the language's.
        underscore_names: Names were sent with dots replaced; default: by the called names.
        rules: ``official``, ``corrected``, or names of corrected rules.
        request: The user's words, shown in the failure's text.

    Raises:
        Failure: ``MALFORMED_OUTPUT`` or ``WRONG_ANSWER``, with the reason and a text for users.
        UsageError: Functions, answers or output have no usable shape.
    """
    if (possible_answer is None) == (expected is None):
        raise UsageError("give either possible_answer (lists of acceptable values) or expected (plain calls)")
    if functions is None and (functions := getattr(output, "functions", None)) is None:
        raise UsageError("name the functions: assert_calls(output, functions, …)")
    documents = assertable_documents(functions)
    answers = plain_answers(expected) if possible_answer is None else possible_answers(possible_answer)
    _refuse_unknown(documents, answers)
    row_category, row_language = _category(category, rule, language, len(answers), len(documents))
    reply = read_reply(output)
    under = proven_underscores(reply, documents) if underscore_names is None else underscore_names
    _judge(
        reply, request, mode, rules, under, category=row_category, function=documents, possible_answer=answers,
        language=row_language, return_format=return_format or row_language,
    )  # fmt: skip


def _refuse_unknown(documents: Sequence[Fields], answers: Sequence[Fields]) -> None:
    """Raise `UsageError` for a tool or parameter that does not exist, and for values that only `expect` can hold."""
    tools = {str(doc["name"]): doc["parameters"] for doc in documents}
    for each in answers:
        for name, parameters in each.items():
            wanted = Expectation(called=name, arguments=dict.fromkeys(parameters))
            if told := next(unknown_names(wanted, tools), None):
                raise UsageError(f"{told} (the error is in the expected calls; nothing was judged)")
            odd = next((parameter for parameter, values in parameters.items() if has_functions(values)), None)
            if odd is not None:
                raise UsageError(
                    f"{name}.{odd}: patterns and functions are for expect: "
                    f'expect(reply).called("{name}", {{"{odd}": re.compile("…")}})'
                )


@without_our_frames
def assert_no_calls(
    output: object,
    functions: object = (),
    *,
    mode: Mode | None = None,
    rules: str | Iterable[str] = "official",
    request: str = "",
) -> None:
    """The output has no calls; arguments as in `assert_calls`.

    Under corrected rules a call that does not decode (broken, tagged, in another format) also counts.
    """
    documents = assertable_documents(functions)
    _judge(read_reply(output), request, mode, rules, False, category="irrelevance", function=documents)


@without_our_frames
def assert_state(actual: object, expected: object) -> None:
    """A simulated system is in the expected state.

    Both are a mapping of attributes, a simulator, or a mapping of names to either. Only what ``expected`` has is
    compared, with ``==``, of a simulator in a mapping too; names that start with ``_`` are not. Raises `Failure` with
    reason ``multi_turn:instance_state_mismatch`` and the differences.
    """
    mine, wanted = _state(actual), _state(expected)
    for name in {*_simulators(actual), *_simulators(expected)} & mine.keys() & wanted.keys():
        have, want = mine[name], wanted[name]
        if isinstance(have, Mapping) and isinstance(want, Mapping):  # of a simulator only what is wanted counts
            mine[name] = {key: have[key] for key in want if key in have}
    if not (difference := state_difference(mine, wanted)):
        return
    tag, name = reasons.STATE.tag, reasons.STATE.name
    lines = [f"{tag}: {name}"]
    for path, values in difference.items():
        if isinstance(values, Mapping):
            lines.append(f"  {path}")
            lines.append(f"    expected  {_value_or_absence(values.get('expected'))}")
            lines.append(f"    is        {_value_or_absence(values.get('called'))}")
        else:
            lines.append(f"  … {values}")
    raise Failure(tag, name, "\n".join(lines), {"difference": difference})


@without_our_frames
def assert_answer(output: object, answers: object, *, rules: str | Iterable[str] = "official") -> None:
    """The final message contains an accepted answer as whole words.

    ``output``: as in `assert_calls`; ``answers``: one text or several. Case and
    ``, . / - _ * ^ ( )`` do not matter. Raises `Failure`.
    """
    accepted = [answers] if isinstance(answers, str) or not isinstance(answers, Sequence) else list(answers)
    if not accepted:
        raise UsageError("assert_answer needs at least one accepted answer")
    reply = read_reply(output)
    if reply.text and contains_answer(reply.text, accepted, rule_set(rules)):
        return
    reason = reasons.NO_ANSWER if reply.text else reasons.NO_MESSAGE
    verdict = Verdict.wrong(reason, AnswerDetails(expected=accepted, called=reply.text or None))
    raise_unless_valid(verdict, Entry(id="assertion", category="recorded", question=[]), Transcript("assertion", ""))


def _judge(
    reply: Reply, request: str, mode: Mode | None, rules: str | Iterable[str], underscore_names: bool, **entry: Any
) -> None:
    """Raise unless the reply is right for an entry with these fields."""
    asked = Entry(id="assertion", question=[[{"role": "user", "content": request}]] if request else [], **entry)
    chosen: Mode = mode or ("fc" if reply.tool_calls else "prompt")
    transcript = Transcript(
        "assertion", asked.category, mode=chosen, underscore_names=underscore_names, turns=[Turn(steps=[Step(reply)])]
    )
    verdict = judge(asked, transcript, rules)
    if verdict.tag is FailureTag.HARNESS_ERROR:
        raise UsageError(f"this cannot be judged: {verdict.detail.get('error', verdict.reason)}")
    raise_unless_valid(verdict, asked, transcript)


def _category(
    category: str | None, rule: str | None, language: str | None, answers: int, functions: int
) -> tuple[str, str]:
    """Category and language whose rules apply: as given, else by the number of answers and functions."""
    if category is not None:
        row = CATEGORIES.get(category)
        if row is None or row.checker != "ast":
            known = [name for name, each in CATEGORIES.items() if each.checker == "ast"]
            raise UsageError(f"no category {category!r} with calls to compare; {instead_of(category, known)}")
        rule, language = rule or row.rule, language or row.language
    language = language or "python"
    if language not in ("python", "java", "javascript"):
        raise UsageError(f"language is python, java or javascript, not {language!r}")
    rule = rule or ("parallel" if answers > 1 else "multiple" if functions > 1 else "simple")
    names = {"simple": "simple_python", "multiple": "multiple", "parallel": "parallel"}
    if rule not in names:
        raise UsageError(f"rule is simple, multiple or parallel, not {rule!r}")
    return names[rule], language


def _state(value: object) -> Parsed:
    """Attributes by name; nested simulators also as attributes."""
    if hasattr(value, "public_state"):
        return dict(value.public_state())
    if not isinstance(value, Mapping):
        raise UsageError(f"a state is a mapping or a simulator, not {type(value).__name__}")
    return {
        str(name): _state(item) if hasattr(item, "public_state") else item
        for name, item in value.items()
        if not str(name).startswith("_")
    }


def _simulators(value: object) -> list[str]:
    """Names in a mapping of simulators."""
    items = value.items() if isinstance(value, Mapping) else ()
    return [str(name) for name, item in items if hasattr(item, "public_state")]


def _value_or_absence(value: object) -> str:
    return ABSENT if value == ABSENT else value_text(value, 200)
