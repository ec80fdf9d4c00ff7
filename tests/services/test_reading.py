import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_knowledge.domain.blocks import Block, Heading, Paragraph, Table, block_to_json
from mcp_knowledge.domain.cursors import CursorSigner
from mcp_knowledge.domain.documents import Document, IndexVersions, Revision, StoredChunk
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlockPage, OutlineEntry, Store
from mcp_knowledge.services.reading import DocumentPage, Reading
from mcp_knowledge.settings import Settings, load_settings

VERSIONS = IndexVersions("text", "1", "blocks", "1", "model", 384, "1")


class OneDocument:
    """The part of a store that reading needs, holding one document in memory and noting how many blocks were read."""

    def __init__(
        self, blocks: list[Block], title: str | None = "Manual", metadata: dict[str, Any] | None = None
    ) -> None:
        self.blocks = blocks
        self.title = title
        self.metadata = metadata or {}
        self.indexed_at_ms: int | None = 1000
        self.blocks_read = 0

    async def get_document(self, document_id: str) -> Document | None:
        if document_id != "doc_1":
            return None
        return Document(
            id="doc_1",
            collection_id=None,
            current_revision_id="rev_1",
            revision=1,
            title="Manual",
            original_filename="manual.md",
            mime_type="text/markdown",
            extension="md",
            size_bytes=1,
            sha256="0" * 64,
            status="ready",
            metadata={},
            source_path=None,
            source_url=None,
            chunk_count=1,
            latest_error=None,
            progress=None,
            created_at_ms=0,
            updated_at_ms=0,
        )

    async def get_revision(self, revision_id: str) -> Revision | None:
        return Revision(
            revision_id, "doc_1", 1, "0" * 64, 1, "manual.md", "text/markdown", "md", "key", VERSIONS, 1, 0,
            self.indexed_at_ms, True,
        )  # fmt: skip

    async def block_page(self, revision_id: str, first: int, limit: int) -> BlockPage | None:
        part = tuple(self.blocks[first : first + limit])
        self.blocks_read += len(part)
        return BlockPage(first, len(self.blocks), part, self.title, self.metadata)

    async def outline(self, revision_id: str) -> list[OutlineEntry] | None:
        return [
            OutlineEntry(place, block.level, block.text)
            for place, block in enumerate(self.blocks)
            if isinstance(block, Heading)
        ]


def reading(store: OneDocument, max_chars: int = 32_000, secret: bytes = b"k" * 32) -> Reading:
    return Reading(cast(Store, store), CursorSigner(secret), settings_with(max_chars))


def settings_with(max_chars: int) -> Settings:
    return load_settings(max_mcp_document_chars=max_chars)


def paragraphs(count: int, chars: int = 20) -> list[Block]:
    return [Paragraph(f"{place:04d} {'x' * (chars - 5)}") for place in range(count)]


async def read_all(service: Reading, **arguments: Any) -> list[DocumentPage]:
    pages = [await service.page("doc_1", **arguments)]
    while pages[-1].next_cursor is not None:
        pages.append(await service.page("doc_1", cursor=pages[-1].next_cursor, **arguments))
    return pages


def blocks_of(pages: list[DocumentPage]) -> list[dict[str, Any]]:
    return [block for page in pages for block in json.loads(page.body)["blocks"]]


async def failure(service: Reading, document_id: str = "doc_1", **arguments: Any) -> KnowledgeError:
    with pytest.raises(KnowledgeError) as caught:
        await service.page(document_id, **arguments)
    return caught.value


async def test_a_short_document_is_one_page_and_a_complete_normalized_document() -> None:
    store = OneDocument([Heading(1, "Titel"), Paragraph("Grüße, 世界")], "Ein Titel", {"author": "Ada"})
    page = await reading(store).page("doc_1")
    assert json.loads(page.body) == {
        "title": "Ein Titel",
        "metadata": {"author": "Ada"},
        "blocks": [{"type": "heading", "level": 1, "text": "Titel"}, {"type": "paragraph", "text": "Grüße, 世界"}],
    }
    assert (page.returned_blocks, page.total_blocks, page.next_cursor) == (2, 2, None)


async def test_a_document_without_a_title_or_blocks_still_reads() -> None:
    page = await reading(OneDocument([], title=None)).page("doc_1")
    assert json.loads(page.body) == {"metadata": {}, "blocks": []}
    assert (page.returned_blocks, page.total_blocks, page.next_cursor) == (0, 0, None)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 120), max_size=30),
    max_chars=st.integers(330, 900),
    block_limit=st.none() | st.integers(1, 5),
)
async def test_pages_give_every_block_once_within_the_budget_and_as_full_as_they_can_be(
    sizes: list[int], max_chars: int, block_limit: int | None
) -> None:
    store = OneDocument([Paragraph('ü"\n'[place % 3] * size) for place, size in enumerate(sizes)])
    pages = await read_all(reading(store, max_chars), block_limit=block_limit)
    assert blocks_of(pages) == [block_to_json(block) for block in store.blocks]
    given = 0
    for page in pages:
        given += page.returned_blocks
        assert len(page.body) <= max_chars
        assert page.total_blocks == len(sizes)
        if block_limit is not None:
            assert page.returned_blocks <= block_limit
        if page.next_cursor is not None and page.returned_blocks != block_limit:
            following = json.dumps(block_to_json(store.blocks[given]), ensure_ascii=False, separators=(",", ":"))
            assert len(page.body) + 1 + len(following) > max_chars


