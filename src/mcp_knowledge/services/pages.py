"""Pages of originals as pictures, with the words of a passage marked."""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass

from mcp_knowledge.domain.documents import Revision
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore, PageImage, PageRenderer
from mcp_knowledge.services.contents import Contents
from mcp_knowledge.services.reading import Reading

MIN_WIDTH, MAX_WIDTH = 100, 2000  # pixels
_CACHE_BYTES = 24 * 1024 * 1024  # some hundred pages of text
_MAX_WAITING = 32  # more would see their pages after minutes
_AT_ONCE = 2  # one is fetched from storage while another is drawn
_REFUSED_S = 60.0  # for so long a page that could not be drawn is not tried again
_KEPT_REFUSALS = 1000
_PAGED = frozenset({"pdf"})  # extensions of originals whose pages can be drawn
_VERSION = "1"  # raise it when a change makes other pictures of the same page


@dataclass(frozen=True, slots=True)
class PageView:
    """One page to draw.

    Args:
        passage: the text to mark.
        tag: the same for the same picture, whenever it is drawn.
    """

    revision: Revision
    number: int
    width: int
    passage: str | None
    tag: str

    @property
    def subject(self) -> tuple[str, int, bool]:
        """What it depends on whether it can be drawn."""
        return self.revision.id, self.number, self.passage is not None


class Pages:
    """Draws pages, and keeps some pictures for whoever looks again. However many are asked for at once, two originals
    at most are fetched from storage, and a page that wore the renderer out is left alone for a while.

    Args:
        cache_bytes: of the pictures that are kept.
    """

    def __init__(
        self,
        contents: Contents,
        reading: Reading,
        blobs: BlobStore,
        renderer: PageRenderer,
        cache_bytes: int = _CACHE_BYTES,
    ) -> None:
        self._contents, self._reading = contents, reading
        self._blobs, self._renderer = blobs, renderer
        self._cache: OrderedDict[str, PageImage] = OrderedDict()
        self._room = cache_bytes
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0
        self._refused: OrderedDict[tuple[str, int, bool], tuple[float, KnowledgeError]] = OrderedDict()

    @staticmethod
    def drawable(revision: Revision) -> bool:
        """Whether the pages of this original can be shown."""
        return revision.extension in _PAGED

    async def view(self, document_id: str, number: int, width: int, chunk_id: str | None = None) -> PageView:
        """What a page of the original that a document shows will be, before it is drawn.

        Args:
            number: of the page, from 1.
            width: in pixels, brought into MIN_WIDTH…MAX_WIDTH.
            chunk_id: of the passage to mark.

        Raises:
            KnowledgeError: DOCUMENT_NOT_FOUND, CHUNK_NOT_FOUND, PAGES_UNAVAILABLE, PAGE_NOT_FOUND,
                DOCUMENT_CONTENT_UNAVAILABLE.
        """
        revision = (await self._contents.original(document_id)).revision
        if not self.drawable(revision):
            raise KnowledgeError("PAGES_UNAVAILABLE")
        if number < 1:
            raise KnowledgeError("PAGE_NOT_FOUND")
        width = max(MIN_WIDTH, min(width, MAX_WIDTH))
        passage = None if chunk_id is None else (await self._reading.chunk(document_id, chunk_id)).content
        tag = f"{_VERSION}-{revision.id}-{number}-{width}" + (f"-{chunk_id}" if chunk_id else "")
        return PageView(revision, number, width, passage, tag)

    async def draw(self, view: PageView) -> PageImage:
        """The picture.

        Raises:
            KnowledgeError: DOCUMENT_CONTENT_UNAVAILABLE, PAGE_NOT_FOUND, PAGE_UNREADABLE; SERVICE_UNAVAILABLE when
                too many wait.
        """
        if (known := self._known(view)) is not None:
            return known
        if self._waiting >= _MAX_WAITING:
            raise KnowledgeError("SERVICE_UNAVAILABLE", "Too many pages are being drawn. Try again in a moment.")
        self._waiting += 1
        try:
            async with self._turn:
                return self._known(view) or await self._drawn(view)  # somebody else may have had it drawn meanwhile
        finally:
            self._waiting -= 1

    def _known(self, view: PageView) -> PageImage | None:
        """What came of it before. Raises PAGE_UNREADABLE."""
        if view.tag in self._cache:
            self._cache.move_to_end(view.tag)
            return self._cache[view.tag]
        until_s, error = self._refused.get(view.subject, (0.0, None))
        if error is not None and time.monotonic() < until_s:
            raise KnowledgeError(error.code, error.message)
        return None

    async def _drawn(self, view: PageView) -> PageImage:
        try:
            async with self._blobs.local_copy(view.revision.blob_key) as path:
                if path.stat().st_size != view.revision.size_bytes:
                    raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")
                image = await self._renderer.render(path, view.number, view.width, view.passage)
        except KnowledgeError as error:
            if error.code == "PAGE_UNREADABLE":
                self._refuse(view, error)
            raise
        self._keep(view.tag, image)
        return image

    def _refuse(self, view: PageView, error: KnowledgeError) -> None:
        self._refused[view.subject] = (time.monotonic() + _REFUSED_S, error)
        self._refused.move_to_end(view.subject)
        if len(self._refused) > _KEPT_REFUSALS:
            self._refused.popitem(last=False)

    async def count(self, document_id: str) -> int:
        """How many pages the original has. Raises what `view` and `draw` raise."""
        return (await self.draw(await self.view(document_id, 1, MIN_WIDTH))).pages

    def _keep(self, tag: str, image: PageImage) -> None:
        if tag in self._cache or len(image.data) > self._room + sum(len(item.data) for item in self._cache.values()):
            return
        self._cache[tag] = image
        self._room -= len(image.data)
        while self._room < 0:
            self._room += len(self._cache.popitem(last=False)[1].data)
