from random import Random
from typing import Any

from contract_kit import Backend, add, fake_vector

from mcp_knowledge.domain.filters import matches, parse_filters
from mcp_knowledge.domain.query import Phrase
from mcp_knowledge.domain.search import Scope
from mcp_knowledge.ports import DocumentQuery

PUMP = [Phrase(("pump",))]
VALUES: list[Any] = [
    None, True, False, 0, 1, 5, 5.0, 5.5, -0.0, 2**53, 2**53 + 1, 10**25, 1e22, 10**22, 1e300, "", "5", "true", "null",
    "x", "X", "é", "e\u0301", "a\0b", "a\0c", "%", "'", '"', "x" * 200, "x" * 199 + "y", "🙂", "\ud800", "?",
    "2026-03-01", "2026-03-01T00:00:00Z", "2026-03-01T23:30:00-02:00", "2026-3-1", "2026-02-30", "20260301",
]  # fmt: skip
CONTAINERS: list[Any] = [[], {}, [[]], [["x"]], ["x", 5], [True, "5", None], [{"b": 5}, {"b": "x"}], {"b": ["x", [5]]}]
FIELDS = ["a", "a.b", "b", "document.author", "a.b.c"]


def random_metadata(random: Random) -> dict[str, Any]:
    def value() -> Any:
        return random.choice(CONTAINERS if random.random() < 0.3 else VALUES)

    metadata = {key: value() for key in ("a", "a.b", "b", "odd key") if random.random() < 0.6}
    if random.random() < 0.3:
        metadata["a"] = {"b": {"c": value()}, "b.c": value()}
    if random.random() < 0.3:
        metadata["document"] = {"author": value()}
    return metadata


def random_filters(random: Random) -> dict[str, Any]:
    def condition() -> Any:
        operator = random.choice(["eq", "neq", "in", "exists", "gte", "lte", "scalar"])
        wanted = random.choice(VALUES)
        if operator == "scalar":
            return wanted
        if operator == "in":
            return {"in": random.choices(VALUES, k=random.randrange(4))}
        if operator == "exists":
            return {"exists": random.random() < 0.5}
        if operator in ("gte", "lte"):
            return {
                operator: random.choice([0, 5, 5.5, -1e9, 2**53 + 1, 10**400, "2026-03-01", "2026-03-02T01:30:00Z"])
            }
        return {operator: wanted}

    return {random.choice(FIELDS): condition() for _ in range(random.choice([1, 1, 1, 2, 3]))}


async def test_every_door_filters_as_the_rule_says_dirty_values_included(backend: Backend) -> None:
    random = Random(20260301)
    metadata = {}
    for i in range(60):
        document = await add(backend, f"pump {i}", metadata=random_metadata(random))
        metadata[document.id] = document.metadata
    outcomes = set()

    for _ in range(250):
        data = random_filters(random)
        filters = parse_filters(data)
        expected = {document_id for document_id, values in metadata.items() if matches(filters, values)}

        listed = await backend.store.list_documents(DocumentQuery(filters=filters, limit=100))
        lexical = await backend.lexical.search_all(PUMP, 100, Scope(filters=filters))
        nearest = await backend.vectors.search(fake_vector("pump"), 100, Scope(filters=filters))

        stored = (await backend.store.get_passages({item.chunk_no for item in (*lexical, *nearest)}))[0]
        assert {item.id for item in listed} == expected, data
        assert {stored[item.chunk_no].document_id for item in lexical} == expected, data
        assert {stored[item.chunk_no].document_id for item in nearest} == expected, data
        outcomes.add(min(len(expected), 2))
    assert outcomes == {0, 1, 2}


async def test_filters_see_the_properties_that_the_file_brought_and_the_user_overrode(backend: Backend) -> None:
    plain = await add(backend, "pump", document_metadata={"author": "Ada", "pages": 3})
    own = await add(backend, "pump two", document_metadata={"author": "Ada"}, metadata={"document": {"author": "Bob"}})

    async def found(filters: dict[str, Any]) -> set[str]:
        listed = await backend.store.list_documents(DocumentQuery(filters=parse_filters(filters)))
        return {item.id for item in listed}

    assert await found({"document.author": "Ada"}) == {plain.id}
    assert await found({"document.author": "Bob"}) == {own.id}
    assert await found({"document.pages": {"gte": 3}}) == {plain.id}
    await backend.store.update_document(plain.id, metadata={"document": {"author": "Eve"}})
    assert await found({"document.author": "Ada"}) == set()
    assert await found({"document.author": "Eve"}) == {plain.id}


async def test_a_long_list_of_values_and_many_conditions_are_no_trouble(backend: Backend) -> None:
    document = await add(backend, "pump", metadata={f"k{i}": i for i in range(50)})
    many = parse_filters({f"k{i}": {"in": [f"no{i}", i]} for i in range(50)})
    long = parse_filters({"k7": {"in": [*range(500), *(f"v{i}" for i in range(500))]}})

    for filters in (many, long):
        assert len(await backend.lexical.search_all(PUMP, 10, Scope(filters=filters))) == 1
        assert [item.id for item in await backend.store.list_documents(DocumentQuery(filters=filters))] == [document.id]
