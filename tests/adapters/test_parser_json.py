import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_support import blocks_of, code_of, read, source_text

from mcp_knowledge.adapters.parsers.json_text import scan
from mcp_knowledge.domain.blocks import Paragraph
from mcp_knowledge.errors import KnowledgeError


def texts_of(data: Any, name: str = "a.json") -> list[str]:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, indent=1)
    blocks = blocks_of(text, name)
    return [block.text for block in blocks if isinstance(block, Paragraph)]


def test_every_value_stands_with_its_key_path() -> None:
    data = {"customer": {"name": "Ann", "address": {"city": "Berlin", "zip": 10115}}, "active": True, "note": None}
    assert texts_of(data) == [
        "customer.name: Ann\ncustomer.address.city: Berlin\ncustomer.address.zip: 10115",
        "active: true\nnote: null",
    ]


def test_the_elements_of_a_top_level_array_are_records() -> None:
    data = [{"id": 1, "tags": ["a", "b"]}, {"id": 2, "parts": [{"n": 1}, {"n": 2}]}]
    assert texts_of(data) == ["id: 1\ntags: a, b", "id: 2\nparts[0].n: 1\nparts[1].n: 2"]


def test_the_elements_of_a_nested_array_are_records_too() -> None:
    data = {"title": "Orders", "orders": [{"no": "A-1", "lines": [{"sku": "x"}]}, {"no": "A-2"}]}
    assert texts_of(data) == ["title: Orders", "orders[0].no: A-1\norders[0].lines[0].sku: x", "orders[1].no: A-2"]


def test_json_lines_are_records() -> None:
    assert texts_of('{"a": 1}\n{"a": 2}\n\n"text"\n', "log.jsonl") == ["a: 1", "a: 2", "text"]


def test_a_damaged_line_costs_nobody_the_others_and_is_told() -> None:
    text = '{"a": 1}\n{"b": 2, oops\n{"c": {"d": 3}} and more\n\n"x"\n{"e": "cut o'
    document = read(text, "log.jsonl")
    texts = [block.text for block in document.blocks if isinstance(block, Paragraph)]
    assert texts == ["a: 1", '{"b": 2, oops', "c.d: 3", "and more", "x", '{"e": "cut o']
    assert [source_text(text, block) for block in document.blocks][1] == '{"b": 2, oops'
    assert document.metadata["damagedLines"] == [2, 3, 6]


def test_lines_that_are_mostly_no_json_are_refused_and_so_is_a_damaged_json_file() -> None:
    assert code_of('{"a": 1}\none\ntwo\n', "log.jsonl") == "DOCUMENT_MALFORMED"
    assert code_of('{"a": 1}\n{"b": 2, oops\n{"c": 3}\n', "a.json") == "DOCUMENT_MALFORMED"


def test_offsets_cover_key_and_value() -> None:
    text = '\n{ "a" : "x\\n\\u00e9" ,\n "b": {"c": [1, 2 ]}, "d":{} }'
    first, second = blocks_of(text, "a.json")
    assert isinstance(first, Paragraph) and first.text == "a: x\né"
    assert source_text(text, first) == '"a" : "x\\n\\u00e9"'
    assert source_text(text, second) == '"c": [1, 2'


def test_long_records_are_split_between_values() -> None:
    texts = texts_of({f"key{n}": "value " * 20 for n in range(50)})
    assert len(texts) > 3
    assert all(line.startswith("key") for text in texts for line in text.split("\n"))


def test_numbers_stand_as_they_are_written_and_odd_json_is_read() -> None:
    big = "9" * 1000
    assert texts_of(f'{{"big": {big}, "x": 1.50e+3, "n": NaN, "i": -Infinity}}') == [
        f"big: {big}\nx: 1.50e+3\nn: NaN\ni: -Infinity"
    ]
    assert texts_of('{"a": 1, "a": 2}') == ["a: 1\na: 2"]
    assert texts_of('{"tab": "a\tb"}') == ["tab: a\tb"]


def test_lone_surrogates_do_no_harm() -> None:
    assert texts_of('{"a": "x\\ud800y"}') == ["a: x y"]


NO_JSON = [
    *("{", "[1,", '{"a"}', '{"a": }', "[1 2]", "{'a': 1}", '{"a": 1,}', "[1,]", '{"a": tru}', '{"a": 01}', '{"a": "x'),
    *("nonsense", '{"a": 1} trailing', "]", '{"a" 1}', "[1}", '{"a": 1]', "1.2.3", '"a" : 1', "{1: 2}", "[\\u0041]"),
]


@pytest.mark.parametrize("text", NO_JSON)
def test_what_is_no_json_is_malformed(text: str) -> None:
    assert code_of(text, "a.json") == "DOCUMENT_MALFORMED"


def test_no_values_are_empty() -> None:
    assert code_of("", "a.json") == "DOCUMENT_EMPTY"
    assert code_of('{"a": [], "b": {}}', "a.json") == "DOCUMENT_EMPTY"


def test_depth_and_expanding_paths_hit_the_limit_instead_of_the_stack() -> None:
    assert code_of("[" * 100_000 + "1" + "]" * 100_000, "a.json") == "DOCUMENT_RESOURCE_LIMIT"
    assert code_of('{"a":' * 100_000 + "1" + "}" * 100_000, "a.json") == "DOCUMENT_RESOURCE_LIMIT"
    long_key = "k" * 50_000
    wide = json.dumps({long_key: {str(n): n for n in range(1000)}})
    assert code_of(wide, "a.json") == "DOCUMENT_RESOURCE_LIMIT"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=6), inner, max_size=5),
    max_leaves=25,
)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_the_scanner_finds_the_values_that_json_loads_finds(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = list(scan(text))
    expected = leaves(value)
    assert [leaf.value for leaf in found] == [x if isinstance(x, str) else json.dumps(x) for x in expected]
    for leaf, plain in zip(found, expected, strict=True):
        assert text[leaf.start : leaf.end].endswith(json.dumps(plain, ensure_ascii=ascii_only))


@given(st.text(alphabet=st.sampled_from('{}[]",:0123456789.eE+-truefalsn\\ \n\x00'), max_size=80))
def test_the_scanner_accepts_what_json_accepts_and_refuses_the_rest(text: str) -> None:
    try:
        json.loads(text, strict=False)
        valid = True
    except (ValueError, RecursionError):
        valid = False
    try:
        list(scan(text))
        accepted = True
    except KnowledgeError:
        accepted = False
    assert accepted or not valid
