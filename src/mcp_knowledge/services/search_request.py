"""What a client asked for, checked: the same rules and codes for REST, MCP, the dashboard and the command line."""

from collections.abc import Mapping
from typing import Any, cast, get_args

from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.domain.search import (
    Collapse,
    Expand,
    ExpandType,
    Fusion,
    Scope,
    SearchMode,
    SearchRequest,
)
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.settings import Settings

MAX_QUERY_CHARS = 2000
MAX_IDS = 200
MAX_EXPAND_CHUNKS = 5


def search_request(
    settings: Settings,
    *,
    query: Any,
    mode: Any = None,
    limit: int | None = None,
    collection_ids: Any = None,
    document_ids: Any = None,
    filters: Any = None,
    fusion: Any = None,
    expand: Any = None,
    collapse: Any = None,
    explain: Any = None,
) -> SearchRequest:
    """A search out of a client's values; None is the same as leaving a field out.

    Args:
        limit: hits, already held to the interface's own maximum.
        expand: a mapping with `type` and, for `neighbors`, `before` and `after`.

    Raises:
        KnowledgeError: INVALID_QUERY, SEARCH_MODE_UNSUPPORTED, SEARCH_COLLAPSE_UNSUPPORTED, INVALID_FILTER, or
            INVALID_ARGUMENT naming the field.
    """
    return SearchRequest(
        query=_query(query),
        mode=cast(SearchMode, _choice(mode, SearchMode, "hybrid", KnowledgeError("SEARCH_MODE_UNSUPPORTED"))),
        limit=_limit(settings.default_search_limit if limit is None else limit),
        scope=Scope(
            _ids(collection_ids, "collectionIds"),
            _ids(document_ids, "documentIds"),
            () if filters is None else parse_filters(filters),
        ),
        fusion=cast(Fusion, _choice(fusion, Fusion, settings.fusion, _invalid("fusion", "must be rrf or relative"))),
        expand=_expand(expand),
        collapse=cast(Collapse, _choice(collapse, Collapse, "none", KnowledgeError("SEARCH_COLLAPSE_UNSUPPORTED"))),
        explain=_flag(explain, "explain"),
    )


def whole_number(value: Any) -> int | None:
    """A number of JSON that is whole, which 5.0 is as well; None for any other value."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _query(value: Any) -> str:
    if not isinstance(value, str):
        raise KnowledgeError("INVALID_QUERY")
    text = value.strip()
    if not 1 <= len(text) <= MAX_QUERY_CHARS:
        raise KnowledgeError("INVALID_QUERY")
    return text.encode("utf-8", "replace").decode()  # JSON can carry half a surrogate pair; nothing below can


def _choice(value: Any, kind: Any, default: str, error: KnowledgeError) -> str:
    if value is None:
        return default
    if not isinstance(value, str) or value not in get_args(kind):
        raise error
    return value


def _limit(value: Any) -> int:
    limit = whole_number(value)
    if limit is None or limit < 1:
        raise _invalid("limit", "must be a whole number of at least 1")
    return limit


def _ids(value: Any, field: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list | tuple) and len(value) > MAX_IDS:
        raise _invalid(field, f"must have at most {MAX_IDS} items")
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) and _encodable(item) for item in value):
        raise _invalid(field, "must be a list of strings")
    return tuple(dict.fromkeys(value))


def _expand(value: Any) -> Expand:
    if value is None:
        return Expand()
    if not isinstance(value, Mapping):
        raise _invalid("expand", "must be an object with type, before and after")
    if unknown := sorted(str(key) for key in value if key not in ("type", "before", "after")):
        raise _invalid("expand", f"has the unknown field {unknown[0][:40]!r}")
    choices = ", ".join(get_args(ExpandType))
    kind = _choice(value.get("type"), ExpandType, "none", _invalid("expand.type", f"must be one of {choices}"))
    return Expand(
        cast(ExpandType, kind),
        _reach(value.get("before"), "expand.before"),
        _reach(value.get("after"), "expand.after"),
    )


def _reach(value: Any, field: str) -> int:
    if value is None:
        return Expand().before
    reach = whole_number(value)
    if reach is None or not 0 <= reach <= MAX_EXPAND_CHUNKS:
        raise _invalid(field, f"must be a whole number from 0 to {MAX_EXPAND_CHUNKS}")
    return reach


def _flag(value: Any, field: str) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise _invalid(field, "must be true or false")
    return value


def _encodable(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _invalid(field: str, problem: str) -> KnowledgeError:
    return KnowledgeError("INVALID_ARGUMENT", f"'{field}' {problem}.")
