import importlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_values import JSON, arguments_for

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.mcp.arguments import parse_arguments, valid_unicode
from mcp_knowledge.interfaces.mcp.tools import tools_for
from mcp_knowledge.settings import Settings

jsonschema: Any = importlib.import_module("jsonschema")  # it ships no types
TOOLS = tools_for(Settings.model_construct())
SEARCH = TOOLS["search_documents"].input_schema


def refusal(schema: dict[str, Any], arguments: dict[str, Any]) -> str:
    with pytest.raises(KnowledgeError) as caught:
        parse_arguments(schema, arguments)
    assert caught.value.code == "INVALID_TOOL_ARGUMENTS"
    return caught.value.message


@given(st.data(), st.sampled_from(sorted(TOOLS)))
def test_what_the_published_schema_accepts_is_accepted_unchanged_and_nothing_else_but_numeric_strings(
    data: st.DataObject, name: str
) -> None:
    schema = TOOLS[name].input_schema
    arguments = data.draw(arguments_for(schema) | st.dictionaries(st.text(max_size=8), JSON, max_size=3))
    valid = jsonschema.Draft202012Validator(schema).is_valid(arguments)
    try:
        parsed = parse_arguments(schema, arguments)
    except KnowledgeError as error:
        assert error.code == "INVALID_TOOL_ARGUMENTS"
        # Blank strings are the one thing that the schema language cannot exclude.
        assert not valid or "characters" in error.message
        return
    assert jsonschema.Draft202012Validator(schema).is_valid(parsed)
    if valid:
        assert parsed == valid_unicode(arguments)


@given(JSON)
def test_a_refusal_is_one_short_sentence_that_can_be_sent_as_utf8(value: Any) -> None:
    for arguments in ({"query": value}, {"limit": value, "query": "x"}, {str(value): 1}):
        try:
            parse_arguments(SEARCH, arguments)
        except KnowledgeError as error:
            assert len(error.message.encode()) < 600
            assert "\n" not in error.message


def test_integers_may_be_numeric_strings_or_whole_floats() -> None:
    for value in (5, "5", "+5", 5.0):
        parsed = parse_arguments(SEARCH, {"query": "x", "limit": value})
        assert parsed["limit"] == 5
        assert type(parsed["limit"]) is int


@pytest.mark.parametrize("value", [0, 21, -1, "0", "21", "5.0", "five", "", " 5", "٥", 5.5, True, None, [5], "9" * 400])
def test_other_values_are_no_integers_in_range(value: Any) -> None:
    assert refusal(SEARCH, {"query": "x", "limit": value}) == "'limit' must be an integer from 1 to 20."


def test_unknown_arguments_are_named_with_what_is_known() -> None:
    assert "'qurey'" in refusal(SEARCH, {"qurey": "x"})
    assert "collection_ids" in refusal(SEARCH, {"query": "x", "collectionIds": []})
    assert "'expand.depth'" in refusal(SEARCH, {"query": "x", "expand": {"depth": 1}})
    assert refusal(TOOLS["list_collections"].input_schema, {"limit": 1}).endswith("known arguments: none.")


def test_required_arguments_are_asked_for() -> None:
    assert refusal(SEARCH, {}) == "'query' is required."
    assert refusal(TOOLS["get_document"].input_schema, {}) == "'document_id' is required."


@pytest.mark.parametrize("query", ["", "   ", "x" * 2001, None, 5, ["x"]])
def test_a_query_has_1_to_2000_characters(query: Any) -> None:
    refusal(SEARCH, {"query": query})


def test_blanks_around_a_query_do_not_count() -> None:
    assert parse_arguments(SEARCH, {"query": f"  {'x' * 2000}  "})


def test_expanding_to_the_whole_document_is_refused() -> None:
    assert "none, neighbors, section" in refusal(SEARCH, {"query": "x", "expand": {"type": "document"}})


def test_half_a_surrogate_pair_becomes_a_replacement_character_wherever_it_stands() -> None:
    arguments = json.loads('{"query":"a\\ud800b","document_ids":["\\udc00"],"filters":{"\\ud800":["\\ud83d\\ude00"]}}')
    parsed = parse_arguments(SEARCH, arguments)
    assert parsed == {"query": "a\ufffdb", "document_ids": ["\ufffd"], "filters": {"\ufffd": ["😀"]}}
    json.dumps(parsed, ensure_ascii=False).encode()


def test_every_schema_is_closed_flat_and_described() -> None:
    for tool in TOOLS.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False
        text = json.dumps(tool.input_schema)
        assert not any(word in text for word in ("$ref", "$defs", "anyOf", "oneOf", "allOf"))
        assert all(part["description"] for part in tool.input_schema["properties"].values())
        if tool.output_schema is not None:
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)


def test_descriptions_fit_into_what_clients_show() -> None:
    assert all(len(tool.description.encode()) < 2000 for tool in TOOLS.values())
