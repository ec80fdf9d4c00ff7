"""Whether the rows of each document agree: with each other, and with what the service would write."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from mcp_knowledge.adapters.rows import content
from mcp_knowledge.adapters.rows.dialect import Connection, Row
from mcp_knowledge.adapters.rows.metadata import effective_metadata
from mcp_knowledge.adapters.rows.sql import ACTIVE, fold_key, storable
from mcp_knowledge.domain.blocks import Heading, SourceLocation
from mcp_knowledge.domain.chunking import CHUNKER_NAME, chunk_id, chunker_version
from mcp_knowledge.domain.cutting import ChunkSizes
from mcp_knowledge.domain.faults import Fault, FaultKind
from mcp_knowledge.domain.filters import flatten

_PAGE_DOCUMENTS = 100
_PAGE_CHUNKS = 5000  # of a page of more than one document: each takes some kilobytes
_NORM_TOLERANCE = 1e-3  # a stored float32 vector of 384 numbers is off by 1e-6 at most
_DOCUMENTS = f"""
    SELECT d.document_no, d.id, d.status, d.searchable, d.current_revision_no, d.newest_revision_no, d.chunk_count,
           d.title, d.title_key, d.original_filename, d.filename_key, d.metadata, d.properties,
           d.revision, d.original_filename, d.mime_type, d.extension, d.size_bytes, d.sha256,
           s.number, s.original_filename, s.mime_type, s.extension, s.size_bytes, s.sha256,
           r.id, r.chunk_count, r.sha256, v.chunker_name, v.chunker_version, v.embedding_dimensions,
           (SELECT count(*) FROM jobs j WHERE j.document_no = d.document_no AND j.status IN {ACTIVE}),
           (SELECT count(*) FROM jobs j WHERE j.document_no = d.document_no AND j.status = 'failed'),
           d.newest_revision_no IS NULL OR EXISTS (SELECT 1 FROM revisions n
               WHERE n.revision_no = d.newest_revision_no AND n.document_no = d.document_no),
           EXISTS (SELECT 1 FROM revisions n WHERE n.document_no = d.document_no)
    FROM documents d
    LEFT JOIN revisions r ON r.revision_no = d.current_revision_no AND r.document_no = d.document_no
    LEFT JOIN revisions s ON s.revision_no = coalesce(d.current_revision_no, d.newest_revision_no)
        AND s.document_no = d.document_no
    LEFT JOIN index_versions v ON v.version_no = r.version_no
    WHERE d.document_no > ? AND d.status <> 'deleted' ORDER BY d.document_no LIMIT ?"""
_CHUNKS = """
    SELECT c.chunk_no, c.document_no, c.revision_no, c.id, c.sequence, c.heading_path, c.location, c.metadata,
           c.content, v.vector
    FROM chunks c LEFT JOIN chunk_vectors v ON v.chunk_no = c.chunk_no
    WHERE c.document_no BETWEEN ? AND ? ORDER BY c.document_no, c.sequence"""
_METADATA = "SELECT document_no, path, kind, text, number FROM metadata_values WHERE document_no BETWEEN ? AND ?"


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as far as the full text needs it."""

    chunk_no: int
    heading_path: Sequence[str]
    content: str


@dataclass(slots=True)
class CheckedDocument:
    """A document that was looked at."""

    document_no: int
    id: str
    title: str
    passages: list[Passage] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def note(self, kind: FaultKind, detail: str, *, rereadable: bool = True) -> None:
        """There is something wrong with it."""
        self.faults.append(Fault(kind, detail, self.id, self.document_no, rereadable=rereadable))


def checked_documents(connection: Connection, after_no: int) -> list[CheckedDocument]:
    """The next documents, all but those of which only the tombstone is left; none at the end."""
    rows, chunk_count = list[Row](), 0
    for row in connection.execute(_DOCUMENTS, (after_no, _PAGE_DOCUMENTS)):
        chunk_count += row[6]
        if rows and chunk_count > _PAGE_CHUNKS:
            break
        rows.append(row)
    if not rows:
        return []
    bounds = (rows[0][0], rows[-1][0])
    chunks: dict[int, list[Row]] = {}
    for row in connection.execute(_CHUNKS, bounds):
        chunks.setdefault(row[1], []).append(row)
    values: dict[int, Counter[Row]] = {}
    for document_no, *value in connection.execute(_METADATA, bounds):
        values.setdefault(document_no, Counter())[tuple(value)] += 1
    return [_look_at(connection, row, chunks.get(row[0], []), values.get(row[0], Counter())) for row in rows]


def _look_at(connection: Connection, row: Row, chunks: Sequence[Row], values: "Counter[Row]") -> CheckedDocument:
    """Check a document; a row that nobody can make sense of is a fault of its own."""
    try:
        return _check(connection, row, chunks, values)
    except (ValueError, TypeError, AttributeError) as error:
        document = CheckedDocument(row[0], row[1], "")
        document.note("database-damaged", f"what stands in its row cannot be read ({type(error).__name__})")
        return document


