"""Making revisions searchable, and taking documents out again."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mcp_knowledge.adapters.rows import content, early_vectors, folder_rows, fulltext, job_rows
from mcp_knowledge.adapters.rows.dialect import Connection, IndexedText, Row
from mcp_knowledge.adapters.rows.metadata import merged, write_metadata_values
from mcp_knowledge.adapters.rows.sql import (
    GONE,
    first_row,
    fold_key,
    meta_value,
    raise_generation,
    set_meta,
    to_json,
)
from mcp_knowledge.domain.documents import IndexVersions, Job, now_ms
from mcp_knowledge.ports import IndexedRevision, Vector

MIXED_FINGERPRINT = "mixed"  # vectors of several models: equal to no model's fingerprint


@dataclass(frozen=True, slots=True)
class PackedRevision:
    """An `IndexedRevision` in the form of its rows, made before the write lock is taken."""

    job: Job
    title: str
    properties: dict[str, object]
    versions: IndexVersions
    content: content.PackedDocument
    chunks: list[Row]
    vectors: list[bytes]
    texts: list[IndexedText]


def pack(item: IndexedRevision) -> PackedRevision:
    """Do the work that needs no database: compress, tokenize, hash. Runs for milliseconds; call it off the loop."""
    return PackedRevision(
        item.job,
        item.title,
        item.document_metadata,
        item.versions,
        content.pack(item.normalized, [chunk.content for chunk in item.chunks]),
        [
            (
                chunk.id,
                chunk.sequence,
                chunk.token_count,
                embedding_hash(chunk.embedding_text),
                to_json(list(chunk.heading_path)),
                to_json(chunk.location.to_json()),
                to_json(chunk.metadata) if chunk.metadata else None,
                content.pack_text(chunk.content),
            )
            for chunk in item.chunks
        ],
        [vector.tobytes() for vector in np.asarray(item.vectors, "<f4")],
        [fulltext.indexed_text(chunk.heading_path, chunk.content) for chunk in item.chunks],
    )


def embedding_hash(text: str) -> bytes:
    """What stands for a chunk's embedding text in its row; 16 bytes tell the chunks of one document apart."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def index_revisions(connection: Connection, items: Sequence[PackedRevision], fingerprint: str) -> list[bool]:
    """Switch each document to its new revision; False for those whose job was lost."""
    now = now_ms()
    written = [_index_revision(connection, item, fingerprint, now) for item in items]
    if any(written):
        raise_generation(connection)
        _settle_fingerprint(connection, fingerprint)
    return written


def _index_revision(connection: Connection, item: PackedRevision, fingerprint: str, now: int) -> bool:
    held = job_rows.held_numbers(connection, item.job)
    if held is None:
        return False
    job_no, document_no, revision_no = held
    row = first_row(
        connection,
        f"""SELECT d.current_revision_no, d.title, d.title_by_user, d.metadata,
                   r.number, r.original_filename, r.mime_type, r.extension, r.size_bytes, r.sha256
            FROM documents d JOIN revisions r ON r.document_no = d.document_no AND r.revision_no = ?
            WHERE d.document_no = ? AND d.status NOT IN {GONE}""",
        (revision_no, document_no),
    )
    if row is None or revision_no is None:
        return False
    former_no, old_title, title_by_user, user_json, *source = row
    title = old_title if title_by_user else item.title
    if former_no is not None:
        remove_index_entries(connection, document_no)
    _write_chunks(connection, item, document_no, revision_no, title)
    content.write_content(connection, revision_no, item.content)
    connection.execute(
        "UPDATE revisions SET version_no = ?, chunk_count = ?, indexed_at_ms = ? WHERE revision_no = ?",
        (_version_number(connection, item.versions, fingerprint), len(item.chunks), now, revision_no),
    )
    _write_document(connection, item, document_no, revision_no, title, source, now)
    if item.properties or former_no is not None:
        user = json.loads(user_json) if user_json else {}
        write_metadata_values(connection, document_no, merged(user, item.properties))
    connection.dialect.note_vector_change(connection, document_no)
    early_vectors.forget(connection, document_no)
    folder_rows.settle_replacement(connection, document_no, now)
    job_rows.complete_job(connection, job_no, now)
    return True


