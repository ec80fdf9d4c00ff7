from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.ports import OutlineEntry
from mcp_knowledge.services.sections import WHOLE_DOCUMENT, Selection, select_sections

OUTLINE = [
    OutlineEntry(0, 1, "Guide"),
    OutlineEntry(2, 2, "Setup"),
    OutlineEntry(5, 3, "Linux"),
    OutlineEntry(8, 2, "Use"),
    OutlineEntry(11, 1, "Appendix"),
]


def ranges(*headings: str) -> tuple[tuple[int, int], ...]:
    return select_sections(OUTLINE, headings).within(14).ranges


def test_a_section_reaches_to_the_next_heading_of_its_own_or_a_higher_level() -> None:
    assert ranges("Setup") == ((2, 8),)
    assert ranges("Linux") == ((5, 8),)
    assert ranges("Guide") == ((0, 11),)
    assert ranges("Appendix") == ((11, 14),)


def test_headings_are_compared_without_regard_to_case_blanks_and_compatibility_forms() -> None:
    assert ranges("  setup ") == ranges("ＳＥＴＵＰ") == ranges("Setup")


def test_several_sections_come_in_document_order_and_each_block_once() -> None:
    assert ranges("Appendix", "Linux") == ((5, 8), (11, 14))
    assert ranges("Linux", "Setup") == ((2, 8),)


def test_an_unknown_heading_selects_nothing() -> None:
    assert ranges("Nowhere") == ()


def test_repeated_headings_select_each_of_their_sections() -> None:
    outline = [OutlineEntry(0, 2, "Notes"), OutlineEntry(2, 2, "Facts"), OutlineEntry(4, 2, "Notes")]
    assert select_sections(outline, ["notes"]).within(6).ranges == ((0, 2), (4, 6))


def test_the_whole_document_ends_where_the_document_ends() -> None:
    assert WHOLE_DOCUMENT.within(7).ranges == ((0, 7),)
    assert WHOLE_DOCUMENT.within(0).size == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=8))
def test_runs_cover_every_selected_block_once_and_in_order(gaps_and_lengths: list[tuple[int, int]]) -> None:
    parts, position = [], 0
    for gap, length in gaps_and_lengths:
        parts.append((position + gap, position + gap + length))
        position += gap + length
    selection = Selection(tuple(parts))
    walked: list[int] = []
    while len(walked) < selection.size:
        block, run = selection.run_at(len(walked))
        assert run > 0
        walked += range(block, block + run)
    assert walked == [block for first, end in parts for block in range(first, end)]
    assert selection.run_at(selection.size) == (0, 0)
