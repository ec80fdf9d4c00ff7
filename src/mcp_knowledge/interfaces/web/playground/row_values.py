"""From the texts of a row to the operator and value of a condition, typed as the documents have it."""

import csv
from typing import Any

from mcp_knowledge.domain.filters import Scalar, ValueKind
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import parse_json
from mcp_knowledge.interfaces.web.playground.row import KINDS, OPERATORS, Row

_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


class RowError(Exception):
    """Why a row makes no condition, as a sentence; `unfinished` when there is merely something left to fill in."""

    def __init__(self, sentence: str, unfinished: bool = False) -> None:
        super().__init__(sentence)
        self.unfinished = unfinished


def condition(row: Row, kinds: tuple[ValueKind, ...]) -> tuple[str, Any]:
    """The operator and its operand in JSON.

    Args:
        kinds: those that the values of documents have at this key.

    Raises:
        RowError: the row makes no condition.
    """
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
