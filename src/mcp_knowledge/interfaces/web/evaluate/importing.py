"""Questions from a file or a text field, as JSON Lines, into a new set or one that is there."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import body_pieces
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.evaluate import import_notice, one_set, sets
from mcp_knowledge.interfaces.web.evaluate.naming import checked_name
from mcp_knowledge.interfaces.web.fields import go
from mcp_knowledge.services.evaluation_files import MAX_IMPORT_BYTES

_MAX_BODY_BYTES = MAX_IMPORT_BYTES + 1024 * 1024  # the other fields, and what stands between them
_PIECE_BYTES = 256 * 1024
_MAX_FIELDS = 5

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Sent:
    """What the form sent: the name of a new set, and lines from a file or the text field."""

    name: str
    data: bytes
    pasted: str


@router.post("/evaluate/import")
async def import_new_set(request: Request) -> Response:
    """Make a set of the lines, then show it. When a line is at fault, nothing is made."""
    services = services_of(request)
    sent = Sent("", b"", "")
    try:
        sent = await _sent(request)
        made = await services.evaluations.create_set(checked_name(sent.name))
        try:
            report = await services.evaluations.import_jsonl(made.id, _pieces(sent.data))
        except BaseException:
            await services.evaluations.delete_set(made.id)
            raise
    except KnowledgeError as error:
        return await sets.show(request, error, sets.Filled(import_name=sent.name, lines=sent.pasted))
    return go(import_notice.address(made.id, report))


@router.post("/evaluate/{set_id}/import")
async def import_into_set(request: Request, set_id: str) -> Response:
    """Add the lines to a set; a question that it has already is judged as the line says."""
    await services_of(request).evaluations.get_set(set_id)  # before a large body is read for nothing
    try:
        sent = await _sent(request)
        report = await services_of(request).evaluations.import_jsonl(set_id, _pieces(sent.data))
    except KnowledgeError as error:
        if error.code == "EVALUATION_NOT_FOUND":
            raise
        return await one_set.show(request, set_id, error)
    return go(import_notice.address(set_id, report))


async def _sent(request: Request) -> Sent:
    """The form. Raises INVALID_REQUEST, INVALID_ARGUMENT, PAYLOAD_TOO_LARGE."""
    form = await _form(request)
    try:
        name, pasted, file = form.get("name", ""), form.get("lines", ""), form.get("file")
        data = await file.read(MAX_IMPORT_BYTES + 1) if isinstance(file, UploadFile) else b""
    finally:
        await form.close()
    pasted = pasted if isinstance(pasted, str) else ""
    data = data or pasted.encode("utf-8", "replace")
    if not data.strip():
        raise KnowledgeError("INVALID_ARGUMENT", "Choose a file with questions, or paste them.")
    return Sent(name if isinstance(name, str) else "", data, pasted)


async def _form(request: Request) -> FormData:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise KnowledgeError("INVALID_REQUEST", "The form did not arrive as the page sends it.")
    parser = MultiPartParser(
        request.headers, _body(request), max_files=1, max_fields=_MAX_FIELDS, max_part_size=_MAX_BODY_BYTES
    )
    try:
        return await parser.parse()
    except MultiPartException:
        raise KnowledgeError("INVALID_REQUEST", "The form did not arrive whole. Send it again.") from None


async def _body(request: Request) -> AsyncGenerator[bytes, None]:
    received = 0
    async for piece in body_pieces(request):
        received += len(piece)
        if received > _MAX_BODY_BYTES:
            raise KnowledgeError("PAYLOAD_TOO_LARGE", f"The questions may have {MAX_IMPORT_BYTES:,} bytes.")
        yield piece


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), _PIECE_BYTES):
        yield data[start : start + _PIECE_BYTES]
