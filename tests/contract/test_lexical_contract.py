import asyncio
from collections.abc import Sequence

from contract_kit import FINGERPRINT, Backend, add, chunk, claim_one, indexed, new_revision

from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.domain.query import Phrase, parse_query
from mcp_knowledge.domain.search import Candidate, Scope

EVERYTHING = Scope()


def terms(*words: str) -> list[Phrase]:
    return [Phrase((word,)) for word in words]


async def contents(backend: Backend, found: Sequence[Candidate]) -> list[str]:
    stored = (await backend.store.get_passages(item.chunk_no for item in found))[0]
    return [stored[item.chunk_no].content for item in found]


async def found_by_all(backend: Backend, *phrases: Phrase, scope: Scope = EVERYTHING, limit: int = 10) -> list[str]:
    return await contents(backend, await backend.lexical.search_all(phrases, limit, scope))


async def found_by_any(
    backend: Backend, *words: str, min_match: int = 1, exclude: frozenset[int] = frozenset(), limit: int = 10
) -> list[str]:
    found = await backend.lexical.search_any(terms(*words), min_match, limit, EVERYTHING, exclude)
    return await contents(backend, found)


async def test_an_empty_index_finds_nothing(backend: Backend) -> None:
    assert await backend.lexical.search_all(terms("pump"), 10, EVERYTHING) == []
    assert await backend.lexical.search_any(terms("pump"), 1, 10, EVERYTHING) == []


async def test_all_phrases_must_match_in_title_headings_and_content_together(backend: Backend) -> None:
    await add(backend, "the valve leaks", "the motor hums", title="Pump manual", heading_path=("Repair",))

    assert await found_by_all(backend, *terms("pump", "repair", "valve")) == ["the valve leaks"]
    assert await found_by_all(backend, *terms("valve", "motor")) == []
    assert len(await found_by_all(backend, *terms("pump"))) == 2


async def test_a_phrase_matches_only_neighbours_in_order(backend: Backend) -> None:
    await add(backend, "invoice INV-0042 paid", "0042 then INV", "INV and later 0042", "INV-0043")

    assert await found_by_all(backend, Phrase(("inv", "0042"))) == ["invoice INV-0042 paid"]
    assert sorted(await found_by_all(backend, Phrase(("inv", "004"), prefix=True))) == [
        "INV-0043",
        "invoice INV-0042 paid",
    ]
    assert await found_by_all(backend, Phrase(("inv", "004"))) == []


async def test_better_matches_come_first_and_score_higher(backend: Backend) -> None:
    await add(backend, "pump", title="Other")
    await add(backend, "nothing here " * 20 + "pump", title="Else")
    await add(backend, "nothing at all", title="Pump")

    found = await backend.lexical.search_all(terms("pump"), 10, EVERYTHING)

    assert (await contents(backend, found))[0] == "nothing at all"
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True) and scores[-1] > 0
    assert [item.chunk_no for item in await backend.lexical.search_all(terms("pump"), 2, EVERYTHING)] == [
        item.chunk_no for item in found[:2]
    ]


async def test_equal_scores_are_ordered_by_chunk_id(backend: Backend) -> None:
    for i in range(8):
        await add(backend, f"pump number{i}")

    found = await backend.lexical.search_all(terms("pump"), 10, EVERYTHING)

    assert len({item.score for item in found}) == 1
    assert [item.chunk_id for item in found] == sorted(item.chunk_id for item in found)
    assert await backend.lexical.search_all(terms("pump"), 3, EVERYTHING) == found[:3]


async def test_any_counts_how_many_terms_match(backend: Backend) -> None:
    await add(backend, "alpha", "alpha beta", "alpha beta gamma", "delta")

    assert sorted(await found_by_any(backend, "alpha", "beta", "gamma")) == ["alpha", "alpha beta", "alpha beta gamma"]
    assert sorted(await found_by_any(backend, "alpha", "beta", "gamma", min_match=2)) == [
        "alpha beta",
        "alpha beta gamma",
    ]
    assert await found_by_any(backend, "unknown") == []


