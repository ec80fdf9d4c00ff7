"""What the views of a document have in common, and their addresses."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from mcp_knowledge.domain.documents import Document, Revision, StoredChunk

VIEWS = {
    "passages": "Passages",
    "reading": "Text",
    "original": "Original",
    "details": "Details",
    "versions": "Versions",
}


@dataclass(frozen=True, slots=True)
class DocumentView:
    """What all views have: the document, its versions, and the passage that the address names (if it is there).

    Args:
        revision: the one shown: the current one, or the newest before any is ready.
        paged: whether the original's pages can be shown: then all views are as wide as those that show one.
        lost: whether the address names a passage that this version does not have.
    """

    name: str
    document: Document
    revisions: list[Revision]
    revision: Revision | None
    paged: bool
    passage: StoredChunk | None
    lost: bool

    def address(self, view: str | None = None, **values: Any) -> str:
        """The address of a view, this one without a name."""
        kept = {"view": view or self.name, **values}
        if kept["view"] == "passages":
            del kept["view"]
        query = urlencode({name: value for name, value in kept.items() if value is not None})
        path = f"/documents/{quote(self.document.id)}"
        return f"{path}?{query}" if query else path

    def passage_address(self, chunk: StoredChunk, view: str = "passages", anchor: str | None = None) -> str:
        """Where a passage is seen among the others, or in another view."""
        return f"{self.address(view, passage=chunk.id)}#{anchor or chunk.id}"
