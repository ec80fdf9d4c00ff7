"""What became of a change of documents: numbers in an address, and the sentence that they make."""

from fastapi import Request

from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.interfaces.web import notices
from mcp_knowledge.interfaces.web.notices import Notice, number_in
from mcp_knowledge.interfaces.web.wording import counted
from mcp_knowledge.services.bulk import BulkOutcome

_DONE: dict[str, tuple[str, str, str]] = {  # for one document, for several, for none
    "moved": ("The document was moved.", "{} documents were moved.", "Nothing was moved."),
    "tagged": ("The document was tagged.", "{} documents were tagged.", "Nothing was tagged."),
    "untagged": (
        "The tag was removed from the document.",
        "The tag was removed from {} documents.",
        "No tag was removed.",
    ),
    "reread": (
        "The file is being read again. Searches keep the present passages until that is done.",
        "{} files are being read again. Searches keep the present passages until that is done.",
        "Nothing is being read again.",
    ),
    "removed": ("The document was deleted.", "{} documents were deleted.", "Nothing was deleted."),
    "restored": (
        "The document is back.",
        "{} documents are back.",
        "It is too late to undo this: what was deleted is gone for good.",
    ),
    "samples-removed": ("The sample was removed.", "The {} samples were removed.", "There were no samples to remove."),
    "samples-added": (
        "A sample document is here.",
        "{} sample documents are here. Each can be searched as soon as it is ready.",
        "You have all the samples already.",
    ),
}
_LEFT: dict[str, tuple[str, str, str]] = {  # error code → name in the address; for one document, for several
    "DOCUMENT_NOT_FOUND": ("gone", "One was gone already.", "{} were gone already."),
    "DOCUMENT_BUSY": (
        "busy",
        "One was left out: it is being worked on.",
        "{} were left out: they are being worked on.",
    ),
    "INVALID_METADATA": ("full", "One has no room for it.", "{} have no room for it."),
    "DOCUMENT_EXISTS": (
        "again",
        "One stays deleted: the same file was added again meanwhile.",
        "{} stay deleted: the same files were added again meanwhile.",
    ),
    "DOCUMENT_NOT_RESTORABLE": ("late", "For one it was too late.", "For {} it was too late."),
}
_FAULTS = {
    "choose": "Choose documents first.",
    "collection": "Choose a collection, or name a new one.",
    "collection-gone": "That collection is gone. Nothing was changed.",
    "key": "Say which key of the metadata, in 1 to 100 characters.",
    "broken-off": "The change was broken off after {}: the service could not go on. Do it again for the others.",
    "undone": "That was undone already: there is nothing left to bring back.",
    "under-way": "The change goes on or has ended; the list shows it.",
}


def told_at(address: str, name: str, outcome: BulkOutcome) -> str:
    """The address of a list with what became of a change."""
    values: dict[str, int] = {"count": outcome.changed}
    values |= {_LEFT[code][0]: count for code, count in outcome.refused.items() if code in _LEFT}
    if outcome.until_ms is not None and outcome.changed:
        values["until"] = outcome.until_ms
    return notices.told_at(address, name, **values)


def fault_at(address: str, name: str, count: int = 0) -> str:
    """The address of a list with what was wrong with a change."""
    return notices.told_at(address, name, count=count) if count else notices.told_at(address, name)


def read(request: Request) -> Notice | None:
    """The message that an address carries; None when it is none of these."""
    name, count = request.query_params.get("notice", ""), number_in(request, "count")
    if name in _FAULTS:
        return Notice(_FAULTS[name].format(counted(count, "document")), bad=name not in ("under-way", "undone"))
    if name not in _DONE:
        return None
    sentences = [_for(count, *_DONE[name])]
    sentences += [_for(left, one, many) for key, one, many in _LEFT.values() if (left := number_in(request, key))]
    until_ms = number_in(request, "until")
    undo = until_ms if name == "removed" and until_ms > now_ms() else None
    return Notice(" ".join(sentences), bad=not count and name != "samples-added", undo_until_ms=undo)


def _for(count: int, one: str, many: str, none: str = "") -> str:
    return one if count == 1 else many.format(f"{count:,}") if count else none
