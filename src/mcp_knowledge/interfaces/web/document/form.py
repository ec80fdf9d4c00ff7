"""The form for a document's title, collection and metadata: as it is shown, filled in, and checked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mcp_knowledge.domain.details import Details
from mcp_knowledge.domain.documents import Collection, Metadata
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import checked
from mcp_knowledge.interfaces.rest.schemas import DocumentUpdate
from mcp_knowledge.interfaces.web.document.fields import (
    KINDS,
    MAX_ROWS,
    Row,
    fits_rows,
    metadata_of,
    parse_json,
    rows_of,
)
from mcp_knowledge.interfaces.web.fields import Fields
from mcp_knowledge.services import Services

OFFERED_COLLECTIONS = 200
_MAX_TITLE_CHARS = 500


@dataclass(frozen=True, slots=True)
class DetailsForm:
    """The form with what stands in it.

    Args:
        stamp: of the details that it was made from.
        text: the metadata as JSON; None where rows are shown.
        faults: what is wrong, by field: `title`, `metadata`; rows have their own.
        changed: the details as they are by now, when somebody else changed them after the form was made.
    """

    title: str
    collection_id: str
    stamp: str
    rows: tuple[Row, ...]
    text: str | None
    collections: tuple[Collection, ...]
    faults: Mapping[str, str] = field(default_factory=dict)
    changed: Details | None = None

    @property
    def kinds(self) -> Mapping[str, str]:
        """What a value can be, in words."""
        return KINDS

    def fault(self, name: str) -> str:
        """What is wrong with a field; empty when nothing is."""
        return self.faults.get(name, "")

    @property
    def at_fault(self) -> bool:
        """Whether anything in it cannot be saved."""
        return bool(self.faults) or any(row.fault for row in self.rows)


async def form_of(services: Services, document_id: str) -> DetailsForm:
    """The form as it is before anything is changed."""
    details = await services.editing.details(document_id)
    rows = (*rows_of(details.own), Row()) if fits_rows(details.own) else ()
    return DetailsForm(
        title=details.document.title,
        collection_id=details.document.collection_id or "",
        stamp=details.stamp,
        rows=rows,
        text=None if rows else as_text(details.own),
        collections=await _collections(services, details.document.collection_id),
    )


async def filled_in(services: Services, details: Details, fields: Fields) -> tuple[DetailsForm, Metadata]:
    """The form as it was sent, and the metadata that it says; `at_fault` when that cannot be saved."""
    text = fields.get("json").replace("\r\n", "\n") if "json" in fields else None
    keys, kinds, values = (fields.all(name) for name in ("key", "kind", "value"))
    sent = [
        Row(" ".join(key.split()), kind if kind in KINDS else "text", value.replace("\r\n", "\n"))
        for key, kind, value in zip(keys, kinds, values, strict=False)
    ][: MAX_ROWS + 1]
    faults: dict[str, str] = {}
    rows: list[Row] = []
    if text is None:
        metadata, rows = metadata_of(sent, details.own)
        if len(sent) > MAX_ROWS:
            faults["metadata"] = f"A form holds {MAX_ROWS} values. Edit it as JSON."
    else:
        metadata, fault = parse_json(text)
        if not fault and not isinstance(metadata, dict):
            fault = "The metadata must be a JSON object: keys and values in { }."
        if fault:
            faults["metadata"] = fault
            metadata = {}
    title = " ".join(fields.get("title").split())
    if title_fault := _title_fault(title):
        faults["title"] = title_fault
    form = DetailsForm(
        title=title,
        collection_id=fields.get("collection"),
        stamp=fields.get("stamp"),
        rows=tuple(rows),
        text=text,
        collections=await _collections(services, details.document.collection_id),
        faults=faults,
    )
    return form, metadata


def _title_fault(title: str) -> str:
    """What is wrong with a title; empty when nothing is."""
    try:
        checked(DocumentUpdate, {"title": title})
    except KnowledgeError:
        if not title:
            return "A document needs a title."
        if len(title) > _MAX_TITLE_CHARS:
            return f"A title may have {_MAX_TITLE_CHARS} characters."
        return "There are characters in it that cannot be kept, such as control characters."
    return ""


def with_rows(form: DetailsForm, metadata: Metadata) -> DetailsForm:
    """The form with a row for each value, and an empty one."""
    if not fits_rows(metadata):
        return replace(form, faults={**form.faults, "metadata": "Some keys can only be edited as JSON."})
    return replace(form, rows=(*rows_of(metadata), Row()), text=None)


def as_text(metadata: Metadata) -> str:
    """The metadata as people read JSON."""
    return json.dumps(metadata, ensure_ascii=False, indent=2)


async def _collections(services: Services, own_id: str | None) -> tuple[Collection, ...]:
    """Where the document may be filed; its own collection always."""
    found, _ = await services.collections.list(OFFERED_COLLECTIONS)
    if own_id and all(item.id != own_id for item in found):
        found.append(await services.collections.get(own_id))
    return tuple(sorted(found, key=lambda item: item.name.casefold()))