def _check(connection: Connection, row: Row, chunks: Sequence[Row], values: "Counter[Row]") -> CheckedDocument:
    document_no, document_id, status, searchable, current_no, _, chunk_count, title = row[:8]
    document = CheckedDocument(document_no, document_id, title)
    revision_id, revision_chunks, revision_sha256, chunker, version, dimensions = row[25:31]
    active, failed, newest_stands, has_versions = row[31:]
    unread = list(_read_passages(document, chunks))
    if status == "deleting":
        if not (active or failed):
            document.note("document-stuck", "is being deleted, and no job does it")
        return document
    if not newest_stands or (current_no is not None and revision_id is None):
        document.note("document-state", "names a version that is not there", rereadable=bool(has_versions))
        return document
    if (status == "ready") != (current_no is not None) or bool(searchable) != (status == "ready"):
        document.note("document-state", f"is {status}, which does not fit its other fields")
    if status in ("pending", "processing") and not active:
        document.note("document-stuck", f"is {status}, and no job works on it")
    _check_copies(document, row)
    expected = Counter(storable(value) for value in flatten(effective_metadata(row[11], row[12])))
    if expected != values:
        document.note("metadata", "its values for filters are not those of its metadata")
    if current_no is None:
        return document
    if dimensions is None:
        document.note("passages", "nothing says which parser and model made its passages")
    faults = [*unread, *_passage_faults(chunks, current_no, (chunk_count, revision_chunks))]
    if not faults and (chunker, version) == (CHUNKER_NAME, chunker_version(ChunkSizes())):
        faults = [*_id_faults(document, chunks, revision_sha256.hex())]
    if faults:
        document.note("passages", "; ".join(faults))
    if dimensions is not None and (wrong := list(_vector_faults(connection, chunks, dimensions))):
        document.note("vectors", f"{len(wrong)} of {len(chunks)} vectors: {wrong[0]}")
    if fault := _normalized_fault(connection, revision_id):
        document.note("normalized", fault)
    return document


def _check_copies(document: CheckedDocument, row: Row) -> None:
    """What stands in the document's row because lists need it there."""
    title, title_key, filename, filename_key = row[7:11]
    copies, source = row[13:19], row[19:25]
    keys = (title_key, filename_key) != storable((fold_key(title), fold_key(filename)))
    if source[0] is not None and (copies != source or keys):
        document.note("document-row", "its name, size, type or hash is not its version's")


def _read_passages(document: CheckedDocument, chunks: Sequence[Row]) -> Iterator[str]:
    """Take the passages that can be read; a sentence for each other one."""
    for chunk_no, _, _, _, sequence, path, location, metadata, packed, _ in chunks:
        try:
            headings = json.loads(path)
            if not all(isinstance(heading, str) for heading in headings) or not isinstance(headings, list):
                raise TypeError("headings")
            SourceLocation.from_json(json.loads(location))
            json.loads(metadata or "{}")
            document.passages.append(Passage(chunk_no, headings, content.unpack_text(packed)))
        except Exception as error:  # whatever is wrong with it
            yield f"passage {sequence} cannot be read ({type(error).__name__})"


def _passage_faults(chunks: Sequence[Row], current_no: int, counts: tuple[int, int]) -> Iterator[str]:
    if counts != (len(chunks), len(chunks)):
        yield f"{len(chunks)} passages are there, and there should be {counts[0]}"
    if [row[4] for row in chunks] != list(range(len(chunks))):
        yield "their numbers have gaps"
    if any(row[2] != current_no for row in chunks):
        yield "some are of another version"


def _id_faults(document: CheckedDocument, chunks: Sequence[Row], sha256: str) -> Iterator[str]:
    """A chunk's id follows from its text: another text would have another one."""
    seen: Counter[tuple[tuple[str, ...], str]] = Counter()
    for row, passage in zip(chunks, document.passages, strict=True):
        key = (tuple(passage.heading_path), passage.content)
        if row[3] != chunk_id(sha256, passage.heading_path, passage.content, seen[key]):
            yield f"the text of passage {row[4]} is not the one that its id was made of"
        seen[key] += 1


def _vector_faults(connection: Connection, chunks: Sequence[Row], dimensions: int) -> Iterator[str]:
    for row in chunks:
        if fault := _vector_fault(connection, row[9], dimensions):
            yield fault


def _vector_fault(connection: Connection, stored: object, dimensions: int) -> str | None:
    """What is wrong with a stored vector; None: nothing."""
    if stored is None:
        return "missing"
    try:
        vector = connection.dialect.vector(stored)
    except (ValueError, TypeError, AttributeError):
        return "cannot be read"
    if vector.shape != (dimensions,):
        return f"has {vector.size} numbers instead of {dimensions}"
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(length):
        return "holds what is no number"
    return None if abs(length - 1) < _NORM_TOLERANCE else f"has the length {length:.3g} instead of 1"


def _normalized_fault(connection: Connection, revision_id: str) -> str | None:
    try:
        document = content.normalized(connection, revision_id)
        outline = content.outline(connection, revision_id)
        total = content.block_count(connection, revision_id)
    except Exception as error:  # whatever is wrong with it
        return f"its text as it was read cannot be unpacked ({type(error).__name__})"
    if document is None or outline is None:
        return "its text as it was read is missing"
    if len(document.blocks) != total:
        return f"{len(document.blocks)} of {total} blocks of its text are there"
    headings = [(at, item.level, item.text) for at, item in enumerate(document.blocks) if isinstance(item, Heading)]
    entries = [(entry.block, entry.level, entry.text) for entry in outline]
    return None if headings == entries else "its outline is not that of its text"
