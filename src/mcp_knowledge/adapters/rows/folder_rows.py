"""Rows of the scanned folder's files, written together with what they become."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from mcp_knowledge.adapters.rows import archive_rows, documents, fulltext, job_rows, revisions
from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.metadata import merged, write_metadata_values
from mcp_knowledge.adapters.rows.sql import (
    ACTIVE,
    GONE,
    first_row,
    fold_key,
    meta_value,
    raise_generation,
    set_meta,
    to_json,
)
from mcp_knowledge.domain.documents import ArchiveImport, Document, now_ms
from mcp_knowledge.domain.filenames import title_of
from mcp_knowledge.domain.folder import PASSED_OVER, FileOutcome, FolderFile
from mcp_knowledge.ports import NewArchive, NewDocument, NewRevision

_COLUMNS = ("size_bytes", "modified_ns", "changed_ns", "sha256", "outcome", "metadata", "reason", "document_no",
            "archive_no")  # fmt: skip
_SCAN = "folder_scan"  # where the meta table keeps the state of the scan
_TWIN = "Another document has the same content."
_ARCHIVE_JOBS = 64  # an unfinished archive counts as so many jobs

# A document that was to be replaced stands for a replacement that was deleted before it was ready.
_LIVE_ID = f"CASE WHEN d.status NOT IN {GONE} THEN d.id WHEN r.status NOT IN {GONE} THEN r.id END"
_OUTCOME = f"""
    CASE WHEN f.outcome IN ('document', 'duplicate') AND {_LIVE_ID} IS NULL THEN 'deleted' ELSE f.outcome END"""
# What people are shown: a file was taken in well, but its document, a newer revision or its archive could not be read.
_FAILED = """(f.outcome = 'document' AND d.status IN ('ready', 'failed') AND d.latest_error IS NOT NULL
    OR f.outcome = 'archive' AND a.state = 'failed')"""
_SHOWN = f"CASE WHEN {_FAILED} THEN 'failed' ELSE {_OUTCOME} END"
_REASON = f"CASE WHEN {_FAILED} THEN coalesce(a.error, d.latest_error) ELSE f.reason END"
_FROM = """
    FROM folder_files f
    LEFT JOIN documents d ON d.document_no = f.document_no
    LEFT JOIN documents r ON r.document_no = d.replaces_no
    LEFT JOIN archives a ON a.archive_no = f.archive_no
"""


def _select(outcome: str, reason: str) -> str:
    return f"""
        SELECT f.path, f.size_bytes, f.modified_ns, f.changed_ns, f.sha256, {outcome}, f.metadata, {reason}, {_LIVE_ID},
               a.id {_FROM}"""


_SELECT = _select(_OUTCOME, "f.reason")
_SELECT_SHOWN = _select(_SHOWN, _REASON)
# The documents of files: their own, and those that came out of an archive.
_DOCUMENTS_OF = f"""
    WITH chosen AS (SELECT path, document_no, outcome FROM folder_files WHERE {{condition}})
    SELECT d.id FROM chosen JOIN documents d ON d.document_no = chosen.document_no
    WHERE chosen.outcome = 'document' AND d.status NOT IN {GONE}
    UNION
    SELECT d.id FROM chosen JOIN archives a ON a.source_path = chosen.path
    JOIN archive_entries e ON e.archive_no = a.archive_no AND e.outcome = 'extracted'
    JOIN documents d ON d.document_no = e.document_no
    WHERE chosen.outcome = 'archive' AND d.status NOT IN {GONE}
