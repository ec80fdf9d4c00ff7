"""Where something fell out of a search, in cases that no small corpus with one model has by itself."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from contract_kit import DIMENSIONS, FINGERPRINT, Backend, add, chunk, claim_one, fake_vector, indexed, new_document

from mcp_knowledge.adapters.rows import lexical
from mcp_knowledge.domain.absence import Absence
from mcp_knowledge.domain.query import parse_query
from mcp_knowledge.domain.search import Scope, SearchMode, SearchRequest
from mcp_knowledge.interfaces.absence_words import advice, sentence
from mcp_knowledge.ports import Vector
from mcp_knowledge.services import standings
from mcp_knowledge.services.search import Search
from mcp_knowledge.services.why_not import WhyNot
from mcp_knowledge.settings import load_settings

CANDIDATES = 3


class PlainEmbedder:
    """Embeds a query as the chunks here are embedded: by its text alone."""

    model, version, dimensions, max_tokens, fingerprint = "model-a", "1", DIMENSIONS, 256, FINGERPRINT

    async def embed_query(self, text: str) -> Vector:
        return fake_vector(text)

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        raise AssertionError("a search embeds no passages")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        raise AssertionError("a search counts no tokens")

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        raise AssertionError("a search counts no tokens")


class Asker:
    """Asks in short, and tells in one text what became of a document, and what to do."""

    def __init__(self, backend: Backend, folder: Path) -> None:
        settings = load_settings(data_dir=folder, vector_candidates=CANDIDATES, lexical_candidates=CANDIDATES)
        search = Search(backend.store, backend.lexical, backend.vectors, PlainEmbedder(), settings)
        self._why_not = WhyNot(backend.store, backend.lexical, backend.vectors, search)

    async def ask(
        self, query: str, document_id: str, mode: SearchMode = "hybrid", limit: int = 2
    ) -> tuple[Absence, str]:
        found = await self._why_not.ask(SearchRequest(query, mode, limit), document_id)
        steps = " ".join(hint.text for hint in advice(found, 50))
        return found, f"{sentence(found, parse_query(query))} {steps}"


@pytest.fixture
def asker(backend: Backend, tmp_path: Path) -> Asker:
    return Asker(backend, tmp_path / "data")


async def test_what_another_model_embedded_is_said_to_be_so(backend: Backend, asker: Asker) -> None:
    await add(backend, "pump")
    document = await add(backend, "valve")
    await backend.store.reindex_document(document.id)
    item = indexed(await claim_one(backend), [chunk(0, "valve")])
    assert await backend.store.index_revisions([item], "model-b") == [True]

    found, told = await asker.ask("zebra", document.id)

    assert found.vector is not None and found.vector.unfit == "other_model" and found.vector.rank is None
    assert found.lexical is not None and found.lexical.unfit == "no_match"
    assert told.startswith("Its meaning was learned by another model, so it cannot be compared. By words it cannot")
    assert "Have the document read again" in told


async def test_far_behind_both_sides_it_is_told_where_it_would_stand_with_more_candidates(
    backend: Backend, asker: Asker
) -> None:
    for number in range(9):
        await add(backend, f"pump number {number}")
    last = await add(backend, "pump among so many other words that it says little of any of them")
    everything = await backend.vectors.search(fake_vector("pump"), 10, Scope())
    chunk_no = (await backend.store.list_chunks(last.id, 1))[0].chunk_no
    rank = [item.chunk_no for item in everything].index(chunk_no) + 1

    found, told = await asker.ask("pump", last.id, limit=1)

    assert found.lexical is not None and (found.lexical.rank, found.lexical.among) == (10, 10)
    assert found.vector is not None and (found.vector.rank, found.vector.among) == (rank, 10)
    assert found.outcome == "no_candidate" and rank > CANDIDATES
    assert f"By meaning it stands at place {rank} of 10, but only the best 3 are considered." in told
    assert "By words it stands at place 10 of 10, but only the best 3 are considered." in told
    assert found.deeper is not None and found.deeper.candidates == 10
    assert f"with 10 of each side it would be number {found.deeper.rank}" in told
    by_meaning, told = await asker.ask("pump", last.id, mode="vector", limit=rank - 1)
    assert by_meaning.lexical is None and "Search by words as well." in told


async def add_near(backend: Backend, text: str, nearness: float) -> str:
    """A document with one chunk, whose vector has this cosine with the query `pump`."""
    query, noise = fake_vector("pump"), fake_vector(f"{text} {nearness}")
    across = noise - (noise @ query) * query
    vector = nearness * query + np.sqrt(1 - nearness**2) * across / np.linalg.norm(across)
    new = new_document(f"{text} {nearness}")
    await backend.store.create_document(new)
    item = indexed(await claim_one(backend), [chunk(0, text)], vectors=np.asarray([vector], np.float32))
    assert await backend.store.index_revisions([item], FINGERPRINT) == [True]
    return new.id


async def test_more_candidates_are_advised_where_they_would_help(backend: Backend, asker: Asker) -> None:
    """Both sides know it, neither among its best three, and those that are better are known to one side only."""
    for number in range(4):
        await add_near(backend, f"valve {number}", 0.9)
        await add_near(backend, f"pump {number}", 0.1)
    document_id = await add_near(backend, "one pump among many other words that say little of it", 0.5)
    found, told = await asker.ask("pump", document_id, limit=1)
    assert found.outcome == "no_candidate"
    assert found.vector is not None and found.vector.rank == 5
    assert found.vector.score == pytest.approx(0.5, abs=1e-5)
    assert found.lexical is not None and found.lexical.rank == 5
    assert found.deeper is not None and (found.deeper.rank, found.deeper.candidates) == (1, 5)
    assert "with VECTOR_CANDIDATES and LEXICAL_CANDIDATES of 5 in the settings it would stand at place 1." in told


async def test_behind_the_matches_that_are_looked_through_there_is_a_score_but_no_rank(
    backend: Backend, asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standings, "SEARCHED_BY_WORDS", 4)
    for number in range(6):
        await add(backend, f"pump number {number}")
    last = await add(backend, "pump among so many other words that it says little of any of them")
    found, told = await asker.ask("pump", last.id, mode="lexical")
    assert found.lexical is not None and found.lexical.rank is None and found.lexical.among is None
    assert found.lexical.score is not None and found.lexical.chunk is not None
    assert found.outcome == "no_candidate" and "By words it stands behind the first" in told


async def test_a_match_by_some_words_stands_behind_all_that_have_every_word(backend: Backend, asker: Asker) -> None:
    for number in range(2):
        await add(backend, f"pump valve {number} among many other words of little weight")
    some = await add(backend, "pump pump pump")
    found, _ = await asker.ask("pump valve", some.id, mode="lexical", limit=1)
    assert found.lexical is not None
    assert (found.lexical.rank, found.lexical.match_mode, found.lexical.considered) == (3, "fallback", True)
    await add(backend, "pump valve here too")
    found, _ = await asker.ask("pump valve", some.id, mode="lexical", limit=1)
    assert found.lexical is not None
    assert (found.lexical.rank, found.lexical.among, found.lexical.considered) == (4, 4, False)
    assert [(word.text, word.present, word.chunks) for word in found.words] == [("pump", True, 4), ("valve", False, 3)]


async def test_a_question_without_words_and_one_with_too_few_say_so(backend: Backend, asker: Asker) -> None:
    document = await add(backend, "the valve leaks")
    _, told = await asker.ask("?!", document.id, mode="lexical")
    assert told.startswith("By words nothing can be found: the question holds no letter or digit.")
    assert "Search by meaning as well." in told
    found, told = await asker.ask("real-time zebra 重跑控制", document.id, mode="lexical")
    assert [word.text for word in found.words if not word.part] == ["real-time", "zebra", "重跑控制"]
    assert {"real", "time", "重跑"} <= {word.text for word in found.words if word.part}
    assert "no word of the question stands in it" in told


async def test_common_words_alone_stand_behind_rarer_ones_in_a_large_corpus_and_that_is_said(
    backend: Backend, asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "_DRIVING_ROWS", 5)  # so that this corpus is a large one
    filler = " ".join(f"word{number}" for number in range(60))
    for number in range(5):
        await add(backend, f"gamma alpha {number} {filler}")
    for number in range(6):
        await add(backend, f"beta {number} {filler}", f"alpha {number} {filler}")
    await add(backend, *(f"other {number} {filler}" for number in range(40)))
    subject = await add(backend, "beta alpha beta alpha beta")
    found, told = await asker.ask("alpha beta gamma", subject.id, mode="lexical")
    assert found.lexical is not None
    assert (found.lexical.rank, found.lexical.considered) == (1, False)
    assert found.outcome == "no_candidate"
    assert "By words it shares only common ones with the question; passages with its rarer words went first." in told
