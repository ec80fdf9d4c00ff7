import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.domain.blocks import NormalizedDocument, Paragraph, SourceLocation
from mcp_knowledge.domain.documents import Chunk, IndexVersions, Metadata, StoredChunk, new_id
from mcp_knowledge.domain.query import Phrase
from mcp_knowledge.domain.search import (
    Candidate,
    Expand,
    Highlight,
    MatchMode,
    Place,
    Scope,
    SearchRequest,
    SearchResult,
)
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import IndexedRevision, NewDocument, NewRevision, Vector
from mcp_knowledge.services.search import Search
from mcp_knowledge.settings import Settings, load_settings

FINGERPRINT = "model-a"
VERSIONS = IndexVersions("text", "1", "blocks", "1", "model-a", 384, "1")


Meanwhile = Callable[[], Awaitable[object]]


async def nothing() -> None:
    return None


class ScriptedVectors:
    """A vector side whose ranking is given; `meanwhile` runs between its answer and the caller's getting it."""

    def __init__(self) -> None:
        self.ranking: list[Candidate] = []
        self.limits: list[int] = []
        self.loaded = False
        self.meanwhile: Meanwhile = nothing

    async def load(self) -> int:
        self.loaded = True
        return len(self.ranking)

    async def search(self, vector: Vector, limit: int, scope: Scope) -> list[Candidate]:
        self.limits.append(limit)
        answer = self.ranking[:limit]
        await self.meanwhile()
        return answer

    async def place(self, vector: Vector, chunk_no: int, scope: Scope) -> Place | None:
        raise AssertionError("a search asks for no place")


class ScriptedLexical:
    """A lexical side whose passes are given."""

    def __init__(self) -> None:
        self.exact: list[Candidate] = []
        self.fallback: list[Candidate] = []
        self.fallback_error: Exception | None = None
        self.calls: list[tuple[str, int]] = []
        self.meanwhile: Meanwhile = nothing

    async def search_all(self, phrases: Sequence[Phrase], limit: int, scope: Scope) -> list[Candidate]:
        self.calls.append(("exact", limit))
        await self.meanwhile()
        return self.exact[:limit]

    async def search_any(
        self, phrases: Sequence[Phrase], min_match: int, limit: int, scope: Scope, exclude: frozenset[int] = frozenset()
    ) -> list[Candidate]:
        self.calls.append(("fallback", limit))
        if self.fallback_error is not None:
            raise self.fallback_error
        return [item for item in self.fallback if item.chunk_no not in exclude][:limit]

    async def count(self, phrases: Sequence[Phrase], at_most: int) -> list[int]:
        raise AssertionError("a search counts no chunks")


