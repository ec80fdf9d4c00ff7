"""Metadata filters: parse what a client sent, and match in memory, as the SQL of every back end must.

A field names a path: the keys of nested objects joined by dots. A key that itself holds dots stands for the same path.
The values of a path are its scalar, or the scalar elements of its array (and of the objects in an array, for a longer
path). Every operator asks whether any of them fits; `neq`, that none is equal.

Values are equal when kind and value are: `true` is not `1`, `"5"` is not `5`, but `5` is `5.0`. `null` is a value (the
field exists). `gte` and `lte` compare numbers as doubles, and ISO dates and date-times as instants (UTC where no offset
is given, a date as its first moment); nothing else has an order.
"""

import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Literal, NamedTuple, cast, get_args

from mcp_knowledge.errors import KnowledgeError

Operator = Literal["eq", "neq", "in", "exists", "gte", "lte"]
Scalar = str | int | float | bool | None
ValueKind = Literal["string", "number", "boolean", "null", "array", "object"]

MAX_CONDITIONS = 50
MAX_IN_VALUES = 1000
MAX_FIELD_CHARS = 200
FIELD_PATTERN = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*"
INDEXED_TEXT_CHARS = 128  # longer strings are indexed by a hash: equality is all that is asked of them

_OPERATORS: tuple[Operator, ...] = get_args(Operator)
_FIELD = re.compile(FIELD_PATTERN)
_ISO_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?)?", re.ASCII
)
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition on one metadata field.

    `value` is a scalar for eq, neq, gte and lte, a tuple of scalars for in, a bool for exists.
    """

    field: str
    operator: Operator
    value: Scalar | tuple[Scalar, ...]


class ComparableValue(NamedTuple):
    """A value as filters compare it.

    Kind and text decide equality; `number` the order: a double, or for an ISO date the microseconds since 1970 (UTC).
    """

    kind: ValueKind
    text: str
    number: float | int | None


class MetadataValue(NamedTuple):
    """One value of a document's metadata and the path at which filters find it."""

    path: str
    kind: ValueKind
    text: str
    number: float | int | None


def parse_filters(data: Any) -> tuple[Filter, ...]:
    """Turn a client's `filters` object into conditions. Raises KnowledgeError INVALID_FILTER, naming the field."""
    if data is None:
        return ()
    if not isinstance(data, dict):
        raise KnowledgeError("INVALID_FILTER", "'filters' must be an object of metadata fields.")
    conditions = (item for field, condition in data.items() for item in _conditions(field, condition))
    filters = tuple(islice(conditions, MAX_CONDITIONS + 1))  # a body has room for a hundred thousand
    if len(filters) > MAX_CONDITIONS:
        raise KnowledgeError("INVALID_FILTER", f"'filters' must have at most {MAX_CONDITIONS} conditions.")
    if sum(len(item.value) for item in filters if isinstance(item.value, tuple)) > MAX_IN_VALUES:
        raise _too_many_values()
    return filters


def matches(filters: tuple[Filter, ...], metadata: dict[str, Any]) -> bool:
    """Whether the metadata satisfies every condition."""
    values: dict[str, list[ComparableValue]] = {}
    for item in flatten(metadata) if filters else ():
        values.setdefault(item.path, []).append(ComparableValue(item.kind, item.text, item.number))
    return all(_satisfied(wanted, values.get(wanted.field, [])) for wanted in filters)


def flatten(metadata: dict[str, Any]) -> list[MetadataValue]:
    """Every value that a filter can name, once. Arrays and objects are there too, since they exist."""
    return list(dict.fromkeys(MetadataValue(path, *comparable(value)) for path, value in _values(metadata)))


def scalars_at(metadata: dict[str, Any], field: str) -> tuple[Scalar, ...]:
    """The values that a filter on this field compares, as they stand in the metadata: in order, each once."""
    found = [value for path, value in _values(metadata) if path == field and not isinstance(value, dict | list)]
    return tuple({comparable(value): value for value in reversed(found)}.values())


