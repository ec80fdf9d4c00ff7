"""Title, collection and metadata as people see and change them."""

import json

from mcp_knowledge.adapters.rows import documents
from mcp_knowledge.adapters.rows.dialect import Connection, Database
from mcp_knowledge.adapters.rows.metadata import merged, write_metadata_values
from mcp_knowledge.adapters.rows.sql import first_row, raise_generation, to_json
from mcp_knowledge.domain.details import Details
from mcp_knowledge.domain.documents import Document, Metadata, now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import UNSET


class SqlDetailsStore:
    """`ports.DetailsStore` says what the methods promise."""

    def __init__(self, database: Database) -> None:
        self._read = database.read
        self._write = database.write

    async def get(self, document_id: str) -> Details | None:
        """One document's."""
        return await self._read(lambda c: _get(c, document_id))

    async def change(
        self, document_id: str, stamp: str, title: str, collection_id: str | None, own: Metadata
    ) -> Document:
        """Write what differs."""
        return await self._write(lambda c: _change(c, document_id, stamp, title, collection_id, own))


def _get(connection: Connection, document_id: str) -> Details | None:
    document = documents.get_document(connection, document_id)
    if document is None:
        return None
    row = first_row(connection, "SELECT metadata, properties FROM documents WHERE id = ?", (document_id,))
    assert row is not None
    own, properties = (json.loads(text) if text else {} for text in row)
    return Details(document, own, properties)


def _change(
    connection: Connection, document_id: str, stamp: str, title: str, collection_id: str | None, own: Metadata
) -> Document:
    document_no = documents.live_number(connection, document_id)  # holds the row: nobody else changes it from here on
    known = _get(connection, document_id)
    assert known is not None
    if known.stamp != stamp:
        raise KnowledgeError("DOCUMENT_CHANGED")
    if to_json(own) != to_json(known.own):
        connection.execute(
            "UPDATE documents SET metadata = ?, updated_at_ms = ? WHERE document_no = ?",
            (to_json(own) if own else None, now_ms(), document_no),
        )
        write_metadata_values(connection, document_no, merged(own, known.properties))
        raise_generation(connection)
    return documents.update_document(
        connection,
        document_id,
        title=UNSET if title == known.document.title else title,
        collection_id=UNSET if collection_id == known.document.collection_id else collection_id,
        metadata=UNSET,
    )
