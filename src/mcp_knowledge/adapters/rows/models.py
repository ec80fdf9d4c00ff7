"""Whose vectors a document's are: those of two models must never be compared."""

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.scope import Sql
from mcp_knowledge.adapters.rows.sql import meta_value

_OF_OUR_MODEL = """EXISTS (SELECT 1 FROM revisions r JOIN index_versions i ON i.version_no = r.version_no
    WHERE r.revision_no = d.current_revision_no AND i.fingerprint = ?)"""


def of_our_model(connection: Connection, fingerprint: str) -> Sql | None:
    """A condition on `documents d` for those that this model embedded, and its parameters; None: all of them."""
    return None if meta_value(connection, "fingerprint") == fingerprint else (_OF_OUR_MODEL, (fingerprint,))
