"""Chunks: what they promise about their sizes, text, places and ids, with the real model's tokens."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from mcp_knowledge.domain.blocks import (
    Block,
    Code,
    Heading,
    Image,
    ListBlock,
    NormalizedDocument,
    PageBreak,
    Paragraph,
    Quote,
    SourceLocation,
    Table,
)
from mcp_knowledge.domain.cell_ranges import column_name
from mcp_knowledge.domain.chunking import chunk_document
from mcp_knowledge.domain.cutting import ChunkSizes
from mcp_knowledge.domain.documents import Chunk
from mcp_knowledge.settings import MODEL_DIR

SIZES = ChunkSizes()
SHA = "5b" * 32
SENTENCE = "Invoice INV-0042 over forty crates of oranges was paid by the harbour office in March. "


class ModelTokens:
    def __init__(self) -> None:
        self.tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(self.tokenizer.encode(text, add_special_tokens=False)) for text in texts]

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).offsets)


TOKENS = ModelTokens()


def chunks_of(*blocks: Block, title: str = "Harbour", sizes: ChunkSizes = SIZES) -> list[Chunk]:
    return chunk_document(NormalizedDocument(None, {}, blocks), title, SHA, sizes, TOKENS)


def words(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{number}" for number in range(count))


def test_a_short_document_is_one_chunk_with_its_text_as_it_stands() -> None:
    text = "First line of an address\nSecond line,  with two blanks\n\tand a tab."
    (chunk,) = chunks_of(Paragraph(text))
    assert chunk.content == text
    assert chunk.embedding_text == f"Document: Harbour\n\n{text}"
    assert chunk.heading_path == ()
    assert chunk.token_count == TOKENS.count_tokens([text])[0]


def pieces_of(text: str, cuts: Sequence[tuple[int, int]], make: Callable[[str, SourceLocation], Block]) -> list[Block]:
    """The text in blocks: a parser's cuts, each leaving out the characters from its first to its second place."""
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return [
        make(text[start:end], SourceLocation(char_start=50 + start, char_end=50 + end))
        for start, end in zip(starts, ends, strict=True)
    ]