def _write_chunks(connection: Connection, item: PackedRevision, document_no: int, revision_no: int, title: str) -> None:
    dialect = connection.dialect
    numbers = dialect.take_chunk_numbers(connection, len(item.chunks))  # so that vectors and full text follow in bulk
    connection.executemany(
        """INSERT INTO chunks (chunk_no, document_no, revision_no, id, sequence, token_count, embedding_hash,
               heading_path, location, metadata, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        ((number, document_no, revision_no, *chunk) for number, chunk in zip(numbers, item.chunks, strict=True)),
    )
    dialect.add_vectors(connection, document_no, numbers, item.vectors)
    dialect.add_texts(connection, document_no, numbers, title, item.texts)


def _write_document(
    connection: Connection,
    item: PackedRevision,
    document_no: int,
    revision_no: int,
    title: str,
    source: Sequence[object],
    now: int,
) -> None:
    number, filename, mime_type, extension, size_bytes, sha256 = source
    properties = to_json(item.properties) if item.properties else None
    connection.execute(
        """UPDATE documents SET status = 'ready', searchable = 1, current_revision_no = ?, revision = ?,
               original_filename = ?, filename_key = ?, mime_type = ?, extension = ?, size_bytes = ?, sha256 = ?,
               chunk_count = ?, title = ?, title_key = ?, properties = ?, updated_at_ms = ?,
               latest_error = (SELECT j.error FROM jobs j WHERE j.document_no = documents.document_no
                   AND newest_revision_no <> ? AND j.revision_no = newest_revision_no AND j.status = 'failed'
                   ORDER BY j.job_no DESC LIMIT 1)
           WHERE document_no = ?""",
        (revision_no, number, filename, fold_key(str(filename)), mime_type, extension, size_bytes, sha256,
         len(item.chunks), title, fold_key(title), properties, now, revision_no, document_no),
    )  # fmt: skip


def _version_number(connection: Connection, versions: IndexVersions, fingerprint: str) -> int:
    values = (
        versions.parser_name,
        versions.parser_version,
        versions.chunker_name,
        versions.chunker_version,
        versions.embedding_model,
        versions.embedding_dimensions,
        versions.embedding_version,
        fingerprint,
    )
    find = """SELECT version_no FROM index_versions WHERE (parser_name, parser_version, chunker_name, chunker_version,
        embedding_model, embedding_dimensions, embedding_version, fingerprint) = (?, ?, ?, ?, ?, ?, ?, ?)"""
    row = first_row(connection, find, values)
    if row is None:
        insert = """INSERT INTO index_versions (parser_name, parser_version, chunker_name, chunker_version,
            embedding_model, embedding_dimensions, embedding_version, fingerprint)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING version_no"""
        row = first_row(connection, insert, values)
    assert row is not None
    return int(row[0])


def _settle_fingerprint(connection: Connection, fingerprint: str) -> None:
    """Keep the stored fingerprint true: this model's once no searchable vector is another's."""
    if meta_value(connection, "fingerprint") == fingerprint:
        return
    connection.dialect.hold(connection, "fingerprint")  # else two models at once would each find itself alone
    others = first_row(
        connection,
        """SELECT 1 FROM documents d JOIN revisions r ON r.revision_no = d.current_revision_no
           JOIN index_versions v ON v.version_no = r.version_no
           WHERE d.searchable = 1 AND v.fingerprint <> ? LIMIT 1""",
        (fingerprint,),
    )
    set_meta(connection, "fingerprint", MIXED_FINGERPRINT if others else fingerprint)


def remove_index_entries(connection: Connection, document_no: int) -> None:
    """Drop a document's chunks, vectors, full text and normalized content."""
    connection.dialect.remove_texts(connection, document_no)
    connection.execute("DELETE FROM chunks WHERE document_no = ?", (document_no,))  # vectors go with them
    content.remove_content(connection, document_no)


def finish_delete(connection: Connection, job: Job) -> bool:
    """Leave only the tombstone of a deleted document."""
    held = job_rows.held_numbers(connection, job)
    if held is None:
        return False
    job_no, document_no, _ = held
    now = now_ms()
    remove_index_entries(connection, document_no)
    for table in ("metadata_values", "early_vectors", "revisions"):
        connection.execute(f"DELETE FROM {table} WHERE document_no = ?", (document_no,))
    connection.execute(
        """UPDATE documents SET status = 'deleted', current_revision_no = NULL, newest_revision_no = NULL,
               chunk_count = 0, latest_error = NULL, updated_at_ms = ? WHERE document_no = ?""",
        (now, document_no),
    )
    job_rows.complete_job(connection, job_no, now)
    raise_generation(connection)
    return True


def reusable_vectors(
    connection: Connection, document_id: str, embedding_texts: Sequence[str], fingerprint: str
) -> dict[str, Vector]:
    """Vectors that the model of this fingerprint made from these texts: of the live chunks, the document's own and
    those of the one that it replaces, and of a job that stopped.
    """
    texts = {embedding_hash(text): text for text in embedding_texts}
    rows = connection.execute(
        f"""SELECT c.embedding_hash, v.vector FROM documents n
           JOIN documents d ON d.document_no IN (n.document_no, n.replaces_no)
           JOIN revisions r ON r.revision_no = d.current_revision_no
           JOIN index_versions i ON i.version_no = r.version_no
           JOIN chunks c ON c.document_no = d.document_no JOIN chunk_vectors v ON v.chunk_no = c.chunk_no
           WHERE n.id = ? AND d.searchable = 1 AND i.fingerprint = ?
             AND {connection.dialect.blob_among("c.embedding_hash")}""",
        (document_id, fingerprint, connection.dialect.listed_blobs(texts)),
    )
    known = {texts[key]: connection.dialect.vector(vector) for key, vector in rows}
    return early_vectors.find(connection, document_id, embedding_texts, fingerprint) | known
