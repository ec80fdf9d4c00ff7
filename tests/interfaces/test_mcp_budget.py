import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.blocks import NOWHERE
from mcp_knowledge.domain.search import (
    Contributions,
    Hit,
    QueryReading,
    Ranking,
    SearchRequest,
    SearchResult,
    Timings,
)
from mcp_knowledge.interfaces.mcp.search_tool import search_answer

OWN = "the hit itself"


def hit(rank: int, before: str = "", after: str = "", metadata: dict[str, Any] | None = None, own: str = OWN) -> Hit:
    return Hit(
        chunk_id=f"chk_{rank}",
        document_id="doc_1",
        revision_id="rev_1",
        title="Title",
        content=before + own + after,
        heading_path=(),
        location=NOWHERE,
        score=1.0,
        ranking=Ranking(rank, Contributions(1.0, 0.0)),
        metadata=metadata or {},
        matched_terms=(),
        highlights=(),
        own_start=len(before),
        own_end=len(before) + len(own),
    )


def answer(hits: list[Hit], max_chars: int) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    """The hits, the object form, and the largest size in characters of the two forms."""
    reading = QueryReading((), "", None, ())
    found = search_answer(SearchResult(SearchRequest("q"), tuple(hits), Timings(), reading), max_chars)
    assert found.structured is not None
    whole = json.dumps(found.structured, ensure_ascii=False, separators=(",", ":"))
    assert json.loads(found.texts[0]) == found.structured["hits"]
    return found.structured["hits"], found.structured, max(sum(map(len, found.texts)), len(whole))


def test_an_answer_that_fits_is_complete_and_says_nothing_of_cuts() -> None:
    hits, structured, _ = answer([hit(1, "before ", " after"), hit(2)], 10_000)
    assert [item["content"] for item in hits] == [f"before {OWN} after", OWN]
    assert structured.keys() == {"hits"}


def test_expansions_shrink_towards_their_hit_before_any_hit_goes() -> None:
    words = "word " * 2000
    hits, structured, size = answer([hit(rank, words, " " + words) for rank in (1, 2, 3)], 9_000)
    assert size <= 9_000
    assert structured["truncated"] is True
    assert structured["omittedHits"] == 0
    for item in hits:
        start = item["content"].index(OWN)
        after = len(item["content"]) - start - len(OWN)
        assert start > 500
        assert abs(start - after) < 20
        assert item["content"].split()[0] == item["content"].split()[-1] == "word"
    assert size > 8_500  # what is left of the budget is used


def test_text_without_blanks_shrinks_too() -> None:
    hits, _, size = answer([hit(1, "語" * 5000, "語" * 5000)], 3_000)
    assert 2_500 < size <= 3_000
    assert OWN in hits[0]["content"]


def test_then_the_last_hits_go_and_are_counted() -> None:
    long = "x" * 400
    hits, structured, size = answer([hit(rank, own=long) for rank in range(1, 11)], 3_000)
    assert size <= 3_000
    assert [item["rank"] for item in hits] == list(range(1, len(hits) + 1))
    assert structured["omittedHits"] == 10 - len(hits) > 0
    assert all(item["content"] == long for item in hits)


def test_metadata_as_large_as_an_answer_hides_no_hit() -> None:
    hits, structured, size = answer([hit(1, metadata={"notes": "x" * 5000}), hit(2, metadata={"year": 2024})], 1_000)
    assert size <= 1_000
    assert [item["rank"] for item in hits] == [1, 2]
    assert (hits[0]["metadata"], hits[0]["metadataOmitted"]) == ({}, True)
    assert hits[1]["metadata"] == {"year": 2024}
    assert "metadataOmitted" not in hits[1]
    assert structured.keys() == {"hits"}


def test_a_hit_that_can_never_fit_leaves_an_honest_empty_answer() -> None:
    hits, structured, _ = answer([hit(1, own="x" * 5000)], 1_000)
    assert hits == []
    assert structured == {"hits": [], "truncated": True, "omittedHits": 1}


@given(
    st.lists(st.tuples(st.text(max_size=300), st.text(min_size=1, max_size=100), st.text(max_size=300)), max_size=8),
    st.integers(200, 4000),
)
def test_no_answer_exceeds_its_budget_and_every_hit_keeps_its_own_text(
    parts: list[tuple[str, str, str]], max_chars: int
) -> None:
    hits = [hit(rank, before, after, own=own) for rank, (before, own, after) in enumerate(parts, 1)]
    shown, structured, size = answer(hits, max_chars)
    assert size <= max_chars
    assert len(shown) + structured.get("omittedHits", 0) == len(hits)
    for item, (before, own, after) in zip(shown, parts, strict=False):
        assert own in item["content"]
        assert item["content"] in before + own + after