@pytest.mark.parametrize("line", [SENTENCE.strip() + "\n", SENTENCE, "每天备份数据库并验证恢复流程。"])
def test_text_that_a_parser_cut_for_its_size_is_the_source_again(line: str) -> None:
    text = (line * (6000 // len(line))).strip()
    at = len(line) * (3000 // len(line))
    gap = len(line) - len(line.strip())
    chunks = chunks_of(*pieces_of(text, [(at - gap, at)], Paragraph))
    assert len(chunks) > 5
    for chunk in chunks:
        start, end = chunk.location.char_start, chunk.location.char_end
        assert start is not None and end is not None
        assert chunk.content == text[start - 50 : end - 50]


def test_code_that_a_parser_cut_for_its_size_is_the_source_again() -> None:
    text = "\n".join(f"def function_{number}():\n    return {number}\n\n" for number in range(150))
    at = text.index("def function_75")
    chunks = chunks_of(*pieces_of(text.rstrip(), [(at - 3, at)], lambda piece, place: Code(piece, "python", place)))
    assert len(chunks) > 5
    for chunk in chunks:
        start, end = chunk.location.char_start, chunk.location.char_end
        assert start is not None and end is not None
        assert chunk.content == text[start - 50 : end - 50]


def test_paragraphs_with_a_blank_line_between_them_stay_apart() -> None:
    text = f"{SENTENCE * 20}\n\n{SENTENCE}".strip()
    at = text.index("\n")
    whole = chunks_of(*pieces_of(text, [(at, at + 2)], Paragraph))
    assert SENTENCE.strip() in whole[-1].content.split("\n\n")[-1]
    assert "\n\n" in whole[-1].content


def test_a_document_without_text_has_no_chunks() -> None:
    assert chunks_of() == []
    assert (
        chunks_of(Paragraph(" \n "), PageBreak(), Image(""), ListBlock(False, ("  ",)), Table(None, (("", " "),))) == []
    )
    assert chunks_of(Paragraph("​﻿")) == []


def test_chunks_end_at_headings_when_a_section_is_not_tiny() -> None:
    first, second = chunks_of(
        Heading(1, "Payments"), Paragraph(SENTENCE * 4), Heading(1, "Storage"), Paragraph(SENTENCE.upper() * 4)
    )
    assert (first.heading_path, second.heading_path) == (("Payments",), ("Storage",))
    assert "HARBOUR" not in first.content and "harbour" not in second.content


def test_tiny_neighbours_share_a_chunk_that_names_their_headings() -> None:
    (chunk,) = chunks_of(
        Heading(1, "Questions"),
        Heading(2, "When?"),
        Paragraph("On Monday."),
        Heading(2, "Where?"),
        Paragraph("In Hall 3."),
    )
    assert chunk.heading_path == ("Questions",)
    assert chunk.content == "When?\n\nOn Monday.\n\nWhere?\n\nIn Hall 3."


def test_a_tiny_section_does_not_join_what_lies_outside_its_parent() -> None:
    first, second = chunks_of(
        Heading(1, "One"), Heading(2, "Inside"), Paragraph("Short."), Heading(1, "Two"), Paragraph("Brief.")
    )
    assert (first.heading_path, second.heading_path) == (("One", "Inside"), ("Two",))


def test_a_tiny_section_leaves_a_large_neighbour_alone() -> None:
    first, second = chunks_of(Heading(1, "A"), Paragraph("Short."), Heading(1, "B"), Paragraph(SENTENCE * 5))
    assert (first.content, second.heading_path) == ("Short.", ("B",))


def test_a_heading_without_text_of_its_own_is_still_there_to_find() -> None:
    (chunk,) = chunks_of(Heading(1, "Reserved"))
    assert (chunk.content, chunk.heading_path) == ("Reserved", ("Reserved",))
    (chunk,) = chunks_of(Heading(1, "Part"), Heading(2, "Detail"), Paragraph("Text."))
    assert chunk.heading_path == ("Part", "Detail")
    (chunk,) = chunks_of(Heading(2, "Empty"), Heading(2, "Full"), Paragraph("Text."))
    assert chunk.content == "Empty\n\nFull\n\nText."


def test_a_heading_as_long_as_a_paragraph_is_text() -> None:
    long = words(100, "heading")
    chunks = chunks_of(Heading(1, long), Paragraph("Body."))
    assert all(chunk.heading_path == () for chunk in chunks)
    assert "heading0 " in chunks[0].content and chunks[-1].content.endswith("Body.")


def test_a_long_paragraph_is_cut_between_sentences_and_overlaps_by_whole_sentences() -> None:
    text = "".join(
        f"Sentence number {number} speaks of crate {number * 7} in the harbour. " for number in range(80)
    ).strip()
    chunks = chunks_of(Paragraph(text, SourceLocation(char_start=1000, char_end=1000 + len(text))))
    assert len(chunks) > 3
    for chunk in chunks:
        assert chunk.content.startswith("Sentence number") and chunk.content.endswith("in the harbour.")
        start, end = chunk.location.char_start, chunk.location.char_end
        assert start is not None and end is not None
        assert text[start - 1000 : end - 1000] == chunk.content
        assert SIZES.minimum <= chunk.token_count <= SIZES.maximum
    for one, other in pairwise(chunks):
        shared = overlap(one.content, other.content)
        assert 0 < TOKENS.count_tokens([shared])[0] <= SIZES.overlap


def overlap(left: str, right: str) -> str:
    return next((right[:size] for size in range(min(len(left), len(right)), 0, -1) if left.endswith(right[:size])), "")


def test_a_paragraph_boundary_is_preferred_to_a_sentence_boundary() -> None:
    paragraphs = [Paragraph((SENTENCE * 5).strip() + f" End {number}.") for number in range(4)]
    chunks = chunks_of(*paragraphs)
    assert [chunk.content.split()[-2:] for chunk in chunks] == [["End", f"{number}."] for number in range(4)]


def test_the_last_chunk_of_a_section_is_not_a_crumb() -> None:
    for count in range(15, 40):
        chunks = chunks_of(Paragraph((SENTENCE * count).strip()))
        assert min(chunk.token_count for chunk in chunks) >= SIZES.minimum


def test_an_endless_sentence_is_cut_between_words() -> None:
    text = words(900)
    chunks = chunks_of(Paragraph(text))
    assert all(chunk.content in text for chunk in chunks)
    whole = set(text.split())
    assert all(set(chunk.content.split()) <= whole for chunk in chunks)


def test_a_split_table_repeats_its_header_and_knows_its_rows() -> None:
    rows = tuple((f"crate {number}", str(number * 3)) for number in range(200))
    place = SourceLocation(sheet="Stock", cell_range="B4:C204")
    chunks = chunks_of(Table(("item", "price"), rows, place))
    assert len(chunks) > 2
    seen: list[str] = []
    next_row = 4
    for chunk in chunks:
        header, *lines = chunk.content.split("\n")
        assert header == "item | price"
        seen += lines
        last_row = next_row + len(lines) - (0 if chunk.sequence == 0 else 1)
        assert chunk.location == SourceLocation(sheet="Stock", cell_range=f"B{next_row}:C{last_row}")
        next_row = last_row + 1
    assert seen == [f"crate {number} | {number * 3}" for number in range(200)]


@pytest.mark.parametrize("name", ["c{}", "a rather long name of column {}"])
def test_a_piece_of_a_wide_row_knows_its_columns(name: str) -> None:
    names = tuple(name.format(number) for number in range(200))
    row = tuple("" if number % 10 == 9 else f"v{number} of it" for number in range(200))
    place = SourceLocation(sheet="Wide", cell_range="C4:GT5")
    chunks = chunks_of(Table(names, (row,), place))
    assert len(chunks) > 4
    last_seen = 0
    for chunk in chunks[1:]:
        values = [int(number) for number in re.findall(r"\bv(\d+) of", chunk.content)]
        match = re.fullmatch(r"([A-Z]+)5:([A-Z]+)5", chunk.location.cell_range or "")
        assert values and match
        assert match[1] in (column_name(values[0] + 3), column_name(values[0] + 2))  # a cut may leave the cell's end
        assert match[2] in (column_name(values[-1] + 3), column_name(values[-1] + 4))
        last_seen = values[-1]
    assert last_seen == 198


def test_a_table_whose_range_leaves_its_header_out_knows_its_rows_too() -> None:
    rows = tuple((f"crate {number}", str(number * 3)) for number in range(10, 210))
    place = SourceLocation(sheet="Stock", cell_range="B54:C253")
    next_row = 54
    for chunk in chunks_of(Table(("item", "price"), rows, place)):
        header, *lines = chunk.content.split("\n")
        assert header == "item | price" and lines[0].startswith(f"crate {next_row - 44} ")
        last_row = next_row + len(lines) - 1
        assert chunk.location.cell_range == f"B{next_row}:C{last_row}"
        next_row = last_row + 1
    assert next_row == 254


def test_a_table_too_wide_for_its_header_names_the_column_at_every_value() -> None:
    names = tuple(f"measurement column {number}" for number in range(60))
    rows = tuple(tuple(f"v{row}x{column}" for column in range(60)) for row in range(3))
    chunks = chunks_of(Table(names, rows))
    text = "\n".join(chunk.content for chunk in chunks)
    for row in range(3):
        for column in range(60):
            assert f"measurement column {column}: v{row}x{column}" in text


def test_a_line_break_in_a_cell_does_not_break_the_row() -> None:
    (chunk,) = chunks_of(Table(("a", "b"), (("one\ntwo", "three"),)))
    assert chunk.content == "a | b\none two | three"


def test_lists_keep_one_item_a_line_with_markers_and_nesting() -> None:
    (chunk,) = chunks_of(
        ListBlock(False, ("one", "  inner", "two")), ListBlock(True, ("first", "  a", "  b", "second"))
    )
    assert chunk.content == "- one\n  - inner\n- two\n\n1. first\n  1. a\n  2. b\n2. second"


def test_items_that_carry_their_own_number_get_no_other() -> None:
    items = ("3. three", "b) letter", "2.1 inner", "  - bullet", "IV. roman", "plain", "2024 was a year", "No. 5")
    (chunk,) = chunks_of(ListBlock(True, items))
    assert chunk.content.splitlines()[-8:] == [
        "3. three",
        "b) letter",
        "2.1 inner",
        "  - bullet",
        "IV. roman",
        "5. plain",
        "6. 2024 was a year",
        "7. No. 5",
    ]


def test_a_long_list_is_cut_between_items() -> None:
    chunks = chunks_of(ListBlock(False, tuple(f"Item {number} goes to hall {number}" for number in range(150))))
    lines = [line for chunk in chunks for line in chunk.content.split("\n")]
    assert lines == [f"- Item {number} goes to hall {number}" for number in range(150)]


def test_code_is_cut_at_lines_and_keeps_its_indentation() -> None:
    code = "\n".join(f"    if crate == {number}:\n        return hall({number})" for number in range(120))
    chunks = chunks_of(Code(code, "python", SourceLocation(char_start=7, char_end=7 + len(code))))
    assert "\n".join(chunk.content for chunk in chunks) == code
    assert chunks[1].location.char_start == 7 + len(chunks[0].content) + 1


def test_pages_are_those_that_the_chunk_touches() -> None:
    blocks: list[Block] = []
    for page in range(1, 9):
        blocks += [
            Paragraph(f"Page {page}. " + SENTENCE * 3, SourceLocation(page_start=page, page_end=page)),
            PageBreak(),
        ]
    for chunk in chunks_of(*blocks):
        pages = [page for page in range(1, 9) if f"Page {page}." in chunk.content]
        location = chunk.location
        assert location.page_start is not None and location.page_end is not None
        assert location.page_start <= pages[0] and location.page_end == pages[-1]


@pytest.mark.parametrize("other", [SourceLocation(slide=2), SourceLocation(sheet="Two"), SourceLocation(section="Two")])
def test_no_chunk_straddles_slides_sheets_or_chapters(other: SourceLocation) -> None:
    first = SourceLocation(slide=other.slide and 1, sheet=other.sheet and "One", section=other.section and "One")
    chunks = chunks_of(Paragraph("Left.", first), Paragraph("Right.", other))
    assert [(chunk.content, chunk.location) for chunk in chunks] == [("Left.", first), ("Right.", other)]


def test_the_title_of_a_slide_heads_no_other_slide() -> None:
    one, two, three = (SourceLocation(slide=number) for number in (1, 2, 3))
    chunks = chunks_of(
        Heading(1, "Goals", one),
        Paragraph("Grow.", one),
        Paragraph("A slide without a title.", two),
        Heading(1, "Only a title", three),
        Paragraph("Another one without.", SourceLocation(slide=4)),
    )
    assert [(chunk.heading_path, chunk.location.slide, chunk.content) for chunk in chunks] == [
        (("Goals",), 1, "Grow."),
        ((), 2, "A slide without a title."),
        (("Only a title",), 3, "Only a title"),
        ((), 4, "Another one without."),
    ]


@pytest.mark.parametrize("title", ["Harbour rules", "harbour  rules", "Harbour " + "rules " * 100])
def test_the_embedding_text_does_not_tell_a_title_twice(title: str) -> None:
    top = Heading(1, " ".join(title.split()))
    first, second = chunks_of(top, Paragraph(words(50)), Heading(2, "Tides"), Paragraph(words(50)), title=title)
    assert "Section:" not in first.embedding_text
    assert "\nSection: Tides\n" in second.embedding_text
    (other,) = chunks_of(Heading(1, "Rules"), Paragraph("No ships."), title=title)
    assert "\nSection: Rules\n" in other.embedding_text


def test_the_embedding_text_names_document_and_section_and_fits_the_window() -> None:
    title, headings = words(80, "title"), [Heading(level, words(20, f"h{level}x")) for level in range(1, 7)]
    chunks = chunks_of(*headings, Paragraph(SENTENCE * 30), title=title)
    for chunk in chunks:
        first, second, blank, *_ = chunk.embedding_text.split("\n")
        assert first.startswith("Document: title0") and second.startswith("Section: ") and blank == ""
        assert second.endswith("h6x19")
        assert chunk.embedding_text.endswith(chunk.content)
        assert TOKENS.count_tokens([chunk.embedding_text])[0] + 2 <= SIZES.window


def test_equal_passages_have_ids_of_their_own_and_the_same_ids_every_time() -> None:
    blocks = [part for _ in range(3) for part in (Heading(1, "Same"), Paragraph(SENTENCE * 6))]
    first, again = chunks_of(*blocks), chunks_of(*blocks, title="Another title")
    assert [chunk.id for chunk in first] == [chunk.id for chunk in again]
    assert len({chunk.id for chunk in first}) == 3
    assert len({chunk.content_hash for chunk in first}) == 1


def test_the_id_is_fixed_for_given_bytes() -> None:
    (chunk,) = chunks_of(Heading(1, "Payments"), Paragraph("Paid in March."))
    assert chunk.id == "chk_bf438b96ff8ced41ee2a0f5f04c62acd"


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10_000,
        "检索系统的测试文本" * 400,
        "検索システムのテストです。" * 300,
        "한국어문장입니다" * 300,
        "ค้นหาข้อมูล" * 400,
        "😀" * 3000,
        "." * 5000,
        "a" + " " * 50_000 + "b",
        ("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * 300)[:10_000],
        "é" * 3000,
        "\n".join("-" * 70 for _ in range(200)),
    ],
)
def test_text_without_words_is_cut_into_chunks_of_bounded_size(text: str) -> None:
    chunks = chunks_of(Paragraph(text))
    check(chunks, [text])
    assert max(len(chunk.content) for chunk in chunks) <= SIZES.maximum * 20


def check(chunks: list[Chunk], texts: list[str]) -> None:
    assert [chunk.sequence for chunk in chunks] == list(range(len(chunks)))
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        assert chunk.content.strip()
        assert chunk.token_count == TOKENS.count_tokens([chunk.content])[0] <= SIZES.maximum
        assert TOKENS.count_tokens([chunk.embedding_text])[0] + 2 <= SIZES.window
    everything = "".join("".join(chunk.content.split()) for chunk in chunks)
    for text in texts:  # every character is there, in order; overlaps and headers only add some
        position = 0
        for character in "".join(text.split()):
            position = everything.find(character, position) + 1
            assert position > 0


TEXT = st.text(
    st.one_of(
        st.sampled_from("ab c. \n!?|-é0İß"),
        st.characters(exclude_categories=("Cs", "Cc", "Cf", "Cn", "Co", "Zl", "Zp")),
    ),
    max_size=600,
)
BLOCKS = st.lists(
    st.one_of(
        st.builds(Heading, st.integers(1, 6), st.text("abc XY.", min_size=1, max_size=40)),
        st.builds(Paragraph, st.one_of(TEXT, st.lists(TEXT, max_size=9).map(". A".join))),
        st.builds(Quote, TEXT),
        st.builds(Code, TEXT),
        st.builds(ListBlock, st.booleans(), st.lists(TEXT, max_size=6).map(tuple)),
        st.builds(
            Table,
            st.one_of(st.none(), st.tuples(st.text("hH", max_size=9), TEXT)),
            st.lists(st.tuples(TEXT, TEXT), max_size=6).map(tuple),
        ),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(BLOCKS)
def test_any_document_is_covered_by_small_chunks_with_ids_that_can_be_made_again(blocks: list[Block]) -> None:
    chunks = chunks_of(*blocks)
    check(chunks, [block.text for block in blocks if isinstance(block, Paragraph | Quote)])
    assert chunks == chunks_of(*blocks)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.text("ab é.!\n检", max_size=300), min_size=1, max_size=12).map(". ".join))
def test_a_chunk_of_running_text_is_a_stretch_of_the_source_at_its_location(text: str) -> None:
    place = SourceLocation(char_start=5, char_end=5 + len(text))
    for chunk in chunks_of(Paragraph(text, place)):
        start, end = chunk.location.char_start, chunk.location.char_end
        assert start is not None and end is not None
        assert text[start - 5 : end - 5] == chunk.content


def test_long_texts_are_tokenized_a_bounded_number_of_times() -> None:
    class Counting(ModelTokens):
        characters = 0

        def count_tokens(self, texts: Sequence[str]) -> list[int]:
            Counting.characters += sum(map(len, texts))
            return [max(1, len(text) // 4) for text in texts]

        def token_offsets(self, text: str) -> list[tuple[int, int]]:
            Counting.characters += len(text)
            return [(at, at + 4) for at in range(0, len(text) - 3, 4)]

    for text in ("word " * 200_000, "x" * 1_000_000, "." * 1_000_000, "One sentence here. " * 50_000):
        Counting.characters = 0
        document = NormalizedDocument(None, {}, (Paragraph(text),))
        assert chunk_document(document, "Long", SHA, SIZES, Counting())
        assert Counting.characters < 5 * len(text)
