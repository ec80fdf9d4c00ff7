from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.blocks import SourceLocation
from mcp_knowledge.domain.documents import StoredChunk
from mcp_knowledge.domain.fusion import fuse
from mcp_knowledge.domain.results import (
    DOCUMENT_CHUNKS,
    SECTION_CHUNKS,
    Passage,
    choose_chunks,
    collapse,
    expansion_reach,
    join_chunks,
    overlap_chars,
    place_highlights,
)
from mcp_knowledge.domain.search import Candidate, Expand, Highlight


def chunk(
    sequence: int,
    content: str = "text",
    headings: tuple[str, ...] = (),
    document: str = "doc_1",
    span: tuple[int, int] | None = None,
) -> StoredChunk:
    location = SourceLocation(char_start=span[0], char_end=span[1]) if span else SourceLocation()
    number = sequence + 1000 * int(document.removeprefix("doc_"))
    return StoredChunk(number, document, "rev_1", f"chk_{number}", sequence, content, headings, location, 5, "", {})


def passages(*chunks: StoredChunk) -> list[Passage]:
    pool = [Candidate(item.chunk_no, item.id, 1.0 - place / 100) for place, item in enumerate(chunks)]
    fused = fuse("vector", "rrf", pool, [], 60)
    return [Passage(one, item, rank) for rank, (one, item) in enumerate(zip(fused, chunks, strict=True), 1)]


def test_collapse_keeps_the_best_passage_of_each_document_in_order() -> None:
    groups = collapse(
        passages(
            chunk(3, headings=("Guide", "Start")),
            chunk(1, document="doc_2"),
            chunk(4, headings=("Guide", "Stop")),
            chunk(5, headings=("Guide", "Start")),
        )
    )
    assert [(group.best.chunk.document_id, group.best.chunk_rank, group.count) for group in groups] == [
        ("doc_1", 1, 3),
        ("doc_2", 2, 1),
    ]
    assert groups[0].headings == ("Start", "Stop")
    assert groups[1].headings == ()


def test_an_overlap_between_neighbours_is_told_once() -> None:
    one = chunk(0, "The pump starts. It must be primed first.")
    two = chunk(1, "It must be primed first. Then open the valve.")
    joined = join_chunks([one, two], two)
    assert joined.text == "The pump starts. It must be primed first. Then open the valve."
    assert joined.text[joined.own_start : joined.own_end] == two.content


def test_neighbours_without_an_overlap_stand_apart() -> None:
    joined = join_chunks([chunk(0, "First."), chunk(1, "Second.")], chunk(0, "First."))
    assert joined.text == "First.\n\nSecond."
    assert joined.text[joined.own_start : joined.own_end] == "First."


def test_neighbours_that_touch_in_the_source_are_joined_as_they_stood() -> None:
    one, two = chunk(0, "x = 1\n", span=(0, 6)), chunk(1, "y = 2\n", span=(6, 12))
    assert join_chunks([one, two], one).text == "x = 1\ny = 2\n"


def test_a_short_equal_end_and_beginning_is_chance() -> None:
    assert overlap_chars(chunk(0, "all the data"), chunk(1, "data of the year")) == 0


def test_places_in_the_source_decide_over_equal_text() -> None:
    line = "----------------"
    repeated = chunk(0, f"a\n{line}", span=(0, 18)), chunk(1, f"{line}\nb", span=(18, 36))
    assert overlap_chars(*repeated) == 0
    short = chunk(0, "one two", span=(0, 7)), chunk(1, "two three", span=(4, 13))
    assert overlap_chars(*short) == 3


def test_places_that_disagree_with_the_text_do_not_cut_it() -> None:
    before = chunk(0, "| a | b |\n| 1 | 2 |", span=(0, 30))
    after = chunk(1, "| a | b |\n| 3 | 4 |", span=(25, 50))
    assert overlap_chars(before, after) == 0


def test_chunks_that_are_no_neighbours_share_nothing() -> None:
    text = "exactly the same words"
    assert overlap_chars(chunk(0, text), chunk(2, text)) == 0


@given(st.text("ab \n", max_size=60), st.text("ab \n", min_size=12, max_size=60), st.text("ab \n", max_size=60))
def test_joining_overlapping_cuts_gives_the_source_back(head: str, shared: str, tail: str) -> None:
    source = head + shared + tail
    cut = len(head) + len(shared)
    one = chunk(0, source[:cut], span=(0, cut))
    two = chunk(1, source[len(head) :], span=(len(head), len(source)))
    joined = join_chunks([one, two], two)
    assert joined.text == source
    assert joined.text[joined.own_start : joined.own_end] == two.content


@given(st.lists(st.text("ab .\n", min_size=1, max_size=40), min_size=1, max_size=6), st.data())
def test_the_hits_own_text_is_always_found_again(contents: list[str], data: st.DataObject) -> None:
    chunks = [chunk(index, content) for index, content in enumerate(contents)]
    own = data.draw(st.sampled_from(chunks))
    joined = join_chunks(chunks, own)
    assert joined.text[joined.own_start : joined.own_end] == own.content


def test_a_section_is_the_chunks_under_the_hits_heading_path() -> None:
    own = chunk(2, headings=("A", "B"))
    around = [
        chunk(0, headings=("A",)),
        chunk(1, headings=("A", "B")),
        own,
        chunk(3, headings=("A", "B", "C")),
        chunk(4, headings=("A", "D")),
    ]
    assert [item.sequence for item in choose_chunks(Expand("section"), own, around)] == [1, 2, 3]


@pytest.mark.parametrize(("kind", "most"), [("section", SECTION_CHUNKS), ("document", DOCUMENT_CHUNKS)])
@pytest.mark.parametrize("place", [0, 1, 60, 150, 199])
def test_a_large_expansion_is_cut_around_the_hit(kind: str, most: int, place: int) -> None:
    expand = Expand("section" if kind == "section" else "document")
    whole = [chunk(sequence) for sequence in range(200)]
    before, after = expansion_reach(expand)
    around = whole[max(0, place - before) : place + after + 1]
    chosen = choose_chunks(expand, whole[place], around)
    assert len(chosen) == most
    assert whole[place] in chosen
    first = chosen[0].sequence
    assert first in (0, 200 - most, place - most // 2)
    assert [item.sequence for item in chosen] == list(range(first, first + most))


def test_neighbours_are_all_that_were_asked_for() -> None:
    assert expansion_reach(Expand("neighbors", 1, 3)) == (1, 3)
    assert expansion_reach(Expand()) == (0, 0)
    around = [chunk(sequence) for sequence in range(3)]
    assert choose_chunks(Expand("neighbors"), around[1], around) == around


def test_highlights_move_with_the_hits_own_text() -> None:
    assert place_highlights([(0, 3), (8, 10)], 100, 140, expanded=True) == [Highlight(100, 103), Highlight(108, 110)]


def test_a_hit_found_by_meaning_alone_is_marked_as_a_whole_within_an_expansion() -> None:
    assert place_highlights([], 100, 140, expanded=True) == [Highlight(100, 140)]
    assert place_highlights([], 0, 40, expanded=False) == []


def test_a_chunk_inside_its_neighbours_overlap_keeps_its_place() -> None:
    one = chunk(0, "Alpha beta gamma delta.", span=(0, 23))
    two = replace(chunk(1, "gamma delta.", span=(11, 23)))
    joined = join_chunks([one, two], two)
    assert joined.text == one.content
    assert joined.text[joined.own_start : joined.own_end] == two.content
