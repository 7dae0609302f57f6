"""The official data: counts, ids, order, expansion (data spec §3, §5, §6). Skipped without the fetched data."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.expansion import FormatConfig, sort_key, with_hints
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.own.validation import validate
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching.texts import digest

BACKENDS = ("kv", "vector", "rec_sum")


def entries(dataset: DataSet, category: str) -> list[Entry]:
    return [dataset.load(ref) for ref in dataset.index(category)]


@pytest.mark.parametrize("category", list(CATEGORIES))
def test_counts_and_ids(official: DataSet, category: str) -> None:
    refs = official.index(category)
    assert len(refs) == CATEGORIES[category].official_size
    assert len({ref.id for ref in refs}) == len(refs)
    assert all(official.find(ref.id) == ref for ref in refs[:: max(1, len(refs) // 20)])
    assert official.problems(category) == []


def test_every_entry_loads_under_its_reference(official: DataSet) -> None:
    for category in CATEGORIES:
        for ref in official.index(category)[:: 26 if category == "format_sensitivity" else 1]:
            entry = official.load(ref)
            assert (entry.id, entry.category, entry.official) == (ref.id, category, True)
            assert entry.question


def test_answers_where_the_category_has_them(official: DataSet) -> None:
    for category in GROUPS["all_scoring"]:
        without = CATEGORIES[category].checker in ("relevance", "irrelevance")
        assert all((entry.possible_answer is None) == without for entry in entries(official, category))


def test_files_are_in_id_order_except_memory(official: DataSet) -> None:
    for category in GROUPS["all_scoring"]:
        keys = [sort_key(ref.id) for ref in official.index(category)]
        assert keys == sorted(keys)


@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_write_stages(official: DataSet, backend: str) -> None:
    stages = entries(official, f"memory_{backend}_prereq")
    scenarios = list(dict.fromkeys(entry.scenario for entry in stages))
    assert scenarios == ["notetaker", "healthcare", "finance", "customer", "student"]
    assert Counter(entry.scenario for entry in stages) == {
        "notetaker": 5, "healthcare": 5, "finance": 7, "customer": 10, "student": 10,
    }  # fmt: skip
    for scenario in scenarios:
        chain = [entry for entry in stages if entry.scenario == scenario]
        for number, entry in enumerate(chain):
            assert entry.depends_on == [earlier.id for earlier in chain[:number]]
            assert entry.id.endswith(f"-{scenario}-{number}")
            assert entry.involved_classes == [f"MemoryAPI_{backend}"]
            assert all(message["role"] == "user" for turn in entry.question for message in turn)
    assert sum(len(entry.question) for entry in stages) == 323


@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_questions(official: DataSet, backend: str) -> None:
    questions = entries(official, f"memory_{backend}")
    assert Counter(len(entry.depends_on) for entry in questions) == {10: 80, 7: 25, 5: 50}
    tools = {"kv": 15, "vector": 12, "rec_sum": 5}[backend]
    for entry in questions:
        assert entry.id.startswith(f"memory_{backend}_")
        assert [message["role"] for message in entry.question[0]] == ["system", "user"]
        assert entry.question[0][0]["content"] == official.texts.agentic_answer
        assert len(entry.function) == tools
        assert all(f"-{entry.scenario}-" in name for name in entry.depends_on)


def test_web_search_variants(official: DataSet) -> None:
    base, bare = entries(official, "web_search_base"), entries(official, "web_search_no_snippet")
    assert all(entry.initial_config == {"WebSearchAPI": {"show_snippet": True}} for entry in base)
    assert all(entry.initial_config == {"WebSearchAPI": {"show_snippet": False}} for entry in bare)
    assert [e.possible_answer for e in base] == [e.possible_answer for e in bare]
    assert Counter(e.num_hops for e in base) == {2: 27, 3: 33, 4: 40}
    assert all(len(e.function) == 2 and e.question[0][0]["role"] == "system" for e in base)


def test_multi_turn_documents_and_held_out_functions(official: DataSet) -> None:
    sizes = {"GorillaFileSystem": 18, "MathAPI": 17, "MessageAPI": 10, "TwitterAPI": 14, "TicketAPI": 9,
             "TradingBot": 20, "TravelAPI": 18, "VehicleControlAPI": 22}  # fmt: skip
    for category in GROUPS["multi_turn"]:
        for entry in entries(official, category):
            offered = sum(sizes[name] for name in entry.involved_classes)
            held = [doc["name"] for docs in entry.missed_function.values() for doc in docs]
            assert len(entry.function) == offered - len(held)
            assert len(entry.possible_answer or []) == len(entry.question)
            assert not {doc["name"] for doc in entry.function} & set(held)
            assert bool(held) == (category == "multi_turn_miss_func")
            empty = [number for number, turn in enumerate(entry.question) if not turn]
            assert empty == list(entry.missed_function)


def test_format_sensitivity(official: DataSet) -> None:
    refs = official.index("format_sensitivity")
    originals = [ref.id.rsplit(":", 1)[-1] for ref in refs[::26]]
    counts = Counter(sort_key(name)[1] for name in originals)
    assert counts == {"simple_python": 30, "parallel": 15, "multiple": 15, "parallel_multiple": 15, "live_simple": 24,
                      "live_multiple": 86, "live_parallel": 6, "live_parallel_multiple": 9}  # fmt: skip
    assert len(set(originals)) == 200
    for number, ref in enumerate(refs):
        head, config, _ = ref.id.split(":")
        assert head == f"format_sensitivity_{number}"
        assert str(FormatConfig.parse(config)) == config
    configs = [ref.id.split(":")[1] for ref in refs[:26]]
    assert all([ref.id.split(":")[1] for ref in refs[i : i + 26]] == configs for i in range(0, 5200, 26))
    default = official.texts.default_prompt_config
    assert configs[5] == default
    assert configs[24] == default.replace("plaintext", "markdown")
    assert configs[25] == default.replace("classic", "experimental")


def test_format_sensitivity_entry(official: DataSet) -> None:
    ref = official.index("format_sensitivity")[26 + 13]
    entry, original = official.load(ref), official.entry(ref.id.rsplit(":", 1)[-1])
    assert entry.config == "ret_fmt=verbose_xml&tool_call_tag=True&func_doc_fmt=xml&prompt_fmt=plaintext&style=classic"
    assert (entry.return_format, entry.tool_call_tag, entry.doc_format) == ("verbose_xml", True, "xml")
    assert (entry.rule, entry.category) == (original.rule, "format_sensitivity")
    assert (entry.question, entry.function, entry.possible_answer) == (
        original.question, original.function, original.possible_answer,
    )  # fmt: skip


def test_hints_turn_java_and_javascript_parameters_into_strings(official: DataSet) -> None:
    for category in ("simple_java", "simple_javascript"):
        for entry in entries(official, category):
            for doc in with_hints(entry.function, entry.language, official.texts):
                properties = doc["parameters"]["properties"]
                assert {schema["type"] for schema in properties.values()} <= {"string"}
                assert not any("items" in schema for schema in properties.values())


def test_retired_shapes(official: DataSet) -> None:
    chat = official.entry("chatable_7")
    assert (len(chat.question), chat.function, chat.possible_answer) == (1, [], None)
    sql = official.entry("sql_0")
    assert isinstance(sql.question[0], list)
    assert sql.question[0][0]["role"] == "user"
    rest = official.entry("rest_0")
    assert isinstance(rest.possible_answer, list)
    assert isinstance(rest.possible_answer[0], str)
    for category in ("exec_simple", "exec_multiple", "exec_parallel"):
        for entry in entries(official, category):
            assert len(entry.execution_result_type) == len(entry.possible_answer or [])


LONG_CONTEXT = {
    "WATCH_LIST_EXTENSION": "6da7b649049c8069", "TRANSACTION_HISTORY_EXTENSION": "d2e6f3861406b2bc",
    "MA_5_EXTENSION": "7413d9987edf6077", "MA_20_EXTENSION": "799d64f5d51ce617",
    "TECHNOLOGY_EXTENSION": "de5b01cad5b7791b", "AUTOMOBILE_EXTENSION": "28fccc62e75ab4f5",
    "ORDER_DETAIL_EXTENSION": "a229ae00281a9deb", "FILE_CONTENT_EXTENSION": "9fc8dcc81196f6ef",
    "POPULATE_FILE_EXTENSION": "cd8b2b3de9fbd49a", "CAR_STATUS_METADATA_EXTENSION": "95213037b3a74f65",
    "LONG_WEATHER_EXTENSION": "72bb19e928a0a46c", "PARKING_BRAKE_INSTRUCTION": "b07ebc46e89620ef",
    "INTERMEDIARY_CITIES": "423f15dde185ec31", "CREDIT_CARD_EXTENSION": "17c59167f49cb43e",
    "BOOKING_RECORD_EXTENSION": "4535a0ba308e95e0", "FILES_TAIL_USED": "64fd658be2df44d2",
}  # fmt: skip


@pytest.mark.parametrize("name", list(LONG_CONTEXT))
def test_long_context_digests(official: DataSet, name: str) -> None:
    """Simulators spec §9."""
    assert digest(official.texts.long_context[name])[:16] == LONG_CONTEXT[name]


def test_validation_finds_exactly_the_documented_irregularities(official: DataSet) -> None:
    """Data spec §8."""
    problems = validate(official)
    errors = {problem.entry_id for problem in problems if problem.severity == "error"}
    assert errors == {
        "live_simple_106-63-0", "live_simple_112-68-0", "live_multiple_862-181-3", "live_multiple_964-207-0",
    }  # fmt: skip
    odd = {problem.entry_id for problem in problems if "no description" not in problem.message} - errors
    assert odd == {"parallel_multiple_12", "parallel_multiple_26", "live_multiple_507-149-4"}
    undescribed = [problem for problem in problems if "no description" in problem.message]
    assert len(undescribed) == 8


def test_unknown_names(official: DataSet) -> None:
    assert official.find("simple_python_400") is None
    assert official.find("nonsense") is None
    with pytest.raises(KeyError, match="no entry 'parallel_999' in the official data"):
        official.entry("parallel_999")
    with pytest.raises(UsageError, match="unknown category 'simple'"):
        official.index("simple")