def _values(metadata: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every path that a filter can name, with each value at it; the last ones come first."""
    waiting: list[tuple[str, Any]] = [("", metadata)]
    while waiting:  # not recursion: metadata may be nested deeper than the stack
        path, value = waiting.pop()
        if len(path) > MAX_FIELD_CHARS:
            continue  # no filter can name it, nor what is in it
        if path:
            yield path, value
        if isinstance(value, dict):
            prefix = f"{path}." if path else ""
            waiting += [(prefix + key, item) for key, item in value.items() if _FIELD.fullmatch(key)]
        elif isinstance(value, list):
            # An array inside an array is an element that equals no scalar.
            waiting += [(path, [] if isinstance(item, list) else item) for item in value]


def comparable(value: Any) -> ComparableValue:
    """A JSON value as filters compare it."""
    if value is None:
        return ComparableValue("null", "", None)
    if isinstance(value, bool):
        return ComparableValue("boolean", "true" if value else "false", None)
    if isinstance(value, int | float):
        return _comparable_number(value)
    if isinstance(value, str):
        return ComparableValue("string", _text_key(value), _instant_us(value))
    return ComparableValue("array" if isinstance(value, list) else "object", "", None)


def _conditions(field: Any, condition: Any) -> Iterator[Filter]:
    if not isinstance(field, str) or len(field) > MAX_FIELD_CHARS or not _FIELD.fullmatch(field):
        raise _invalid(
            str(field), "a field name is letters, digits, '_' and '-', with dots between the parts of a path"
        )
    if not isinstance(condition, dict):
        yield Filter(field, "eq", _scalar(field, condition))
        return
    if not condition:
        raise _invalid(field, f"give a value or at least one of {', '.join(_OPERATORS)}")
    for operator, value in condition.items():
        if operator not in _OPERATORS:
            raise _invalid(field, f"unknown operator '{str(operator)[:40]}'; use {', '.join(_OPERATORS)}")
        yield Filter(field, cast(Operator, operator), _operand(field, operator, value))


def _operand(field: str, operator: Operator, value: Any) -> Scalar | tuple[Scalar, ...]:
    if operator == "in":
        if not isinstance(value, list | tuple):
            raise _invalid(field, "'in' takes a list of values")
        if len(value) > MAX_IN_VALUES:
            raise _too_many_values()
        return tuple(_scalar(field, item) for item in value)
    if operator == "exists" and not isinstance(value, bool):
        raise _invalid(field, "'exists' takes true or false")
    if operator in ("gte", "lte") and comparable(value).number is None:
        raise _invalid(field, f"'{operator}' takes a number or an ISO date")
    return _scalar(field, value)


def _scalar(field: str, value: Any) -> Scalar:
    if isinstance(value, float) and not math.isfinite(value):
        raise _invalid(field, "a number must be finite")
    if value is None or isinstance(value, str | int | float):
        return value
    raise _invalid(field, "a value is a string, a number, true, false or null; use 'in' for several")


def _too_many_values() -> KnowledgeError:
    return KnowledgeError("INVALID_FILTER", f"'in' must have at most {MAX_IN_VALUES} values in all.")


def _invalid(field: str, reason: str) -> KnowledgeError:
    shown = field[:MAX_FIELD_CHARS].encode("utf-8", "replace").decode()
    return KnowledgeError("INVALID_FILTER", f"Filter on '{shown}': {reason}.")


def _satisfied(item: Filter, values: list[ComparableValue]) -> bool:
    if item.operator == "exists":
        return bool(values) == item.value
    if isinstance(item.value, tuple):
        return any(_equal(value, comparable(wanted)) for wanted in item.value for value in values)
    wanted = comparable(item.value)
    if item.operator in ("eq", "neq"):
        return any(_equal(value, wanted) for value in values) == (item.operator == "eq")
    return any(_in_order(item.operator, value, wanted) for value in values)


def _equal(value: ComparableValue, wanted: ComparableValue) -> bool:
    return (value.kind, value.text) == (wanted.kind, wanted.text)


def _in_order(operator: Operator, value: ComparableValue, bound: ComparableValue) -> bool:
    if value.kind != bound.kind or value.number is None or bound.number is None:
        return False
    return value.number >= bound.number if operator == "gte" else value.number <= bound.number


def _comparable_number(value: float | int) -> ComparableValue:
    """Equal numbers have equal texts: a whole double is written as the integer that it is."""
    if isinstance(value, float):
        text = str(int(value)) if value.is_integer() else repr(value)
        return ComparableValue("number", text, None if math.isnan(value) else value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    return ComparableValue("number", str(value), number)


def _text_key(text: str) -> str:
    """Equal for equal strings, and short. Half of a surrogate pair counts as `?`, as databases store it."""
    data = text.encode("utf-8", "replace")
    text = data.decode()
    if len(text) <= INDEXED_TEXT_CHARS:
        return text
    return f"{text[:INDEXED_TEXT_CHARS]}{hashlib.sha256(data).hexdigest()}"


def _instant_us(text: str) -> int | None:
    """Microseconds since 1970 (UTC) of an ISO 8601 date or date-time, None for any other text."""
    found = _ISO_DATE.fullmatch(text) if 10 <= len(text) <= 40 else None
    if found is None:
        return None
    day, minutes, seconds, fraction, sign, offset_hours, offset_minutes = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{minutes or '00:00'}:{seconds or '00'}")
    except ValueError:  # the 31st of February
        return None
    offset = timedelta(hours=int(offset_hours or 0), minutes=int(offset_minutes or 0))
    since = moment - _EPOCH - (-offset if sign == "-" else offset)
    return since // _MICROSECOND + int((fraction or "0").ljust(6, "0")[:6])
