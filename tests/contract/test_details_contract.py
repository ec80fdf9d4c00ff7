import asyncio

import pytest
from contract_kit import Backend, add

from mcp_knowledge.adapters.rows.details import SqlDetailsStore
from mcp_knowledge.domain.details import Details
from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import DocumentQuery


async def of(backend: Backend, document_id: str) -> Details:
    found = await SqlDetailsStore(backend.database).get(document_id)
    assert found is not None
    return found


async def code_of(backend: Backend, known: Details, title: str = "New", collection_id: str | None = None) -> str:
    with pytest.raises(KnowledgeError) as caught:
        await SqlDetailsStore(backend.database).change(
            known.document.id, known.stamp, title, collection_id, {"new": True}
        )
    return caught.value.code


async def test_what_people_set_and_what_the_file_says_are_kept_apart(backend: Backend) -> None:
    document = await add(backend, metadata={"year": 2026}, document_metadata={"author": "Ada", "pages": 3})
    known = await of(backend, document.id)
    assert (known.own, known.properties) == ({"year": 2026}, {"author": "Ada", "pages": 3})
    own = {"year": 2027, "document": {"author": "Grace"}}
    collection = await backend.store.create_collection("Shelf", None)
    changed = await SqlDetailsStore(backend.database).change(document.id, known.stamp, "Mine", collection.id, own)
    assert changed.metadata == {"year": 2027, "document": {"author": "Grace", "pages": 3}}
    assert (changed.title, changed.collection_id) == ("Mine", collection.id)
    again = await of(backend, document.id)
    assert (again.own, again.properties) == (own, {"author": "Ada", "pages": 3})
    for wanted in ({"year": 2027}, {"document.author": "Grace"}, {"document.pages": 3}):
        found = await backend.store.list_documents(DocumentQuery(filters=tuple(parse_filters(wanted))))
        assert [item.id for item in found] == [document.id], wanted
    gone = await backend.store.list_documents(DocumentQuery(filters=tuple(parse_filters({"year": 2026}))))
    assert gone == []


async def test_a_change_made_from_an_older_state_writes_nothing(backend: Backend) -> None:
    document = await add(backend, title="Theirs", metadata={"year": 2026})
    known = await of(backend, document.id)
    await backend.store.update_document(document.id, metadata={"year": 2027})
    assert await code_of(backend, known) == "DOCUMENT_CHANGED"
    now = await of(backend, document.id)
    assert (now.document.title, now.own) == ("Theirs", {"year": 2027})
    assert await code_of(backend, now, collection_id="col_none") == "COLLECTION_NOT_FOUND"
    assert (await of(backend, document.id)) == now
    await backend.store.delete_document(document.id)
    assert await code_of(backend, now) == "DOCUMENT_NOT_FOUND"
    assert await SqlDetailsStore(backend.database).get(document.id) is None


async def test_of_two_changes_at_once_one_is_told(backend: Backend) -> None:
    document = await add(backend)
    known = await of(backend, document.id)
    store = SqlDetailsStore(backend.database)
    outcomes = await asyncio.gather(
        *(store.change(document.id, known.stamp, f"Title {number}", None, {"by": number}) for number in range(4)),
        return_exceptions=True,
    )
    codes = [item.code for item in outcomes if isinstance(item, KnowledgeError)]
    assert codes == ["DOCUMENT_CHANGED"] * 3


async def test_a_form_that_changes_nothing_leaves_everything_as_it_is(backend: Backend) -> None:
    document = await add(backend, title="As parsed", metadata={"year": 2026}, document_metadata={"author": "Ada"})
    known = await of(backend, document.id)
    generation = await backend.store.generation()
    same = await SqlDetailsStore(backend.database).change(
        document.id, known.stamp, document.title, document.collection_id, {"year": 2026}
    )
    assert same == document
    assert await backend.store.generation() == generation
