"""Evaluation sets as files: imported all or nothing, exported as a stream."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from dataclasses import dataclass

from mcp_knowledge.domain.documents import Document
from mcp_knowledge.domain.evaluations import Case
from mcp_knowledge.domain.judged_queries import JudgedQuery, judged_line, merged, read_judged_queries
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import EvaluationStore, Store
from mcp_knowledge.services.evaluation_runs import MAX_CASES

MAX_IMPORT_BYTES = 16 * 1024 * 1024
_CASES_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class MissingDocument:
    """A document that a line names and the corpus does not have, or has several of."""

    query: str
    name: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did.

    Args:
        added, changed: queries that were new, and such that the set had already.
        merged: lines whose query another line had as well.
        missing: documents that were not found. Those in `relevant` stay with their query, and each run looks for them
            again; those in `wrong` are left out.
    """

    added: int
    changed: int
    merged: int
    missing: tuple[MissingDocument, ...]


class EvaluationFiles:
    """Import and export of the queries of a set."""

    def __init__(self, store: EvaluationStore, documents: Store) -> None:
        self._store, self._documents = store, documents
        # One at a time: a file takes several times its size while it is read, and searches want the processor as well.
        self._import_turn, self._export_turn = asyncio.Semaphore(1), asyncio.Semaphore(1)

    async def import_jsonl(self, set_id: str, pieces: AsyncIterable[bytes]) -> ImportReport:
        """Write every line of a file into a set, or nothing.

        A query that the set has already is judged as in the file and keeps its id. An id that another query of the set
        has is not taken over: files that count their lines can be put together.

        Args:
            pieces: the file, cut anywhere.

        Raises:
            KnowledgeError: INVALID_ARGUMENT naming the line at fault, PAYLOAD_TOO_LARGE, EVALUATION_NOT_FOUND,
                EVALUATION_FULL.
        """
        data = bytearray()
        async for piece in pieces:
            data += piece
            if len(data) > MAX_IMPORT_BYTES:
                raise KnowledgeError("PAYLOAD_TOO_LARGE", f"A file of queries may have {MAX_IMPORT_BYTES:,} bytes.")
        async with self._import_turn:
            return await self._import(set_id, data)

    async def _import(self, set_id: str, data: bytearray) -> ImportReport:
        lines, queries = await asyncio.to_thread(_read, bytes(data))
        if not queries:
            raise KnowledgeError("INVALID_ARGUMENT", "The file has no queries.")
        names = {name for query in queries for name in query.names}
        known = await self._store.documents_named(names) if names else {}
        cases = [query.to_case(known) for query in queries]
        added, changed = await self._store.merge_cases(set_id, cases, MAX_CASES)
        missing = [MissingDocument(item.query, name) for item in queries for name in item.names if name not in known]
        return ImportReport(added, changed, lines - len(queries), tuple(missing))

    async def export_jsonl(self, set_id: str, by_name: bool = False) -> AsyncIterator[bytes]:
        """The queries of a set as lines, in their order.

        Args:
            by_name: call documents by path or file name where that is theirs alone, so that another corpus with the
                same files can take the set in; else by id.
        """
        after: int | None = 0
        while after is not None:
            async with self._export_turn:
                cases, after = await self._store.list_cases(set_id, _CASES_AT_ONCE, after)
                names = await self._names(cases) if by_name else {}
                piece = b"".join(judged_line(case, names) for case in cases)
            yield piece

    async def _names(self, cases: Sequence[Case]) -> dict[str, str]:
        """A name for each judged document that names it alone."""
        ids = {document_id for case in cases for document_id in (*case.relevant, *case.wrong)}
        documents = await self._documents.get_documents(ids)
        proposed = {name for document in documents.values() for name in _proposals(document)}
        known = await self._store.documents_named(proposed)
        return {
            document_id: name
            for document_id, document in documents.items()
            for name in reversed(_proposals(document))
            if known.get(name) == document_id
        }


def _proposals(document: Document) -> list[str]:
    """What a document may be called, best first."""
    return [name for name in (document.source_path, document.original_filename, document.title) if name]


def _read(data: bytes) -> tuple[int, list[JudgedQuery]]:
    """How many lines there are, and their queries."""
    lines = list(read_judged_queries(data.splitlines(), MAX_CASES))
    return len(lines), merged(lines)
