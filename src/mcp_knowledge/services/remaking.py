"""Whether passages and vectors are those that would be made now of a document's text as it was read."""

import asyncio
import random
from collections.abc import Callable

import numpy as np

from mcp_knowledge.domain.chunking import chunk_document
from mcp_knowledge.domain.cutting import ChunkSizes
from mcp_knowledge.domain.documents import Chunk
from mcp_knowledge.domain.faults import Fault
from mcp_knowledge.ports import Embedder
from mcp_knowledge.ports.stored import StoredDocument
from mcp_knowledge.services.preparing import title_in

# Cosine of two vectors of one text. Processors round the model's int8 sums differently; another text is further away,
# or so much alike that it makes no difference to a search.
_LEAST_SIMILARITY = 0.98


class RemadePassages:
    """Cuts and embeds documents anew, and compares.

    Args:
        most_passages: of a document that are embedded; the others are cut and compared all the same.
    """

    def __init__(self, embedder: Embedder, sizes: ChunkSizes, most_passages: int) -> None:
        self._embedder = embedder
        self._sizes = sizes
        self._most_passages = most_passages
        self.embedded = 0

    async def compare(self, stored: StoredDocument, advance: Callable[[int], None]) -> Fault | None:
        """What is wrong with a document; None: nothing.

        Args:
            advance: is told how many further passages are done.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the model cannot be loaded.
        """
        title = title_in(stored.normalized, stored.filename)
        arguments = (stored.normalized, title, stored.sha256, self._sizes, self._embedder)
        chunks = await asyncio.to_thread(chunk_document, *arguments)
        if list(map(_row, chunks)) != list(stored.passages):
            detail = "they are not those that its text is cut into"
            return Fault("passages", detail, stored.id, stored.document_no)
        sample = sorted(random.sample(range(len(chunks)), min(len(chunks), self._most_passages)))
        vectors = await self._embedder.embed_passages([chunks[index].embedding_text for index in sample])
        advance(len(sample))
        self.embedded += len(sample)
        alike = np.einsum("ij,ij->i", vectors, stored.vectors[sample])
        wrong = int(np.count_nonzero(~(alike >= _LEAST_SIMILARITY)))
        detail = f"{wrong} of {len(sample)} vectors are of another text than their passages"
        return Fault("vectors", detail, stored.id, stored.document_no) if wrong else None


def _row(chunk: Chunk) -> tuple[object, ...]:
    return chunk.id, chunk.token_count, list(chunk.heading_path), chunk.location.to_json(), chunk.content
