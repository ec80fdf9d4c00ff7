"""What a copy asks of PostgreSQL."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mcp_knowledge.adapters.postgres.connection import PostgresConnection
from mcp_knowledge.adapters.postgres.vector_graph import drop_graph, make_graph
from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.sql import first_row, storable
from mcp_knowledge.adapters.transfer.sides import with_value
from mcp_knowledge.adapters.transfer.tables import Table

_COLUMNS = """
    SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ?"""
_SEQUENCE = "pg_get_serial_sequence(?, ?)"


class PostgresSide:
    """A database on a server; rows come in by COPY.

    Args:
        dimensions: length of the vectors.
    """

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions

    def columns(self, connection: Connection, table: str) -> list[str]:
        """From the catalog."""
        return sorted(row[0] for row in connection.execute(_COLUMNS, (table,)))

    def last_number(self, connection: Connection, table: Table) -> int:
        """What the sequence remembers, or the highest that is there."""
        row = first_row(
            connection,
            f"""SELECT greatest((SELECT max({table.key}) FROM {table.name}), pg_sequence_last_value({_SEQUENCE}), 0)""",
            (table.name, table.key),
        )
        return int(row[0]) if row else 0

    def go_on_after(self, connection: Connection, table: Table, number: int) -> None:
        """Sequences count from 1; one that was never asked stays so."""
        if number:
            connection.execute(f"SELECT setval({_SEQUENCE}, ?)", (table.name, table.key, number))

    def insert(self, connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """One COPY."""
        assert isinstance(connection, PostgresConnection)
        if table.name == "chunk_vectors":
            position = columns.index("vector")
            rows = [with_value(row, position, np.frombuffer(row[position], "<f4")) for row in rows]
        elif table.name == "metadata_values":
            position = columns.index("number")
            rows = [with_value(row, position, connection.dialect.number(row[position])) for row in rows]
        statement = f"COPY {table.name} ({', '.join(columns)}) FROM STDIN"
        with connection.raw.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(storable(row))

    def meta_value(self, key: str, value: Any) -> Any:
        """All of them are text."""
        return str(value)

    def indexed_texts(self, connection: Connection) -> int:
        """Rows of the chunks' terms."""
        row = first_row(connection, "SELECT count(*) FROM chunk_terms")
        return int(row[0]) if row else 0

    def prepare(self, connection: Connection) -> None:
        """The graph is made faster at once than vector by vector."""
        assert isinstance(connection, PostgresConnection)
        drop_graph(connection)

    def settle(self, connection: Connection) -> None:
        """The graph, and the figures that the planner goes by."""
        assert isinstance(connection, PostgresConnection)
        make_graph(connection, self._dimensions)
        connection.execute("ANALYZE")
