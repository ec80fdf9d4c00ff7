"""What a copy asks of either database beyond the statements that both read alike; and of SQLite."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import numpy as np

from mcp_knowledge.adapters.rows.dialect import Connection, IndexedText, Row
from mcp_knowledge.adapters.rows.sql import first_row
from mcp_knowledge.adapters.transfer.tables import Table

_LARGEST_INTEGER = 2**63  # of SQLite


@dataclass(frozen=True, slots=True)
class DocumentTexts:
    """What makes a document's chunks findable by their words."""

    document_no: int
    title: str
    chunk_nos: list[int]
    texts: list[IndexedText]


class Side(Protocol):
    """A database that is copied from or into."""

    def columns(self, connection: Connection, table: str) -> list[str]:
        """The names of a table's columns, in alphabetical order."""
        ...

    def last_number(self, connection: Connection, table: Table) -> int:
        """The highest number that was ever given to a row; 0 for none."""
        ...

    def go_on_after(self, connection: Connection, table: Table, number: int) -> None:
        """Let the next row get a higher number."""
        ...

    def insert(self, connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Write neutral rows (`neutral` says what they are), in the given order."""
        ...

    def meta_value(self, key: str, value: Any) -> Any:
        """A value of the other side's `meta` as it is kept here."""
        ...

    def add_texts(self, connection: Connection, documents: Sequence[DocumentTexts]) -> None:
        """Make documents' chunks findable by their words."""
        ...

    def indexed_texts(self, connection: Connection) -> int:
        """How many chunks can be found by their words."""
        ...

    def prepare(self, connection: Connection) -> None:
        """Do without what slows down the writing of many rows."""
        ...

    def settle(self, connection: Connection) -> None:
        """Make up for it when all rows are there."""
        ...


def neutral(connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> list[Row]:
    """Rows in a form that depends on no database: vectors as the bytes of their float32, numbers as int where they are
    whole and float otherwise.
    """
    if table.name == "chunk_vectors":
        dialect = connection.dialect
        position = columns.index("vector")
        return [with_value(row, position, np.asarray(dialect.vector(row[position]), "<f4").tobytes()) for row in rows]
    if table.name == "metadata_values":
        position = columns.index("number")
        return [with_value(row, position, _plain(row[position])) for row in rows]
    return list(rows)


def with_value(row: Row, position: int, value: Any) -> Row:
    """The row with one value exchanged."""
    return (*row[:position], value, *row[position + 1 :])


def _plain(number: float | int | Decimal | None) -> float | int | None:
    if number is None or isinstance(number, int):
        return number
    numerator, denominator = number.as_integer_ratio()
    return numerator if denominator == 1 else float(number)


class SqliteSide:
    """The embedded database."""

    def columns(self, connection: Connection, table: str) -> list[str]:
        """From the schema."""
        return sorted(row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)))

    def last_number(self, connection: Connection, table: Table) -> int:
        """What AUTOINCREMENT remembers, or the highest that is there."""
        row = first_row(
            connection,
            f"""SELECT max(coalesce((SELECT max({table.key}) FROM {table.name}), 0),
                           coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0))""",
            (table.name,),
        )
        return int(row[0]) if row else 0

    def go_on_after(self, connection: Connection, table: Table, number: int) -> None:
        """A table without AUTOINCREMENT goes on after its last row anyway."""
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table.name,))
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table.name, number))

    def insert(self, connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Whole numbers beyond its integers are doubles, as they once were; a vector stands without its document."""
        if table.name == "metadata_values":
            position = columns.index("number")
            rows = [with_value(row, position, _storable_number(row[position])) for row in rows]
        elif table.name == "chunk_vectors":
            places = [columns.index("chunk_no"), columns.index("vector")]
            columns, rows = ["chunk_no", "vector"], [tuple(row[place] for place in places) for row in rows]
        connection.executemany(
            f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", rows
        )

    def meta_value(self, key: str, value: Any) -> Any:
        """The generation is counted in place."""
        return int(value) if key == "generation" else value

    def add_texts(self, connection: Connection, documents: Sequence[DocumentTexts]) -> None:
        """Document by document."""
        for document in documents:
            connection.dialect.add_texts(
                connection, document.document_no, document.chunk_nos, document.title, document.texts
            )

    def indexed_texts(self, connection: Connection) -> int:
        """Rows of the FTS5 table, which keeps their sizes."""
        row = first_row(connection, "SELECT count(*) FROM chunk_fts_docsize")
        return int(row[0]) if row else 0

    def prepare(self, connection: Connection) -> None:
        """Nothing is in the way."""

    def settle(self, connection: Connection) -> None:
        """One segment of full text answers faster than many."""
        connection.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('optimize')")
        connection.dialect.note_all_vectors_changed(connection)


def _storable_number(number: float | int | None) -> float | int | None:
    return float(number) if isinstance(number, int) and abs(number) >= _LARGEST_INTEGER else number
