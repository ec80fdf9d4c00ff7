from contract_kit import Backend, add, new_document

from mcp_knowledge.adapters.rows.metadata_keys import SqlMetadataStore
from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.ports import DocumentQuery
from mcp_knowledge.ports.metadata import MetadataKey


async def test_keys_come_with_the_documents_that_have_them_and_the_kinds_of_their_values(backend: Backend) -> None:
    metadata = SqlMetadataStore(backend.database)
    assert await metadata.keys(None, 10) == [] and await metadata.key_names(10) == []
    team = await backend.store.create_collection("Team", None)
    await add(backend, metadata={"year": 2024, "tags": ["a", "b", 5], "odd key": 1, "none": None})
    await add(backend, metadata={"year": "2024", "author": {"name": "Ada"}}, collection_id=team.id)
    await add(backend, document_metadata={"pages": 3})
    gone = await add(backend, metadata={"gone": 1, "year": True})
    await backend.store.delete_document(gone.id)
    await backend.store.create_document(new_document("waiting", metadata={"waiting": 1, "year": 1}))

    assert await metadata.keys(None, 10) == [
        MetadataKey("year", 2, ("boolean", "number", "string")),  # kinds are those of any document
        MetadataKey("author.name", 1, ("string",)),
        MetadataKey("document.pages", 1, ("number",)),
        MetadataKey("none", 1, ("null",)),
        MetadataKey("tags", 1, ("number", "string")),
    ]
    assert [item.key for item in await metadata.keys(None, 1)] == ["year"]
    assert [(item.key, item.documents) for item in await metadata.keys(team.id, 10)] == [
        ("author.name", 1),
        ("year", 1),
    ]
    assert await metadata.keys("col_none", 10) == []
    assert await metadata.key_names(4) == ["author.name", "document.pages"]  # beside what only holds others
    assert await metadata.kinds(("tags", "author", "no such")) == {"tags": ("number", "string")}
    assert await metadata.kinds(()) == {}
    many = tuple(f"key{number}" for number in range(450))
    assert await metadata.kinds((*many, "year", "year")) == {"year": ("boolean", "number", "string")}


async def test_values_keep_their_types_and_find_what_they_were_made_of(backend: Backend) -> None:
    metadata = SqlMetadataStore(backend.database)
    values = [5, "5", 5.5, True, "true", None, "", "Über uns", 10**30, -3, 1e-7, "a'b\"c%_"]
    for value in values:
        await add(backend, metadata={"key": [value, "in all"]})
    await add(backend, metadata={"key": 5.0})
    await add(backend, metadata={"key": "y" * 129})

    found = await metadata.values("key", "", None, 50)
    assert [(item.value, item.documents) for item in found[:2]] == [("in all", 12), (5, 2)]
    assert {repr(item.value) for item in found} == {repr(value) for value in [*values, "in all"]}
    for item in found:
        query = DocumentQuery(filters=parse_filters({"key": item.value}))
        assert len(await backend.store.list_documents(query)) == item.documents
    assert len(await metadata.values("key", "", None, 3)) == 3

    async def search(text: str) -> list[object]:
        return [item.value for item in await metadata.values("key", text, None, 50)]

    assert await search("ÜBER") == ["Über uns"] and await search("über") == ["Über uns"]
    assert await search("IN ALL") == ["in all"]
    assert await search("%_") == ["a'b\"c%_"] and await search("\0") == []
    assert sorted(map(repr, await search("5"))) == sorted(map(repr, ["5", 5, 5.5]))
    assert await metadata.values("no such", "", None, 50) == []
    assert await metadata.values("key", "", "col_none", 50) == []
