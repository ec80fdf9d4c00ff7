from typing import cast

import pytest

from mcp_knowledge.domain.cursors import CursorSigner
from mcp_knowledge.domain.documents import Document
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import DocumentQuery, Store
from mcp_knowledge.services.catalog import Catalog
from mcp_knowledge.settings import load_settings


class ChangingStore:
    """The part of a store that the catalog needs; the corpus changes while its documents are read."""

    def __init__(self) -> None:
        self.number = 7
        self.queries: list[DocumentQuery] = []

    async def generation(self) -> int:
        return self.number

    async def list_documents(self, query: DocumentQuery) -> list[Document]:
        self.queries.append(query)
        self.number += 1
        return []


def catalog(store: ChangingStore) -> Catalog:
    return Catalog(cast(Store, store), CursorSigner(b"k" * 32), load_settings())


async def test_a_page_is_never_stamped_newer_than_what_was_read() -> None:
    assert (await catalog(ChangingStore()).page()).generation == 7


async def test_an_unchanged_corpus_costs_no_reading_of_documents() -> None:
    store = ChangingStore()
    page = await catalog(store).page(if_corpus_version="generation:7", cursor="not even a cursor")
    assert page.documents is None
    assert store.queries == []


async def test_any_other_version_is_answered_in_full() -> None:
    for version in ("generation:6", "generation:8", "generation:9999999999999999999"):
        assert (await catalog(ChangingStore()).page(if_corpus_version=version)).documents == ()


@pytest.mark.parametrize(
    "version",
    ["", "7", "generation:", "generation:07", "generation:-7", "generation:7 ", "generation:٧", "Generation:7"],
)
async def test_a_malformed_version_is_refused(version: str) -> None:
    with pytest.raises(KnowledgeError, match="INVALID_CORPUS_VERSION"):
        await catalog(ChangingStore()).page(if_corpus_version=version)


@pytest.mark.parametrize("limit", [0, 101, -1])
async def test_a_limit_out_of_range_is_refused_and_not_clamped(limit: int) -> None:
    with pytest.raises(KnowledgeError, match="INVALID_ARGUMENT"):
        await catalog(ChangingStore()).page(limit=limit)


async def test_deleted_means_also_those_whose_content_is_still_being_removed() -> None:
    store = ChangingStore()
    await catalog(store).page(status="deleted")
    assert store.queries[0].statuses == ("deleting", "deleted")
    with pytest.raises(KnowledgeError, match="INVALID_ARGUMENT"):
        await catalog(store).page(status="deleting")


async def test_fields_come_in_the_callers_order_each_once() -> None:
    page = await catalog(ChangingStore()).page(fields=["title", "id", "title"])
    assert page.fields == ("title", "id")
