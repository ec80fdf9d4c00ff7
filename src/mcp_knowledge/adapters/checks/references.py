"""Rows that belong to something that is gone, and references that lead nowhere."""

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.sql import first_row
from mcp_knowledge.domain.faults import Fault, FaultKind

_INDEXED = "SELECT document_no FROM documents WHERE current_revision_no IS NOT NULL AND status <> 'deleted'"
_LIVE = "SELECT document_no FROM documents WHERE status <> 'deleted'"
_CURRENT = """
    SELECT current_revision_no FROM documents WHERE current_revision_no IS NOT NULL AND status <> 'deleted'"""


@dataclass(frozen=True, slots=True)
class Reference:
    """What rows of a table refer to.

    Args:
        holders: a SELECT of the values that stand for something.
        clears: whether a reference that leads nowhere is cleared; else its row is of no use without it.
    """

    table: str
    column: str
    holders: str
    clears: bool = False

    @property
    def lost(self) -> str:
        """A condition that holds for the rows whose reference leads nowhere."""
        return f"{self.column} IS NOT NULL AND {self.column} NOT IN ({self.holders})"


# What other rows hang on comes last.
DERIVED = (
    Reference("chunk_vectors", "chunk_no", "SELECT chunk_no FROM chunks"),
    Reference("chunks", "document_no", _INDEXED),
    Reference("revision_blocks", "revision_no", _CURRENT),
    Reference("revision_heads", "revision_no", _CURRENT),
    Reference("metadata_values", "document_no", _LIVE),
    Reference("early_vectors", "document_no", _LIVE),
    Reference("jobs", "document_no", "SELECT document_no FROM documents"),
    Reference("archive_entries", "archive_no", "SELECT archive_no FROM archives"),
    Reference("archive_entries", "document_no", "SELECT document_no FROM documents", clears=True),
    Reference("evaluation_results", "run_no", "SELECT run_no FROM evaluation_runs"),
    Reference("evaluation_cases", "set_no", "SELECT set_no FROM evaluation_sets"),
    Reference("evaluation_runs", "set_no", "SELECT set_no FROM evaluation_sets"),
    Reference("documents", "collection_no", "SELECT collection_no FROM collections", clears=True),
    Reference("archives", "collection_no", "SELECT collection_no FROM collections", clears=True),
    Reference("revisions", "version_no", "SELECT version_no FROM index_versions", clears=True),
    Reference("evaluation_sets", "baseline_run_no", "SELECT run_no FROM evaluation_runs", clears=True),
)
_REVISIONS = Reference("revisions", "document_no", "SELECT document_no FROM documents")


def reference_faults(connection: Connection) -> Iterator[Fault]:
    """Tables with such rows."""
    for reference in DERIVED:
        if count := _count(connection, reference):
            kind: FaultKind = "lost-reference" if reference.clears else "lost-rows"
            detail = f"{count:,} rows of '{reference.table}' name a {reference.column} that is not there"
            yield Fault(kind, detail, subject=f"{reference.table}.{reference.column}")
    if count := _count(connection, _REVISIONS):
        detail = f"{count:,} versions belong to no document"
        yield Fault("revision-without-document", detail, subject="revisions")


def mend_references(connection: Connection, subject: str) -> None:
    """Remove such rows of a table, or clear their references."""
    for reference in DERIVED:
        if f"{reference.table}.{reference.column}" != subject:
            continue
        if reference.clears:
            connection.execute(f"UPDATE {reference.table} SET {reference.column} = NULL WHERE {reference.lost}")
        else:
            connection.execute(f"DELETE FROM {reference.table} WHERE {reference.lost}")


def _count(connection: Connection, reference: Reference) -> int:
    row = first_row(connection, f"SELECT count(*) FROM {reference.table} WHERE {reference.lost}")
    return int(row[0]) if row else 0
