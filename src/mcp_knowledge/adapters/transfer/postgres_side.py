"""What a copy asks of PostgreSQL."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mcp_knowledge.adapters.postgres import lexicon
from mcp_knowledge.adapters.postgres.connection import PostgresConnection
from mcp_knowledge.adapters.postgres.text_index import drop_text_index, make_text_index
from mcp_knowledge.adapters.postgres.vector_graph import drop_graph, make_graph
from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.sql import first_row, storable
from mcp_knowledge.adapters.transfer.sides import DocumentTexts, with_value
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
            _copy_vectors(connection, columns, rows)
            return
        if table.name == "metadata_values":
            position = columns.index("number")
            rows = [with_value(row, position, connection.dialect.number(row[position])) for row in rows]
        statement = f"COPY {table.name} ({', '.join(columns)}) FROM STDIN"
        with connection.raw.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(storable(row))

    def meta_value(self, key: str, value: Any) -> Any:
        """All of them are text."""
        return str(value)

    def add_texts(self, connection: Connection, documents: Sequence[DocumentTexts]) -> None:
        """All of them in one COPY, noted once."""
        assert isinstance(connection, PostgresConnection)
        lexicon.add_documents(connection, ((it.document_no, it.chunk_nos, it.title, it.texts) for it in documents))

    def indexed_texts(self, connection: Connection) -> int:
        """Rows of the chunks' terms."""
        row = first_row(connection, "SELECT count(*) FROM chunk_terms")
        return int(row[0]) if row else 0

    def prepare(self, connection: Connection) -> None:
        """The large indexes are made faster at once than row by row."""
        assert isinstance(connection, PostgresConnection)
        drop_graph(connection)
        drop_text_index(connection)

    def settle(self, connection: Connection) -> None:
        """The large indexes, and the figures that the planner goes by."""
        assert isinstance(connection, PostgresConnection)
        make_text_index(connection)
        make_graph(connection, self._dimensions)
        connection.execute("ANALYZE")


def _copy_vectors(connection: PostgresConnection, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """In binary: as text, each of their numbers would be printed and read again."""
    position = columns.index("vector")
    types = ["vector" if name == "vector" else "int8" for name in columns]
    statement = f"COPY chunk_vectors ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    with connection.raw.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(with_value(row, position, np.frombuffer(row[position], "<f4")))
