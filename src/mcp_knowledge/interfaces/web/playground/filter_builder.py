"""Metadata conditions as rows of a form: what each says in words, and the JSON that REST and MCP take. Each side can be
made from the other without loss, types included.
"""

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from mcp_knowledge.domain.filters import Filter, Scalar, ValueKind, parse_filters
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import parse_json

OPERATORS = {
    "eq": "is",
    "neq": "is not",
    "in": "is one of",
    "gte": "is at least",
    "lte": "is at most",
    "exists": "exists",
    "missing": "is missing",
}
KINDS = {
    "": "as found",
    "string": "text",
    "number": "number",
    "boolean": "true or false",
    "null": "nothing (null)",
    "json": "JSON",
}
MAX_ROWS = 50
Kinds = Mapping[str, tuple[ValueKind, ...]]  # of the values that documents have, by key
_WITHOUT_VALUE = ("exists", "missing")
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


class RowError(Exception):
    """Why a row makes no condition, as a sentence; `unfinished` when there is merely something left to fill in."""

    def __init__(self, sentence: str, unfinished: bool = False) -> None:
        super().__init__(sentence)
        self.unfinished = unfinished


@dataclass(frozen=True, slots=True)
class Row:
    """One condition as the form has it: all text. `problem` is a sentence to show beside it.

    Args:
        operator: a key of `OPERATORS`.
        kind: a key of `KINDS`; empty: of the kind that the documents' own values have.
    """

    key: str = ""
    operator: str = "eq"
    value: str = ""
    kind: str = ""
    problem: str = ""
    unfinished: bool = False

    @property
    def blank(self) -> bool:
        """Whether nothing was filled in."""
        return not (self.key or self.value)

    @property
    def takes_value(self) -> bool:
        """Whether the operator compares with something."""
        return self.operator not in _WITHOUT_VALUE

    @property
    def sentence(self) -> str:
        """The condition in words."""
        words = f"{self.key} {OPERATORS.get(self.operator, self.operator)}"
        if not self.takes_value:
            return words
        return f"{words} nothing" if self.kind == "null" else f"{words} {self.value or '“”'}"


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
            operator, value = _condition(row, kinds.get(row.key, ()))
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


def _condition(row: Row, kinds: tuple[ValueKind, ...]) -> tuple[str, Any]:
    """The operator and its operand in JSON. Raises RowError."""
    if row.operator not in OPERATORS:
        raise RowError("Choose how to compare.")
    if row.kind not in KINDS:
        raise RowError("Choose what kind of value this is.")
    if not row.key:
        raise RowError("Choose a key.", unfinished=True)
    if not row.takes_value:
        return "exists", row.operator == "exists"
    if row.kind == "json":
        return row.operator, _from_json(row.value)
    if not row.value.strip() and row.kind not in ("string", "null"):
        raise RowError("Choose a value. Until then the condition is not used.", unfinished=True)
    if row.operator == "in":
        return "in", [_value(item, row.kind, kinds) for item in _parts(row.value)]
    return row.operator, _value(row.value, row.kind, kinds)


def _from_json(text: str) -> Any:
    try:
        return parse_json(text.encode("utf-8", "replace"), "INVALID_FILTER")
    except KnowledgeError:
        raise RowError("This is not valid JSON.") from None


def _parts(text: str) -> list[str]:
    """The values between commas; one in double quotes may hold commas itself."""
    try:
        (parts,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise RowError("Put commas between the values, and double quotes around one that has a comma.") from None
    return parts


def _value(text: str, kind: str, kinds: tuple[ValueKind, ...]) -> Scalar:
    if kind == "string":
        return text
    if kind == "null":
        return None
    text = text.strip()
    if kind == "boolean":
        if text.lower() not in _BOOLEANS:
            raise RowError("Write true or false.")
        return _BOOLEANS[text.lower()]
    if kind == "number":
        number = _number(text)
        if number is None:
            raise RowError(f"“{text[:40]}” is not a number.")
        return number
    return _as_in_documents(text, kinds)


def _number(text: str) -> int | float | None:
    try:
        value = parse_json(text.encode("utf-8", "replace"), "INVALID_FILTER")
    except KnowledgeError:
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _as_in_documents(text: str, kinds: tuple[ValueKind, ...]) -> Scalar:
    """The value of the kind that the documents' own values have; where they say nothing, of the kind it looks like."""
    number = _number(text)
    if number is not None and ("number" in kinds or not kinds):
        return number
    if "boolean" in kinds and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if not kinds and text in ("true", "false"):
        return text == "true"
    return text
