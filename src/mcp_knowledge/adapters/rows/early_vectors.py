"""Vectors of a large document that is still being embedded, so that an interrupted ingestion does not start anew."""

import hashlib
from collections.abc import Sequence

import numpy as np

from mcp_knowledge.adapters.rows import job_rows
from mcp_knowledge.adapters.rows.dialect import Connection
from mcp_knowledge.domain.documents import Job
from mcp_knowledge.ports import Vector


def passage_keys(texts: Sequence[str], fingerprint: str) -> list[bytes]:
    """What stands for each text, read by the model of this fingerprint; 16 bytes tell one document's texts apart."""
    model = hashlib.blake2b(fingerprint.encode(), digest_size=32).digest()
    return [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16, key=model).digest() for text in texts]


def keep(connection: Connection, job: Job, passages: Sequence[bytes], vectors: Sequence[bytes]) -> bool:
    """Write vectors of a job's document; False when the job was lost (nothing is written)."""
    held = job_rows.held_numbers(connection, job)
    if held is None:
        return False
    rows = ((held[1], passage, vector) for passage, vector in zip(passages, vectors, strict=True))
    connection.executemany(
        """INSERT INTO early_vectors (document_no, passage, vector) VALUES (?, ?, ?)
           ON CONFLICT (document_no, passage) DO UPDATE SET vector = excluded.vector""",
        rows,
    )
    return True


def find(connection: Connection, document_id: str, texts: Sequence[str], fingerprint: str) -> dict[str, Vector]:
    """Those of the texts whose vectors were kept."""
    by_key = dict(zip(passage_keys(texts, fingerprint), texts, strict=True))
    rows = connection.execute(
        f"""SELECT e.passage, e.vector FROM documents d JOIN early_vectors e ON e.document_no = d.document_no
            WHERE d.id = ? AND {connection.dialect.blob_among("e.passage")}""",
        (document_id, connection.dialect.listed_blobs(by_key)),
    )
    return {by_key[key]: np.frombuffer(vector, "<f4") for key, vector in rows}


def forget(connection: Connection, document_no: int) -> None:
    """Drop a document's: they are written, or nobody needs them."""
    connection.execute("DELETE FROM early_vectors WHERE document_no = ?", (document_no,))
