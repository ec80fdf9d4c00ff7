"""`get_document` and `get_chunk`: bulk text, sent once, as text."""

from mcp_knowledge.domain.documents import StoredChunk
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.mcp import schemas
from mcp_knowledge.interfaces.mcp.arguments import Arguments
from mcp_knowledge.interfaces.mcp.tool import Answer, Json, KnowledgeTool
from mcp_knowledge.services import Services
from mcp_knowledge.services.contents import MAX_CHUNK_NEIGHBOURS
from mcp_knowledge.services.reading import DocumentPage, compact_json
from mcp_knowledge.settings import Settings

MAX_HEADING_CHARS = 2000
MAX_HEADINGS = 100
_GET_DOCUMENT = """\
Read a document in order, page by page: use it when you know which document you need and passages from \
search_documents are not enough, for example to summarise it or to read a whole section.

- headings: read only the sections under these headings (taken from a hit's headingPath; case does not matter). \
Prefer this to reading everything.
- The answer has the document's fields and `body`: a JSON string {"title"?, "metadata", "blocks"} of whole blocks \
(heading, paragraph, list, table, code, quote, image, pageBreak), each with its place in the source.
- `truncated` true means that more follows: call again with the same document_id and headings, and with block_cursor \
set to nextBlockCursor. Stop as soon as you know enough; long documents have many pages.
- CURSOR_STALE means that the document changed: start again without block_cursor.

To find something in a document, search_documents with document_ids is faster."""
_GET_CHUNK = """\
Get one passage by its chunkId, with up to 5 passages before and after it, in reading order. Use it to read on \
around a search hit, or to check the exact wording before quoting. For a whole section or document use get_document."""


def get_document(settings: Settings) -> KnowledgeTool:
    """The tool, with the limits of these settings."""
    return KnowledgeTool(
        name="get_document",
        title="Read a document",
        description=_GET_DOCUMENT,
        input_schema=schemas.closed(
            {
                "document_id": schemas.identifier("The document (doc_…)."),
                "block_cursor": schemas.opaque("nextBlockCursor of the page before."),
                "block_limit": schemas.integer(
                    "Most blocks of this page. Without it, as many as fit.", 1, settings.max_list_limit
                ),
                "headings": schemas.texts(
                    "Only the sections under these headings, complete with their subsections.",
                    MAX_HEADING_CHARS,
                    MAX_HEADINGS,
                ),
            },
            required=("document_id",),
        ),
        output_schema=None,
        run=_get_document,
    )


def get_chunk(settings: Settings) -> KnowledgeTool:
    """The tool."""
    return KnowledgeTool(
        name="get_chunk",
        title="Read around a passage",
        description=_GET_CHUNK,
        input_schema=schemas.closed(
            {
                "chunk_id": schemas.identifier("The passage (chk_…)."),
                "before": schemas.integer("Passages before it.", 0, MAX_CHUNK_NEIGHBOURS, 0),
                "after": schemas.integer("Passages after it.", 0, MAX_CHUNK_NEIGHBOURS, 0),
            },
            required=("chunk_id",),
        ),
        output_schema=None,
        run=_get_chunk,
    )


async def _get_document(services: Services, arguments: Arguments) -> Answer:
    page = await services.reading.page(
        arguments["document_id"],
        cursor=arguments.get("block_cursor"),
        block_limit=arguments.get("block_limit"),
        headings=arguments.get("headings"),
    )
    fields = wire.document(page.document)
    if len(compact_json(fields)) > services.settings.max_mcp_document_chars:
        raise KnowledgeError("DOCUMENT_BLOCK_TOO_LARGE", "This document's metadata is larger than one answer may be.")
    return Answer((compact_json({**fields, "body": page.body, **page_json(page)}),))


def page_json(page: DocumentPage) -> Json:
    """Where a page stands in its document."""
    data: Json = {
        "truncated": page.next_cursor is not None,
        "returnedBlocks": page.returned_blocks,
        "totalBlocks": page.total_blocks,
    }
    if page.next_cursor is not None:
        data["nextBlockCursor"] = page.next_cursor
    return data


async def _get_chunk(services: Services, arguments: Arguments) -> Answer:
    chunk_id = arguments["chunk_id"]
    chunks = await services.contents.chunk_with_neighbours(
        chunk_id, arguments.get("before", 0), arguments.get("after", 0)
    )
    return Answer((_fitting(chunks, chunk_id, services.settings.max_mcp_result_chars),))


def _fitting(chunks: list[StoredChunk], chunk_id: str, max_chars: int) -> str:
    """The chunks in JSON; when that is too much, without the farthest neighbours."""
    place = next(index for index, item in enumerate(chunks) if item.id == chunk_id)
    cut = False
    while True:
        data: Json = {"items": [wire.chunk(item) for item in chunks], **({"truncated": True} if cut else {})}
        text = compact_json(data)
        if len(text) <= max_chars:
            return text
        if len(chunks) == 1:
            raise KnowledgeError("DOCUMENT_BLOCK_TOO_LARGE", "This passage is larger than one answer may be.")
        cut = True
        if place > len(chunks) - 1 - place:
            chunks, place = chunks[1:], place - 1
        else:
            chunks = chunks[:-1]
