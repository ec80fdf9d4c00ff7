"""Reading judged queries from lines of JSON, and writing them."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_knowledge.domain.evaluations import Case, query_key
from mcp_knowledge.domain.judged_queries import (
    MAX_JUDGED_DOCUMENTS,
    MAX_LINE_BYTES,
    JudgedQuery,
    judged_line,
    merged,
    read_judged_queries,
)
from mcp_knowledge.errors import KnowledgeError

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1, max_size=20).filter(
    lambda text: text == text.strip() and bool(text)
)
NAMES = st.lists(TEXT, max_size=4, unique=True)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A case as a set may hold it."""
    names = draw(NAMES)
    cut = draw(st.integers(0, len(names)))
    relevant, wrong = names[:cut], names[cut:]
    no_answer = not relevant and draw(st.booleans())
    kind = draw(st.just("") | TEXT)
    return Case(draw(TEXT), draw(TEXT), tuple(relevant), tuple(wrong), no_answer, kind)


def read(*lines: bytes) -> list[JudgedQuery]:
    return list(read_judged_queries(lines, 100))


def line(**fields: Any) -> bytes:
    return json.dumps({"id": "1", "query": "q", "relevant": ["a"], **fields}).encode()


@given(cases())
def test_what_was_written_is_read_as_it_was(case: Case) -> None:
    (judged,) = read(judged_line(case, {}))
    assert judged.to_case({name: name for name in judged.names}) == case


@given(st.lists(st.binary(max_size=200), max_size=5))
@example([b"\xef\xbb\xbf{}"])
@example([b"[" * 100_000])
@example([b'{"query": "\\ud800", "relevant": []}'])
@example([b'{"query": "q", "relevant": [NaN]}'])
@example([b'{"id": 1e999, "query": "q", "relevant": []}'])
def test_any_bytes_are_read_or_refused_with_their_line(lines: list[bytes]) -> None:
    try:
        judged = read(*lines)
    except KnowledgeError as error:
        assert error.code == "INVALID_ARGUMENT"
        assert error.message.startswith("line ")
        return
    assert all(item.query and item.place for item in judged)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda items: st.lists(items), max_leaves=3
)


@given(st.dictionaries(st.sampled_from(["id", "query", "relevant", "wrong", "noAnswer", "kind", "more"]), JSON))
def test_any_values_are_read_or_refused(row: dict[str, Any]) -> None:
    try:
        judged = read(json.dumps(row).encode())
    except KnowledgeError as error:
        assert error.message.startswith("line 1: ")
        return
    assert not (judged[0].no_answer and judged[0].relevant)
    assert isinstance(judged[0].kind, str)


def test_a_file_may_begin_with_a_byte_order_mark_and_have_empty_lines() -> None:
    assert [item.place for item in read(b"\xef\xbb\xbf" + line(), b"  ", line(id="2"))] == ["line 1", "line 3"]


def test_what_is_optional_may_be_null() -> None:
    (judged,) = read(line(id=None, kind=None, wrong=None, noAnswer=None, relevant=[]))
    assert (judged.id, judged.kind, judged.wrong, judged.no_answer) == ("", "", (), True)


def test_a_query_may_wait_to_be_judged() -> None:
    unjudged = Case("1", "q")
    (judged,) = read(judged_line(unjudged, {}))
    assert judged.to_case({}) == unjudged and not unjudged.judged


@pytest.mark.parametrize(
    "faulty",
    [
        line(relevant=[""]),
        line(relevant=["a\0"]),
        line(relevant=[str(number) for number in range(MAX_JUDGED_DOCUMENTS + 1)]),
        line(kind=5),
        line(kind="k" * 101),
        line(id=" "),
        line(kind=0),
        line(kind=[]),
        line(noAnswer=0),
        line(more="x" * MAX_LINE_BYTES),
    ],
    ids=lambda text: text[:60].decode(),
)
def test_a_fault_is_named(faulty: bytes) -> None:
    with pytest.raises(KnowledgeError, match="line 1: "):
        read(faulty)


def test_lines_with_one_query_become_one() -> None:
    lines = (line(wrong=["c"]), line(id="2", query=" Q ", relevant=["b", "c"]), line(id="3", query="r"))
    first, second = merged(read(*lines))
    assert (first.id, first.relevant, first.wrong) == ("1", ("a", "b", "c"), ())
    assert second.id == "3"
    with pytest.raises(KnowledgeError, match="line 2: the query is that of line 1"):
        merged(read(line(), line(id="2", relevant=[])))
    (nothing,) = merged(read(line(relevant=[], wrong=["a"], noAnswer=False), line(id="2", relevant=[])))
    assert nothing.no_answer and nothing.wrong == ("a",)


def test_queries_that_differ_in_case_and_white_space_are_one() -> None:
    assert query_key("Straße  im\tRegen") == query_key("STRASSE IM REGEN ")
    assert query_key("INV-0042") != query_key("INV-0043")
