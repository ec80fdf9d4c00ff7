"""Which documents may answer, as SQL over the flattened metadata, in agreement with `domain.filters.matches`."""

from collections.abc import Iterable
from typing import Any

from mcp_knowledge.adapters.rows.dialect import Dialect
from mcp_knowledge.domain.filters import ComparableValue, Filter, comparable
from mcp_knowledge.domain.search import Scope

Sql = tuple[str, tuple[Any, ...]]
_LIST = "d.document_no IN (SELECT m.document_no FROM metadata_values m WHERE m.path = ? AND {fits})"
_PROBE = """EXISTS (SELECT 1 FROM metadata_values m WHERE m.document_no = d.document_no AND {path} = ? AND {fits})"""
_COMPARISONS = {"gte": ">=", "lte": "<="}


def scope_sql(dialect: Dialect, scope: Scope) -> Sql:
    """A SELECT of the `document_no` of every searchable document in scope, and its parameters."""
    condition, params = scope_condition(dialect, scope)
    return f"SELECT d.document_no FROM documents d WHERE {condition}", params


def scope_condition(dialect: Dialect, scope: Scope, *, probing: bool = False) -> Sql:
    """A condition on `documents d` that holds for the searchable ones in scope, and its parameters.

    Args:
        probing: whether a few documents are asked about, one by one, instead of all that fit.
    """
    conditions = ["d.searchable = 1"]
    params: list[Any] = []
    if scope.document_ids:
        conditions.append(dialect.among("d.id"))
        params.append(_id_list(dialect, scope.document_ids))
    if scope.collection_ids:
        named = f"SELECT collection_no FROM collections WHERE {dialect.among('id')}"
        conditions.append(f"d.collection_no IN ({named})")
        params.append(_id_list(dialect, scope.collection_ids))
    if scope.filters:
        condition, values = filters_sql(dialect, scope.filters, probing=probing)
        conditions.append(condition)
        params += values
    return " AND ".join(conditions), tuple(params)


def filters_sql(dialect: Dialect, filters: Iterable[Filter], *, probing: bool = False) -> Sql:
    """A condition on `documents d` that holds where the metadata satisfies every filter, and its parameters."""
    conditions: list[str] = []
    params: list[Any] = []
    for item in filters:
        without = item.operator == "neq" or (item.operator == "exists" and not item.value)
        fits, values = _fitting(dialect, item)
        conditions.append(
            ("NOT " if without else "")
            + (_PROBE if probing else _LIST).format(fits=fits, path=dialect.unindexed("m.path"))
        )
        params += (item.field, *values)
    return " AND ".join(conditions) or "true", tuple(params)


def _fitting(dialect: Dialect, item: Filter) -> tuple[str, list[Any]]:
    """A condition on `metadata_values m` for a value that fits (for `neq`, `exists: false`: that must not be there)."""
    if item.operator == "exists":
        return "true", []
    if item.operator in _COMPARISONS:
        bound = comparable(item.value)
        return f"m.kind = ? AND m.number {_COMPARISONS[item.operator]} ?", [bound.kind, dialect.number(bound.number)]
    wanted = item.value if isinstance(item.value, tuple) else (item.value,)
    texts = _texts_by_kind(comparable(value) for value in wanted)
    choices = [f"m.kind = ? AND m.text IN ({', '.join('?' * len(found))})" for found in texts.values()]
    params = [param for kind, found in texts.items() for param in (kind, *found)]
    return f"({' OR '.join(choices)})" if choices else "false", params


def _texts_by_kind(values: Iterable[ComparableValue]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for value in values:
        texts.setdefault(value.kind, []).append(value.text)
    return texts


def _id_list(dialect: Dialect, ids: Iterable[str]) -> Any:
    """Ids as one parameter. One with a NUL is nobody's, and SQLite might read it only up to there."""
    return dialect.listed(item for item in ids if "\0" not in item)
