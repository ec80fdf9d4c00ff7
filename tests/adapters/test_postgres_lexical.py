"""PostgreSQL finds the same chunks as FTS5, in the same order, with the same scores, whatever was written before."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_knowledge.adapters.postgres import lexicon
from mcp_knowledge.adapters.postgres.connection import PostgresConnection, PostgresDatabase
from mcp_knowledge.adapters.postgres.lexical import PostgresLexicalIndex
from mcp_knowledge.adapters.rows import lexical
from mcp_knowledge.adapters.rows.content import pack_text
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.adapters.rows.fulltext import indexed_text, retitle
from mcp_knowledge.adapters.sqlite.connection import Database as SqliteDatabase
from mcp_knowledge.adapters.sqlite.lexical import SqliteLexicalIndex
from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.domain.query import Phrase, parse_query
from mcp_knowledge.domain.search import Candidate, Scope
from mcp_knowledge.ports import LexicalIndex

Text = tuple[str, str]  # heading and content of a chunk
Found = list[tuple[str, float]]
LONG = "q" * 5_000


@dataclass(frozen=True)
class Step:
    """A write: `kind` is add, remove, replace, retitle or hide; `number` picks one of the documents there are."""

    kind: str
    number: int
    title: str
    texts: Sequence[Text]


def add_document(connection: Connection, number: int, title: str, texts: Sequence[Text]) -> None:
    """A searchable document with the metadata {"n": number}, and its chunks."""
    connection.execute(
        """INSERT INTO documents (document_no, id, status, searchable, revision, created_at_ms, updated_at_ms,
               size_bytes, sha256, extension, mime_type, title, title_key, original_filename, filename_key)
           VALUES (?, ?, 'ready', 1, 1, 0, 0, 0, ?, '', '', ?, '', '', '')""",
        (number, f"doc_{number}", b"", title),
    )
    connection.execute(
        "INSERT INTO metadata_values VALUES (?, 'n', 'number', ?, ?)",
        (number, str(number), connection.dialect.number(number)),
    )
    add_texts(connection, number, title, texts)


def add_texts(connection: Connection, number: int, title: str, texts: Sequence[Text]) -> None:
    numbers = connection.dialect.take_chunk_numbers(connection, len(texts))
    for sequence, (chunk_no, (heading, content)) in enumerate(zip(numbers, texts, strict=True)):
        connection.execute(
            """INSERT INTO chunks (chunk_no, id, document_no, revision_no, sequence, token_count, embedding_hash,
                   heading_path, location, content) VALUES (?, ?, ?, 1, ?, 1, ?, ?, '{}', ?)""",
            (chunk_no, chunk_id(number, sequence), number, sequence, b"", json.dumps([heading]), pack_text(content)),
        )
    indexed = [indexed_text((heading,), content) for heading, content in texts]
    connection.dialect.add_texts(connection, number, numbers, title, indexed)


def chunk_id(number: int, sequence: int) -> str:
    """The same on both sides, and in another order than the numbers."""
    return f"chk_{Random(number * 1_000 + sequence).getrandbits(32):08x}"


def remove_texts(connection: Connection, number: int) -> None:
    connection.dialect.remove_texts(connection, number)
    connection.execute("DELETE FROM chunks WHERE document_no = ?", (number,))


def clear(connection: Connection) -> None:
    connection.dialect.clear_texts(connection)
    for table in ("chunks", "metadata_values", "documents"):
        connection.execute(f"DELETE FROM {table}")


def write(connection: Connection, steps: Sequence[Step]) -> None:
    """Run the steps."""
    documents: list[int] = []
    for number, step in enumerate(steps, 1):
        picked = documents[step.number % len(documents)] if documents else 0
        if step.kind == "add" or not picked:
            add_document(connection, number, step.title, step.texts)
            documents.append(number)
        elif step.kind == "retitle":
            retitle(connection, picked, step.title)
        elif step.kind == "hide":
            connection.execute("UPDATE documents SET searchable = 0 WHERE document_no = ?", (picked,))
        else:
            remove_texts(connection, picked)
            if step.kind == "replace":
                add_texts(connection, picked, step.title, step.texts)


async def search(index: LexicalIndex, text: str, limit: int, scope: Scope) -> tuple[Found, Found]:
    """Both passes of a search, as the service does them."""
    query = parse_query(text)
    exact = await index.search_all(query.exact, limit, scope)
    exclude = frozenset(item.chunk_no for item in exact)
    others = await index.search_any(query.fallback, query.fallback_min_match, limit - len(exact), scope, exclude)
    return told(exact), told(others)


def told(found: Sequence[Candidate]) -> Found:
    return [(item.chunk_id, round(item.score, 9)) for item in found]


WORD = st.sampled_from(
    ["a", "ab", "abc", "b", "c", "inv-0042", "inv", "0042", "重跑了", "重跑", "跑", "straße", "x1 y", ""]
)
WORDS = st.lists(WORD, max_size=12).map(" ".join)
TEXT = st.tuples(st.lists(WORD, max_size=3).map(" ".join), WORDS)
STEP = st.builds(
    Step,
    st.sampled_from(["add", "add", "add", "remove", "replace", "retitle", "hide"]),
    st.integers(0, 9),
    st.lists(WORD, max_size=3).map(" ".join),
    st.lists(TEXT, min_size=1, max_size=4),
)
PART = st.one_of(
    WORD, WORD.map(lambda word: f"{word}*"), st.lists(WORD, min_size=2, max_size=3).map(lambda w: f'"{" ".join(w)}"')
)
QUERY = st.lists(PART, min_size=1, max_size=6).map(" ".join)
SCOPE = st.one_of(
    st.just(Scope()),
    st.integers(1, 8).map(lambda top: Scope(filters=parse_filters({"n": {"lte": top}}))),
    st.just(Scope(document_ids=("doc_1", "doc_3"))),
)


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done for speed in a large collection is done in a small one."""
    monkeypatch.setattr(lexicon, "_MAX_CHANGES", 3)