async def test_excluded_chunks_do_not_take_up_the_limit(backend: Backend) -> None:
    await add(backend, *(f"pump {i}" for i in range(10)))
    found = await backend.lexical.search_all(terms("pump"), 4, EVERYTHING)
    exclude = frozenset(item.chunk_no for item in found)

    others = await backend.lexical.search_any(terms("pump"), 1, 6, EVERYTHING, exclude)

    assert len(others) == 6
    assert not exclude & {item.chunk_no for item in others}


async def test_the_scope_narrows_before_the_cut(backend: Backend) -> None:
    collection = await backend.store.create_collection("Rare", None)
    await add(backend, *("pump pump pump" for _ in range(60)))
    wanted = await add(backend, *(f"one pump among many words {i}" for i in range(5)), metadata={"kind": "rare"})
    await backend.store.update_document(wanted.id, collection_id=collection.id)

    for scope in (
        Scope(collection_ids=(collection.id,)),
        Scope(document_ids=(wanted.id, "doc_unknown")),
        Scope(filters=parse_filters({"kind": "rare"})),
        Scope((collection.id,), (wanted.id,), parse_filters({"kind": "rare"})),
    ):
        assert len(await found_by_all(backend, *terms("pump"), scope=scope)) == 5
    assert await found_by_all(backend, *terms("pump"), scope=Scope(collection_ids=("col_unknown",))) == []
    assert await found_by_all(backend, *terms("pump"), scope=Scope(filters=parse_filters({"kind": "other"}))) == []


async def test_a_changed_title_is_found_at_once_and_the_old_one_no_more(backend: Backend) -> None:
    document = await add(backend, "some text", "more text", title="Pump", heading_path=("Straße",))

    await backend.store.update_document(document.id, title="Ventil")

    assert await found_by_all(backend, *terms("pump")) == []
    assert len(await found_by_all(backend, *terms("ventil"))) == 2
    assert await found_by_all(backend, *terms("ventil", "strasse", "more")) == ["more text"]


async def test_deleted_and_replaced_text_is_not_found(backend: Backend) -> None:
    deleted = await add(backend, "pump one")
    replaced = await add(backend, "pump two")
    await backend.store.delete_document(deleted.id)
    assert await found_by_all(backend, *terms("pump")) == ["pump two"]
    await backend.store.finish_delete(await claim_one(backend))
    await backend.store.create_revision(new_revision(replaced, "newer"))
    job = await claim_one(backend)
    assert await found_by_all(backend, *terms("pump")) == ["pump two"]

    await backend.store.index_revisions([indexed(job, [chunk(0, "valve three")])], FINGERPRINT)

    assert await found_by_all(backend, *terms("pump")) == []
    assert await found_by_all(backend, *terms("valve")) == ["valve three"]
    await backend.store.purge_documents()
    assert await backend.lexical.search_any(terms("valve", "pump"), 1, 10, EVERYTHING) == []


async def test_text_that_is_gone_has_no_part_in_the_scores(backend: Backend) -> None:
    replaced = await add(backend, "pump one")
    await add(backend, "nothing of the kind")
    before = await backend.lexical.search_all(terms("pump"), 10, EVERYTHING)
    deleted = await add(backend, "pump pump", "pump valve motor")

    await backend.store.delete_document(deleted.id)
    await backend.store.finish_delete(await claim_one(backend))
    await backend.store.reindex_document(replaced.id)
    await backend.store.index_revisions([indexed(await claim_one(backend), [chunk(0, "pump one")])], FINGERPRINT)

    after = await backend.lexical.search_all(terms("pump"), 10, EVERYTHING)
    assert [(item.chunk_id, item.score) for item in after] == [(item.chunk_id, item.score) for item in before]


async def test_searches_see_a_switch_of_revisions_whole_or_not_at_all(backend: Backend) -> None:
    document = await add(backend, *(f"round0 part{i}" for i in range(4)), title="Pump")
    seen: set[tuple[str, ...]] = set()

    async def search(done: asyncio.Event) -> None:
        while not done.is_set():
            found = await backend.lexical.search_all(terms("pump"), 10, EVERYTHING)
            vectors = await backend.vectors.search(indexed(job, [chunk(0, "x")]).vectors[0], 10, EVERYTHING)
            assert len(found) == len(vectors) == 4
            stored = (await backend.store.get_passages(item.chunk_no for item in found))[0]
            seen.add(tuple(sorted({item.content.split()[0] for item in stored.values()})))

    await backend.store.reindex_document(document.id)
    job = await claim_one(backend)
    done = asyncio.Event()
    searches = [asyncio.create_task(search(done)) for _ in range(3)]
    for round_no in range(1, 12):
        chunks = [chunk(i, f"round{round_no} part{i}") for i in range(4)]
        await backend.store.index_revisions([indexed(job, chunks, title="Pump")], FINGERPRINT)
        await backend.store.reindex_document(document.id)
        job = await claim_one(backend)
    done.set()
    await asyncio.gather(*searches)

    # Between a search and reading its chunks they may have gone; never are chunks of two rounds found together.
    assert seen and all(len(rounds) <= 1 for rounds in seen)


