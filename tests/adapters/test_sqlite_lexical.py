"""What the SQLite index does for speed must not show: with its limits set low, it finds what a plain count finds."""

from functools import partial
from itertools import accumulate
from pathlib import Path
from random import Random

import pytest

from mcp_knowledge.adapters.rows import lexical
from mcp_knowledge.adapters.sqlite.connection import Connection, Database
from mcp_knowledge.adapters.sqlite.lexical import SqliteLexicalIndex
from mcp_knowledge.adapters.sqlite.matching import FTS5
from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.domain.query import Phrase
from mcp_knowledge.domain.search import Candidate, Scope

WORDS = [f"w{i}" for i in range(30)]
CHUNKS_A_DOCUMENT = 4
DRIVING_ROWS = 40
Text = set[str]


def fill(connection: Connection, random: Random, documents: int) -> dict[int, Text]:
    """Chunks of few words, the first ones frequent. Document n has the metadata {"n": n}; every tenth is hidden."""
    words: dict[int, Text] = {}
    for number in range(1, documents + 1):
        connection.execute(
            """INSERT INTO documents (document_no, id, status, searchable, revision, created_at_ms, updated_at_ms,
                   size_bytes, sha256, extension, mime_type, title, title_key, original_filename, filename_key)
               VALUES (?, ?, 'ready', ?, 1, 0, 0, 0, x'', '', '', '', '', '', '')""",
            (number, f"doc_{number}", int(number % 10 != 0)),
        )
        connection.execute("INSERT INTO metadata_values VALUES (?, 'n', 'number', ?, ?)", (number, str(number), number))
        for sequence in range(CHUNKS_A_DOCUMENT):
            chunk_no = (number - 1) * CHUNKS_A_DOCUMENT + sequence + 1
            text = [random.choice(WORDS[: random.choice([2, 4, 30])]) for _ in range(random.choice([2, 3, 8]))]
            connection.execute(
                """INSERT INTO chunks (chunk_no, id, document_no, revision_no, sequence, token_count, embedding_hash,
                       heading_path, location, content) VALUES (?, ?, ?, 1, ?, 1, x'', '[]', '{}', '')""",
                (chunk_no, f"chk_{random.getrandbits(32):08x}", number, sequence),
            )
            connection.execute(
                "INSERT INTO chunk_fts (rowid, title, headings, content) VALUES (?, ?, '', ?)",
                (chunk_no, text[0], " ".join(text[1:])),
            )
            words[chunk_no] = set(text)
    return words


def plain_search(
    words: dict[int, Text], terms: list[str], min_match: int, documents: set[int], limit: int, connection: Connection
) -> list[Candidate]:
    """Score everything, then count and sort in Python."""
    ids: dict[int, str] = dict(connection.execute("SELECT chunk_no, id FROM chunks"))
    scored = connection.execute(
        "SELECT rowid, -bm25(chunk_fts, 8.0, 4.0, 1.0) FROM chunk_fts WHERE chunk_fts MATCH ?", (" OR ".join(terms),)
    )
    found = [
        Candidate(chunk_no, ids[chunk_no], score)
        for chunk_no, score in scored
        if len(words[chunk_no] & set(terms)) >= min_match and 1 + (chunk_no - 1) // CHUNKS_A_DOCUMENT in documents
    ]
    return sorted(found, key=lambda item: (-round(item.score, 9), item.chunk_id, item.chunk_no))[:limit]


def told(found: list[Candidate]) -> list[tuple[int, float]]:
    return [(item.chunk_no, round(item.score, 9)) for item in found]


@pytest.mark.parametrize(
    "limits", [{}, {"_SPARE_ROWS": 0}, {"_SPARE_ROWS": 0, "_NARROW_DOCUMENTS": 0, "_BROAD_ROWS": 1}]
)
async def test_search_is_exact_in_every_scope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(lexical, name, value)
    database = Database(tmp_path / "app.db")
    await database.open()
    try:
        random = Random(7)
        words = await database.write(lambda connection: fill(connection, random, 100))
        index = SqliteLexicalIndex(database)
        searchable = {number for number in range(1, 101) if number % 10}
        for _ in range(60):
            terms = random.sample(WORDS, random.choice([2, 3, 5]))
            min_match, limit = random.choice([1, 2]), random.choice([1, 3, 10, 500])
            top = random.choice([None, 1, 5, 60])
            scope = Scope() if top is None else Scope(filters=parse_filters({"n": {"lte": top}}))
            documents = {number for number in searchable if top is None or number <= top}
            phrases = [Phrase((term,)) for term in terms]

            found = await index.search_any(phrases, min_match, limit, scope)
            expected = await database.read(partial(plain_search, words, terms, min_match, documents, limit))

            assert told(found) == told(expected)
            exclude = frozenset(item.chunk_no for item in expected[:2])
            without = await index.search_any(phrases, min_match, max(1, limit - 2), scope, exclude)
            assert told(without)[: limit - 2] == told(expected)[2:] or limit < 3
    finally:
        await database.close()


async def test_chunks_with_a_rare_word_lead_and_the_others_fill_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "_DRIVING_ROWS", DRIVING_ROWS)
    database = Database(tmp_path / "app.db")
    await database.open()
    try:
        random = Random(8)
        words = await database.write(lambda connection: fill(connection, random, 100))
        index = SqliteLexicalIndex(database)
        documents = {number for number in range(1, 101) if number % 10}
        filled_up = set()
        for _ in range(60):
            terms = random.sample(WORDS, random.choice([3, 5, 8]))
            found = await index.search_any([Phrase((term,)) for term in terms], 2, 10, Scope())
            everything = await database.read(partial(plain_search, words, terms, 2, documents, 1000))

            leading = rare_terms(words, terms)
            led = [item for item in everything if words[item.chunk_no] & leading]
            filled_up.add(len(led) < 10)
            assert told(found) == told(led[:10] if len(led) >= 10 else everything[:10])
        assert filled_up == {True, False}
    finally:
        await database.close()


def rare_terms(words: dict[int, Text], terms: list[str]) -> set[str]:
    """The rarest terms that together match no more than the rows that may drive a search; one at least."""
    counts = sorted((sum(term in text for text in words.values()), term) for term in terms)
    counts = [(rows, term) for rows, term in counts if rows]
    totals = accumulate(rows for rows, _ in counts)
    return {term for _, term in counts[: max(1, sum(total <= DRIVING_ROWS for total in totals))]}


@pytest.mark.parametrize("count", [2, 3, 4, 7, 12])
async def test_two_of_any_number_of_terms(tmp_path: Path, count: int) -> None:
    database = Database(tmp_path / "app.db")
    await database.open()
    try:
        words = await database.write(lambda connection: fill(connection, Random(9), 50))
        terms = WORDS[:count]
        rows = await database.read(
            lambda c: list(c.execute("SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?", (FTS5.two_of(terms),)))
        )
        assert {row[0] for row in rows} == {no for no, text in words.items() if len(text & set(terms)) >= 2}
    finally:
        await database.close()
