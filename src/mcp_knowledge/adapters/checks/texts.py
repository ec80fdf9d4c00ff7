"""What the two databases are asked when their indexes are compared with the passages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mcp_knowledge.adapters.checks.documents import CheckedDocument
from mcp_knowledge.adapters.rows.dialect import Connection


@dataclass(slots=True)
class TextFaults:
    """What is wrong with a full text.

    Args:
        documents: numbers of documents whose entries are not those of their passages.
        counts: sentences about all of it: what its scores rest on, or its structure.
        unknown: entries of chunks that are not there.
        strays: numbers of documents some of whose vectors are filed under another document.
    """

    documents: set[int] = field(default_factory=set)
    counts: list[str] = field(default_factory=list)
    unknown: int = 0
    strays: set[int] = field(default_factory=set)


class TextCheck(Protocol):
    """Compares a full text with the passages, page by page, in one snapshot."""

    def database_faults(self, connection: Connection) -> Iterable[str]:
        """What the database itself finds wrong with its files, the full text apart."""
        ...

    def page(self, connection: Connection, documents: Sequence[CheckedDocument]) -> None:
        """Look at the entries of some documents."""
        ...

    def finish(self, connection: Connection, documents: Iterable[CheckedDocument] | None) -> TextFaults:
        """Look at the rest, after all documents; what is wrong.

        Args:
            documents: all of them once more; None where some of their passages cannot be read, so that nobody knows
                what the counts should be.
        """
        ...

    def late_counters(self, connection: Connection) -> Iterable[str]:
        """Tables whose next row would get a number that another one has."""
        ...

    def count_on(self, connection: Connection, table: str) -> None:
        """Let a table's counter go on after its highest number."""
        ...

    def remove_unknown(self, connection: Connection) -> None:
        """Remove the entries of chunks that are not there."""
        ...

    def recount(self, connection: Connection) -> None:
        """Make the counts again from the entries."""
        ...
