"""Reads bytes with the product's parsers in this process, exactly as a parser process does."""

from collections.abc import Iterable
from typing import Any

import pytest

from mcp_knowledge.adapters.parsers.finishing import finish
from mcp_knowledge.adapters.parsers.registry import REGISTRY
from mcp_knowledge.adapters.parsers.sniffing import detect
from mcp_knowledge.adapters.parsers.source import Limits, Source
from mcp_knowledge.domain.blocks import Block, NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

LIMITS: dict[str, Any] = {
    "max_extract_bytes": 8 * 1024 * 1024,
    "max_document_pages": 500,
    "max_spreadsheet_cells": 200_000,
    "max_archive_uncompressed_bytes": 100 * 1024 * 1024,
    "max_archive_entries": 1024,
    "max_archive_compression_ratio": 100,
    "memory_bytes": 2 * 1024**3,
    "cpu_seconds": 30,
}


def read(data: bytes | str, filename: str, **limits: int) -> NormalizedDocument:
    raw = data.encode() if isinstance(data, str) else data
    bounds = Limits(**{**LIMITS, **limits})
    source = Source(raw, filename, bounds)
    return finish(detect(source, REGISTRY).parse(source), bounds)


def blocks_of(data: bytes | str, filename: str, **limits: int) -> list[Block]:
    return list(read(data, filename, **limits).blocks)


def code_of(data: bytes | str, filename: str, **limits: int) -> str:
    with pytest.raises(KnowledgeError) as caught:
        read(data, filename, **limits)
    return caught.value.code


def read_or_refuse(data: bytes, filename: str) -> None:
    """Read damaged bytes; anything but a document or a coded document failure is raised."""
    try:
        read(data, filename)
    except KnowledgeError as error:
        assert error.code.startswith("DOCUMENT_")


def source_text(text: str, block: Block) -> str:
    """What stands in the decoded text where the block says it is."""
    start, end = block.location.char_start, block.location.char_end
    assert start is not None and end is not None and 0 <= start < end <= len(text)
    return text[start:end]


def flipped(data: bytes, flips: Iterable[tuple[int, int]]) -> bytes:
    """The data with some bytes replaced; offsets may be too large."""
    damaged = bytearray(data)
    for at, value in flips:
        damaged[at % len(damaged)] = value
    return bytes(damaged)
