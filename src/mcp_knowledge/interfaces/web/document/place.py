"""Where a passage stands among the blocks of its document."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp_knowledge.domain.blocks import Block, PageBreak
from mcp_knowledge.domain.documents import StoredChunk
from mcp_knowledge.interfaces.web.document.matching import PassageWords, block_text, block_units
from mcp_knowledge.interfaces.web.document.pieces import Place, length
from mcp_knowledge.ports import OutlineEntry
from mcp_knowledge.services.contents import Contents

_BATCH_BLOCKS = 256
_FROM_HEADING_BLOCKS = 512  # below each heading that might be the passage's
_MAX_HEADINGS = 8  # of the same name, one after another
_MAX_BLOCKS = 100_000
_ENOUGH = 0.6  # of a passage's words, where it has no line long enough to be told from others
_LARGE_TEXT, _LARGE_UNITS = 20_000, 500  # characters, items or rows

Result = TypeVar("Result")


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
    share, sure = 0.0, False
    async for index, block in _blocks(contents, revision_id, start, most):
        if isinstance(block, PageBreak):
            continue
        surely, maybe = await _asked(words, block)
        if not maybe:
            if sure or share >= _ENOUGH:
                break
            run, share = [], 0.0
            continue
        sure = sure or surely
        share += 0.0 if sure else await _aside(block, words.share, block)
        run.append((index, block))
    if not sure and share < _ENOUGH:
        return None
    first, block = run[0]
    return PassagePlace(Place(first, await _aside(block, _offset, words, block)), run[-1][0])


async def _blocks(contents: Contents, revision_id: str, start: int, most: int) -> AsyncIterator[tuple[int, Block]]:
    end = start + most
    while start < end:
        page = await contents.blocks(revision_id, start, min(_BATCH_BLOCKS, end - start))
        for index, block in enumerate(page.blocks, start):
            yield index, block
        if not page.blocks:
            return
        start += len(page.blocks)


async def _asked(words: PassageWords, block: Block) -> tuple[bool, bool]:
    """Whether a block has words of the passage surely, and whether it may have."""
    surely = await _aside(block, words.surely_in, block)
    return surely, surely or await _aside(block, words.may_be_in, block)


async def _aside(block: Block, ask: Callable[..., Result], *arguments: Any) -> Result:
    """Ask at once about a usual block, in a thread about a large one, so that others need not wait for it."""
    large = length(block) > (_LARGE_TEXT if block_text(block) is not None else _LARGE_UNITS)
    return await asyncio.to_thread(ask, *arguments) if large else ask(*arguments)


def _offset(words: PassageWords, block: Block) -> int:
    """Where in a block the passage's words begin."""
    if block_text(block) is not None:
        span = words.span(block)
        return span[0] if span else 0
    return next((i for i, unit in enumerate(block_units(block)) if words.has_unit(unit)), 0)
