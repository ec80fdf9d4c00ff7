"""Mending what follows from other rows. Originals are never touched, and nothing is guessed."""

from collections.abc import Sequence
from functools import partial

from mcp_knowledge.adapters.checks.references import mend_references
from mcp_knowledge.adapters.checks.texts import TextCheck
from mcp_knowledge.adapters.rows import documents, fulltext, indexing, job_rows
from mcp_knowledge.adapters.rows.dialect import Connection, Database
from mcp_knowledge.adapters.rows.indexing import MIXED_FINGERPRINT
from mcp_knowledge.adapters.rows.metadata import effective_metadata, write_metadata_values
from mcp_knowledge.adapters.rows.sql import first_row, fold_key, raise_generation, set_meta
from mcp_knowledge.domain.faults import REREAD, Fault

_PAGE = 100


async def mend_rows(database: Database, texts: TextCheck, faults: Sequence[Fault]) -> list[str]:
    """Mend what can be mended here; the ids of documents that must be read again from their originals."""
    for fault in faults:
        if fault.repair and fault.kind in ("lost-rows", "lost-reference"):
            await database.write(partial(_mend_lost, texts=texts, fault=fault))
    for fault in faults:
        if fault.repair and fault.document_no is not None:
            await database.write(partial(_mend_document, fault=fault, document_no=fault.document_no))
    for fault in faults:
        if fault.kind == "counter" and fault.subject:
            await database.write(partial(texts.count_on, table=fault.subject))
    kinds = {fault.kind for fault in faults}
    if "full-text-counts" in kinds:
        await database.write(_rebuild_texts)
    if kinds & {"full-text", "full-text-counts", "lost-rows"}:
        await database.write(texts.recount)
    if "model" in kinds:
        await database.write(lambda c: set_meta(c, "fingerprint", MIXED_FINGERPRINT))
    ids = [fault.document_id for fault in faults if fault.repair and fault.kind in REREAD and fault.document_id]
    return sorted(await database.read(partial(_live, ids=ids)))


def _live(connection: Connection, ids: Sequence[str]) -> set[str]:
    return set(documents.get_documents(connection, list(ids)))


def _mend_lost(connection: Connection, texts: TextCheck, fault: Fault) -> None:
    if fault.subject == "texts":
        texts.remove_unknown(connection)
    elif fault.subject is not None:
        mend_references(connection, fault.subject)
        if fault.subject.startswith("chunks."):
            texts.remove_unknown(connection)
    raise_generation(connection)


def _mend_document(connection: Connection, fault: Fault, document_no: int) -> None:
    lock = connection.dialect.for_update
    row = first_row(
        connection,
        f"SELECT status, title, metadata, properties FROM documents WHERE document_no = ?{lock}",
        (document_no,),
    )
    if row is None:
        return  # it went meanwhile
    status, title, metadata, properties = row
    if fault.kind == "full-text":
        fulltext.retitle(connection, document_no, title)
    elif fault.kind == "metadata":
        write_metadata_values(connection, document_no, effective_metadata(metadata, properties))
    elif fault.kind == "document-row":
        _copy_values(connection, document_no, title)
    elif fault.kind == "vectors":
        _drop_vectors(connection, document_no)
    elif fault.kind == "document-state":
        _forget_lost_versions(connection, document_no)
    elif fault.kind == "document-stuck" and status == "deleting" and not job_rows.is_at_work(connection, document_no):
        job_rows.queue_job(connection, "delete", document_no, None)
    raise_generation(connection)


def _copy_values(connection: Connection, document_no: int, title: str) -> None:
    """Write a document's copies of what its version says, and the forms in which names are compared."""
    row = first_row(
        connection,
        """SELECT r.number, r.original_filename, r.mime_type, r.extension, r.size_bytes, r.sha256
           FROM documents d JOIN revisions r ON r.document_no = d.document_no
               AND r.revision_no = coalesce(d.current_revision_no, d.newest_revision_no) WHERE d.document_no = ?""",
        (document_no,),
    )
    if row is not None:
        connection.execute(
            """UPDATE documents SET revision = ?, original_filename = ?, mime_type = ?, extension = ?, size_bytes = ?,
                   sha256 = ?, filename_key = ?, title_key = ? WHERE document_no = ?""",
            (*row, fold_key(row[1]), fold_key(title), document_no),
        )


def _drop_vectors(connection: Connection, document_no: int) -> None:
    """Whoever embeds the document again would take those that are there from here."""
    connection.execute(
        "DELETE FROM chunk_vectors WHERE chunk_no IN (SELECT chunk_no FROM chunks WHERE document_no = ?)",
        (document_no,),
    )
    connection.dialect.note_vector_change(connection, document_no)


def _forget_lost_versions(connection: Connection, document_no: int) -> None:
    """Let a document that names a version that is gone name its newest one, of which nothing is indexed yet."""
    newest = first_row(connection, "SELECT max(revision_no) FROM revisions WHERE document_no = ?", (document_no,))
    if newest is None or newest[0] is None:
        return
    is_lost = "{column} IS NOT NULL AND {column} NOT IN (SELECT revision_no FROM revisions WHERE document_no = ?)"
    current = f"SELECT 1 FROM documents WHERE document_no = ? AND {is_lost.format(column='current_revision_no')}"
    if first_row(connection, current, (document_no, document_no)):
        indexing.remove_index_entries(connection, document_no)
        connection.execute(
            """UPDATE documents SET current_revision_no = NULL, searchable = 0, status = 'pending', chunk_count = 0
               WHERE document_no = ?""",
            (document_no,),
        )
        connection.dialect.note_vector_change(connection, document_no)
    connection.execute(
        f"""UPDATE documents SET newest_revision_no = ?
            WHERE document_no = ? AND {is_lost.format(column="newest_revision_no")}""",
        (newest[0], document_no, document_no),
    )


def _rebuild_texts(connection: Connection) -> None:
    """Make the whole full text anew, in one transaction: searches see the old one or the new one."""
    connection.dialect.clear_texts(connection)
    after_no = 0
    while rows := list(
        connection.execute(
            "SELECT document_no, title FROM documents WHERE document_no > ? ORDER BY document_no LIMIT ?",
            (after_no, _PAGE),
        )
    ):
        for document_no, title in rows:
            fulltext.index_document(connection, document_no, title)
        after_no = rows[-1][0]
