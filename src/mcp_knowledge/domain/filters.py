"""Metadata filters: parse what a client sent, and match in memory (the reference that the SQL of every back end must agree with)."""

from dataclasses import dataclass
from typing import Any, Literal

Operator = Literal["eq", "neq", "in", "exists", "gte", "lte"]
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition on one metadata field.

    `value` is a scalar for eq, neq, gte and lte, a tuple of scalars for in, a bool for exists.
    """

    field: str
    operator: Operator
    value: Scalar | tuple[Scalar, ...]


def parse_filters(data: Any) -> tuple[Filter, ...]:
    """Turn a client's `filters` object into conditions. Raises KnowledgeError INVALID_FILTER, naming the field."""
    raise NotImplementedError


def matches(filters: tuple[Filter, ...], metadata: dict[str, Any]) -> bool:
    """Whether the metadata satisfies every condition."""
    raise NotImplementedError
