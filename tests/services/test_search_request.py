from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.search import Expand, Scope
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services.search_request import search_request, whole_number
from mcp_knowledge.settings import Settings, load_settings

SETTINGS = load_settings(data_dir=Path("unused"), default_search_limit=7, fusion="relative")

FIELDS = (
    "query",
    "mode",
    "limit",
    "collection_ids",
    "document_ids",
    "filters",
    "fusion",
    "expand",
    "collapse",
    "explain",
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def code_of(**arguments: Any) -> tuple[str, str]:
    with pytest.raises(KnowledgeError) as raised:
        search_request(SETTINGS, **{"query": "pump", **arguments})
    return raised.value.code, raised.value.message


def test_a_query_alone_takes_everything_else_from_the_settings() -> None:
    request = search_request(SETTINGS, query="  pump  ")
    assert request.query == "pump"
    assert (request.mode, request.limit, request.fusion, request.collapse) == ("hybrid", 7, "relative", "none")
    assert request.scope == Scope()
    assert request.expand == Expand("none", 2, 2)
    assert request.explain is False


def test_every_field_can_be_set() -> None:
    request = search_request(
        SETTINGS,
        query="pump",
        mode="vector",
        limit=3,
        collection_ids=["col_1"],
        document_ids=("doc_1", "doc_2", "doc_1"),
        filters={"year": {"gte": 2020}},
        fusion="rrf",
        expand={"type": "neighbors", "before": 0, "after": 5},
        collapse="document",
        explain=True,
    )
    assert (request.mode, request.limit, request.fusion, request.collapse) == ("vector", 3, "rrf", "document")
    assert request.scope.collection_ids == ("col_1",)
    assert request.scope.document_ids == ("doc_1", "doc_2")
    assert [item.field for item in request.scope.filters] == ["year"]
    assert request.expand == Expand("neighbors", 0, 5)
    assert request.explain is True


@pytest.mark.parametrize("query", [None, 5, "", " \n\t ", "x" * 2001, ["pump"], {"q": "pump"}])
def test_a_query_has_1_to_2000_characters(query: Any) -> None:
    assert code_of(query=query)[0] == "INVALID_QUERY"


def test_a_query_is_measured_after_trimming() -> None:
    assert search_request(SETTINGS, query=" " * 50 + "x" * 2000 + "\n").query == "x" * 2000


def test_half_a_surrogate_pair_in_a_query_is_replaced() -> None:
    assert search_request(SETTINGS, query="a\ud83d b").query == "a? b"


@pytest.mark.parametrize("mode", ["", "Hybrid", "bm25", 1, ["hybrid"], {}])
def test_an_unknown_mode_is_refused(mode: Any) -> None:
    assert code_of(mode=mode)[0] == "SEARCH_MODE_UNSUPPORTED"


@pytest.mark.parametrize("collapse", ["", "chunk", True, ["document"]])
def test_an_unknown_collapse_is_refused(collapse: Any) -> None:
    assert code_of(collapse=collapse)[0] == "SEARCH_COLLAPSE_UNSUPPORTED"


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("collectionIds", {"collection_ids": "col_1"}),
        ("collectionIds", {"collection_ids": [1]}),
        ("documentIds", {"document_ids": ["doc"] * 201}),
        ("documentIds", {"document_ids": ["doc_\ud800"]}),
        ("documentIds", {"document_ids": {"doc_1": 1}}),
        ("fusion", {"fusion": "sum"}),
        ("fusion", {"fusion": 1}),
        ("expand", {"expand": "neighbors"}),
        ("expand", {"expand": {"type": "none", "depth": 1}}),
        ("expand.type", {"expand": {"type": "page"}}),
        ("expand.type", {"expand": {"type": ["section"]}}),
        ("expand.before", {"expand": {"type": "neighbors", "before": 6}}),
        ("expand.after", {"expand": {"type": "neighbors", "after": -1}}),
        ("expand.after", {"expand": {"type": "neighbors", "after": True}}),
        ("expand.before", {"expand": {"before": 1.5}}),
        ("explain", {"explain": "yes"}),
        ("limit", {"limit": 0}),
        ("limit", {"limit": True}),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(field: str, arguments: dict[str, Any]) -> None:
    code, message = code_of(**arguments)
    assert code == "INVALID_ARGUMENT"
    assert f"'{field}'" in message


def test_a_whole_number_may_be_written_with_a_fraction_of_nothing() -> None:
    request = search_request(SETTINGS, query="x", limit=whole_number(3.0), expand={"before": 1.0, "after": 5.0})
    assert (request.limit, request.expand.before, request.expand.after) == (3, 1, 5)
    assert [type(number) for number in (request.limit, request.expand.before)] == [int, int]
    assert [whole_number(value) for value in (True, 1.5, "3", float("inf"), float("nan"))] == [None] * 5


def test_200_ids_are_accepted_and_empty_lists_mean_no_limit() -> None:
    ids = [f"doc_{number}" for number in range(200)]
    assert len(search_request(SETTINGS, query="x", document_ids=ids).scope.document_ids) == 200
    assert search_request(SETTINGS, query="x", document_ids=[], collection_ids=[], filters={}).scope.unlimited


@pytest.mark.parametrize("filters", [[], "year", 5, {"a b": 1}, {"year": {"near": 5}}])
def test_a_filter_of_the_wrong_shape_is_an_invalid_filter(filters: Any) -> None:
    assert code_of(filters=filters)[0] == "INVALID_FILTER"


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, ANYTHING)))
def test_whatever_is_sent_gives_a_request_or_a_coded_error(arguments: dict[str, Any]) -> None:
    settings: Settings = SETTINGS
    try:
        request = search_request(settings, **{"query": "pump", **arguments})
    except KnowledgeError as error:
        assert 400 <= error.status < 500
    else:
        assert 1 <= len(request.query) <= 2000
        request.query.encode()
