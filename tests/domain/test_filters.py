import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.filters import MAX_CONDITIONS, MAX_IN_VALUES, Filter, flatten, matches, parse_filters
from mcp_knowledge.errors import KnowledgeError


def fits(condition: Any, metadata: dict[str, Any], field: str = "f") -> bool:
    return matches(parse_filters({field: condition}), metadata)


def test_a_scalar_means_equality_and_operators_stand_side_by_side() -> None:
    assert parse_filters({"a": 1, "b.c": {"gte": 2, "lte": 3.5}, "d": {"in": ["x", None]}, "e": {"exists": False}}) == (
        Filter("a", "eq", 1),
        Filter("b.c", "gte", 2),
        Filter("b.c", "lte", 3.5),
        Filter("d", "in", ("x", None)),
        Filter("e", "exists", False),
    )
    assert parse_filters({}) == parse_filters(None) == ()


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        ([], "filters"),
        ("a", "filters"),
        ({"a": [1]}, "'a'"),
        ({"a": {}}, "'a'"),
        ({"a": {"gt": 1}}, "'a'"),
        ({"a": {"eq": {}}}, "'a'"),
        ({"a": {"eq": [1]}}, "'a'"),
        ({"a": {"in": "x"}}, "'a'"),
        ({"a": {"in": [[1]]}}, "'a'"),
        ({"a": {"exists": 1}}, "'a'"),
        ({"a": {"exists": None}}, "'a'"),
        ({"a": {"gte": "tomorrow"}}, "'a'"),
        ({"a": {"gte": True}}, "'a'"),
        ({"a": {"lte": None}}, "'a'"),
        ({"a": {"lte": "2026-02-30"}}, "'a'"),
        ({"a": float("nan")}, "'a'"),
        ({"a": {"gte": float("inf")}}, "'a'"),
        ({"": 1}, "''"),
        ({"a b": 1}, "'a b'"),
        ({"a..b": 1}, "'a..b'"),
        ({".a": 1}, "'.a'"),
        ({"ä": 1}, "'ä'"),
        ({"a\n": 1}, "'a\n'"),
        ({"x" * 201: 1}, "xxx"),
        ({"\ud800": 1}, "'?'"),
        ({f"a{i}": 1 for i in range(MAX_CONDITIONS + 1)}, "filters"),
        ({"a": {"in": list(range(MAX_IN_VALUES + 1))}}, "in"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(filters: Any, named: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        parse_filters(filters)
    assert caught.value.code == "INVALID_FILTER"
    assert named in caught.value.message
    caught.value.message.encode()


@pytest.mark.parametrize(
    ("wanted", "value", "equal"),
    [
        ("x", "x", True),
        ("x", "X", False),
        (5, 5.0, True),
        (5, "5", False),
        ("5", 5, False),
        (1, True, False),
        (True, 1, False),
        (True, True, True),
        ("true", True, False),
        (0, False, False),
        (0, -0.0, True),
        (None, None, True),
        (None, "", False),
        ("", None, False),
        (0.1, 0.1, True),
        (2**60, 2**60 + 1, False),
        (2**60, float(2**60), True),
        (10**40, 10**40, True),
        (1e22, 10**22, True),
        ("x" * 5000, "x" * 5000, True),
        ("x" * 5000, "x" * 4999 + "y", False),
        ("x" * 129, "x" * 128, False),
        ("a\0b", "a\0b", True),
        ("a\0b", "a\0c", False),
        ("a", ["a"], True),
        ("a", ["b", "a"], True),
        ("a", [["a"]], False),
        ("a", [], False),
        (1, ["1", True], False),
        ("a", {"a": "a"}, False),
        ("2026-03-01", "2026-03-01T00:00:00Z", False),
    ],
)
def test_equality_goes_by_kind_and_value(wanted: Any, value: Any, equal: bool) -> None:
    metadata = {"f": value}
    assert fits(wanted, metadata) is equal
    assert fits({"eq": wanted}, metadata) is equal
    assert fits({"in": ["other", wanted]}, metadata) is equal
    assert fits({"neq": wanted}, metadata) is not equal


def test_absent_fields_fit_neq_and_nothing_else() -> None:
    assert fits({"neq": "x"}, {}) and fits({"neq": None}, {}) and fits({"exists": False}, {})
    conditions: list[Any] = [
        {"eq": None},
        {"in": []},
        {"in": [None]},
        {"exists": True},
        {"gte": -(10**9)},
        {"lte": 10**9},
    ]
    for condition in conditions:
        assert not fits(condition, {"other": 1})


def test_whatever_has_a_key_exists() -> None:
    values: list[Any] = [None, "", 0, False, [], {}, [[]], {"g": 1}]
    for value in values:
        assert fits({"exists": True}, {"f": value}) and not fits({"exists": False}, {"f": value})


def test_a_path_leads_through_objects_dotted_keys_and_arrays_of_objects() -> None:
    assert fits("Ada", {"document": {"author": "Ada"}}, "document.author")
    assert fits("Ada", {"document.author": "Ada"}, "document.author")
    assert fits("Ada", {"a": {"b.c": {"d": "Ada"}}}, "a.b.c.d")
    assert fits("Ada", {"people": [{"name": "Bob"}, {"name": "Ada"}]}, "people.name")
    assert not fits("Ada", {"document": {"author": "Bob"}, "author": "Ada"}, "document.author")
    assert not fits("Ada", {"people": [[{"name": "Ada"}]]}, "people.name")
    assert not fits(1, {"a": [1]}, "a.0")


@pytest.mark.parametrize(
    ("bound", "value", "not_less", "not_more"),
    [
        (5, 5, True, True),
        (5, 5.0001, True, False),
        (5, -1e300, False, True),
        (5, "6", False, False),
        (5, True, False, False),
        (5, None, False, False),
        (5, "2026-03-01", False, False),
        (5, [1, 9], True, True),
        (5, 10**400, True, False),
        (5, -(10**400), False, True),
        ("2026-03-01", "2026-03-01", True, True),
        ("2026-03-01", "2026-03-01T00:00:00Z", True, True),
        ("2026-03-01", "2026-03-01T00:00:00.000001Z", True, False),
        ("2026-03-01", "2026-02-28T23:59:59.999Z", False, True),
        ("2026-03-01", "2026-03-01T01:30:00+02:00", False, True),
        ("2026-03-01", "2026-02-28T23:30:00-01:00", True, False),
        ("2026-03-01T10:00", "2026-03-01 10:00:00", True, True),
        ("2026-03-01T10:00:00+0200", "2026-03-01T08:00:00Z", True, True),
        ("2026-03-01T10:00:00+02", "2026-03-01T08:00:00Z", True, True),
        ("2026-03-01", "2026-3-2", False, False),
        ("2026-03-01", "2026-02-30", False, False),
        ("2026-03-01", "20260302", False, False),
        ("2026-03-01", "in 2026-03-02", False, False),
        ("2026-03-01", 1e18, False, False),
        ("0001-01-01T00:00:00+14:00", "0001-01-01", True, False),
        ("9999-12-31T23:59:59-14:00", "9999-12-31", False, True),
    ],
)
def test_numbers_and_dates_have_an_order(bound: Any, value: Any, not_less: bool, not_more: bool) -> None:
    assert fits({"gte": bound}, {"f": value}) is not_less
    assert fits({"lte": bound}, {"f": value}) is not_more
    assert fits({"gte": bound, "lte": bound}, {"f": value}) is (not_less and not_more)


def test_every_condition_must_hold() -> None:
    filters = parse_filters({"year": {"gte": 2020, "lte": 2024, "neq": 2022}, "tags": "a"})
    assert matches(filters, {"year": 2021, "tags": ["a", "b"]})
    assert not matches(filters, {"year": 2022, "tags": ["a", "b"]})
    assert not matches(filters, {"year": 2021, "tags": ["b"]})


def test_metadata_of_any_depth_and_oddity_is_flattened() -> None:
    deep: Any = "end"
    for _ in range(5000):
        deep = {"a": [deep]}
    assert flatten({"deep": deep, "nan": float("nan"), "half": "\ud800", "no name": {"x": 1}, "": 1})
    assert fits({"exists": True}, {"f": float("nan")}) and not fits({"lte": 5}, {"f": float("nan")})
    assert {item.path for item in flatten({"no name": {"x": 1}, "a": {"": 1, "b!": 2, "c": 3}})} == {"a", "a.c"}


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["x", "5", "true", "2026-03-01", "2026-03-01T10:00:00Z"])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a.b"]), inner, max_size=3),
    max_leaves=8,
)


