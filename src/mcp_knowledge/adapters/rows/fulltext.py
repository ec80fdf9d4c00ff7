"""Texts of chunks as the full text holds them: the tokenizer's folded terms."""

import json
from collections.abc import Sequence

from mcp_knowledge.adapters.rows.content import unpack_text
from mcp_knowledge.adapters.rows.dialect import Connection, IndexedText
from mcp_knowledge.domain.tokens import index_text


def indexed_text(heading_path: Sequence[str], content: str) -> IndexedText:
    """What the full text holds of a chunk, apart from the document's title."""
    return index_text("\n".join(heading_path)), index_text(content)


def retitle(connection: Connection, document_no: int, title: str) -> None:
    """Write a document's full text anew under another title. It keeps no text: that comes from the chunks again."""
    connection.dialect.remove_texts(connection, document_no)
    index_document(connection, document_no, title)


def index_document(connection: Connection, document_no: int, title: str) -> None:
    """Write the full text of a document that has none, from its chunks."""
    sql = "SELECT chunk_no, heading_path, content FROM chunks WHERE document_no = ? ORDER BY chunk_no"
    rows = list(connection.execute(sql, (document_no,)))
    texts = [indexed_text(json.loads(path), unpack_text(text)) for _, path, text in rows]
    connection.dialect.add_texts(connection, document_no, [row[0] for row in rows], title, texts)