"""


def _file_from(row: Row) -> FolderFile:
    """A row of `_SELECT` as a file: the fields stand in the same order."""
    sha256, outcome, metadata = row[4:7]
    times = (int(row[2]), int(row[3]))
    fields: Row = (
        *row[:2],
        *times,
        sha256 and sha256.hex(),
        outcome,
        json.loads(metadata) if metadata else {},
        *row[7:],
    )
    return FolderFile(*fields)


def files(connection: Connection, paths: Iterable[str]) -> dict[str, FolderFile]:
    """The known ones among the paths."""
    dialect = connection.dialect
    sql = f"{_SELECT} WHERE {dialect.among('f.path')}"
    return {row[0]: _file_from(row) for row in connection.execute(sql, (dialect.listed(paths),))}


def same_bytes(connection: Connection, sha256: str, limit: int) -> list[FolderFile]:
    """Files that had these bytes when they were taken in, those that were taken in themselves first."""
    sql = f"{_SELECT} WHERE f.sha256 = ? ORDER BY f.outcome = 'duplicate', f.path LIMIT ?"
    return [_file_from(row) for row in connection.execute(sql, (bytes.fromhex(sha256), limit))]


def page(connection: Connection, limit: int, after_path: str | None) -> list[FolderFile]:
    """By path."""
    where, params = ("WHERE f.path > ?", [after_path]) if after_path is not None else ("", [])
    return [
        _file_from(row) for row in connection.execute(f"{_SELECT} {where} ORDER BY f.path LIMIT ?", [*params, limit])
    ]


def passed_over(
    connection: Connection, limit: int, after_path: str | None, outcomes: Sequence[FileOutcome]
) -> list[FolderFile]:
    """By path, with what people are shown."""
    dialect = connection.dialect
    conditions, params = [dialect.among(f"({_SHOWN})")], list[Any]([dialect.listed(outcomes)])
    if after_path is not None:
        conditions.append("f.path > ?")
        params.append(after_path)
    sql = f"{_SELECT_SHOWN} WHERE {' AND '.join(conditions)} ORDER BY f.path LIMIT ?"
    return [_file_from(row) for row in connection.execute(sql, [*params, limit])]


def count_passed_over(connection: Connection) -> dict[FileOutcome, int]:
    """How many files of each outcome people are shown."""
    counted: dict[FileOutcome, int] = dict(connection.execute(f"SELECT {_SHOWN}, count(*) {_FROM} GROUP BY 1"))
    return {outcome: counted[outcome] for outcome in PASSED_OVER if outcome in counted}


def write(connection: Connection, items: Iterable[FolderFile]) -> None:
    """Insert or replace rows; documents and archives are found by their ids."""
    for item in items:
        _write(connection, item, _number(connection, "document", item.document_id))


def _write(connection: Connection, item: FolderFile, document_no: int | None) -> None:
    """Update, else insert: a path may be too long for an index that ON CONFLICT could use."""
    values = (
        item.size_bytes, str(item.modified_ns), str(item.changed_ns), item.sha256 and bytes.fromhex(item.sha256),
        "document" if item.outcome == "deleted" else item.outcome, to_json(item.metadata) if item.metadata else None,
        item.reason, document_no, _number(connection, "archive", item.archive_id), item.path,
    )  # fmt: skip
    assignments = ", ".join(f"{name} = ?" for name in _COLUMNS)
    if first_row(connection, f"UPDATE folder_files SET {assignments} WHERE path = ? RETURNING 1", values) is None:
        connection.execute(
            f"INSERT INTO folder_files ({', '.join(_COLUMNS)}, path) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values
        )


def _number(connection: Connection, kind: str, public_id: str | None) -> int | None:
    if public_id is None:
        return None
    row = first_row(connection, f"SELECT {kind}_no FROM {kind}s WHERE id = ?", (public_id,))
    return row[0] if row else None


def forget(connection: Connection, paths: Iterable[str]) -> None:
    """Remove rows."""
    dialect = connection.dialect
    connection.execute(f"DELETE FROM folder_files WHERE {dialect.among('path')}", (dialect.listed(paths),))


def add_document(connection: Connection, new: NewDocument, file: FolderFile) -> tuple[Document, bool]:
    """Write the document (or find the one with these bytes) and the file's row."""
    document, duplicate = documents.create_document(connection, new)
    file = replace(file, sha256=new.sha256, document_id=document.id, outcome="document", reason=None)
    write(connection, [replace(file, outcome="duplicate", reason=_TWIN) if duplicate else file])
    return document, duplicate


def add_revision(
    connection: Connection, new: NewRevision, file: FolderFile, former_path: str | None
) -> tuple[Document, int]:
    """Write the revision and the file's row, which takes the place of the former one."""
    written = revisions.create_revision(connection, new)
    if former_path is not None:
        forget(connection, [former_path])
        connection.execute("UPDATE documents SET source_path = ? WHERE id = ?", (file.path, new.document_id))
    write(connection, [file])
    return documents.get_document(connection, new.document_id) or written[0], written[1]


def add_archive(connection: Connection, new: NewArchive, file: FolderFile) -> ArchiveImport:
    """Queue the import and write the file's row."""
    queued = archive_rows.create(connection, new)
    write(connection, [replace(file, archive_id=queued.id)])
    return queued


def move(connection: Connection, former: FolderFile, file: FolderFile, filename: str) -> Document | None:
    """Give a file's document its new place and name; None when it is an archive or its document was deleted."""
    document = None
    if former.outcome == "archive":
        connection.execute("UPDATE archives SET source_path = ? WHERE source_path = ?", (file.path, former.path))
    elif former.document_id is not None:
        _move_document(connection, former, file, filename)
        document = documents.get_document(connection, former.document_id)
    forget(connection, [former.path])
    write(connection, [file])
    return document


