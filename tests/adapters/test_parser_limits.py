"""Files that break a limit, read by the product's own parsers in the real sandbox."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hostile_files import HOSTILE_FILES, OUTCOMES

from mcp_knowledge.adapters.parsers.sandbox import SandboxedParser
from mcp_knowledge.domain.blocks import Paragraph
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.settings import load_settings

TAKE_SECONDS_TO_MAKE = ("entries.docx", "cells.xlsx", "objects.pdf")


@pytest.fixture
async def parser() -> AsyncIterator[SandboxedParser]:
    made = SandboxedParser(load_settings())
    yield made
    await made.close()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in TAKE_SECONDS_TO_MAKE else []) for name in HOSTILE_FILES],
)
async def test_a_hostile_file_is_refused_or_harmless_and_the_next_file_is_read(
    parser: SandboxedParser, tmp_path: Path, name: str
) -> None:
    path, after = tmp_path / name, tmp_path / "after.txt"
    path.write_bytes(HOSTILE_FILES[name]())
    after.write_text("Still here.")
    code = None
    try:
        await parser.parse(path, name)
    except KnowledgeError as error:
        code = error.code
    assert code == OUTCOMES[name]
    parsed = await parser.parse(after, after.name)
    assert [block.text for block in parsed.document.blocks if isinstance(block, Paragraph)] == ["Still here."]