class ScriptedEmbedder:
    """An embedder that only embeds queries, each as the same vector."""

    model, version, dimensions, max_tokens = "model-a", "1", 384, 256

    def __init__(self) -> None:
        self.fingerprint = FINGERPRINT
        self.queries: list[str] = []

    async def embed_query(self, text: str) -> Vector:
        self.queries.append(text)
        return np.ones(384, np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        raise AssertionError("a search counts no tokens")

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        raise AssertionError("a search counts no tokens")

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        raise AssertionError("a search embeds no passages")


class Bench:
    """A real store, and sides that say what a test wants."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.store = SqlStore(database)
        self.queue = SqlJobQueue(database)
        self.vectors = ScriptedVectors()
        self.lexical = ScriptedLexical()
        self.embedder = ScriptedEmbedder()
        self.service = Search(self.store, self.lexical, self.vectors, self.embedder, settings)

    async def add(
        self, *texts: str, title: str = "Manual", headings: Sequence[str] = (), metadata: Metadata | None = None
    ) -> list[StoredChunk]:
        """A ready document; its chunks. `headings`: one for each chunk."""
        document_id, revision_id = new_id("doc"), new_id("rev")
        await self.store.create_document(
            NewDocument(
                id=document_id,
                revision_id=revision_id,
                title=title,
                original_filename="a.txt",
                mime_type="text/plain",
                extension="txt",
                size_bytes=1,
                sha256=document_id.removeprefix("doc_") * 2,
                blob_key=revision_id,
                metadata=metadata,
            )
        )
        await self._index(texts, title, headings)
        return await self.store.list_chunks(document_id, 1000)

    async def replace(self, document_id: str, *texts: str) -> list[StoredChunk]:
        """A new revision of a document; its chunks."""
        revision_id = new_id("rev")
        await self.store.create_revision(
            NewRevision(
                id=revision_id,
                document_id=document_id,
                original_filename="a.txt",
                mime_type="text/plain",
                extension="txt",
                size_bytes=1,
                sha256=revision_id.removeprefix("rev_") * 2,
                blob_key=revision_id,
            )
        )
        await self._index(texts, "Manual", ())
        return await self.store.list_chunks(document_id, 1000)

    async def _index(self, texts: Sequence[str], title: str, headings: Sequence[str]) -> None:
        (job,) = await self.queue.claim("test", 1, 60_000)
        chunks = [
            Chunk(
                id=f"chk_{job.document_id[-12:]}{job.attempt}{number:04d}",
                sequence=number,
                content=text,
                heading_path=(headings[number],) if headings else (),
                location=SourceLocation(),
                token_count=5,
                content_hash="",
                embedding_text=text,
                metadata={},
            )
            for number, text in enumerate(texts)
        ]
        document = NormalizedDocument(None, {}, tuple(Paragraph(text) for text in texts))
        vectors = np.ones((len(texts), 384), np.float32)
        item = IndexedRevision(job, title, document, {}, chunks, vectors, VERSIONS)
        assert await self.store.index_revisions([item], FINGERPRINT) == [True]

    async def search(self, query: str = "pump motor valve", **fields: object) -> SearchResult:
        return await self.service.search(SearchRequest(query, **fields))  # type: ignore[arg-type]  # a test's fields


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(data_dir=tmp_path)


@pytest.fixture
async def bench(settings: Settings) -> AsyncIterator[Bench]:
    database = Database(settings.database_path)
    await database.open()
    try:
        yield Bench(database, settings)
    finally:
        await database.close()


def found(*chunks: StoredChunk, mode: MatchMode | None = None, best: float = 0.9) -> list[Candidate]:
    return [Candidate(item.chunk_no, item.id, best - place / 1000, mode) for place, item in enumerate(chunks)]


async def test_a_hybrid_hit_tells_why_it_stands_where_it_does(bench: Bench) -> None:
    pump, valve, motor = await bench.add(
        "the pump", "the valve", "the motor", title="Guide", headings=("A", "B", "C"), metadata={"year": 2024}
    )
    bench.vectors.ranking = found(pump, valve)
    bench.lexical.exact = found(valve, mode="exact", best=7.0)
    bench.lexical.fallback = found(motor, mode="fallback", best=9.0)
    result = await bench.search()
    first, second, third = result.hits
    assert [hit.chunk_id for hit in result.hits] == [valve.id, pump.id, motor.id]
    assert (first.ranking.vector_rank, first.ranking.lexical_rank, first.ranking.final_rank) == (2, 1, 1)
    assert (first.ranking.vector_score, first.ranking.lexical_score) == (0.899, 7.0)
    assert first.ranking.lexical_match_mode == "exact"
    assert first.score == first.ranking.fusion_score == 1 / 62 + 1 / 61
    assert (first.ranking.contributions.vector, first.ranking.contributions.lexical) == (1 / 62, 1 / 61)
    assert (first.title, first.heading_path, first.metadata) == ("Guide", ("B",), {"year": 2024})
    assert (first.content, first.matched_terms, first.highlights) == ("the valve", ("valve",), (Highlight(4, 9),))
    assert (second.ranking.lexical_rank, second.ranking.lexical_score) == (None, None)
    assert second.ranking.lexical_match_mode is None
    assert (third.ranking.vector_rank, third.ranking.lexical_match_mode) == (None, "fallback")
    assert first.ranking.chunk_rank is None
    assert first.matching_chunk_count is None
    assert result.matched_terms == ("valve", "pump", "motor")


@pytest.mark.parametrize("mode", ["vector", "lexical"])
async def test_a_single_side_is_asked_alone_and_its_score_is_the_score(bench: Bench, mode: str) -> None:
    (pump,) = await bench.add("the pump")
    bench.vectors.ranking = found(pump)
    bench.lexical.exact = found(pump, mode="exact", best=5.0)
    (hit,) = (await bench.search(mode=mode)).hits
    assert hit.score == (0.9 if mode == "vector" else 5.0)
    assert hit.ranking.fusion_score is None
    assert hit.ranking.contributions.vector + hit.ranking.contributions.lexical == hit.score
    assert bool(bench.vectors.limits) == bool(bench.embedder.queries) == (mode == "vector")
    assert bool(bench.lexical.calls) == (mode == "lexical")


async def test_both_sides_are_at_work_at_the_same_time(bench: Bench) -> None:
    (pump,) = await bench.add("the pump")
    bench.vectors.ranking = found(pump)
    meeting = asyncio.Barrier(2)
    bench.vectors.meanwhile = bench.lexical.meanwhile = meeting.wait
    async with asyncio.timeout(10):
        assert len((await bench.search()).hits) == 1


async def test_the_fallback_pass_gets_only_the_slots_that_are_left(bench: Bench, settings: Settings) -> None:
    chunks = await bench.add(*(f"pump {number}" for number in range(60)))
    bench.lexical.exact = found(*chunks[:20], mode="exact")
    bench.lexical.fallback = found(*chunks, mode="fallback")
    result = await bench.search(mode="lexical", explain=True)
    assert bench.lexical.calls == [("exact", 50), ("fallback", 30)]
    assert [item.match_mode for item in result.lexical] == ["exact"] * 20 + ["fallback"] * 30
    assert len({item.chunk_id for item in result.lexical}) == 50
    bench.lexical.exact = found(*chunks, mode="exact")
    bench.lexical.calls.clear()
    await bench.search(mode="lexical")
    assert bench.lexical.calls == [("exact", 50)]


async def test_a_lone_identifier_has_no_fallback_pass(bench: Bench) -> None:
    await bench.search("INV-0042", mode="lexical")
    assert bench.lexical.calls == [("exact", 50)]


async def test_a_query_without_letters_or_digits_is_answered_by_the_vector_side_alone(bench: Bench) -> None:
    (pump,) = await bench.add("the pump")
    bench.vectors.ranking = found(pump)
    assert len((await bench.search("?!")).hits) == 1
    assert (await bench.search("?!", mode="lexical")).hits == ()
    assert bench.lexical.calls == []


async def test_exact_and_vector_hits_still_come_when_the_fallback_fails(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    pump, valve = await bench.add("the pump", "the valve")
    bench.vectors.ranking = found(valve)
    bench.lexical.exact = found(pump, mode="exact")
    bench.lexical.fallback_error = RuntimeError("secret query text")
    with caplog.at_level(logging.WARNING):
        result = await bench.search()
    assert {hit.chunk_id for hit in result.hits} == {pump.id, valve.id}
    assert "fallback" in caplog.text
    assert "secret" not in caplog.text


async def test_while_vectors_are_another_models_words_answer_and_a_note_says_so(bench: Bench) -> None:
    (pump,) = await bench.add("the pump")
    bench.lexical.exact = found(pump, mode="exact")
    assert (await bench.search()).notice is None
    bench.embedder.fingerprint = "model-b"
    result = await bench.search()
    assert [hit.chunk_id for hit in result.hits] == [pump.id]
    assert result.notice is not None and "reindex --all" in result.notice
    with pytest.raises(KnowledgeError, match="EMBEDDING_MISMATCH"):
        await bench.search(mode="vector")
    bench.vectors.ranking = found(pump)  # some documents have been embedded again
    assert len((await bench.search(mode="vector")).hits) == 1
    assert (await bench.search(mode="lexical")).notice is None


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("What is a pump?", "What is a pump"),
        ("¿Qué es?", "Qué es"),
        ("什么？！", "什么"),
        ("Pumps leak.", "Pumps leak"),
        ("泵漏水。", "泵漏水"),
        (".NET on pumps", ".NET on pumps"),
        ("?!", "?!"),
        ("...", "..."),
    ],
)
async def test_the_model_reads_a_query_without_the_marks_that_end_it(bench: Bench, query: str, read: str) -> None:
    await bench.search(query, mode="vector")
    assert bench.embedder.queries == [read]


async def test_warming_up_loads_model_and_vectors_and_survives_their_failure(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.service.warm_up()
    assert bench.vectors.loaded and len(bench.embedder.queries) == 1

    async def fail(text: str) -> Vector:
        raise KnowledgeError("SERVICE_UNAVAILABLE")

    monkeypatch.setattr(bench.embedder, "embed_query", fail)
    await bench.service.warm_up()
    assert "warmed up" in caplog.text


async def test_the_limit_cuts_and_pools_are_never_smaller_than_it(bench: Bench) -> None:
    chunks = await bench.add(*(f"pump {number}" for number in range(70)))
    bench.vectors.ranking = found(*chunks)
    assert len((await bench.search(mode="vector", limit=3)).hits) == 3
    assert len((await bench.search(mode="vector", limit=60)).hits) == 60
    assert bench.vectors.limits == [50, 60]


async def test_collapse_gives_one_hit_a_document_and_tells_of_the_rest(bench: Bench) -> None:
    one = await bench.add("pump a", "pump b", "pump c", headings=("Start", "Stop", "Start"))
    (two,) = await bench.add("pump d")
    bench.vectors.ranking = found(one[2], two, one[1], one[0])
    first, second = (await bench.search(mode="vector", collapse="document")).hits
    assert (first.chunk_id, first.matching_chunk_count, first.matched_headings) == (one[2].id, 3, ("Start", "Stop"))
    assert (first.ranking.final_rank, first.ranking.chunk_rank) == (1, 1)
    assert (second.chunk_id, second.matching_chunk_count, second.matched_headings) == (two.id, 1, ())
    assert (second.ranking.final_rank, second.ranking.chunk_rank) == (2, 2)


async def test_full_pools_grow_step_by_step_until_enough_documents_come_out(bench: Bench) -> None:
    large = await bench.add(*(f"pump {number}" for number in range(150)))
    small = [(await bench.add(f"pump in another {number}"))[0] for number in range(5)]
    bench.vectors.ranking = found(*large, *small)
    bench.lexical.exact = found(*large[:10], mode="exact")
    result = await bench.search(collapse="document", limit=4)
    assert bench.vectors.limits == [50, 100, 200]
    assert [call for call in bench.lexical.calls if call[0] == "exact"] == [("exact", 50)]
    assert len(result.hits) == 4
    assert result.hits[0].matching_chunk_count == 150
    assert len(bench.embedder.queries) == 1


async def test_pools_stop_growing_at_the_maximum(bench: Bench) -> None:
    large = await bench.add(*(f"pump {number}" for number in range(250)))
    bench.vectors.ranking = found(*large)
    result = await bench.search(mode="vector", collapse="document", limit=4)
    assert bench.vectors.limits == [50, 100, 200]
    assert result.hits[0].matching_chunk_count == 200


async def test_a_pool_that_was_not_full_is_not_asked_again(bench: Bench) -> None:
    bench.vectors.ranking = found(*await bench.add(*(f"pump {number}" for number in range(49))))
    await bench.search(mode="vector", collapse="document", limit=4)
    assert bench.vectors.limits == [50]


async def test_a_search_is_made_again_when_a_new_revision_took_a_candidates_place(bench: Bench) -> None:
    old = await bench.add("old pump")
    bench.vectors.ranking = found(*old)

    async def switch() -> None:
        bench.vectors.meanwhile = nothing
        bench.vectors.ranking = found(*await bench.replace(old[0].document_id, "new pump"))

    bench.vectors.meanwhile = switch
    (hit,) = (await bench.search(mode="vector")).hits
    assert hit.content == "new pump"
    assert len(bench.vectors.limits) == 2


async def test_text_around_a_hit_is_never_that_of_another_revision(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await bench.add("old before", "old pump", "old after")
    bench.vectors.ranking = found(old[1])
    read = bench.store.chunk_range

    async def switch_then_read(document_id: str, first: int, last: int) -> list[StoredChunk]:
        monkeypatch.setattr(bench.store, "chunk_range", read)
        new = await bench.replace(document_id, "new before", "new pump", "new after")
        bench.vectors.ranking = found(new[1])
        return await read(document_id, first, last)

    monkeypatch.setattr(bench.store, "chunk_range", switch_then_read)
    (hit,) = (await bench.search(mode="vector", expand=Expand("neighbors", 1, 1))).hits
    assert hit.content == "new before\n\nnew pump\n\nnew after"


async def test_a_candidate_that_stays_away_is_left_out_and_ranks_close_up(bench: Bench) -> None:
    one, two, three = await bench.add("pump one", "pump two", "pump three")
    gone = Candidate(999_999, "chk_gone", 0.95)
    bench.vectors.ranking = [gone, *found(one, two)]
    bench.lexical.exact = [*found(three, mode="exact"), gone]
    result = await bench.search(explain=True, limit=2)
    assert [hit.chunk_id for hit in result.hits] == [one.id, three.id]
    assert [hit.ranking.final_rank for hit in result.hits] == [1, 2]
    assert result.hits[0].ranking.vector_rank == 1
    assert [item.rank for item in result.vector] == [1, 2]
    assert [item.chunk_id for item in result.lexical] == [three.id]


async def test_a_deleted_document_is_no_hit(bench: Bench) -> None:
    (kept,) = await bench.add("pump")
    (gone,) = await bench.add("pump too")
    bench.vectors.ranking = found(gone, kept)
    await bench.store.delete_document(gone.document_id)
    (hit,) = (await bench.search(mode="vector")).hits
    assert (hit.chunk_id, hit.ranking.final_rank, hit.ranking.vector_rank) == (kept.id, 1, 1)


async def test_neighbours_stand_around_a_hit_and_its_own_text_stays_marked(bench: Bench) -> None:
    chunks = await bench.add("alpha one", "beta pump", "gamma two", "delta three")
    bench.vectors.ranking = found(chunks[1])
    (hit,) = (await bench.search("pump", mode="vector", expand=Expand("neighbors", 1, 1))).hits
    assert hit.content == "alpha one\n\nbeta pump\n\ngamma two"
    assert hit.content[hit.own_start : hit.own_end] == "beta pump"
    assert [hit.content[mark.start : mark.end] for mark in hit.highlights] == ["pump"]
    assert (hit.score, hit.ranking.final_rank, hit.chunk_id) == (0.9, 1, chunks[1].id)


async def test_a_hit_found_by_meaning_is_marked_as_a_whole_within_its_expansion(bench: Bench) -> None:
    chunks = await bench.add("alpha one", "beta", "gamma two")
    bench.vectors.ranking = found(chunks[1])
    (hit,) = (await bench.search("zebra", mode="vector", expand=Expand("neighbors", 1, 1))).hits
    assert hit.highlights == (Highlight(hit.own_start, hit.own_end),)
    (bare,) = (await bench.search("zebra", mode="vector")).hits
    assert bare.highlights == ()


async def test_a_section_or_a_document_stands_around_a_hit(bench: Bench) -> None:
    chunks = await bench.add("one", "two", "three", "four", headings=("A", "B", "B", "C"))
    bench.vectors.ranking = found(chunks[2])
    (section,) = (await bench.search(mode="vector", expand=Expand("section"))).hits
    assert section.content == "two\n\nthree"
    (document,) = (await bench.search(mode="vector", expand=Expand("document"))).hits
    assert document.content == "one\n\ntwo\n\nthree\n\nfour"


async def test_an_explanation_lists_both_sides_how_the_query_was_read_and_the_time(bench: Bench) -> None:
    pump, valve = await bench.add("the pump", "the valve")
    bench.vectors.ranking = found(pump, valve)
    bench.lexical.exact = found(valve, mode="exact", best=3.0)
    result = await bench.search("the pump valve", explain=True, fusion="relative")
    assert [(item.chunk_id, item.rank, item.normalized_score) for item in result.vector] == [
        (pump.id, 1, 1.0),
        (valve.id, 2, 0.0),
    ]
    assert [(item.document_id, item.match_mode) for item in result.lexical] == [(valve.document_id, "exact")]
    assert result.reading.tokens == ("the", "pump", "valve")
    assert result.reading.dropped == ("the",)
    timings = result.timings
    parts = (timings.embedding_ms, timings.vector_search_ms, timings.lexical_search_ms, timings.fusion_ms)
    assert all(part > 0 for part in parts)
    assert timings.total_ms >= max(parts)
    for hit in result.hits:
        assert hit.ranking.normalized_scores is not None
        assert hit.ranking.contributions.vector == hit.ranking.normalized_scores.vector / 2


async def test_without_explain_the_sides_are_not_listed(bench: Bench) -> None:
    bench.vectors.ranking = found(*await bench.add("the pump"))
    result = await bench.search()
    assert (result.vector, result.lexical) == ((), ())


async def test_an_empty_corpus_gives_no_hits_and_no_error(bench: Bench) -> None:
    for mode in ("hybrid", "vector", "lexical"):
        assert (await bench.search(mode=mode, collapse="document", explain=True)).hits == ()