async def search(backend: Backend, text: str, limit: int = 10) -> list[str]:
    """Both passes, as a search does."""
    query = parse_query(text)
    exact = await backend.lexical.search_all(query.exact, limit, EVERYTHING)
    exclude = frozenset(item.chunk_no for item in exact)
    others = await backend.lexical.search_any(
        query.fallback, query.fallback_min_match, limit - len(exact), EVERYTHING, exclude
    )
    return await contents(backend, [*exact, *others])


async def test_identifiers_match_whole_and_never_their_neighbours(backend: Backend) -> None:
    await add(backend, "pay INV-0042 now", "pay INV-0043 now", "0042 of INV", "see src/main.py", "error E_CONN_42")

    assert await search(backend, "INV-0042") == ["pay INV-0042 now"]
    assert await search(backend, "inv-0099") == []
    assert await search(backend, "INV-004*") == ["pay INV-0042 now", "pay INV-0043 now"]
    assert await search(backend, "main.py") == ["see src/main.py"]
    assert await search(backend, "e_conn_42") == ["error E_CONN_42"]
    assert await search(backend, '"of inv"') == ["0042 of INV"]


async def test_scripts_without_spaces_are_found_by_any_part_and_latin_glued_to_them(backend: Backend) -> None:
    await add(
        backend, "我们重跑gen-itgc后再部署", "東京タワーの高さ", "ภาษาไทยสวยงาม", "한국어는 아름답다", "ការងារ និង ភាសា"
    )

    parts = {
        "我们": ("重跑", "跑", "署", "itgc", "gen-itgc", "重跑gen-itgc后"),
        "東京": ("タワー", "京タ", "さ"),
        "ภาษา": ("ไทย", "ย"),
        "한국": ("국어", "답"),
        "ការ": ("ងា", "និង"),
    }
    for beginning, found_by in parts.items():
        for part in found_by:
            assert [text[: len(beginning)] for text in await search(backend, part)] == [beginning], part
    assert await search(backend, "京東") == []
    assert await search(backend, "这次部署重跑了什么？") == ["我们重跑gen-itgc后再部署"]


async def test_a_question_falls_back_to_chunks_with_two_of_its_words_in_any_field(backend: Backend) -> None:
    await add(backend, "it holds water", "nothing of the kind", title="Reservoir", heading_path=("Capacity",))
    await add(backend, "capacity only", title="Other")

    assert await search(backend, "What capacity does the reservoir have?") == ["it holds water", "nothing of the kind"]
    assert sorted(await search(backend, "capacity unheard")) == [
        "capacity only",
        "it holds water",
        "nothing of the kind",
    ]
    assert await search(backend, "the reservoir of capacity holds") == ["it holds water", "nothing of the kind"]


async def test_noise_finds_something_or_nothing_but_never_fails(backend: Backend) -> None:
    await add(backend, "a pump", "b valve", "重跑任务")

    queries = [
        '"',
        '""',
        "* ** ***",
        "AND OR NOT",
        "NEAR(a b, 2)",
        "{a b}: c",
        "-a",
        "a:b",
        "^a",
        "\0",
        "a\0b",
        "(((",
        "%_",
    ]
    queries += ["🙂🙂", "' OR 1=1 --", "\ud800 pump", "\\", "é" * 2000, "\u0301" * 2000, "a* " * 600, "重跑" * 1000]
    queries += ["-".join(["ab"] * 600), " ".join(f"w{i}" for i in range(500))]
    queries += [" ".join(f"{a}{b}*" for a in "abcdefgh" for b in "abcdefgh")]
    for text in queries:
        found = await search(backend, text)
        assert len(found) <= 3
