"""`list_documents`, `list_collections` and `list_document_catalog`."""

from collections.abc import Awaitable, Callable

from mcp_knowledge.domain.cursors import bind
from mcp_knowledge.domain.documents import Collection
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.mcp import schemas
from mcp_knowledge.interfaces.mcp.arguments import Arguments
from mcp_knowledge.interfaces.mcp.budget import without_bulk
from mcp_knowledge.interfaces.mcp.tool import Answer, Json, KnowledgeTool, structured
from mcp_knowledge.ports import DocumentQuery, Position
from mcp_knowledge.services import Services
from mcp_knowledge.services.catalog import CATALOG_FIELDS, CATALOG_STATUSES, DEFAULT_CATALOG_LIMIT
from mcp_knowledge.services.reading import compact_json
from mcp_knowledge.settings import Settings

DEFAULT_LIST_LIMIT = 50
LISTED_STATUSES = ("pending", "processing", "ready", "failed")
_CURSOR_KIND = "mcp-documents"
_COLLECTIONS_AT_ONCE = 100
_LIST_DOCUMENTS = """\
List documents, newest first, with title, file name, size, status and metadata. Use it to see what is there or \
whether an upload is ready; to answer a question from the documents use search_documents. Only `ready` documents can \
be searched and read; `latestError` says why one failed. More follow while nextCursor is not null: pass it as \
cursor, with the same other arguments."""
_LIST_COLLECTIONS = """\
List the collections (named groups of documents) with their document counts. Use their ids as collection_ids in \
search_documents to search one part of the corpus."""
_LIST_CATALOG = """\
A light list of documents for keeping a mirror of the corpus up to date; to answer questions use search_documents.

- The answer's corpusVersion changes whenever any document becomes ready, fails, is deleted, or changes its title, \
metadata, collection or content. Send it back as if_corpus_version: {"unchanged":true} then means that there is \
nothing to do.
- fields chooses what each item has; status "deleted" lists documents that are gone.
- More follow while there is a nextCursor: pass it as cursor, with the same other arguments."""


def list_documents(settings: Settings) -> KnowledgeTool:
    """The tool, with the limits of these settings."""
    return KnowledgeTool(
        name="list_documents",
        title="List documents",
        description=_LIST_DOCUMENTS,
        input_schema=schemas.closed(
            {
                "limit": _limit(settings, DEFAULT_LIST_LIMIT),
                "cursor": schemas.opaque("nextCursor of the page before."),
                "status": schemas.choice("Only documents in this state.", LISTED_STATUSES),
                "collection_id": schemas.identifier("Only documents of this collection (col_…)."),
            }
        ),
        output_schema=schemas.answer(
            {"items": schemas.listing(schemas.DOCUMENT), "nextCursor": schemas.NULLABLE_STRING}
        ),
        run=_list_documents,
    )


def list_collections(settings: Settings) -> KnowledgeTool:
    """The tool."""
    return KnowledgeTool(
        name="list_collections",
        title="List collections",
        description=_LIST_COLLECTIONS,
        input_schema=schemas.closed({}),
        output_schema=schemas.answer(
            {
                "items": schemas.listing(schemas.COLLECTION),
                "truncated": schemas.BOOLEAN,
                "omittedCollections": schemas.INTEGER,
            },
            optional=("truncated", "omittedCollections"),
        ),
        run=_list_collections,
    )


def list_document_catalog(settings: Settings) -> KnowledgeTool:
    """The tool, with the limits of these settings."""
    return KnowledgeTool(
        name="list_document_catalog",
        title="List the document catalog",
        description=_LIST_CATALOG,
        input_schema=schemas.closed(
            {
                "limit": _limit(settings, DEFAULT_CATALOG_LIMIT),
                "cursor": schemas.opaque("nextCursor of the page before."),
                "status": schemas.choice("Only documents in this state.", tuple(CATALOG_STATUSES), "ready"),
                "collection_id": schemas.identifier("Only documents of this collection (col_…)."),
                "filters": {
                    "type": "object",
                    "description": "Metadata filters, as in search_documents.",
                },
                "fields": schemas.texts(
                    f"What each item has, out of {', '.join(CATALOG_FIELDS)}; the first five when omitted.",
                    max_items=50,
                ),
                "if_corpus_version": schemas.opaque("The corpusVersion of an earlier answer, generation:<n>."),
            }
        ),
        output_schema=schemas.answer(
            {
                "corpusVersion": schemas.STRING,
                "unchanged": schemas.BOOLEAN,
                "items": schemas.listing(schemas.CATALOG_ITEM),
                "nextCursor": schemas.STRING,
            },
            optional=("unchanged", "items", "nextCursor"),
        ),
        run=_list_document_catalog,
    )


def _limit(settings: Settings, default: int) -> schemas.Schema:
    most = settings.max_list_limit
    return schemas.integer("Most items of the page.", 1, most, min(default, most))


async def _list_documents(services: Services, arguments: Arguments) -> Answer:
    status, collection_id = arguments.get("status"), arguments.get("collection_id")
    binding = bind([status, collection_id])
    after = None
    if "cursor" in arguments:
        made_for, created_at_ms, document_id = services.cursors.read(_CURSOR_KIND, arguments["cursor"])
        if made_for != binding:
            raise KnowledgeError("INVALID_CURSOR")
        after = Position(created_at_ms, document_id)

    async def page(limit: int) -> Json:
        query = DocumentQuery(
            collection_id=collection_id, statuses=() if status is None else (status,), limit=limit, after=after
        )
        items, following = await services.library.list_documents(query)
        more = None if following is None else [binding, following.value, following.id]
        cursor = None if more is None else services.cursors.make(_CURSOR_KIND, more)
        return wire.page([wire.document(item) for item in items], cursor)

    return structured(await _fitting(page, arguments.get("limit", DEFAULT_LIST_LIMIT), services.settings))


async def _list_document_catalog(services: Services, arguments: Arguments) -> Answer:
    async def page(limit: int) -> Json:
        return wire.catalog_page(await services.catalog.page(**{**arguments, "limit": limit}))

    return structured(await _fitting(page, arguments.get("limit", DEFAULT_CATALOG_LIMIT), services.settings))


async def _fitting(page: Callable[[int], Awaitable[Json]], limit: int, settings: Settings) -> Json:
    """The page; when it is too much for a client, a shorter one, whose cursor leads to the rest.

    Metadata too large for a page with anything else is left out, so that one document at least always fits.
    """
    limit = min(limit, settings.max_list_limit)
    while True:
        data = await page(limit)
        if "items" in data:
            data["items"] = [without_bulk(item, settings.max_mcp_result_chars) for item in data["items"]]
        if limit == 1 or len(compact_json(data)) <= settings.max_mcp_result_chars:
            return data
        limit //= 2


async def _list_collections(services: Services, arguments: Arguments) -> Answer:
    items: list[Collection] = []
    after: Position | None = None
    while True:
        found, after = await services.collections.list(_COLLECTIONS_AT_ONCE, after)
        items += found
        if after is None:
            break
    budget = services.settings.max_mcp_result_chars - 100
    shown: list[Json] = []
    for item in items:
        data = wire.collection(item)
        budget -= len(compact_json(data)) + 1
        if budget < 0:
            break
        shown.append(data)
    omitted = len(items) - len(shown)
    return structured({"items": shown, **({"truncated": True, "omittedCollections": omitted} if omitted else {})})