def reached(value: Any, path: tuple[str, ...]) -> list[Any]:
    """Every value at a path, read off the definition: through objects, dotted keys and one level of arrays."""
    if not path:
        return [value]
    if isinstance(value, list):
        return [found for item in value if isinstance(item, dict) for found in reached(item, path)]
    if not isinstance(value, dict):
        return []
    found: list[Any] = []
    for length in range(1, len(path) + 1):
        key = ".".join(path[:length])
        if key in value:
            found += reached(value[key], path[length:])
    return found


def same(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool) or value is None or wanted is None:
        return value is wanted
    return isinstance(value, str) == isinstance(wanted, str) and bool(value == wanted)


@given(
    st.dictionaries(st.sampled_from(["a", "b", "a.b"]), JSON_VALUES, max_size=3),
    st.sampled_from(["a", "b", "a.b", "b.a.a"]),
    st.none() | st.booleans() | st.integers() | st.floats(-9, 9) | st.sampled_from(["x", "5", "true", "2026-03-01"]),
)
def test_equality_and_existence_are_what_the_definition_says(metadata: dict[str, Any], field: str, wanted: Any) -> None:
    at_path = reached(metadata, tuple(field.split(".")))
    scalars = [item for value in at_path for item in (value if isinstance(value, list) else [value])]
    expected = any(same(item, wanted) for item in scalars if not isinstance(item, dict | list))
    assert fits(wanted, metadata, field) is expected
    assert fits({"neq": wanted}, metadata, field) is not expected
    assert fits({"exists": True}, metadata, field) is bool(at_path)
    assert matches(parse_filters({field: wanted}), json.loads(json.dumps(metadata))) is expected


@given(st.datetimes(), st.datetimes())
def test_iso_dates_compare_as_instants(first: datetime, second: datetime) -> None:
    bound, value = first.isoformat(), second.replace(tzinfo=UTC).isoformat()
    assert fits({"gte": bound}, {"f": value}) is (second >= first)
    assert fits({"lte": bound}, {"f": value}) is (second <= first)
