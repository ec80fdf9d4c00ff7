"""JSON shapes shared by REST, MCP, the dashboard and the command line: camelCase is made here and nowhere else."""

from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mcp_knowledge import __version__
from mcp_knowledge.domain.access import ApiKey
from mcp_knowledge.domain.blocks import block_to_json
from mcp_knowledge.domain.documents import (
    DOCUMENT_STATUSES,
    ENTRY_OUTCOMES,
    ArchiveEntry,
    ArchiveImport,
    Collection,
    Document,
    Job,
    Revision,
    StoredChunk,
)
from mcp_knowledge.domain.folder import FolderFile, ScanStatus

if TYPE_CHECKING:  # the command line imports this before it knows whether it needs any of them
    from mcp_knowledge.ports import BlockPage
    from mcp_knowledge.services.archives import ArchiveReceipt
    from mcp_knowledge.services.catalog import CatalogPage
    from mcp_knowledge.services.library import UploadReceipt
    from mcp_knowledge.services.status import SystemStatus

Json = dict[str, Any]


def timestamp(milliseconds: int) -> str:
    """RFC 3339 in UTC with milliseconds."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03d}Z"


def maybe_timestamp(milliseconds: int | None) -> str | None:
    """As `timestamp`; None of None."""
    return None if milliseconds is None else timestamp(milliseconds)


def page(items: list[Json], next_cursor: str | None) -> Json:
    """A list answer."""
    return {"items": items, "nextCursor": next_cursor}


def collection(item: Collection) -> Json:
    """A collection."""
    return {
        "id": item.id,
        "name": item.name,
        "description": item.description,
        "documentCount": item.document_count,
        "createdAt": timestamp(item.created_at_ms),
        "updatedAt": timestamp(item.updated_at_ms),
    }


def api_key(item: ApiKey) -> Json:
    """An API key."""
    return {
        "id": item.id,
        "name": item.name,
        "keyPrefix": item.prefix,
        "scopes": list(item.scopes),
        "createdAt": timestamp(item.created_at_ms),
        "lastUsedAt": maybe_timestamp(item.last_used_at_ms),
    }


def new_api_key(item: ApiKey, secret: str) -> Json:
    """An API key with its secret, for whoever made it."""
    return {**api_key(item), "secret": secret}


def document(item: Document) -> Json:
    """A document."""
    progress = item.progress
    return {
        "id": item.id,
        "collectionId": item.collection_id,
        "currentRevisionId": item.current_revision_id,
        "revision": item.revision,
        "title": item.title,
        "originalFilename": item.original_filename,
        "mimeType": item.mime_type,
        "extension": item.extension,
        "sizeBytes": item.size_bytes,
        "sha256": item.sha256,
        "status": item.status,
        "metadata": item.metadata,
        "sourcePath": item.source_path,
        "sourceUrl": item.source_url,
        "chunkCount": item.chunk_count,
        "latestError": item.latest_error,
        "progress": None
        if progress is None
        else {"stage": progress.stage, "done": progress.done, "total": progress.total},
        "createdAt": timestamp(item.created_at_ms),
        "updatedAt": timestamp(item.updated_at_ms),
    }


def receipt(item: "UploadReceipt | ArchiveReceipt") -> Json:
    """What became of an upload."""
    from mcp_knowledge.services.archives import ArchiveReceipt

    if isinstance(item, ArchiveReceipt):
        return {"archiveId": item.archive_id, "status": item.state}
    return {"id": item.document_id, "status": item.status, "revision": item.revision, "duplicate": item.duplicate}


def normalized(item: "BlockPage") -> Json:
    """A normalized document that is all on one page; `title` is left out when the file states none."""
    title = {} if item.title is None else {"title": item.title}
    return {**title, "metadata": item.metadata, "blocks": [block_to_json(block) for block in item.blocks]}


def catalog_page(item: "CatalogPage") -> Json:
    """A page of the catalog with the chosen fields, or that nothing has changed."""
    version = {"corpusVersion": f"generation:{item.generation}"}
    if item.documents is None:
        return {**version, "unchanged": True}
    cursor = {} if item.next_cursor is None else {"nextCursor": item.next_cursor}
    items = []
    for entry in item.documents:
        values = document(entry) | {"revisionId": entry.current_revision_id}
        if entry.status == "deleting":  # for a reader of the catalog it is gone already
            values["status"] = "deleted"
        items.append({name: values[name] for name in item.fields})
    return {**version, "items": items, **cursor}


def system_status(item: "SystemStatus") -> Json:
    """The service at a glance."""
    database, counts = item.database, item.counts
    first = item.versions[0]
    return {
        "version": __version__,
        "profile": item.settings.app_profile,
        "role": item.settings.role,
        "database": {"driver": database.driver, "healthy": database.healthy, "sizeBytes": database.size_bytes},
        "storage": {"driver": item.storage_driver, "healthy": item.storage_healthy},
        "embedding": {
            "model": first.embedding_model,
            "dimensions": first.embedding_dimensions,
            "healthy": item.embedding_healthy,
        },
        "workers": {"active": counts.active_workers},
        "queue": {status: counts.jobs.get(status, 0) for status in ("queued", "running", "retrying", "failed")},
        "documents": {status: counts.documents.get(status, 0) for status in DOCUMENT_STATUSES},
        "chunks": counts.chunks,
        "corpusVersion": f"generation:{item.generation}",
        "indexConfiguration": item.index_configuration,
        "staleDocuments": counts.stale_documents,
    }


def revision(item: Revision) -> Json:
    """A revision of a document."""
    versions = item.versions
    return {
        "id": item.id,
        "revision": item.number,
        "originalFilename": item.original_filename,
        "sha256": item.sha256,
        "sizeBytes": item.size_bytes,
        "parserName": versions and versions.parser_name,
        "parserVersion": versions and versions.parser_version,
        "chunkerName": versions and versions.chunker_name,
        "chunkerVersion": versions and versions.chunker_version,
        "embeddingModel": versions and versions.embedding_model,
        "embeddingDimensions": versions and versions.embedding_dimensions,
        "embeddingVersion": versions and versions.embedding_version,
        "chunkCount": item.chunk_count,
        "createdAt": timestamp(item.created_at_ms),
        "indexedAt": maybe_timestamp(item.indexed_at_ms),
        "current": item.current,
    }


def chunk(item: StoredChunk) -> Json:
    """A chunk."""
    return {
        "id": item.id,
        "documentId": item.document_id,
        "revisionId": item.revision_id,
        "sequence": item.sequence,
        "content": item.content,
        "headingPath": list(item.heading_path),
        "location": item.location.to_json(),
        "tokenCount": item.token_count,
        "metadata": item.metadata,
        "contentHash": item.content_hash,
    }


def job(item: Job) -> Json:
    """A job."""
    return {
        "id": item.id,
        "kind": item.kind,
        "documentId": item.document_id,
        "filename": item.filename,
        "revisionId": item.revision_id,
        "status": item.status,
        "attempt": item.attempt,
        "maxAttempts": item.max_attempts,
        "worker": item.worker,
        "stage": item.stage,
        "durationMs": item.duration_ms,
        "error": item.error,
        "createdAt": timestamp(item.created_at_ms),
        "startedAt": maybe_timestamp(item.started_at_ms),
        "completedAt": maybe_timestamp(item.completed_at_ms),
    }


def archive(item: ArchiveImport) -> Json:
    """An import of an archive, without what became of each of its files."""
    return {
        "id": item.id,
        "originalFilename": item.original_filename,
        "collectionId": item.collection_id,
        "sourcePath": item.source_path,
        "sourceUrl": item.source_url,
        "sizeBytes": item.size_bytes,
        "state": item.state,
        "fileCount": item.file_count,
        "counts": {"examined": item.examined, **item.outcomes},
        "error": item.error,
        "createdAt": timestamp(item.created_at_ms),
        "startedAt": maybe_timestamp(item.started_at_ms),
        "completedAt": maybe_timestamp(item.completed_at_ms),
    }


def archive_with_entries(item: ArchiveImport, entries: list[ArchiveEntry]) -> Json:
    """An import of an archive, with what became of each of its files; the counts are of exactly these."""
    outcomes = Counter(entry.outcome for entry in entries)
    item = replace(item, outcomes={outcome: outcomes[outcome] for outcome in ENTRY_OUTCOMES})
    ids = [entry.document_id for entry in entries if entry.outcome == "extracted" and entry.document_id]
    return {
        **archive(item),
        "documentIds": list(dict.fromkeys(ids)),
        "entries": [_archive_entry(entry) for entry in entries],
    }


def scan(item: ScanStatus) -> Json:
    """How the scan of the folder stands, without the files that gave no document."""
    return {
        "state": item.state,
        "disabledReason": item.disabled_reason,
        "startedAt": maybe_timestamp(item.started_at_ms),
        "completedAt": maybe_timestamp(item.completed_at_ms),
        "currentPath": item.current_path,
        "counts": asdict(item.counts),
        "limitReached": item.limit_reached,
        "error": item.error,
        "removed": item.removed,
        "heldBack": item.held_back,
        "heldBackReason": item.held_back_reason,
        "skippedTotal": sum(item.passed_over.values()),
    }


def scan_status(item: ScanStatus, files: list[FolderFile]) -> Json:
    """How the scan of the folder stands, with (the first) files that gave no document."""
    return scan(item) | {"skipped": [scan_file(file) for file in files]}


def scan_file(item: FolderFile) -> Json:
    """A file of the folder that was passed over or failed."""
    reason = item.reason or "Its document was deleted. It comes back when the file changes."
    return {"path": item.path, "outcome": item.outcome, "reason": reason, "documentId": item.document_id}


def _archive_entry(item: ArchiveEntry) -> Json:
    """A file of an archive; `documentId` and `error` are left out where there is none."""
    optional = {"documentId": item.document_id, "error": item.error}
    return {
        "path": item.path,
        "outcome": item.outcome,
        **{name: value for name, value in optional.items() if value is not None},
    }
