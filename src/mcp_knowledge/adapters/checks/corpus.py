"""All checks of the rows, in one snapshot: what others write meanwhile cannot look like a fault."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mcp_knowledge.adapters.checks.documents import CheckedDocument, checked_documents
from mcp_knowledge.adapters.checks.references import reference_faults
from mcp_knowledge.adapters.checks.texts import TextCheck
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.indexing import MIXED_FINGERPRINT
from mcp_knowledge.adapters.rows.originals import named_originals
from mcp_knowledge.adapters.rows.sql import meta_value
from mcp_knowledge.domain.documents import NamedOriginal
from mcp_knowledge.domain.faults import Fault

Advance = Callable[[int], None]  # is told how many further documents are done
_MODELS = """
    SELECT DISTINCT v.fingerprint FROM documents d JOIN revisions r ON r.revision_no = d.current_revision_no
    JOIN index_versions v ON v.version_no = r.version_no WHERE d.searchable = 1"""


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """What was found, and what was looked at."""

    faults: list[Fault]
    originals: list[NamedOriginal]
    documents: int
    passages: int


def check_rows(connection: Connection, make_texts: Callable[[], TextCheck], advance: Advance) -> CheckedRows:
    """Look at every row of a corpus. May be begun again.

    Args:
        connection: in one transaction for all of it.
    """
    texts = make_texts()
    faults = [Fault("database-damaged", line) for line in texts.database_faults(connection)]
    numbers, passages = dict[int, str](), 0
    for page in _pages(connection):
        for document in page:
            faults += document.faults
            numbers[document.document_no] = document.id
            passages += len(document.passages)
        texts.page(connection, page)
        advance(len(page))
    faults += reference_faults(connection)
    faults += _model_faults(connection)
    late = "the next number of a row of '{}' is one that was given already"
    faults += [Fault("counter", late.format(table), subject=table) for table in texts.late_counters(connection)]
    unreadable = any(
        fault.kind in ("passages", "lost-rows") or (fault.kind == "database-damaged" and fault.document_no)
        for fault in faults
    )
    again = (document for page in _pages(connection) for document in page)
    found = texts.finish(connection, None if unreadable else again)
    detail = "its full text is not that of its passages"
    faults += [Fault("full-text", detail, numbers[number], number) for number in sorted(found.documents)]
    stray = "some of its vectors are filed under another document"
    faults += [Fault("vectors", stray, numbers[number], number) for number in sorted(found.strays)]
    faults += [Fault("full-text-counts", detail) for detail in found.counts]
    if found.unknown:
        faults.append(
            Fault("lost-rows", f"{found.unknown:,} entries of the full text have no passage", subject="texts")
        )
    return CheckedRows(faults, named_originals(connection), len(numbers), passages)


def _pages(connection: Connection) -> Iterator[list[CheckedDocument]]:
    after_no = 0
    while page := checked_documents(connection, after_no):
        yield page
        after_no = page[-1].document_no


def _model_faults(connection: Connection) -> Iterator[Fault]:
    """The note by which a search knows whether all vectors are its model's. `mixed` is always safe."""
    models = {row[0] for row in connection.execute(_MODELS)}
    noted = meta_value(connection, "fingerprint")
    if models and noted != MIXED_FINGERPRINT and models != {noted}:
        yield Fault("model", "the note of the embedding model is not that of the vectors")
    try:
        int(meta_value(connection, "generation"))
    except (TypeError, ValueError):
        yield Fault("database-damaged", "the count of changes is missing")
