"""Metadata conditions as rows of a form, and as the JSON that REST and MCP take: each can be made from the other, types
included.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from mcp_knowledge.domain.filters import Filter, Scalar, ValueKind, parse_filters
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import parse_json
from mcp_knowledge.interfaces.web.playground.row import OPERATORS, Row
from mcp_knowledge.interfaces.web.playground.row_values import RowError, condition

MAX_ROWS = 50
Kinds = Mapping[str, tuple[ValueKind, ...]]  # of the values that documents have, by key


def rows_of_form(
    keys: Iterable[str], operators: Iterable[str], values: Iterable[str], kinds: Iterable[str]
) -> list[Row]:
    """The rows that a form sent, those without anything in them left out."""
    given = zip_longest(keys, operators, values, kinds, fillvalue="")
    rows = [Row(key.strip(), operator or "eq", value, kind) for key, operator, value, kind in given]
    return [row for row in rows if not row.blank]


def rows_of_filters(filters: Mapping[str, Any]) -> list[Row]:
    """The rows that say what these filters, which are valid, say."""
    return [_row(item) for item in parse_filters(dict(filters))]


def filters_of_rows(rows: Iterable[Row], kinds: Kinds) -> tuple[dict[str, Any], list[Row]]:
    """The filters that the rows make, and the rows with what is wrong with them: such a row makes no condition."""
    found: dict[str, dict[str, Any]] = {}
    checked: list[Row] = []
    for row in rows:
        try:
            operator, value = condition(row, kinds.get(row.key, ()))
            parse_filters({row.key: {operator: value}})
            if operator in found.get(row.key, {}):
                hint = "; “is one of” takes several values" if operator == "eq" else ""
                raise RowError(f"There is another condition “{row.key} {OPERATORS[row.operator]}”{hint}.")
            if len(checked) >= MAX_ROWS:
                raise RowError(f"There can be {MAX_ROWS} conditions at most.")
        except RowError as error:
            checked.append(replace(row, problem=str(error), unfinished=error.unfinished))
        except KnowledgeError as error:
            checked.append(replace(row, problem=error.message))
        else:
            found.setdefault(row.key, {})[operator] = value
            checked.append(row)
    return {key: short(conditions) for key, conditions in found.items()}, checked


def short(conditions: dict[str, Any]) -> Any:
    """Conditions of one field in their shortest form: a value alone means that the field is equal to it."""
    return conditions["eq"] if list(conditions) == ["eq"] else conditions


def spelled(filters: Mapping[str, Any]) -> str:
    """The filters as compact JSON, which an address holds; empty for none."""
    return _json(filters) if filters else ""


def same_filters(one: str, other: str) -> bool:
    """Whether two texts say the same JSON, however it is spaced; broken ones are equal only as texts."""
    if one.strip() == other.strip():
        return True
    try:
        first, second = (parse_json(text.encode("utf-8", "replace"), "INVALID_FILTER") for text in (one, other))
    except KnowledgeError:
        return False
    return _json(first) == _json(second)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _row(item: Filter) -> Row:
    if item.operator == "exists":
        return Row(item.field, "exists" if item.value else "missing")
    if isinstance(item.value, tuple):
        text, kind = _several(item.value)
    else:
        kind = _kind(item.value)
        text = _text(item.value, kind)
    return Row(item.field, item.operator, text, kind)


def _several(values: tuple[Scalar, ...]) -> tuple[str, str]:
    """Values as a list with commas if they are all of one kind, else as JSON."""
    kinds = {_kind(value) for value in values}
    if len(kinds) != 1 or kinds & {"json", "null"}:
        return json.dumps(list(values)), "json"
    (kind,) = kinds
    return ", ".join(_quoted(_text(value, kind)) for value in values), kind


def _kind(value: Scalar) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        # A field of one line loses line breaks and some other characters: JSON has escapes for them.
        return "json" if any(char < " " for char in value) else "string"
    return "number"


def _text(value: Scalar, kind: str) -> str:
    if kind == "string":
        return str(value)
    return "" if value is None else json.dumps(value)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if not text or text != text.strip() or set(text) & set(',"') else text
