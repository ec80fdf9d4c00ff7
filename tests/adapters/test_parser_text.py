from hypothesis import given
from hypothesis import strategies as st
from parser_support import blocks_of, code_of, source_text

from mcp_knowledge.adapters.parsers.finishing import MAX_BLOCK_CHARS, clean
from mcp_knowledge.domain.blocks import Code, Paragraph
from mcp_knowledge.errors import KnowledgeError


def test_paragraphs_stand_between_blank_lines_and_keep_their_line_breaks() -> None:
    text = "First line\nsecond line\n\n \t\n\n  Indented paragraph\n\nLast"
    blocks = blocks_of(text, "note.txt")
    assert [block.text for block in blocks if isinstance(block, Paragraph)] == [
        "First line\nsecond line",
        "Indented paragraph",
        "Last",
    ]
    assert [source_text(text, block) for block in blocks] == [
        "First line\nsecond line",
        "Indented paragraph",
        "Last",
    ]


def test_windows_line_ends_count_in_the_offsets_and_read_as_line_feeds() -> None:
    text = "one\r\ntwo\r\n\r\nthree"
    first, second = blocks_of(text, "note.txt")
    assert isinstance(first, Paragraph) and first.text == "one\ntwo"
    assert source_text(text, first) == "one\r\ntwo"
    assert source_text(text, second) == "three"


def test_a_log_without_blank_lines_is_cut_at_line_ends_with_exact_offsets() -> None:
    text = "\n".join(f"2024-01-01 12:00:{n:05} worker {n} did something useful" for n in range(1000))
    blocks = blocks_of(text, "app.log")
    assert len(blocks) > 10
    for block in blocks:
        assert isinstance(block, Paragraph)
        assert source_text(text, block) == block.text
        assert block.text.startswith("2024-") and block.text.endswith("useful")


def test_a_large_block_is_cut_into_pieces_that_say_where_they_stand() -> None:
    code = "\n".join(f"value_{number} = compute({number})" for number in range(1000))
    text = f"```\n{code}\n```\n\n{'A sentence of prose without any line end. ' * 500}"
    blocks = blocks_of(text, "a.md")
    assert len(blocks) > 4
    for block in blocks:
        assert isinstance(block, Paragraph | Code)
        assert source_text(text, block) == block.text


def test_plain_text_has_no_headings() -> None:
    assert [type(block) for block in blocks_of("Title\n=====\n\ntext", "a.txt")] == [Paragraph, Paragraph]


def test_nothing_but_blanks_is_empty() -> None:
    assert code_of("", "a.txt") == "DOCUMENT_EMPTY"
    assert code_of(" \n\t\r\n\x0c", "a.txt") == "DOCUMENT_EMPTY"
    assert code_of("\ufeff", "a.txt") == "DOCUMENT_EMPTY"


def test_more_text_than_the_limit_is_refused() -> None:
    assert code_of("word " * 1000, "a.txt", max_extract_bytes=4000) == "DOCUMENT_RESOURCE_LIMIT"
    assert code_of("ü" * 3000, "a.txt", max_extract_bytes=4000) == "DOCUMENT_RESOURCE_LIMIT"
    assert blocks_of("ü" * 2000, "a.txt", max_extract_bytes=4000)


def test_more_blocks_than_any_document_has_are_refused() -> None:
    assert code_of("a\n\n" * 200_001, "a.txt") == "DOCUMENT_RESOURCE_LIMIT"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_every_block_says_exactly_where_it_stands(text: str) -> None:
    try:
        blocks = blocks_of("x" + text, "a.txt")
    except KnowledgeError as error:
        assert error.code in ("DOCUMENT_EMPTY", "DOCUMENT_MALFORMED", "DOCUMENT_UNSUPPORTED_FORMAT")
        return
    end = 0
    for block in blocks:
        assert isinstance(block, Paragraph)
        assert clean(source_text("x" + text, block)) == block.text
        assert block.location.char_start is not None and block.location.char_end is not None
        assert block.location.char_start >= end
        end = block.location.char_end


@given(st.text(alphabet="ab .\n", min_size=1, max_size=30000))
def test_no_block_is_too_large_and_no_text_is_lost(text: str) -> None:
    try:
        blocks = blocks_of(text, "a.txt")
    except KnowledgeError as error:
        assert error.code == "DOCUMENT_EMPTY"
        return
    assert all(isinstance(block, Paragraph) and len(block.text) <= MAX_BLOCK_CHARS for block in blocks)
    joined = "".join(block.text for block in blocks if isinstance(block, Paragraph))
    assert "".join(joined.split()) == "".join(text.split())
