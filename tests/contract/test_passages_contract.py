import numpy as np
from contract_kit import FINGERPRINT, Backend, add, fake_vector

from mcp_knowledge.adapters.rows.passage_vectors import SqlPassageVectors


def stored(backend: Backend, fingerprint: str = FINGERPRINT) -> SqlPassageVectors:
    return SqlPassageVectors(backend.database, lambda: fingerprint)


async def test_the_vectors_of_a_documents_passages_are_those_that_were_written(backend: Backend) -> None:
    await add(backend, "pump", "valve")
    document = await add(backend, "otter", "heron", "reed")
    chunks = await backend.store.list_chunks(document.id, 10)
    found = await stored(backend).vectors(document.id, 1, 2)
    assert list(found) == [chunk.id for chunk in chunks[1:]]
    for chunk in chunks[1:]:
        vector = found[chunk.id]
        assert vector.dtype == np.float32
        assert np.array_equal(vector, fake_vector(chunk.content))
    assert await stored(backend).vectors(document.id, 3, 9) == {}


async def test_vectors_of_another_model_and_of_deleted_documents_are_never_given_out(backend: Backend) -> None:
    document = await add(backend, "otter")
    assert await stored(backend, "another model").vectors(document.id, 0, 0) == {}
    await backend.store.delete_document(document.id)
    assert await stored(backend).vectors(document.id, 0, 0) == {}
    assert await stored(backend).vectors("doc_none", 0, 0) == {}
