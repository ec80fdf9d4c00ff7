"""The index of the full text, dropped before a bulk load and made again after it: at once it costs a fraction."""

from mcp_knowledge.adapters.postgres.connection import PostgresConnection

# As migration 002 has it.
_INDEX = """CREATE INDEX IF NOT EXISTS chunk_terms_terms ON chunk_terms
    USING gin (terms) WITH (fastupdate = on, gin_pending_list_limit = 256)"""


def drop_text_index(connection: PostgresConnection) -> None:
    """Take the index away; searches stay right, and get slow."""
    connection.execute("DROP INDEX IF EXISTS chunk_terms_terms")


def make_text_index(connection: PostgresConnection) -> None:
    """Make the index if it is missing. Writers of texts wait until it is done; searches do not."""
    connection.execute(_INDEX)
