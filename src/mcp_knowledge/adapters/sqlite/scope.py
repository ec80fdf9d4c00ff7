"""Which documents may answer, as SQL over the flattened metadata, in agreement with `domain.filters.matches`."""

import json
from collections.abc import Iterable
from typing import Any

from mcp_knowledge.domain.filters import ComparableValue, Filter, comparable
from mcp_knowledge.domain.search import Scope

Sql = tuple[str, tuple[Any, ...]]
_LIST = "d.document_no IN (SELECT m.document_no FROM metadata_values m WHERE m.path = ? AND {fits})"
# The sign keeps SQLite from going through every document with this path.
_PROBE = """EXISTS (SELECT 1 FROM metadata_values m WHERE m.document_no = d.document_no AND +m.path = ? AND {fits})"""
_COMPARISONS = {"gte": ">=", "lte": "<="}


def scope_sql(scope: Scope) -> Sql:
    """A SELECT of the `document_no` of every searchable document in scope, and its parameters."""
    condition, params = scope_condition(scope)
    return f"SELECT d.document_no FROM documents d WHERE {condition}", params


def scope_condition(scope: Scope, *, probing: bool = False) -> Sql:
    """A condition on `documents d` that holds for the searchable ones in scope, and its parameters.

    Args:
        probing: whether a few documents are asked about, one by one, instead of all that fit.
    """
    conditions = ["d.searchable = 1"]
    params: list[Any] = []
    if scope.document_ids:
        conditions.append("d.id IN (SELECT value FROM json_each(?))")
        params.append(_id_list(scope.document_ids))
    if scope.collection_ids:
        named = "SELECT collection_no FROM collections WHERE id IN (SELECT value FROM json_each(?))"
        conditions.append(f"d.collection_no IN ({named})")
        params.append(_id_list(scope.collection_ids))
    if scope.filters:
        condition, values = filters_sql(scope.filters, probing=probing)
        conditions.append(condition)
        params += values
    return " AND ".join(conditions), tuple(params)


def filters_sql(filters: Iterable[Filter], *, probing: bool = False) -> Sql:
    """A condition on `documents d` that holds where the metadata satisfies every filter, and its parameters."""
    conditions: list[str] = []
    params: list[Any] = []
    for item in filters:
        without = item.operator == "neq" or (item.operator == "exists" and not item.value)
        fits, values = _fitting(item)
        conditions.append(("NOT " if without else "") + (_PROBE if probing else _LIST).format(fits=fits))
        params += (item.field, *values)
    return " AND ".join(conditions) or "1", tuple(params)


def _fitting(item: Filter) -> tuple[str, list[Any]]:
    """A condition on `metadata_values m` for a value that fits (for `neq`, `exists: false`: that must not be there)."""
    if item.operator == "exists":
        return "1", []
    if item.operator in _COMPARISONS:
        bound = comparable(item.value)
        return f"m.kind = ? AND m.number {_COMPARISONS[item.operator]} ?", [bound.kind, bound.number]
    wanted = item.value if isinstance(item.value, tuple) else (item.value,)
    texts = _texts_by_kind(comparable(value) for value in wanted)
    choices = [f"m.kind = ? AND m.text IN ({', '.join('?' * len(found))})" for found in texts.values()]
    params = [param for kind, found in texts.items() for param in (kind, *found)]
    return f"({' OR '.join(choices)})" if choices else "0", params


def _texts_by_kind(values: Iterable[ComparableValue]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for value in values:
        texts.setdefault(value.kind, []).append(value.text)
    return texts


def _id_list(ids: Iterable[str]) -> str:
    """Ids for `json_each`. One with a NUL is nobody's, and SQLite might read it only up to there."""
    return json.dumps([item for item in ids if "\0" not in item])
