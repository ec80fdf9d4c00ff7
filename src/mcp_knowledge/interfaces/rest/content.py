"""What is inside a document: original, normalized form, chunks."""

import re
from collections.abc import AsyncIterator
from urllib.parse import quote

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import read_query
from mcp_knowledge.interfaces.rest.context import Paging, services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response
from mcp_knowledge.ports import BlockPage

operations = Operations("Content")

_FILE_HEADERS = ("Content-Disposition", "Content-Length", "Accept-Ranges", "ETag")
_RANGE = re.compile(r"bytes=(\d{0,100})-(\d{0,100})", re.ASCII | re.IGNORECASE)


@operations.add(
    "GET",
    "/documents/{document_id}/file",
    "Download the original",
    Answer(200, "The bytes, as an attachment.", media_type="*/*", headers=_FILE_HEADERS),
    Answer(
        206,
        "The part that a `Range` header with one range asks for.",
        media_type="*/*",
        headers=(*_FILE_HEADERS, "Content-Range"),
    ),
    Answer(416, "The `Range` lies outside the file.", media_type=None, headers=("Content-Range",)),
    query=schemas.OriginalQuery,
    headers=("Range", "If-Range"),
    errors=("DOCUMENT_NOT_FOUND", "REVISION_NOT_FOUND", "DOCUMENT_CONTENT_UNAVAILABLE"),
)
async def download_original(request: Request) -> Response:
    """The original's bytes, whole or in part."""
    contents = services(request).contents
    revision_id = read_query(request, schemas.OriginalQuery).revisionId
    original = await contents.original(request.path_params["document_id"], revision_id)
    revision = original.revision
    size = revision.size_bytes
    etag = f'"{revision.sha256}"'
    headers = {
        "Content-Type": revision.mime_type,  # set here, so that no charset is added that we do not know
        "Content-Disposition": attachment(revision.original_filename),
        "Accept-Ranges": "bytes",
        "ETag": etag,
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    # A client that goes on with a download must not get the rest of another revision (RFC 9110 section 13.1.5).
    same = request.headers.get("if-range", etag).strip() == etag
    part = byte_range(request.headers.get("range") if same else None, size)
    if part is None:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
    start, end = part
    headers["Content-Length"] = str(end - start)
    status = 200
    if end - start < size:
        status = 206
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    pieces = contents.read_original(original, start, end - start)
    first = await anext(pieces, b"")  # a missing blob must become an answer with a code, so ask before the headers go
    if not first and start < end:  # nothing lies there
        raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_chain([first], pieces), status, headers)


async def _chain(begun: list[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """All pieces of an answer. Keeps none that has been sent: readers may be slow, and many."""
    while begun:
        yield begun.pop(0)
    async for piece in rest:
        yield piece


def byte_range(header: str | None, size: int) -> tuple[int, int] | None:
    """The bytes [start, end) that a Range header asks of `size`; None when it cannot be satisfied.

    RFC 9110 section 14.2: whoever does not understand a Range header (several ranges, other units) answers in full.
    """
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None or match.group(0) == "bytes=-":
        return 0, size
    first, last = match.groups()
    if not first:
        start = max(0, size - int(last))
        return (start, size) if int(last) else None
    start = int(first)
    end = min(size, int(last) + 1) if last else size
    if last and int(last) < start:
        return 0, size
    return (start, end) if start < size else None


def attachment(filename: str) -> str:
    """A Content-Disposition after RFC 6266: an ASCII stand-in for old clients, the true name as `filename*`."""
    plain = "".join(char if " " <= char <= "~" and char not in '"\\%' else "_" for char in filename)
    if plain == filename:
        return f'attachment; filename="{plain}"'
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"


@operations.add(
    "GET",
    "/documents/{document_id}/normalized",
    "Show a document as the parser understood it",
    Answer(200, "Title, metadata and blocks of the current revision.", schemas.NormalizedDocument),
    errors=("DOCUMENT_NOT_FOUND", "DOCUMENT_CONTENT_UNAVAILABLE"),
)
async def get_normalized(request: Request) -> Response:
    """The normalized document."""
    pieces = services(request).contents.normalized(request.path_params["document_id"], _normalized_json)
    first, second = await anext(pieces), await anext(pieces, None)
    if second is None:
        return Response(first, media_type="application/json")
    return StreamingResponse(_chain([first, second], pieces), media_type="application/json")


def _normalized_json(page: BlockPage) -> bytes:
    """A page's part of the JSON of its document."""
    part, is_last = wire.normalized(page), page.first + len(page.blocks) >= page.total
    if page.first:
        return b"," + to_json(part["blocks"])[1:-1] + (b"]}" if is_last else b"")
    return to_json(part)[: None if is_last else -len(b"]}")]


@operations.add(
    "GET",
    "/documents/{document_id}/chunks",
    "List a document's chunks",
    Answer(200, "A page, in the order of the document.", schemas.ChunkPage),
    query=schemas.PageQuery,
    errors=("DOCUMENT_NOT_FOUND", "INVALID_CURSOR"),
)
async def list_chunks(request: Request) -> Response:
    """A page of chunks."""
    document_id = request.path_params["document_id"]
    paging = Paging(request, "chunks", read_query(request, schemas.PageQuery), document=document_id)
    values = paging.values()
    items, last = await services(request).contents.chunks(document_id, paging.limit, values[0] if values else -1)
    return json_response(wire.page([wire.chunk(item) for item in items], None if last is None else paging.next(last)))


@operations.add(
    "GET",
    "/chunks/{chunk_id}",
    "Show a chunk with its neighbours",
    Answer(200, "The chunk and up to five on each side.", schemas.ChunkNeighbours),
    query=schemas.NeighbourQuery,
    errors=("CHUNK_NOT_FOUND",),
)
async def get_chunk(request: Request) -> Response:
    """A chunk in its surroundings."""
    query = read_query(request, schemas.NeighbourQuery)
    chunk_id = request.path_params["chunk_id"]
    chunks = await services(request).contents.chunk_with_neighbours(chunk_id, query.before, query.after)
    return json_response({"items": [wire.chunk(item) for item in chunks]})
