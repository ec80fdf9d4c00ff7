"""A few documents to try the service with, shipped with it, and taken away again without a trace."""

import asyncio
import hashlib
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from mcp_knowledge.domain.documents import Document
from mcp_knowledge.domain.filters import Filter
from mcp_knowledge.errors import KnowledgeError, storing
from mcp_knowledge.ports import DocumentQuery, Store
from mcp_knowledge.services.bulk import Bulk, BulkOutcome
from mcp_knowledge.services.collections import Collections
from mcp_knowledge.services.library import Filing, Library, StoredUpload

FOLDER = Path(__file__).parent.parent / "samples"
COLLECTION = "Sample documents"
_DESCRIPTION = "A lighthouse museum that never was: files of many formats, to try a search with."
_MARK = "sample"  # the metadata key that finds them
_SOURCE = "sample:"  # what their source URL begins with, which nothing that a user does can make
_MOST = 100


@dataclass(frozen=True, slots=True)
class SamplesAdded:
    """What became of the samples: how many are new, and the collection that they are in."""

    added: int
    collection_id: str


class Samples:
    """Adds and removes the sample documents.

    A sample is a document that this service added, whose file is still the one that was shipped, and that nobody has
    taken the mark from: all others are the user's.
    """

    def __init__(self, library: Library, bulk: Bulk, collections: Collections, store: Store) -> None:
        self._library, self._bulk, self._collections, self._store = library, bulk, collections, store

    async def add(self) -> SamplesAdded:
        """Add those that are not there. One that the user has added stays the user's."""
        collection = await self._collections.named(COLLECTION)
        if collection.description is None and collection.document_count == 0:
            await self._collections.update(collection.id, description=_DESCRIPTION)
        added = 0
        for path in sorted(FOLDER.iterdir()):
            if not self._is_read(path):
                continue
            filing = Filing(collection.id, {_MARK: True}, source_url=f"{_SOURCE}{path.name}")
            receipt = await self._library.upload(await asyncio.to_thread(self._copy, path), filing)
            added += not receipt.duplicate
        return SamplesAdded(added, collection.id)

    async def present(self) -> list[Document]:
        """The samples that are there now, by title."""
        marked = DocumentQuery(filters=(Filter(_MARK, "eq", True),), sort="title", descending=False, limit=_MOST)
        found = await self._store.list_documents(marked)
        return [item for item in found if (item.source_url or "").startswith(_SOURCE) and item.revision == 1]

    async def remove(self) -> BulkOutcome:
        """Delete them for good, and their collection if it was made for them and is empty."""
        samples = [item for item in await self.present() if len(await self._store.list_revisions(item.id)) == 1]
        outcome = await self._bulk.delete([item.id for item in samples], undo_ms=0)
        for collection_id in {item.collection_id for item in samples if item.collection_id}:
            collection = await self._store.get_collection(collection_id)
            if collection is None or collection.document_count or collection.description != _DESCRIPTION:
                continue
            try:
                await self._collections.delete(collection_id)
            except KnowledgeError as error:
                if error.code not in ("COLLECTION_NOT_EMPTY", "COLLECTION_NOT_FOUND"):
                    raise  # else somebody was quicker, and has a use for it
        return outcome

    def _is_read(self, path: Path) -> bool:
        return path.suffix.removeprefix(".") in self._library.accepted_extensions

    def _copy(self, path: Path) -> StoredUpload:
        copy = self._library.upload_dir() / f"{secrets.token_hex(16)}.upload"
        with storing():
            shutil.copyfile(path, copy)
        content = path.read_bytes()
        return StoredUpload(copy, path.name, len(content), hashlib.sha256(content).hexdigest())
