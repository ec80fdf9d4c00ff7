"""Pages as pictures, with a renderer that does as it is told: what many visitors at once may cost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from front_door import until

from mcp_knowledge.domain.documents import Revision
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import PageImage
from mcp_knowledge.services.pages import Pages, PageView

ORIGINAL = Path(__file__)


class Studio:
    """Storage and renderer in one. Notes what is asked of it, and waits until it may go on."""

    def __init__(self, refusal: KnowledgeError | None = None) -> None:
        self.refusal = refusal
        self.may_go_on = asyncio.Event()
        self.copies = self.most_copies = 0
        self.drawn: list[int] = []
        self.pages = Pages(cast(Any, None), cast(Any, None), cast(Any, self), self)

    @asynccontextmanager
    async def local_copy(self, key: str) -> AsyncIterator[Path]:
        self.copies += 1
        self.most_copies = max(self.copies, self.most_copies)
        try:
            yield ORIGINAL
        finally:
            self.copies -= 1

    async def render(self, path: Path, page: int, width: int, passage: str | None = None) -> PageImage:
        await self.may_go_on.wait()
        self.drawn.append(page)
        if self.refusal:
            raise self.refusal
        return PageImage(b"picture", "image/png", 100)

    async def code(self, view: PageView) -> str:
        try:
            await self.pages.draw(view)
        except KnowledgeError as error:
            return error.code
        return "drawn"


def page(number: int, width: int = 500, passage: str | None = None, missing_bytes: int = 0) -> PageView:
    revision = Revision(
        id="rev_1",
        document_id="doc_1",
        number=1,
        sha256="",
        size_bytes=ORIGINAL.stat().st_size + missing_bytes,
        original_filename="a.pdf",
        mime_type="application/pdf",
        extension="pdf",
        blob_key="a",
        versions=None,
        chunk_count=0,
        created_at_ms=0,
        indexed_at_ms=None,
        current=True,
    )
    return PageView(revision, number, width, passage, f"{number}-{width}-{passage}")


async def test_many_at_once_fetch_two_originals_at_most_and_too_many_are_refused() -> None:
    studio = Studio()
    asked = [asyncio.create_task(studio.code(page(number))) for number in range(1, 41)]
    await until(lambda: sum(task.done() for task in asked) == 8 and studio.copies == 2)
    studio.may_go_on.set()
    codes = await asyncio.gather(*asked)
    assert codes == ["drawn"] * 32 + ["SERVICE_UNAVAILABLE"] * 8
    assert studio.most_copies == 2
    assert await studio.code(page(41)) == "drawn"


async def test_one_page_that_many_want_is_drawn_once_or_twice() -> None:
    studio = Studio()
    asked = [asyncio.create_task(studio.code(page(1))) for _ in range(30)]
    await until(lambda: studio.copies == 2)
    studio.may_go_on.set()
    assert await asyncio.gather(*asked) == ["drawn"] * 30
    assert len(studio.drawn) == 2


async def test_a_page_that_could_not_be_drawn_is_not_tried_again_at_once_in_any_width() -> None:
    studio = Studio(KnowledgeError("PAGE_UNREADABLE", "This page is damaged and cannot be shown."))
    studio.may_go_on.set()
    assert [await studio.code(page(1, width)) for width in (100, 500, 2000)] == ["PAGE_UNREADABLE"] * 3
    assert studio.drawn == [1]
    await studio.code(page(2))
    await studio.code(page(1, passage="words"))
    assert studio.drawn == [1, 2, 1]
    studio.refusal = KnowledgeError("SERVICE_UNAVAILABLE")
    assert [await studio.code(page(3)) for _ in range(2)] == ["SERVICE_UNAVAILABLE"] * 2
    assert studio.drawn == [1, 2, 1, 3, 3]


async def test_an_original_of_another_length_is_not_drawn() -> None:
    studio = Studio()
    studio.may_go_on.set()
    assert await studio.code(page(1, missing_bytes=1)) == "DOCUMENT_CONTENT_UNAVAILABLE"
    assert studio.drawn == []
    assert await studio.code(page(1)) == "drawn"
