"""Where a passage stands among the blocks of its document."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from mcp_knowledge.domain.blocks import Block, PageBreak
from mcp_knowledge.domain.documents import StoredChunk
from mcp_knowledge.interfaces.web.document.matching import PassageWords, block_text, block_units
from mcp_knowledge.interfaces.web.document.pieces import Place
from mcp_knowledge.ports import OutlineEntry
from mcp_knowledge.services.contents import Contents

_BATCH_BLOCKS = 256
_FROM_HEADING_BLOCKS = 512  # below each heading that might be the passage's
_MAX_HEADINGS = 8  # of the same name, one after another
_MAX_BLOCKS = 100_000


@dataclass(frozen=True, slots=True)
class PassagePlace:
    """Where a passage begins, and the last block that it has words in."""

    first: Place
    last_block: int


async def find_passage(contents: Contents, chunk: StoredChunk, outline: Sequence[OutlineEntry]) -> PassagePlace | None:
    """Look below the passage's own heading first, then everywhere. None when its words are not found."""
    words = PassageWords(chunk)
    for start in _starts(outline, chunk.heading_path)[:_MAX_HEADINGS]:
        if found := await _scan(contents, chunk.revision_id, words, start, _FROM_HEADING_BLOCKS):
            return found
    return await _scan(contents, chunk.revision_id, words, 0, _MAX_BLOCKS)


def _starts(outline: Sequence[OutlineEntry], path: Sequence[str]) -> list[int]:
    """The blocks of the headings that have this path."""
    starts = []
    open_headings: list[OutlineEntry] = []
    for entry in outline:
        open_headings = [item for item in open_headings if item.level < entry.level]
        open_headings.append(entry)
        if [item.text.strip() for item in open_headings] == list(path):
            starts.append(entry.block)
    return starts


async def _scan(
    contents: Contents, revision_id: str, words: PassageWords, start: int, most: int
) -> PassagePlace | None:
    run: list[tuple[int, Block]] = []
    sure = False
    async for index, block in _blocks(contents, revision_id, start, most):
        if isinstance(block, PageBreak):
            continue
        if words.surely_in(block):
            sure = True
        elif not words.may_be_in(block):
            if sure:
                break
            run.clear()
            continue
        run.append((index, block))
    if not sure:
        return None
    first, block = run[0]
    return PassagePlace(Place(first, _offset(words, block)), run[-1][0])


async def _blocks(contents: Contents, revision_id: str, start: int, most: int) -> AsyncIterator[tuple[int, Block]]:
    end = start + most
    while start < end:
        page = await contents.blocks(revision_id, start, min(_BATCH_BLOCKS, end - start))
        for index, block in enumerate(page.blocks, start):
            yield index, block
        if not page.blocks:
            return
        start += len(page.blocks)


def _offset(words: PassageWords, block: Block) -> int:
    """Where in a block the passage's words begin."""
    if block_text(block) is not None:
        span = words.span(block)
        return span[0] if span else 0
    return next((i for i, unit in enumerate(block_units(block)) if words.has_unit(unit)), 0)
