"""Pages of originals as pictures, with the words of a passage marked."""

from collections import OrderedDict
from dataclasses import dataclass

from mcp_knowledge.domain.documents import Revision
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore, PageImage, PageRenderer
from mcp_knowledge.services.contents import Contents
from mcp_knowledge.services.reading import Reading

MIN_WIDTH, MAX_WIDTH = 100, 2000  # pixels
_CACHE_BYTES = 24 * 1024 * 1024  # some hundred pages of text
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


class Pages:
    """Draws pages, and keeps some pictures for whoever looks again.

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
        """The picture. Raises DOCUMENT_CONTENT_UNAVAILABLE, PAGE_NOT_FOUND, PAGE_UNREADABLE, SERVICE_UNAVAILABLE."""
        if view.tag in self._cache:
            self._cache.move_to_end(view.tag)
            return self._cache[view.tag]
        async with self._blobs.local_copy(view.revision.blob_key) as path:
            image = await self._renderer.render(path, view.number, view.width, view.passage)
        self._keep(view.tag, image)
        return image

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
