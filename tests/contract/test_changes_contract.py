"""Many documents changed at once, and the lists that choose them."""

import pytest
from contract_kit import Backend, add, claim_one, new_document

from mcp_knowledge.adapters.rows.changes import SqlDocumentChanges
from mcp_knowledge.domain.documents import Metadata
from mcp_knowledge.domain.filters import Filter
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import DocumentQuery, Move, Reindex, Tag, Untag


async def metadata_of(backend: Backend, document_id: str) -> Metadata:
    document = await backend.store.get_document(document_id)
    assert document is not None
    return document.metadata


async def test_documents_are_moved_together_and_what_is_gone_is_told(backend: Backend) -> None:
    changes = SqlDocumentChanges(backend.database)
    collection = await backend.store.create_collection("Letters", None)
    documents = [await add(backend, str(number)) for number in range(3)]
    await backend.store.delete_document(documents[2].id)
    ids = [item.id for item in documents]

    assert await changes.change(ids, Move(collection.id)) == {ids[2]: "DOCUMENT_NOT_FOUND"}
    moved = await backend.store.list_documents(DocumentQuery(collection_id=collection.id))
    assert {item.id for item in moved} == set(ids[:2])
    with pytest.raises(KnowledgeError, match="COLLECTION_NOT_FOUND"):
        await changes.change(ids, Move("col_unknown"))
    await changes.change(ids[:1], Move(None))
    unfiled = await backend.store.list_documents(DocumentQuery(unfiled=True))
    assert [item.id for item in unfiled] == ids[:1]


async def test_a_tag_leaves_all_other_metadata_as_it_is_and_filters_see_it(backend: Backend) -> None:
    changes = SqlDocumentChanges(backend.database)
    first = await add(backend, "a", metadata={"team": "sea"}, document_metadata={"author": "Ada"})
    second = await add(backend, "b")

    assert await changes.change([first.id, second.id], Tag("year", 2024)) == {}
    assert await metadata_of(backend, first.id) == {"team": "sea", "year": 2024, "document": {"author": "Ada"}}
    tagged = DocumentQuery(filters=(Filter("year", "gte", 2000), Filter("document.author", "eq", "Ada")))
    assert [item.id for item in await backend.store.list_documents(tagged)] == [first.id]

    generation = await backend.store.generation()
    assert await changes.change([second.id], Untag("team")) == {}
    assert await backend.store.generation() == generation  # nothing to remove, nothing has changed
    assert await changes.change([first.id], Untag("team")) == {}
    assert await metadata_of(backend, first.id) == {"year": 2024, "document": {"author": "Ada"}}
    assert await changes.change([first.id], Tag("long", "x" * 70_000)) == {first.id: "INVALID_METADATA"}
    assert await metadata_of(backend, first.id) == {"year": 2024, "document": {"author": "Ada"}}


async def test_documents_are_read_again_unless_they_are_at_work(backend: Backend) -> None:
    changes = SqlDocumentChanges(backend.database)
    ready, busy = await add(backend, "a"), await add(backend, "b")
    await backend.store.reindex_document(busy.id)
    await claim_one(backend)

    assert await changes.change([ready.id, busy.id], Reindex()) == {busy.id: "DOCUMENT_BUSY"}
    assert (await claim_one(backend)).document_id == ready.id


async def test_lists_are_narrowed_by_format_and_age_and_counted(backend: Backend) -> None:
    await add(backend, "ready")
    for number, extension in enumerate(("pdf", "pdf", "md", "")):
        backend.clock.forward(1000)
        await backend.store.create_document(new_document(str(number), extension=extension))
    first = await backend.store.list_documents(DocumentQuery(sort="createdAt", descending=False))

    pdf = DocumentQuery(extensions=("pdf",))
    assert [item.extension for item in await backend.store.list_documents(pdf)] == ["pdf", "pdf"]
    assert await backend.store.document_formats() == {"pdf": 2, "md": 1, "": 1, "txt": 1}
    assert await backend.store.count_documents(DocumentQuery()) == {"pending": 4, "ready": 1}
    assert await backend.store.count_documents(pdf) == {"pending": 2}
    early = DocumentQuery(created_until_ms=first[2].created_at_ms, limit=2)
    ids = await backend.store.document_ids(early)
    ids += await backend.store.document_ids(early, ids[-1])
    assert ids == [item.id for item in first[:3]]
    await backend.store.delete_document(first[0].id)
    assert await backend.store.document_formats() == {"pdf": 2, "md": 1, "": 1}
