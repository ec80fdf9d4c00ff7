"""The original's page beside the text."""

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from mcp_knowledge.domain.documents import Revision
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.document.view import DocumentView
from mcp_knowledge.interfaces.web.fields import whole_number
from mcp_knowledge.services import Services

WIDTH, LARGE_WIDTH = 1000, 1800  # pixels of the pictures, for common and for dense screens


@dataclass(frozen=True, slots=True)
class Viewer:
    """One page of an original.

    Args:
        marks: whether the page has words of the passage, which are marked.
        picture, large_picture: addresses of images.
        previous, next: addresses of this view with another page, None at the ends.
        whole: the address of the view that shows the page alone.
    """

    number: int
    total: int
    marks: bool
    picture: str
    large_picture: str
    previous: str | None
    next: str | None
    whole: str

    @property
    def alternative(self) -> str:
        """What a reader who cannot see the picture is told."""
        marked = ", with the words of the passage marked" if self.marks else ""
        return f"Page {self.number} of the original{marked}"


def page_number(text: str) -> int | None:
    """The page that an address names."""
    return whole_number(text, most_digits=6) or None


async def viewer(services: Services, view: DocumentView, revision: Revision, number: int) -> Viewer | None:
    """A page, the last one for a number beyond it; None when the original has no pages to show."""
    total = await _total(services, view, revision)
    if not total:
        return None
    number = min(number, total)
    passage = view.passage
    marks = passage is not None and _is_on(number, passage.location.page_start, passage.location.page_end)
    chunk_id = passage.id if passage is not None and marks else None
    kept = passage.id if passage is not None else None
    return Viewer(
        number=number,
        total=total,
        marks=marks,
        picture=_picture(view, number, WIDTH, chunk_id),
        large_picture=_picture(view, number, LARGE_WIDTH, chunk_id),
        previous=view.address(page=number - 1, passage=kept) if number > 1 else None,
        next=view.address(page=number + 1, passage=kept) if number < total else None,
        whole=view.address("original", page=number, passage=kept),
    )


async def _total(services: Services, view: DocumentView, revision: Revision) -> int | None:
    """How many pages there are: as the parser counted them, or as the file says when it was not read."""
    if not view.paged:
        return None
    try:
        if revision.current:
            pages = (await services.contents.blocks(revision.id, 0, 1)).metadata.get("pages")
            if isinstance(pages, int) and pages > 0:
                return pages
        return await services.pages.count(view.document.id)
    except KnowledgeError:
        return None


def _is_on(number: int, first: int | None, last: int | None) -> bool:
    return first is not None and first <= number <= (last or first)


def _picture(view: DocumentView, number: int, width: int, chunk_id: str | None) -> str:
    query = {"width": width} | ({"chunkId": chunk_id} if chunk_id else {})
    return f"/api/v1/documents/{quote(view.document.id)}/pages/{number}?{urlencode(query)}"
