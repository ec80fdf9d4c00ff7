"""Which documents may answer, as SQL over the flattened metadata, in agreement with `domain.filters.matches`."""

import json
from collections.abc import Iterable
from typing import Any

from mcp_knowledge.domain.filters import ComparableValue, Filter, comparable
from mcp_knowledge.domain.search import Scope

Sql = tuple[str, tuple[Any, ...]]
_COMPARISONS = {"gte": ">=", "lte": "<="}


def scope_sql(scope: Scope) -> Sql:
    """A SELECT of the `document_no` of every searchable document in scope, and its parameters."""
    condition, params = scope_condition(scope)
    return f"SELECT d.document_no FROM documents d WHERE {condition}", params


def scope_condition(scope: Scope) -> Sql:
    """A condition on `documents d` that holds for the searchable ones in scope, and its parameters."""
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
        condition, values = filters_sql(scope.filters)
        conditions.append(condition)
        params += values
    return " AND ".join(conditions), tuple(params)


def filters_sql(filters: Iterable[Filter], document_no: str = "d.document_no") -> Sql:
    """A condition that holds for documents whose metadata satisfies every filter, and its parameters.

    Args:
        document_no: the SQL expression for the document's number.
    """
    conditions: list[str] = []
    params: list[Any] = []
    for item in filters:
        select, values = _select(item)
        without = item.operator == "neq" or (item.operator == "exists" and not item.value)
        conditions.append(f"{document_no} {'NOT IN' if without else 'IN'} ({select})")
        params += values
    return " AND ".join(conditions) or "1", tuple(params)


def _select(item: Filter) -> tuple[str, list[Any]]:
    """A SELECT of the documents with a value that fits; for `neq` and `exists: false`, of those to leave out."""
    base = "SELECT document_no FROM metadata_values WHERE path = ?"
    if item.operator == "exists":
        return base, [item.field]
    if item.operator in _COMPARISONS:
        bound = comparable(item.value)
        return f"{base} AND kind = ? AND number {_COMPARISONS[item.operator]} ?", [item.field, bound.kind, bound.number]
    wanted = item.value if isinstance(item.value, tuple) else (item.value,)
    texts = _texts_by_kind(comparable(value) for value in wanted)
    selects = [f"{base} AND kind = ? AND text IN ({', '.join('?' * len(found))})" for found in texts.values()]
    params = [param for kind, found in texts.items() for param in (item.field, kind, *found)]
    return " UNION ALL ".join(selects) or "SELECT NULL WHERE 0", params


def _texts_by_kind(values: Iterable[ComparableValue]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for value in values:
        texts.setdefault(value.kind, []).append(value.text)
    return texts


def _id_list(ids: Iterable[str]) -> str:
    """Ids for `json_each`. One with a NUL is nobody's, and SQLite might read it only up to there."""
    return json.dumps([item for item in ids if "\0" not in item])
