"""The HNSW graph over the vectors, dropped before a bulk load and made again after it.

Making it over 500,000 vectors takes minutes; adding as many one by one takes hours. The server makes it in parallel,
and fast as long as it fits `maintenance_work_mem` (about 1.3 kB a vector of 384).
"""

from mcp_knowledge.adapters.postgres.connection import PostgresConnection

# As migration 003 has it.
_GRAPH = """CREATE INDEX IF NOT EXISTS chunk_vectors_graph ON chunk_vectors
    USING hnsw ((vector::halfvec({dimensions})) halfvec_ip_ops) WITH (m = 24, ef_construction = 100)"""


def drop_graph(connection: PostgresConnection) -> None:
    """Take the graph away; searches stay right, and get slow."""
    connection.execute("DROP INDEX IF EXISTS chunk_vectors_graph")


def make_graph(connection: PostgresConnection, dimensions: int) -> None:
    """Make the graph if it is missing. Writers of vectors wait until it is done; searches do not."""
    connection.execute(_GRAPH.format(dimensions=dimensions))
