"""What people may change of a document, and what its file says by itself."""

import hashlib
import json
from dataclasses import dataclass

from mcp_knowledge.domain.documents import Document, Metadata


@dataclass(frozen=True, slots=True)
class Details:
    """A document with its metadata in two parts: what people set, and the file's own properties, which readers see
    under `document` where people set nothing.
    """

    document: Document
    own: Metadata
    properties: Metadata

    @property
    def stamp(self) -> str:
        """Changes with everything that people may change, and with nothing else."""
        values = [self.document.title, self.document.collection_id, self.own]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:32]
