"""`/documents`: upload, list, show, change, delete, index again."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.domain.documents import DocumentStatus
from mcp_knowledge.domain.metadata import check_metadata
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import checked, parse_json, read_body, read_json, read_query
from mcp_knowledge.interfaces.rest.context import Paging, services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response
from mcp_knowledge.interfaces.rest.uploads import receive_upload
from mcp_knowledge.ports import UNSET, DocumentQuery, DocumentSort
from mcp_knowledge.services.archives import ArchiveReceipt
from mcp_knowledge.services.library import Filing, UploadReceipt

operations = Operations("Documents")

_SORTS: dict[str, DocumentSort] = {
    "createdAt": "createdAt",
    "updatedAt": "updatedAt",
    "title": "title",
    "sizeBytes": "sizeBytes",
}
_UPLOAD_ERRORS = ("INVALID_UPLOAD", "PAYLOAD_TOO_LARGE", "DOCUMENT_UNSUPPORTED_FORMAT", "SERVICE_UNAVAILABLE")


def _received(receipt: UploadReceipt | ArchiveReceipt) -> Response:
    return json_response(wire.receipt(receipt), 200 if receipt.duplicate else 202)


@operations.add(
    "POST",
    "/documents",
    "Upload a document",
    Answer(202, "Stored; its ingestion is queued. An archive answers with its own id.", schemas.AnyReceipt),
    Answer(200, "A live document has the same bytes: this is its id.", schemas.UploadReceipt),
    form=schemas.DocumentUpload,
    errors=(*_UPLOAD_ERRORS, "INVALID_METADATA", "COLLECTION_NOT_FOUND"),
)
async def upload_document(request: Request) -> Response:
    """A new document."""
    found = services(request)
    form = await receive_upload(request, found.intake, found.settings.max_upload_bytes)
    return _received(await found.intake.add(form.file, Filing(form.collection_id, form.metadata)))


@operations.add(
    "POST",
    "/documents/from-url",
    "Fetch a document from the web",
    Answer(202, "Fetched and stored; its ingestion is queued.", schemas.AnyReceipt),
    Answer(200, "A live document has the same bytes: this is its id.", schemas.UploadReceipt),
    body=schemas.DocumentFromUrl,
    errors=(
        *("SSRF_BLOCKED", "URL_FETCH_FAILED", "URL_FETCH_TIMEOUT", "PAYLOAD_TOO_LARGE", "DOCUMENT_UNSUPPORTED_FORMAT"),
        *("SERVICE_UNAVAILABLE", "INVALID_METADATA", "COLLECTION_NOT_FOUND"),
    ),
    description="Answers once the file is here. Addresses outside the public internet are never fetched.",
)
async def add_from_url(request: Request) -> Response:
    """A new document from the web."""
    data = await read_json(request)
    metadata = check_metadata(data["metadata"]) if data.get("metadata") is not None else None
    body = checked(schemas.DocumentFromUrl, data)
    return _received(await services(request).urls.add(body.url, body.collectionId, metadata))


@operations.add(
    "GET",
    "/documents",
    "List documents",
    Answer(200, "A page, newest first unless `sort` says otherwise.", schemas.DocumentPage),
    query=schemas.DocumentListQuery,
    errors=("INVALID_CURSOR",),
)
async def list_documents(request: Request) -> Response:
    """A page of documents."""
    arguments = read_query(request, schemas.DocumentListQuery)
    paging = Paging(request, "documents", arguments)
    statuses: tuple[DocumentStatus, ...] = () if arguments.status is None else (arguments.status,)
    query = DocumentQuery(
        collection_id=arguments.collectionId,
        statuses=statuses,
        search=arguments.search or None,
        sort=_SORTS[arguments.sort.removeprefix("-")],
        descending=arguments.sort.startswith("-"),
        limit=paging.limit,
        after=paging.position(),
    )
    items, after = await services(request).library.list_documents(query)
    return json_response(wire.page([wire.document(item) for item in items], paging.next_after(after)))


@operations.add(
    "GET",
    "/documents/{document_id}",
    "Show a document",
    Answer(200, "The document.", schemas.Document),
    errors=("DOCUMENT_NOT_FOUND",),
)
async def get_document(request: Request) -> Response:
    """One document."""
    document = await services(request).library.get_document(request.path_params["document_id"])
    return json_response(wire.document(document))


@operations.add(
    "PATCH",
    "/documents/{document_id}",
    "Change title, collection or metadata",
    Answer(200, "The document as it is now.", schemas.Document),
    body=schemas.DocumentUpdate,
    errors=("DOCUMENT_NOT_FOUND", "COLLECTION_NOT_FOUND", "INVALID_METADATA"),
    description="Search and filters see the change at once; nothing is embedded again.",
)
async def update_document(request: Request) -> Response:
    """A changed document."""
    data = await read_json(request)
    metadata = check_metadata(data["metadata"]) if "metadata" in data else UNSET
    body = checked(schemas.DocumentUpdate, data)
    given = body.model_fields_set
    document = await services(request).library.update_document(
        request.path_params["document_id"],
        title=body.title if "title" in given else UNSET,
        collection_id=body.collectionId if "collectionId" in given else UNSET,
        metadata=metadata,
    )
    return json_response(wire.document(document))


@operations.add(
    "DELETE",
    "/documents/{document_id}",
    "Delete a document",
    Answer(200, "Gone from lists and search; a job removes its content.", schemas.DocumentDeletion),
    query=schemas.DocumentDeleteQuery,
    errors=("DOCUMENT_NOT_FOUND",),
)
async def delete_document(request: Request) -> Response:
    """Away with a document."""
    found, document_id = services(request), request.path_params["document_id"]
    undo_seconds = read_query(request, schemas.DocumentDeleteQuery).undoSeconds
    if not undo_seconds:
        await found.library.delete_document(document_id)
        return json_response({"ok": True})
    outcome = await found.bulk.delete([document_id], undo_seconds * 1000)
    if outcome.until_ms is None or outcome.refused:
        raise KnowledgeError("DOCUMENT_NOT_FOUND")
    return json_response({"ok": True, "undoUntil": wire.timestamp(outcome.until_ms)})


@operations.add(
    "POST",
    "/documents/{document_id}/restore",
    "Bring a deleted document back",
    Answer(200, "The document as it was. One that is not deleted stays as it is.", schemas.Document),
    errors=("DOCUMENT_NOT_FOUND", "DOCUMENT_NOT_RESTORABLE", "DOCUMENT_EXISTS"),
    description="Works until the removal of its content has begun: for `undoSeconds` after its deletion, at least.",
)
async def restore_document(request: Request) -> Response:
    """A document that is back."""
    document = await services(request).bulk.restore(request.path_params["document_id"])
    return json_response(wire.document(document))


@operations.add(
    "POST",
    "/documents/{document_id}/revisions",
    "Upload a newer original",
    Answer(202, "Stored; the present revision answers searches until the new one is ready.", schemas.UploadReceipt),
    form=schemas.RevisionUpload,
    errors=(*_UPLOAD_ERRORS, "DOCUMENT_NOT_FOUND"),
)
async def add_revision(request: Request) -> Response:
    """A new revision."""
    found = services(request)
    document_id = request.path_params["document_id"]
    await found.library.get_document(document_id)  # before a large body is read for nothing
    form = await receive_upload(request, found.library, found.settings.max_upload_bytes)
    return json_response(wire.receipt(await found.library.add_revision(document_id, form.file)), 202)


@operations.add(
    "GET",
    "/documents/{document_id}/revisions",
    "List a document's revisions",
    Answer(200, "All of them, newest first.", schemas.RevisionPage),
    errors=("DOCUMENT_NOT_FOUND",),
)
async def list_revisions(request: Request) -> Response:
    """The revision history."""
    revisions = await services(request).contents.revisions(request.path_params["document_id"])
    return json_response(wire.page([wire.revision(item) for item in revisions], None))


@operations.add(
    "POST",
    "/documents/{document_id}/reindex",
    "Parse and embed a document again",
    Answer(202, "The queued job; searches keep the present chunks until it is done.", schemas.Job),
    errors=("DOCUMENT_NOT_FOUND", "DOCUMENT_BUSY"),
)
async def reindex_document(request: Request) -> Response:
    """A queued reindexing."""
    job = await services(request).library.reindex_document(request.path_params["document_id"])
    return json_response(wire.job(job), 202)


@operations.add(
    "POST",
    "/documents/reindex",
    "Parse and embed many documents again",
    Answer(
        202, "Queued, behind all other jobs; searches keep the present chunks until each is done.", schemas.Reindexed
    ),
    body=schemas.Reindex,
    description="Documents with a job at work are left out.",
)
async def reindex_documents(request: Request) -> Response:
    """Queued reindexing of the stale documents, or of all."""
    found = services(request)
    body = await read_body(request, schemas.Reindex)
    queued = await found.library.reindex_all(found.status.index_versions() if body.stale else ())
    return json_response({"queued": len(queued)}, 202)


@operations.add(
    "POST",
    "/documents/purge",
    "Remove every document",
    Answer(200, "Documents, jobs and originals are gone; collections stay.", schemas.Ok),
    body=schemas.Purge,
    description='Needs `{"confirm":"purge"}`.',
)
async def purge_documents(request: Request) -> Response:
    """Away with everything."""
    if await read_json(request) != {"confirm": "purge"}:
        raise KnowledgeError("INVALID_REQUEST", 'Confirm with {"confirm":"purge"}.')
    await services(request).library.purge()
    return json_response({"ok": True})


@operations.add(
    "GET",
    "/document-catalog",
    "List documents for a mirror of the corpus",
    Answer(200, "A page, or that nothing has changed.", schemas.CatalogPage),
    query=schemas.CatalogQuery,
    errors=("INVALID_CURSOR", "INVALID_FILTER", "INVALID_PROJECTION", "INVALID_CORPUS_VERSION"),
)
async def document_catalog(request: Request) -> Response:
    """A page of the catalog."""
    query = read_query(request, schemas.CatalogQuery)
    page = await services(request).catalog.page(
        limit=query.limit,
        cursor=query.cursor,
        status=query.status,
        collection_id=query.collectionId,
        filters=None if query.filters is None else parse_json(query.filters.encode(), "INVALID_FILTER"),
        fields=None if query.fields is None else [name.strip() for name in query.fields.split(",")],
        if_corpus_version=query.ifCorpusVersion,
    )
    return json_response(wire.catalog_page(page))