async def test_a_page_may_fill_the_budget_to_the_last_character() -> None:
    store = OneDocument(paragraphs(3))
    whole = len((await reading(store).page("doc_1")).body)
    assert (await reading(store, whole).page("doc_1")).returned_blocks == 3
    assert (await reading(store, whole - 1).page("doc_1")).returned_blocks == 2


async def test_a_page_reads_no_more_than_itself() -> None:
    store = OneDocument(paragraphs(20_000))
    service = reading(store, 2_000)
    page = await service.page("doc_1")
    first_cost = store.blocks_read
    for _ in range(20):
        assert page.next_cursor is not None
        page = await service.page("doc_1", cursor=page.next_cursor)
    assert first_cost <= 200
    assert store.blocks_read <= 21 * 200

    store.blocks_read = 0
    await service.page("doc_1", block_limit=3)
    assert store.blocks_read == 3


async def test_headings_select_sections_before_paging() -> None:
    blocks: list[Block] = [Heading(1, "One"), *paragraphs(3), Heading(1, "Two"), *paragraphs(4), Heading(1, "One")]
    pages = await read_all(reading(OneDocument(blocks)), headings=[" one "], block_limit=2)
    assert [page.returned_blocks for page in pages] == [2, 2, 1]
    assert {page.total_blocks for page in pages} == {5}
    assert blocks_of(pages) == [block_to_json(block) for block in [*blocks[:4], blocks[9]]]


async def test_an_unknown_heading_gives_an_empty_document() -> None:
    page = await reading(OneDocument([Heading(1, "One"), *paragraphs(3)])).page("doc_1", headings=["Two"])
    assert json.loads(page.body)["blocks"] == []
    assert (page.total_blocks, page.next_cursor) == (0, None)


async def test_a_cursor_for_another_selection_is_stale() -> None:
    service = reading(OneDocument([Heading(1, "One"), *paragraphs(3), Heading(1, "Two"), *paragraphs(3)]))
    plain = (await service.page("doc_1", block_limit=1)).next_cursor
    one = (await service.page("doc_1", block_limit=1, headings=["One"])).next_cursor
    assert (await failure(service, cursor=plain, headings=["One"])).code == "CURSOR_STALE"
    assert (await failure(service, cursor=one, headings=["Two"])).code == "CURSOR_STALE"
    assert (await failure(service, cursor=one)).code == "CURSOR_STALE"
    same = await service.page("doc_1", cursor=one, headings=["ONE "], block_limit=1)
    assert same.returned_blocks == 1


async def test_a_cursor_from_before_the_document_was_indexed_again_is_stale() -> None:
    store = OneDocument(paragraphs(3))
    service = reading(store)
    cursor = (await service.page("doc_1", block_limit=1)).next_cursor
    store.indexed_at_ms = 2000
    assert (await failure(service, cursor=cursor)).code == "CURSOR_STALE"


async def test_a_cursor_that_this_server_did_not_make_is_invalid() -> None:
    store = OneDocument(paragraphs(3))
    foreign = (await reading(store, secret=b"x" * 32).page("doc_1", block_limit=1)).next_cursor
    for cursor in (foreign, "", "nonsense", "ü", "A" * 100_000):
        assert (await failure(reading(store), cursor=cursor)).code == "INVALID_CURSOR"


async def test_a_block_that_cannot_fit_says_where_reading_goes_on() -> None:
    rows = tuple((f"cell {place}",) for place in range(100))
    service = reading(OneDocument([Paragraph("before"), Table(None, rows), Paragraph("after")]), 300)
    first = await service.page("doc_1")
    assert first.returned_blocks == 1
    error = await failure(service, cursor=first.next_cursor)
    assert error.code == "DOCUMENT_BLOCK_TOO_LARGE"
    beyond = error.message.split("block_cursor ")[1].split()[0]
    last = await service.page("doc_1", cursor=beyond)
    assert json.loads(last.body)["blocks"] == [{"type": "paragraph", "text": "after"}]


async def test_an_envelope_that_cannot_fit_is_refused() -> None:
    service = reading(OneDocument(paragraphs(1), metadata={"note": "x" * 400}), 300)
    assert (await failure(service)).code == "DOCUMENT_BLOCK_TOO_LARGE"


async def test_an_unknown_document_and_one_without_content_are_told_apart() -> None:
    store = OneDocument(paragraphs(1))
    assert (await failure(reading(store), "doc_2")).code == "DOCUMENT_NOT_FOUND"
    store.indexed_at_ms = None
    assert (await failure(reading(store))).code == "DOCUMENT_CONTENT_UNAVAILABLE"


async def test_a_chunk_id_that_two_documents_share_is_found_in_the_one_that_is_asked_for() -> None:
    def stored(number: int, document_id: str) -> StoredChunk:
        return StoredChunk(
            number, document_id, f"rev_{number}", "chk_same", 4, "text", (), Paragraph("").location, 1, "h", {}
        )

    class TwoDocuments(OneDocument):
        async def find_chunk(self, chunk_id: str) -> StoredChunk | None:
            return stored(1, "doc_1") if chunk_id == "chk_same" else None

        async def chunk_range(self, document_id: str, first: int, last: int) -> list[StoredChunk]:
            return [stored(2, "doc_2")] if (document_id, first, last) == ("doc_2", 4, 4) else []

    service = reading(TwoDocuments([]))
    assert (await service.chunk("doc_1", "chk_same")).chunk_no == 1
    assert (await service.chunk("doc_2", "chk_same")).chunk_no == 2
    for document_id, chunk_id in (("doc_3", "chk_same"), ("doc_1", "chk_other")):
        with pytest.raises(KnowledgeError, match="CHUNK_NOT_FOUND"):
            await service.chunk(document_id, chunk_id)
