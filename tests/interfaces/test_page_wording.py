from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.blocks import SourceLocation
from mcp_knowledge.domain.documents import Document, Progress, now_ms
from mcp_knowledge.domain.search import (
    Contributions,
    Highlight,
    Hit,
    QueryReading,
    Ranking,
    SearchRequest,
    SearchResult,
    SideCandidate,
    Timings,
)
from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.interfaces.web import wording
from mcp_knowledge.interfaces.web.playground import explain
from mcp_knowledge.interfaces.web.playground.marking import NEAR_CHARS, marked_text, segments
from mcp_knowledge.interfaces.web.playground.timing import stages

DOCUMENT = Document(
    id="doc_1",
    collection_id=None,
    current_revision_id=None,
    revision=1,
    title="Supplier list",
    original_filename="supplier-list.csv",
    mime_type="text/csv",
    extension="csv",
    size_bytes=10,
    sha256="0" * 64,
    status="pending",
    metadata={},
    source_path=None,
    source_url=None,
    chunk_count=0,
    latest_error=None,
    progress=None,
    created_at_ms=0,
    updated_at_ms=0,
)


@given(st.text(), st.lists(st.tuples(st.integers(-5, 50), st.integers(-5, 50))))
def test_marking_a_text_never_changes_it(text: str, spans: list[tuple[int, int]]) -> None:
    parts = segments(text, [Highlight(start, end) for start, end in spans])
    assert "".join(part.text for part in parts) == text
    marked = {at for start, end in spans for at in range(max(0, start), min(end, len(text)))}
    at = 0
    for part in parts:
        assert part.text
        assert all((index in marked) is part.marked for index in range(at, at + len(part.text)))
        at += len(part.text)


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9949, "9.9 kB"),
        (9950, "10 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (67_108_864, "67 MB"),
        (5 * 10**12, "5,000 GB"),
    ],
)
def test_sizes_read_as_in_a_file_manager(count: int, told: str) -> None:
    assert wording.size(count) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (3600, "1 h ago"),
        (86_400, "1 day ago"),
        (172_800, "2 days ago"),
        (-50, "just now"),
    ],
)
def test_ages_have_one_unit(seconds: int, told: str) -> None:
    assert wording.age(now_ms() - seconds * 1000) == told


def test_an_old_age_is_a_date() -> None:
    assert wording.age(0) == "1 Jan 1970"


@pytest.mark.parametrize(
    ("location", "told"),
    [
        (SourceLocation(), ""),
        (SourceLocation(page_start=3, page_end=3), "Page 3"),
        (SourceLocation(page_start=3), "Page 3"),
        (SourceLocation(page_start=3, page_end=4), "Pages 3–4"),
        (SourceLocation(slide=2), "Slide 2"),
        (SourceLocation(sheet="Costs", cell_range="B2:F40"), "Sheet Costs · B2:F40"),
        (SourceLocation(section="Intro"), "Section Intro"),
        (SourceLocation(char_start=0, char_end=1200), "Characters 0–1,200"),
    ],
)
def test_a_place_is_told_in_words(location: SourceLocation, told: str) -> None:
    assert wording.place(location) == told


def test_a_state_says_what_is_done_and_how_far_it_is() -> None:
    assert wording.state(DOCUMENT).label == "Waiting"
    embedding = replace(DOCUMENT, status="processing", progress=Progress("embedding", 3, 12))
    state = wording.state(embedding)
    assert (state.kind, state.label, state.done, state.total) == ("working", "Learning the meaning", 3, 12)
    parsing = wording.state(replace(DOCUMENT, status="processing", progress=Progress("parsing", 0, 0)))
    assert (parsing.label, parsing.total) == ("Reading the file", None)
    ready = replace(DOCUMENT, status="ready", progress=Progress("queued", 0, 0))
    assert wording.state(ready).label == "Ready"
    update = wording.update_state(ready)
    assert update is not None and update.label == "Waiting"
    assert wording.update_state(replace(ready, progress=None)) is None


def test_a_failure_comes_with_advice() -> None:
    failure = wording.failure("DOCUMENT_ENCRYPTED: This document is password-protected.")
    assert failure is not None
    assert failure.reason == "This document is password-protected."
    assert "without the password" in failure.next_step
    assert wording.failure(None) is None
    plain = wording.failure("A note: the file is open.")
    assert plain == wording.Failure("", "A note: the file is open.", "")


def test_advice_belongs_to_codes_that_exist() -> None:
    assert set(wording.NEXT_STEPS) <= set(ERROR_CODES)


def test_a_file_name_is_shown_only_when_it_says_more_than_the_title() -> None:
    assert not wording.tells_more(DOCUMENT)
    assert wording.tells_more(replace(DOCUMENT, title="Suppliers of 2026"))


def test_nested_metadata_becomes_paths() -> None:
    metadata = {"year": 2026, "tags": ["a", "b"], "document": {"author": "M", "empty": {}, "flags": [1, True]}}
    assert dict(wording.flat(metadata)) == {
        "year": "2026",
        "tags": "a, b",
        "document.author": "M",
        "document.empty": "{}",
        "document.flags": "[1, true]",
    }