@pytest.fixture(params=["usual", "few rows", "few documents"])
def row_limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, low_limits: None) -> None:
    """How many rows are fetched, and when documents are checked, must not show."""
    if request.param != "usual":
        monkeypatch.setattr(lexical, "_SPARE_ROWS", 0)
        monkeypatch.setattr(lexical, "_BROAD_ROWS", 1)
        monkeypatch.setattr(lexical, "_NARROW_DOCUMENTS", 0 if request.param == "few rows" else 2)


@asynccontextmanager
async def both(folder: Path, dsn: str) -> AsyncIterator[tuple[SqliteDatabase, PostgresDatabase]]:
    file, server = SqliteDatabase(folder / "app.db"), PostgresDatabase(dsn, 384, readers=2, writers=4)
    await file.open()
    await server.open()
    try:
        yield file, server
    finally:
        await file.close()
        await server.close()


@pytest.fixture
def run_both(tmp_path: Path, postgres_dsn: str) -> Iterator[Callable[..., object]]:
    """Runs a function of both databases, again and again on the same ones."""
    with asyncio.Runner() as runner:
        opened = both(tmp_path, postgres_dsn)
        databases = runner.run(opened.__aenter__())

        def run(work: Callable[[SqliteDatabase, PostgresDatabase], Awaitable[object]]) -> None:
            async def call() -> None:
                await work(*databases)

            runner.run(call())

        yield run
        runner.run(opened.__aexit__(None, None, None))


def test_random_writes_and_queries_give_the_same_chunks_order_and_scores(
    run_both: Callable[..., object], row_limits: None
) -> None:
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(STEP, min_size=1, max_size=9), st.lists(QUERY, min_size=1, max_size=6), st.integers(1, 12), SCOPE)
    def agree(steps: list[Step], queries: list[str], limit: int, scope: Scope) -> None:
        async def compare(file: SqliteDatabase, server: PostgresDatabase) -> None:
            await file.write(clear)
            await server.write(clear)
            await file.write(lambda connection: write(connection, steps))
            await server.write(lambda connection: write(connection, steps))
            for query in queries:
                wanted = await search(SqliteLexicalIndex(file), query, limit, scope)
                assert await search(PostgresLexicalIndex(server), query, limit, scope) == wanted, query
            await check_counts(server)

        run_both(compare)

    agree()


async def check_counts(server: PostgresDatabase) -> None:
    """The counts, changes added, are what the rows hold; nothing else is counted."""

    def compare(connection: PostgresConnection) -> None:
        counted: dict[str, int] = dict(
            connection.execute(
                """SELECT term, sum(chunks)::bigint FROM (
                       SELECT term, chunks FROM term_counts
                       UNION ALL SELECT e.key, e.value::bigint FROM term_changes, jsonb_each_text(counts) AS e) AS every
                   GROUP BY term HAVING sum(chunks) <> 0"""
            )
        )
        held: dict[str, int] = dict(
            connection.execute("SELECT w, count(*) FROM chunk_terms, unnest(tsvector_to_array(terms)) AS w GROUP BY w")
        )
        assert counted == held
        totals = """
            SELECT sum(chunks)::bigint, sum(tokens)::bigint
            FROM (TABLE text_totals UNION ALL SELECT chunks, tokens FROM term_changes) AS every_total"""
        rows = "SELECT count(*), coalesce(sum(size), 0) FROM chunk_terms"
        assert next(connection.execute(totals)) == next(connection.execute(rows))

    await server.read(compare)


