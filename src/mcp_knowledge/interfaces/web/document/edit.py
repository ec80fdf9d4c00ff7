"""Saving what a document's form says, and taking in newer versions. Each ends in a redirect, or in the form again."""

from dataclasses import replace
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from mcp_knowledge.domain.details import Details
from mcp_knowledge.domain.documents import Metadata
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.uploads import receive_upload
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.document.fields import MAX_ROWS, Row
from mcp_knowledge.interfaces.web.document.form import DetailsForm, as_text, filled_in, with_rows
from mcp_knowledge.interfaces.web.document.page import show
from mcp_knowledge.interfaces.web.fields import form_fields, go, whole_number

_MAX_FORM_BYTES = 640 * 1024  # the largest metadata, each of its bytes as three characters, and the form's own words
_MAX_FORM_FIELDS = 3 * (MAX_ROWS + 8) + 8

router = APIRouter(include_in_schema=False)


@router.post("/documents/{document_id}/edit")
async def edit(request: Request, document_id: str) -> Response:
    """Save the form, or show it again: with a row more or less, in its other form, or with what is wrong."""
    services = services_of(request)
    details = await services.editing.details(document_id)
    fields = await form_fields(request, _MAX_FORM_BYTES, _MAX_FORM_FIELDS)
    form, metadata = await filled_in(services, details, fields)
    action = fields.get("action", "save")
    if action != "save":
        return await show(request, document_id, _reshaped(form, metadata, action))
    if form.at_fault:
        return await show(request, document_id, form, 400)
    try:
        await services.editing.save(document_id, form.stamp, form.title, form.collection_id or None, metadata)
    except KnowledgeError as error:
        if error.code == "DOCUMENT_NOT_FOUND":
            raise
        return await show(request, document_id, await _refused(request, document_id, form, error), error.status)
    return go(notices.told_at(f"/documents/{quote(document_id)}?view=details", "saved"))


def _reshaped(form: DetailsForm, metadata: Metadata, action: str) -> DetailsForm:
    """The form after one of its buttons that save nothing. What is wrong in it is told before its form changes."""
    kind, _, number = action.partition(":")
    if kind == "remove":
        kept = [row for index, row in enumerate(form.rows) if index != whole_number(number)]
        return replace(form, rows=(*kept, Row()), faults={})
    if kind == "json" and not form.at_fault:
        return replace(form, rows=(), text=as_text(metadata))
    if kind == "rows" and not form.at_fault:
        return with_rows(form, metadata)
    return form if form.text is not None else replace(form, rows=(*form.rows, Row()))


async def _refused(request: Request, document_id: str, form: DetailsForm, error: KnowledgeError) -> DetailsForm:
    """The form with what stood in the way, and nothing lost of what was filled in."""
    rows = form.rows if form.text is not None else (*form.rows, Row())
    if error.code == "DOCUMENT_CHANGED":
        now: Details = await services_of(request).editing.details(document_id)
        return replace(form, rows=rows, changed=now, stamp=now.stamp)
    field = "collection" if error.code == "COLLECTION_NOT_FOUND" else "metadata"
    return replace(form, rows=rows, faults={field: error.message})


@router.post("/documents/{document_id}/versions")
async def add_version(request: Request, document_id: str) -> Response:
    """Take a newer original in, then show the versions with a message."""
    services = services_of(request)
    await services.library.get_document(document_id)  # before a large body is read for nothing
    address = f"/documents/{quote(document_id)}?view=versions"
    try:
        form = await receive_upload(request, services.library, services.settings.max_upload_bytes)
        await services.library.add_revision(document_id, form.file)
    except KnowledgeError as error:
        return go(notices.refused(error.code, address))
    return go(notices.told_at(address, "newer"))