def _move_document(connection: Connection, former: FolderFile, file: FolderFile, filename: str) -> None:
    now = now_ms()
    row = first_row(
        connection,
        f"""SELECT document_no, current_revision_no, newest_revision_no, title, title_by_user, original_filename,
                   metadata, properties
            FROM documents WHERE id = ? AND status NOT IN {GONE}{connection.dialect.for_update}""",
        (former.document_id,),
    )
    if row is None:
        return
    document_no, current_no, newest_no, title, title_by_user, old_filename, user_json, properties_json = row
    connection.execute(
        "UPDATE revisions SET original_filename = ? WHERE revision_no IN (?, ?)", (filename, current_no, newest_no)
    )
    if not title_by_user and title == title_of(old_filename):
        title = title_of(filename)
        fulltext.retitle(connection, document_no, title)
    if former.metadata != file.metadata:
        user_json = to_json(file.metadata) if file.metadata else None
        properties = json.loads(properties_json) if properties_json else {}
        write_metadata_values(connection, document_no, merged(file.metadata, properties))
    connection.execute(
        """UPDATE documents SET source_path = ?, original_filename = ?, filename_key = ?, title = ?, title_key = ?,
               metadata = ?, updated_at_ms = ? WHERE document_no = ?""",
        (file.path, filename, fold_key(filename), title, fold_key(title), user_json, now, document_no),
    )
    if job_rows.is_at_work(connection, document_no):  # the job has read the old name already
        job_rows.cancel_jobs(connection, document_no, now)
        job_rows.queue_job(connection, "ingest", document_no, newest_no)
    raise_generation(connection)


def documents_of(connection: Connection, paths: Iterable[str]) -> list[str]:
    """Ids of the live documents that these files became."""
    dialect = connection.dialect
    sql = _DOCUMENTS_OF.format(condition=dialect.among("path"))
    return [row[0] for row in connection.execute(sql, (dialect.listed(paths),))]


def document_count(connection: Connection) -> int:
    """Live documents that came from the folder."""
    row = first_row(connection, f"SELECT count(*) FROM ({_DOCUMENTS_OF.format(condition='true')}) AS found")
    return int(row[0]) if row else 0


def stale_duplicates(connection: Connection) -> list[str]:
    """Duplicates of a document that will show other bytes from now on, or that is gone without having been a file's."""
    sql = f"""
        SELECT f.path FROM folder_files f LEFT JOIN documents d ON d.document_no = f.document_no
        LEFT JOIN revisions r ON r.revision_no = d.newest_revision_no
        WHERE f.outcome = 'duplicate' AND CASE
            WHEN d.status NOT IN {GONE} THEN r.sha256 <> f.sha256
            ELSE NOT EXISTS (SELECT 1 FROM folder_files o WHERE o.sha256 = f.sha256 AND o.outcome = 'document') END
        ORDER BY f.path"""
    return [row[0] for row in connection.execute(sql)]


def waiting_jobs(connection: Connection) -> int:
    """Jobs that wait or are at work, with a number of them for each archive that is not yet imported."""
    sql = f"""
        SELECT (SELECT count(*) FROM jobs WHERE status IN {ACTIVE}) + ? *
               (SELECT count(*) FROM archives WHERE state IN ('queued', 'extracting'))"""
    row = first_row(connection, sql, (_ARCHIVE_JOBS,))
    return int(row[0]) if row else 0


def scan_state(connection: Connection) -> dict[str, Any] | None:
    """What the last scan wrote about itself."""
    text = meta_value(connection, _SCAN)
    return json.loads(text) if text else None


def save_scan_state(connection: Connection, state: dict[str, Any]) -> None:
    """Write what is to be known of the scan by other processes and after a restart."""
    set_meta(connection, _SCAN, json.dumps(state))  # ASCII: names that are no Unicode are kept as they are


def settle_replacement(connection: Connection, document_no: int, now: int) -> None:
    """Delete what a document replaces, now that it is ready; belongs into the transaction that makes it so."""
    former_no = _replaced_number(connection, document_no)
    while former_no is not None:
        documents.delete_by_number(connection, former_no, now)
        connection.execute("UPDATE folder_files SET document_no = ? WHERE document_no = ?", (document_no, former_no))
        connection.execute("UPDATE documents SET replaces_no = NULL WHERE document_no = ?", (document_no,))
        former_no = _replaced_number(connection, former_no)


def _replaced_number(connection: Connection, document_no: int) -> int | None:
    row = first_row(connection, "SELECT replaces_no FROM documents WHERE document_no = ?", (document_no,))
    return row[0] if row else None
