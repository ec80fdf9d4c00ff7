"""Metadata as rows of a form: a key, a kind and a text each."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from mcp_knowledge.domain.documents import Metadata

KINDS = {"text": "Text", "number": "Number", "boolean": "Yes or no", "date": "Date", "list": "List", "json": "JSON"}
MAX_ROWS = 200

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?", re.ASCII)
_MAX_INTEGER = 2**63 - 1
_YES, _NO = ("yes", "true"), ("no", "false")


@dataclass(frozen=True, slots=True)
class Row:
    """One value, as the form shows it; `fault` says what is wrong with it."""

    key: str = ""
    kind: str = "text"
    value: str = ""
    fault: str = ""

    @property
    def blank(self) -> bool:
        """Whether nothing was filled in."""
        return not self.key and not self.value


def fits_rows(metadata: Metadata) -> bool:
    """Whether a form of rows can show the metadata without changing it; else it is edited as JSON."""
    return len(metadata) <= MAX_ROWS and all(key == " ".join(key.split()) != "" for key in metadata)


def rows_of(metadata: Metadata) -> list[Row]:
    """A row for each value at the top."""
    return [Row(key, *_shown(value)) for key, value in metadata.items()]


def _shown(value: Any) -> tuple[str, str]:
    """The kind of a value and its text."""
    if isinstance(value, bool):
        return "boolean", "yes" if value else "no"
    if isinstance(value, int | float):
        return "number", json.dumps(value)
    if isinstance(value, str):
        return ("date" if _is_date(value) else "text"), value
    if isinstance(value, list) and all(isinstance(item, str) and _is_line(item) for item in value):
        return "list", "\n".join(value)
    return "json", json.dumps(value, ensure_ascii=False, indent=2)


def _is_line(text: str) -> bool:
    return text == text.strip() != "" and len(text.splitlines()) == 1


def metadata_of(rows: Sequence[Row], known: Metadata) -> tuple[Metadata, list[Row]]:
    """What the rows say, and the rows again, with what is wrong with them. Rows without a key and value do not count.

    Args:
        known: the metadata that the form was made from: a value that was left alone stays exactly what it was.
    """
    former = {row.key: row for row in rows_of(known)}
    metadata: Metadata = {}
    checked: list[Row] = []
    for row in rows:
        if row.blank:
            continue
        fault = _key_fault(row, metadata)
        if not fault:
            before = former.get(row.key)
            if before and before.kind == row.kind and _plain(before.value) == row.value:
                metadata[row.key] = known[row.key]
            else:
                value, fault = _value(row)
                metadata[row.key] = value
        checked.append(Row(row.key, row.kind, row.value, fault))
    return metadata, checked


def _key_fault(row: Row, seen: Metadata) -> str:
    if not row.key:
        return "Give it a key, or empty the value to leave it out."
    return "This key is used twice." if row.key in seen else ""


def _plain(text: str) -> str:
    """A text as a form sends it back."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _value(row: Row) -> tuple[Any, str]:
    """The value of a row, or what is wrong with it."""
    text = row.value.strip()
    match row.kind:
        case "number":
            return _number(text)
        case "boolean":
            known = text.casefold()
            return known in _YES, "" if known in _YES + _NO else "Write yes or no."
        case "date":
            return text, "" if _is_date(text) else "Write the date as year-month-day, such as 2026-03-31."
        case "list":
            return [line.strip() for line in row.value.split("\n") if line.strip()], ""
        case "json":
            return parse_json(text)
        case _:
            return row.value, ""


def _number(text: str) -> tuple[int | float, str]:
    if _INTEGER.fullmatch(text) and abs(int(text)) <= _MAX_INTEGER:
        return int(text), ""
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number, "" if math.isfinite(number) else "Write a number with digits and a point, such as 12 or 3.5."


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def parse_json(text: str) -> tuple[Any, str]:
    """A JSON value, or what is wrong with it."""
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()
        return value, ""
    except json.JSONDecodeError as error:
        return None, f"This is not JSON: line {error.lineno}, column {error.colno}."
    except UnicodeEncodeError:
        return None, "There is half of a character in it: \\ud800 to \\udfff only count in pairs."
    except (ValueError, RecursionError):
        return None, "There is a number in it that is too large, or it is nested too deep."


def _refuse(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)