def hit(ranking: Ranking, score: float) -> Hit:
    return Hit("chk_1", "doc_1", "rev_1", "T", "text", (), SourceLocation(), score, ranking, {}, (), ())


def test_bars_show_each_side_in_proportion_to_the_best_hit() -> None:
    both = hit(Ranking(1, Contributions(0.02, 0.01), vector_rank=1, lexical_rank=2), 0.03)
    one = hit(Ranking(2, Contributions(0.0, 0.015), lexical_rank=1, lexical_match_mode="exact"), 0.015)
    result = SearchResult(SearchRequest("q"), (both, one), Timings(), QueryReading((), "", None, ()))
    first, second = explain.hits(result, 60)
    assert [(bar.kind, bar.start, bar.width) for bar in first.bars] == [("meaning", 0, 66.67), ("words", 66.67, 33.33)]
    assert [(bar.kind, bar.start, bar.width) for bar in second.bars] == [("words", 0, 50)]
    assert dict(second.reasons)["Meaning"] == "Not among the passages closest in meaning."
    assert "contains every word asked for" in dict(second.reasons)["Words"]
    assert [(part.name, part.formula, part.value) for part in first.sum] == [
        ("Meaning", "1 ÷ (60 + 1)", "0.0200"),
        ("Words", "1 ÷ (60 + 2)", "0.0100"),
    ]
    assert second.sum[0].formula == "not found there"


def test_a_relative_score_is_told_with_the_numbers_that_it_comes_from() -> None:
    """A fallback hit may score higher than an exact hit, which ranks before it and then counts as much."""
    sides = tuple(SideCandidate(f"chk_{rank}", "doc_1", rank, value) for rank, value in enumerate((3.0, 8.0, 2.0), 1))
    ranking = Ranking(1, Contributions(0.0, 0.5), lexical_rank=1, lexical_match_mode="exact")
    result = SearchResult(
        SearchRequest("q", fusion="relative"),
        (hit(ranking, 0.5),),
        Timings(),
        QueryReading((), "", None, ()),
        (),
        sides,
    )
    (only,) = explain.hits(result, 60)
    assert [part.formula for part in only.sum] == ["not found there", "½ × (8.000 − 2.000) ÷ (8.000 − 2.000)"]
    equal = replace(result, lexical=(replace(sides[0], score=1.0),))
    assert explain.hits(equal, 60)[0].sum[1].formula == "½ × 1, as all of that side are equal"


def test_words_that_a_hit_of_the_second_pass_lacks_are_named() -> None:
    ranking = Ranking(1, Contributions(0.0, 0.5), lexical_rank=1, lexical_match_mode="fallback")
    found = replace(hit(ranking, 0.5), matched_terms=("pump", "INV-0042"))
    result = SearchResult(SearchRequest("the pump INV-0042 zebra"), (found,), Timings(), QueryReading((), "", None, ()))
    assert explain.hits(result, 60)[0].missing == ["zebra"]


@given(st.text("ab \n", max_size=1200), st.text("cd", min_size=2, max_size=9), st.text("ef \n", max_size=1200))
def test_a_passage_stands_apart_from_what_surrounds_it_and_nothing_is_lost(before: str, own: str, after: str) -> None:
    start, end = len(before), len(before) + len(own)
    text = marked_text(before + own + after, start, end, [Highlight(start, start + 1)])
    assert "".join(part.text for part in text.own) == own and text.own[0].marked
    assert (text.far_before + text.before).strip("\n") == before.strip("\n")
    assert (text.after + text.far_after).strip("\n") == after.strip("\n")
    assert len(text.before) <= NEAR_CHARS and len(text.after) <= NEAR_CHARS
    assert text.surrounded == bool(before.strip() or after.strip())
    whole = marked_text(before + own + after, start, end, [Highlight(start, end)])
    assert whole.own[0].marked == (not before and not after), "within other text, a mark of all of it tells nothing"


def test_stages_lie_side_by_side_and_what_ran_at_once_one_above_the_other() -> None:
    timings = Timings(embedding_ms=2, vector_search_ms=1, lexical_search_ms=1.5, fusion_ms=0.5, total_ms=5)
    drawn = [(item.kind, item.start, item.width, item.y, item.height) for item in stages(timings, "hybrid")]
    assert drawn == [
        ("embed", 0, 40, 0, 10),
        ("meaning", 40, 20, 0, 10),
        ("words", 0, 30, 10, 10),
        ("fusion", 60, 10, 0, 20),
        ("other", 70, 30, 0, 20),
    ]
    assert [(item.kind, item.height) for item in stages(timings, "lexical")] == [("words", 20), ("other", 20)]


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0.1 s"),
        (2_449, "2.4 s"),
        (9_949, "9.9 s"),
        (9_950, "10 s"),
        (59_499, "59 s"),
        (59_500, "1 min"),
        (90_000, "2 min"),
        (3_599_000, "1 h"),
        (7_830_000, "2 h 11 min"),
        (4_000_000_000, "1,111 h 7 min"),
    ],
)
def test_spans_of_time_are_told_in_the_units_that_matter(milliseconds: int, text: str) -> None:
    assert wording.span(milliseconds) == text
