import numpy as np
from contract_kit import FINGERPRINT, Backend, add, chunk, claim_one, fake_vector, indexed, new_document

from mcp_knowledge.adapters.rows.passages import SqlPassageStore


def stored(backend: Backend, fingerprint: str = FINGERPRINT) -> SqlPassageStore:
    return SqlPassageStore(backend.database, lambda: fingerprint)


async def test_the_vectors_of_a_documents_passages_are_those_that_were_written(backend: Backend) -> None:
    await add(backend, "pump", "valve")
    document = await add(backend, "otter", "heron", "reed")
    chunks = await backend.store.list_chunks(document.id, 10)
    found = await stored(backend).vectors(document.id, 1, 2)
    assert list(found) == [item.id for item in chunks[1:]]
    for item in chunks[1:]:
        assert found[item.id].dtype == np.float32
        assert np.array_equal(found[item.id], fake_vector(item.content))
    assert await stored(backend).vectors(document.id, 3, 9) == {}


async def test_vectors_of_another_model_and_of_deleted_documents_are_never_given_out(backend: Backend) -> None:
    document = await add(backend, "otter")
    assert await stored(backend, "another model").vectors(document.id, 0, 0) == {}
    await backend.store.delete_document(document.id)
    assert await stored(backend).vectors(document.id, 0, 0) == {}
    assert await stored(backend).vectors("doc_none", 0, 0) == {}


async def test_the_first_passage_under_a_heading_is_found_by_its_path(backend: Backend) -> None:
    new = new_document("a handbook")
    await backend.store.create_document(new)
    paths = [("Guide",), ("Guide", "Care"), ("Guide", "Care", "Daily"), ("Guide", "Careful"), ('"odd", ["',)]
    chunks = [chunk(number, f"text {number}", path) for number, path in enumerate(paths)]
    assert await backend.store.index_revisions([indexed(await claim_one(backend), chunks)], FINGERPRINT) == [True]
    passages = stored(backend)
    assert [await passages.section_start(new.id, path) for path in paths] == [0, 1, 2, 3, 4]
    for path in (("Care",), ("Guide", "Car"), ("Guide", "Care", "Daily", "Deeper"), ("odd",)):
        assert await passages.section_start(new.id, path) is None
    assert await passages.section_start(new.id, ()) == 0
    assert await passages.section_start("doc_none", ()) is None