@pytest.mark.parametrize("driving_rows", [5, 40])
def test_the_same_rare_terms_lead_in_a_large_collection(
    run_both: Callable[..., object], monkeypatch: pytest.MonkeyPatch, driving_rows: int
) -> None:
    monkeypatch.setattr(lexical, "_DRIVING_ROWS", driving_rows)
    random = Random(3)
    words = [f"w{i}" for i in range(30)]

    def text() -> str:
        return " ".join(random.choice(words[: random.choice([2, 4, 30])]) for _ in range(random.choice([2, 3, 8])))

    steps = [Step("add", 0, text(), [("", text()) for _ in range(4)]) for _ in range(60)]

    async def compare(file: SqliteDatabase, server: PostgresDatabase) -> None:
        await file.write(lambda connection: write(connection, steps))
        await server.write(lambda connection: write(connection, steps))
        for _ in range(60):
            terms = [Phrase((word,)) for word in random.sample(words, random.choice([3, 5, 8]))]
            terms.append(Phrase(("w2",), prefix=True))
            scope = random.choice([Scope(), Scope(filters=parse_filters({"n": {"lte": 20}}))])
            wanted = await SqliteLexicalIndex(file).search_any(terms, 2, 10, scope)
            assert told(await PostgresLexicalIndex(server).search_any(terms, 2, 10, scope)) == told(wanted)

    run_both(compare)


def test_texts_beyond_every_limit_are_taken_in_and_found(run_both: Callable[..., object]) -> None:
    texts = [
        ("", f"{LONG} end"),
        ("", f"{LONG}x"),
        ("", "again " * 300),
        ("", "重" * 3_000 + "終"),
        (" ".join(f"h{i}" for i in range(40_000)), "first"),
        ("long " * 30_000, "after"),
        (" ".join(f"{i}{'v' * 2_100}" for i in range(600)), "many long ones"),
        ("é" * 1_500, "\U0001f642 \U00020000\U00020001 𝐁"),
        ("", ""),
        ("\0\ud800", "\0"),
    ]
    queries = [LONG, f"{LONG}x", f"{LONG[:700]}*", "q*", "again", "重重", "終", "first", "h17", "after", "long", "many"]
    queries += ["é" * 1_500, "\U00020000\U00020001", "b", f"0{'v' * 2_100}", f"{LONG} end", '"many long ones"']

    async def compare(file: SqliteDatabase, server: PostgresDatabase) -> None:
        steps = [Step("add", 0, "Title " * 50, texts)]
        await file.write(lambda connection: write(connection, steps))
        await server.write(lambda connection: write(connection, steps))
        for query in queries:
            wanted = await search(SqliteLexicalIndex(file), query, 10, Scope())
            found = await search(PostgresLexicalIndex(server), query, 10, Scope())
            assert {chunk for chunk, _ in found[0]} == {chunk for chunk, _ in wanted[0]} != set(), query[:20]
        await check_counts(server)
        await server.write(lambda connection: remove_texts(connection, 1))
        await check_counts(server)

    run_both(compare)


async def test_writers_do_not_wait_for_each_other_and_lose_no_count(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexicon, "_MAX_CHANGES", 0)  # everybody wants to fold
    server = PostgresDatabase(postgres_dsn, 384, readers=2, writers=4)
    await server.open()
    try:
        second_is_done = threading.Event()

        def first(connection: PostgresConnection) -> bool:
            add_document(connection, 1, "Same words", [("", "pump valve")])
            return second_is_done.wait(30)

        def second(connection: PostgresConnection) -> None:
            add_document(connection, 2, "Same words", [("", "pump motor")])

        waiting = asyncio.create_task(server.write(first))
        await server.write(second)
        second_is_done.set()
        assert await waiting
        await check_counts(server)

        random = Random(5)

        async def writer(number: int) -> None:
            for place in range(number, 60, 4):
                texts = [("", " ".join(random.choices("abcdefgh", k=6))) for _ in range(3)]
                await server.write(partial(add_document, number=place, title="Same words", texts=texts))
                if place % 3 == 0:
                    await server.write(partial(remove_texts, number=place))
                await check_counts(server)

        await asyncio.gather(*(writer(number) for number in range(4, 8)))
        await check_counts(server)
        await server.write(clear)
        await check_counts(server)
    finally:
        await server.close()
