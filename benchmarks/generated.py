"""Generated corpora and files: text with the word frequencies of a language, vectors in clusters as real ones; a PDF.

Embedding 100,000 texts would take a quarter of an hour and measure nothing here: a few hundred texts are embedded, and
all vectors are those with a little noise. Everything is written through the store, as ingestion writes it.
"""

import hashlib
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from mcp_knowledge.adapters.minilm import MiniLmEmbedder
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.domain.blocks import NOWHERE, NormalizedDocument, Paragraph
from mcp_knowledge.domain.documents import Chunk, IndexVersions, Job, Metadata, new_id
from mcp_knowledge.domain.query import STOP_WORDS
from mcp_knowledge.ports import IndexedRevision, NewDocument, Vector
from mcp_knowledge.settings import Settings

CHUNKS_A_DOCUMENT = 10
WORDS_A_CHUNK = 110
BUCKETS = 100  # `filters: {"bucket": n}` keeps one document in so many
SHELVES = 20  # collections, each with as many documents
KINDS = ("contract", "invoice", "letter", "minutes", "report")
_VOCABULARY = 30_000
_EMBEDDED_TEXTS = 400
_NOISE = 0.35  # length of the noise added to a unit vector: neighbours then have a cosine of about 0.9
_DOCUMENTS_AT_ONCE = 50
_VERSIONS = IndexVersions("generated", "1", "generated", "1", "all-MiniLM-L6-v2", 384, "generated")


class Language:
    """Made-up words, the most frequent being the English stop words, drawn by Zipf's law."""

    def __init__(self, seed: int = 7) -> None:
        self.random = np.random.default_rng(seed)
        starts, vowels, ends = "b c d f g h k l m n p r s t v w st tr pl", "a e i o u ea ou", "n r s t l m nd x"
        parts = starts.split(), vowels.split(), ["", *ends.split()]
        syllables = np.array([a + b + c for a in parts[0] for b in parts[1] for c in parts[2]])
        made = ("".join(self.random.choice(syllables, size)) for size in self.random.integers(1, 4, 4 * _VOCABULARY))
        self._words = np.array(list(dict.fromkeys([*sorted(STOP_WORDS), *made]))[:_VOCABULARY])
        weights = 1.0 / np.arange(10, len(self._words) + 10)
        self._weights = np.cumsum(weights / weights.sum())

    def words(self, count: int) -> list[str]:
        """Words of running text."""
        drawn: list[str] = self._words[np.searchsorted(self._weights, self.random.random(count))].tolist()
        return drawn

    def text(self, count: int) -> str:
        """Sentences of about twelve words."""
        words = self.words(count)
        sentences = (" ".join(words[start : start + 12]).capitalize() for start in range(0, count, 12))
        return ". ".join(sentences) + "."

    def queries(self, count: int) -> list[str]:
        """Questions of five to nine words, most of them frequent ones."""
        return [f"what is the {' '.join(self.words(int(size)))}" for size in self.random.integers(2, 7, count)]


async def fill(settings: Settings, chunks: int) -> None:
    """Write documents with `chunks` chunks in all into an empty data directory."""
    database = Database(settings.database_path)
    await database.open()
    store, queue, embedder = SqlStore(database), SqlJobQueue(database), MiniLmEmbedder(settings)
    try:
        language = Language()
        random = language.random
        texts = [language.text(WORDS_A_CHUNK) for _ in range(min(chunks, _EMBEDDED_TEXTS))]
        known = await embedder.embed_passages(texts)
        shelves = [(await store.create_collection(f"Shelf {number}", None)).id for number in range(SHELVES)]
        for batch in batches(chunks // CHUNKS_A_DOCUMENT, _DOCUMENTS_AT_ONCE):
            for number in batch:
                metadata = {"bucket": number % BUCKETS, "kind": KINDS[number % len(KINDS)], "year": 1990 + number % 37}
                await store.create_document(new_document(number, metadata, shelves[number % SHELVES]))
            jobs = await queue.claim("benchmark", len(batch), 600_000)
            items = [
                indexed(job, [language.text(WORDS_A_CHUNK) for _ in vectors], vectors)
                for job in jobs
                for vectors in [noisy(known[random.integers(0, len(known), CHUNKS_A_DOCUMENT)], random)]
            ]
            await store.index_revisions(items, embedder.fingerprint)
    finally:
        embedder.close()
        await database.close()


def data_dir(parent: Path, chunks: int) -> Path:
    """Where a corpus of this size lies."""
    return parent / f"chunks-{chunks}"


def new_document(number: int, metadata: Metadata, collection_id: str | None = None) -> NewDocument:
    """A document to create, whose bytes are told by its number alone."""
    return NewDocument(
        id=new_id("doc"),
        revision_id=new_id("rev"),
        title=f"Report {number}",
        original_filename=f"{number}.txt",
        mime_type="text/plain",
        extension="txt",
        size_bytes=1,
        sha256=hashlib.sha256(str(number).encode()).hexdigest(),
        blob_key=f"generated/{number}",
        metadata=metadata,
        collection_id=collection_id,
    )


def indexed(job: Job, texts: Sequence[str], vectors: Vector) -> IndexedRevision:
    """The revision of a job as ingestion would have made it, with a chunk for each text."""
    chunks = []
    for sequence, text in enumerate(texts):
        digest = hashlib.sha256(f"{job.document_id} {sequence}".encode()).hexdigest()
        heading = f"Part {sequence // 3}"
        chunks.append(Chunk(f"chk_{digest[:32]}", sequence, text, (heading,), NOWHERE, 180, digest, text, {}))
    normalized = NormalizedDocument(None, {}, (Paragraph("generated"),))
    title = f"Report {job.filename.removesuffix('.txt')}"
    return IndexedRevision(job, title, normalized, {}, chunks, vectors, _VERSIONS)


def noisy(vectors: Vector, random: np.random.Generator, length: float = _NOISE) -> Vector:
    """Neighbours of unit vectors, one of each; `length` is that of the noise."""
    noise = random.standard_normal(vectors.shape, dtype=np.float32)
    rows = vectors + length * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def batches(total: int, size: int) -> Iterator[range]:
    """The numbers below `total`, so many at a time."""
    return (range(start, min(start + size, total)) for start in range(0, total, size))


def text_pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """A PDF of text: the first paragraph of a page is its heading, in large bold, the others are set in 10 points."""
    bodies = [b"", b""]  # the catalogue and the page tree, filled in below
    for font in ("Helvetica", "Helvetica-Bold"):
        bodies.append(f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>".encode())
    kids = []
    for heading, *paragraphs in pages:
        stream = _page_stream(heading, paragraphs)
        bodies.append(f"<< /Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream")
        entries = f"/Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(bodies)} 0 R"
        bodies.append(f"<< {entries} /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>".encode())
        kids.append(f"{len(bodies)} 0 R")
    bodies[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    bodies[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>".encode()
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(bodies, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    out += f"trailer << /Size {len(bodies) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def _page_stream(heading: str, paragraphs: Sequence[str]) -> bytes:
    parts = [f"BT /F2 16 Tf 56 780 Td ({heading}) Tj ET"]
    y = 750
    for paragraph in paragraphs:
        for line in textwrap.wrap(paragraph, 95):
            parts.append(f"BT /F1 10 Tf 56 {y} Td ({line}) Tj ET")
            y -= 13
        y -= 9
    return "\n".join(parts).encode("cp1252")
