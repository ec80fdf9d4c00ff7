import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.interfaces.web.playground.filter_builder import (
    filters_of_rows,
    rows_of_filters,
    rows_of_form,
    same_filters,
    spelled,
)
from mcp_knowledge.interfaces.web.playground.row import KINDS, OPERATORS, Row

ANY_TEXT = st.text(max_size=30) | st.sampled_from(["5", "true", "null", "", " ", 'a, "b"', "a\nb", "2024-05-01"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT
ORDERED = st.integers() | st.sampled_from(["2024-05-01", "2024-05-01T10:00:00Z"])
CONDITIONS = st.fixed_dictionaries(
    {},
    optional={
        "eq": SCALARS,
        "neq": SCALARS,
        "in": st.lists(SCALARS, max_size=4),
        "gte": ORDERED,
        "lte": ORDERED,
        "exists": st.booleans(),
    },
).filter(bool)
KEYS = st.sampled_from(["year", "by.team", "a-b", "x_1"])


def meaning(filters: Any) -> set[str]:
    """Conditions with their types told apart, which Python's equality does not."""
    return {repr(item) for item in parse_filters(filters)}


@settings(deadline=None)
@given(st.dictionaries(KEYS, CONDITIONS | SCALARS))
def test_filters_become_rows_and_the_same_filters_again(filters: dict[str, Any]) -> None:
    rows = rows_of_filters(filters)
    again, checked = filters_of_rows(rows, {})
    assert [row.problem for row in checked if row.problem] == []
    assert meaning(again) == meaning(filters)
    assert not any(char in row.value for row in rows for char in "\r\n\0")
    spelled(again).encode()
    assert all(row.sentence for row in rows)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(ANY_TEXT | KEYS, st.sampled_from([*OPERATORS, "no"]), ANY_TEXT, st.sampled_from([*KINDS, "no"]))
    ),
    st.dictionaries(KEYS, st.lists(st.sampled_from(["string", "number", "boolean", "null"])).map(tuple)),
)
def test_whatever_a_form_sends_makes_valid_filters_and_tells_what_is_wrong(
    sent: list[tuple[str, str, str, str]], kinds: Any
) -> None:
    rows = rows_of_form(*([item[part] for item in sent] for part in range(4)))
    filters, checked = filters_of_rows(rows, kinds)
    parse_filters(filters)
    assert len(checked) == len(rows)
    assert sum(not row.problem for row in checked) == len(parse_filters(filters))
    spelled(filters).encode()


def one(row: Row, *kinds: Any) -> Any:
    filters, (checked,) = filters_of_rows([row], {row.key: kinds})
    return checked.problem or filters[row.key]


def test_a_value_is_of_the_kind_that_the_documents_have_unless_another_is_chosen() -> None:
    assert one(Row("year", "eq", " 2024 "), "number") == 2024
    assert one(Row("year", "eq", "2024"), "string") == "2024"
    assert one(Row("year", "eq", "2024"), "string", "number") == 2024
    assert one(Row("year", "eq", "2024", "string"), "number") == "2024"
    assert one(Row("year", "eq", "2024")) == 2024
    assert one(Row("draft", "eq", "yes"), "boolean") is True
    assert one(Row("draft", "eq", "yes")) == "yes"
    assert one(Row("draft", "eq", "true"), "string") == "true"
    assert one(Row("draft", "eq", "", "null")) is None
    assert one(Row("note", "eq", "", "string")) == ""
    assert one(Row("team", "in", 'audit, "legal, tax", 5'), "string") == {"in": ["audit", "legal, tax", "5"]}
    assert one(Row("team", "in", "5, x"), "string", "number") == {"in": [5, "x"]}
    assert one(Row("day", "gte", "2024-05-01"), "string") == {"gte": "2024-05-01"}
    assert one(Row("team", "missing")) == {"exists": False}


def test_what_is_wrong_with_a_row_is_a_sentence() -> None:
    assert "not a number" in one(Row("year", "eq", "soon", "number"))
    assert "true or false" in one(Row("draft", "eq", "perhaps", "boolean"))
    assert "Choose a value" in one(Row("year"))
    assert "field name is letters" in one(Row("odd key", "eq", "1"))
    assert "number or an ISO date" in one(Row("year", "gte", "soon"))
    assert "not valid JSON" in one(Row("year", "in", "[1", "json"))
    assert "commas" in one(Row("year", "in", '"a" b"'))
    _, (_, second) = filters_of_rows([Row("tag", "eq", "a"), Row("tag", "eq", "b")], {})
    assert "is one of" in second.problem
    filters, (row,) = filters_of_rows([Row("", "eq", "5")], {})
    assert (filters, row.unfinished) == ({}, True)


def test_conditions_on_one_key_stand_in_one_object() -> None:
    filters, _ = filters_of_rows([Row("year", "gte", "2020"), Row("year", "lte", "2024"), Row("x", "eq", "é")], {})
    assert spelled(filters) == '{"year":{"gte":2020,"lte":2024},"x":"é"}'
    assert spelled({}) == ""
    assert same_filters('{"a": 1}', '{\r\n"a":1}') and not same_filters('{"a":1}', '{"a":true}')
    assert not same_filters("{", '{"a":1}') and same_filters("{", " {") and not same_filters("", "{}")
    assert json.loads(spelled(filters)) == filters
