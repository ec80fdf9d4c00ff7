"""A document's metadata: the user's, over the file's own properties under `document`; and its rows for filters."""

import json
from typing import Any

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.domain.documents import Metadata
from mcp_knowledge.domain.filters import flatten


def effective_metadata(user_json: str | None, properties_json: str | None) -> Metadata:
    """What readers and filters see of the two stored columns."""
    user: Metadata = json.loads(user_json) if user_json else {}
    return merged(user, json.loads(properties_json)) if properties_json else user


def merged(user: Metadata, properties: Metadata) -> Metadata:
    """Properties under `document`, each only where the user set nothing."""
    if not properties:
        return user
    own: Any = user.get("document", {})
    return {**user, "document": {**properties, **own} if isinstance(own, dict) else own}


def write_metadata_values(connection: Connection, document_no: int, metadata: Metadata, *, fresh: bool = False) -> None:
    """Replace a document's rows for filters; `fresh` when it has none yet."""
    if not fresh:
        connection.execute("DELETE FROM metadata_values WHERE document_no = ?", (document_no,))
    if metadata:
        number = connection.dialect.number
        connection.executemany(
            "INSERT INTO metadata_values (document_no, path, kind, text, number) VALUES (?, ?, ?, ?, ?)",
            ((document_no, path, kind, text, number(value)) for path, kind, text, value in flatten(metadata)),
        )
