"""The keys and values of metadata that there are, read from the rows that filters use."""

from typing import Any

from mcp_knowledge.adapters.rows.dialect import Connection, Database
from mcp_knowledge.domain.filters import INDEXED_TEXT_CHARS, Scalar, ValueKind
from mcp_knowledge.ports.metadata import KnownValue, MetadataKey

_SCALARS = "('string', 'number', 'boolean', 'null')"
# Few documents are waiting, have failed or are about to go; to leave those out is quicker than to look each one up.
_SEARCHABLE = """m.document_no NOT IN (SELECT d.document_no FROM documents d WHERE d.searchable = 0
                 AND d.status IN ('pending', 'processing', 'failed', 'deleting'))"""
_IN_COLLECTION = """m.document_no IN (SELECT d.document_no FROM documents d WHERE d.searchable = 1
                    AND d.collection_no = (SELECT collection_no FROM collections WHERE id = ?))"""
# From each path straight to the next one in the index, however many rows it has.
_NAMES = f"""
    WITH RECURSIVE paths (path, place) AS (
        SELECT min(path), 1 FROM metadata_values
        UNION ALL
        SELECT (SELECT min(m.path) FROM metadata_values m WHERE m.path > paths.path), paths.place + 1 FROM paths
        WHERE paths.path IS NOT NULL AND paths.place < ?
    )
    SELECT path FROM paths
    WHERE EXISTS (SELECT 1 FROM metadata_values m WHERE m.path = paths.path AND m.kind IN {_SCALARS})
    ORDER BY path"""
_HAS_KIND = "EXISTS (SELECT 1 FROM metadata_values m WHERE m.path = p.path AND m.kind = '{kind}')"
_KINDS: tuple[ValueKind, ...] = ("boolean", "null", "number", "string")
_PATHS_AT_ONCE = 200


class SqlMetadataStore:
    """`ports.metadata.MetadataStore` says what the methods promise."""

    def __init__(self, database: Database) -> None:
        self._read = database.read

    async def key_names(self, limit: int) -> list[str]:
        """By name."""
        return await self._read(lambda c: [row[0] for row in c.execute(_NAMES, (limit,))])

    async def kinds(self, keys: tuple[str, ...]) -> dict[str, tuple[ValueKind, ...]]:
        """Of these keys."""
        return await self._read(lambda c: _kinds(c, keys))

    async def keys(self, collection_id: str | None, limit: int) -> list[MetadataKey]:
        """Those of most documents first."""
        return await self._read(lambda c: _keys(c, collection_id, limit))

    async def values(self, key: str, search: str, collection_id: str | None, limit: int) -> list[KnownValue]:
        """Those of most documents first."""
        return await self._read(lambda c: _values(c, key, search, collection_id, limit))


def _kinds(connection: Connection, keys: tuple[str, ...]) -> dict[str, tuple[ValueKind, ...]]:
    """One look into the index for each kind of each key, however many rows it has."""
    columns = ", ".join(_HAS_KIND.format(kind=kind) for kind in _KINDS)
    found: dict[str, tuple[ValueKind, ...]] = {}
    for start in range(0, len(keys), _PATHS_AT_ONCE):
        some = keys[start : start + _PATHS_AT_ONCE]
        paths = " UNION ALL ".join(["SELECT CAST(? AS text) AS path"] * len(some))
        for path, *has in connection.execute(f"SELECT p.path, {columns} FROM ({paths}) p", some):
            if any(has):
                found[path] = tuple(kind for kind, there in zip(_KINDS, has, strict=True) if there)
    return found


def _scope(collection_id: str | None) -> tuple[str, tuple[Any, ...]]:
    return (_SEARCHABLE, ()) if collection_id is None else (_IN_COLLECTION, (collection_id,))


def _keys(connection: Connection, collection_id: str | None, limit: int) -> list[MetadataKey]:
    condition, params = _scope(collection_id)
    sql = f"""
        SELECT m.path, count(DISTINCT m.document_no) AS documents FROM metadata_values m
        WHERE m.kind IN {_SCALARS} AND {condition}
        GROUP BY m.path ORDER BY documents DESC, m.path LIMIT ?"""
    counted = list(connection.execute(sql, (*params, limit)))
    kinds = _kinds(connection, tuple(path for path, _ in counted))
    return [MetadataKey(path, documents, kinds[path]) for path, documents in counted]


def _values(connection: Connection, key: str, search: str, collection_id: str | None, limit: int) -> list[KnownValue]:
    condition, params = _scope(collection_id)
    spellings = _spellings(search)
    containing = " OR ".join("instr(lower(m.text), ?) > 0" for _ in spellings) or "true"
    sql = f"""
        SELECT m.kind, m.text, count(*) AS documents FROM metadata_values m
        WHERE m.path = ? AND m.kind IN {_SCALARS} AND length(m.text) <= {INDEXED_TEXT_CHARS}
        AND ({containing}) AND {condition}
        GROUP BY m.kind, m.text ORDER BY documents DESC, m.kind, m.text LIMIT ?"""
    rows = connection.execute(sql, (key, *spellings, *params, limit))
    return [KnownValue(_scalar(kind, text), kind, documents) for kind, text, documents in rows]


def _spellings(search: str) -> list[str]:
    """The text in the cases in which it may be written. Databases know lower case for English letters only."""
    variants = (search, search.lower(), search.upper(), search.title()) if search else ()
    return list(dict.fromkeys("".join(char.lower() if char.isascii() else char for char in item) for item in variants))


def _scalar(kind: ValueKind, text: str) -> Scalar:
    if kind == "number":
        return int(text) if text.removeprefix("-").isdigit() else float(text)
    if kind == "boolean":
        return text == "true"
    return None if kind == "null" else text
