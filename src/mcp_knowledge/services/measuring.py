"""Judged queries through the real search: the one loop behind every evaluation."""

import time
from collections.abc import AsyncIterator, Sequence

from mcp_knowledge.domain.evaluation_scores import scored
from mcp_knowledge.domain.evaluations import DEPTH, Case, DocumentRef, QueryResult, RunSettings
from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.domain.search import Scope, SearchRequest
from mcp_knowledge.ports import Store
from mcp_knowledge.services.search import Search

_TITLES_AT_ONCE = 50  # queries whose judged documents are looked up together
_LONGEST_WAIT_S = 0.25  # for the searches that people wait for, before each query


class Measuring:
    """Runs queries and scores what was found."""

    def __init__(self, search: Search, store: Store) -> None:
        self._search, self._store = search, store

    async def results(self, cases: Sequence[Case], settings: RunSettings) -> AsyncIterator[QueryResult]:
        """One result a case, in order, one query after another. Other searches go first.

        Raises:
            KnowledgeError: what the search raises; INVALID_FILTER.
        """
        scope = Scope(settings.collection_ids, (), parse_filters(settings.filters) if settings.filters else ())
        for first in range(0, len(cases), _TITLES_AT_ONCE):
            some = cases[first : first + _TITLES_AT_ONCE]
            titles = await self._titles(some)
            for case in some:
                await self._search.until_quiet(_LONGEST_WAIT_S)
                found, elapsed_ms = await self._found(case.query, settings, scope)
                yield scored(case, found, titles, elapsed_ms)

    async def _found(self, query: str, settings: RunSettings, scope: Scope) -> tuple[list[DocumentRef], float]:
        fusion = settings.fusion or "rrf"
        request = SearchRequest(query, settings.mode, DEPTH, scope, fusion=fusion, collapse="document")
        start = time.perf_counter()
        hits = (await self._search.search(request)).hits
        elapsed_ms = (time.perf_counter() - start) * 1000
        return [DocumentRef(hit.document_id, hit.title) for hit in hits], elapsed_ms

    async def _titles(self, cases: Sequence[Case]) -> dict[str, str]:
        judged = {document_id for case in cases for document_id in (*case.relevant, *case.wrong)}
        return {document_id: item.title for document_id, item in (await self._store.get_documents(judged)).items()}
