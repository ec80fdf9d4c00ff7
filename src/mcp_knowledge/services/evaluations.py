"""Evaluations: sets of judged queries, their runs, and two runs side by side."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from mcp_knowledge.domain.evaluation_scores import compared
from mcp_knowledge.domain.evaluations import (
    Case,
    Comparison,
    EvaluationSet,
    QueryResult,
    Run,
    RunSettings,
    Verdict,
)
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import UNSET, EvaluationStore, Position, Store, Unset
from mcp_knowledge.services.evaluation_files import EvaluationFiles, ImportReport
from mcp_knowledge.services.evaluation_runs import MAX_CASES, EvaluationRuns
from mcp_knowledge.services.measuring import Measuring
from mcp_knowledge.services.search_request import search_request
from mcp_knowledge.settings import Settings

MAX_RUNS_AT_ONCE = 8

T = TypeVar("T")


class Evaluations:
    """The use cases around evaluations.

    Args:
        runs: works in the background of this process, if it answers requests.
    """

    def __init__(
        self, store: EvaluationStore, documents: Store, runs: EvaluationRuns, measuring: Measuring, settings: Settings
    ) -> None:
        self._store, self._documents, self._runs, self._settings = store, documents, runs, settings
        self._files = EvaluationFiles(store, documents)
        self.measuring = measuring

    # Sets
    async def sets(self, limit: int, after: Position | None = None) -> tuple[list[EvaluationSet], Position | None]:
        """A page, newest first, and where the next one goes on."""
        found = await self._store.list_sets(limit + 1, after)
        items = found[:limit]
        return items, Position(items[-1].created_at_ms, items[-1].id) if len(found) > limit else None

    async def create_set(self, name: str, description: str | None = None) -> EvaluationSet:
        """Raises EVALUATION_EXISTS."""
        return await self._store.create_set(name, description)

    async def get_set(self, set_id: str) -> EvaluationSet:
        """Raises EVALUATION_NOT_FOUND."""
        return _found(await self._store.get_set(set_id), "EVALUATION_NOT_FOUND")

    async def find_set(self, name: str) -> EvaluationSet | None:
        """The set with this name or id; names are compared without regard to case."""
        return await self._store.find_set(name) or await self._store.get_set(name)

    async def update_set(
        self,
        set_id: str,
        name: str | Unset = UNSET,
        description: str | Unset | None = UNSET,
        baseline_run_id: str | Unset | None = UNSET,
    ) -> EvaluationSet:
        """Change what is given; a baseline of None: there is none any more.

        Raises:
            KnowledgeError: EVALUATION_NOT_FOUND, EVALUATION_EXISTS, or RUN_NOT_FOUND for a run of another set.
        """
        return await self._store.update_set(set_id, name, description, baseline_run_id)

    async def delete_set(self, set_id: str) -> None:
        """With its cases and runs. Raises EVALUATION_NOT_FOUND."""
        await self._store.delete_set(set_id)

    # Cases
    async def cases(self, set_id: str, limit: int, after: int = 0) -> tuple[list[Case], int | None]:
        """A page in the order in which they came, and what to give as `after` for the next one.

        Raises EVALUATION_NOT_FOUND.
        """
        await self.get_set(set_id)
        return await self._store.list_cases(set_id, limit, after)

    async def get_case(self, set_id: str, case_id: str) -> Case:
        """Raises EVALUATION_NOT_FOUND, CASE_NOT_FOUND."""
        await self.get_set(set_id)
        return _found(await self._store.get_case(set_id, case_id), "CASE_NOT_FOUND")

    async def judgements(self, set_id: str, query: str) -> Case | None:
        """What was judged for a query so far; None: nothing."""
        return await self._store.find_case(set_id, query)

    async def judge(self, set_id: str, query: str, document_id: str, verdict: Verdict | None) -> Case | None:
        """Say of a document that it answers a query or does not, or take back what was said (None).

        A document that answers it also says that the query has an answer. The case as it is now; None: nothing is
        said of the query any more.

        Raises:
            KnowledgeError: INVALID_QUERY, EVALUATION_NOT_FOUND, EVALUATION_FULL, or DOCUMENT_NOT_FOUND for a verdict
                on a document that does not exist.
        """
        if verdict is not None and await self._documents.get_document(document_id) is None:
            raise KnowledgeError("DOCUMENT_NOT_FOUND")
        return await self._revise(set_id, query, lambda case: case.with_verdict(document_id, verdict))

    async def mark_no_answer(self, set_id: str, query: str, no_answer: bool) -> Case | None:
        """Say that nothing here answers a query, or take it back. Documents judged right are then right no more.

        Raises:
            KnowledgeError: INVALID_QUERY, EVALUATION_NOT_FOUND, EVALUATION_FULL.
        """
        return await self._revise(set_id, query, lambda case: case.with_no_answer(no_answer))

    async def put_case(self, set_id: str, case: Case) -> Case:
        """Write a case whole, over the one with its id or its query.

        Raises:
            KnowledgeError: INVALID_QUERY, EVALUATION_NOT_FOUND, EVALUATION_FULL, or CASE_EXISTS when its query belongs
                to another case than its id.
        """
        await self._store.put_cases(set_id, [replace(case, query=self._query(case.query))], MAX_CASES)
        return await self.get_case(set_id, case.id)

    async def delete_case(self, set_id: str, case_id: str) -> None:
        """Raises EVALUATION_NOT_FOUND, CASE_NOT_FOUND."""
        await self._store.delete_case(set_id, case_id)

    async def import_jsonl(self, set_id: str, pieces: AsyncIterable[bytes]) -> ImportReport:
        """Write every line of a file into a set, or nothing; `EvaluationFiles` says more.

        Raises:
            KnowledgeError: INVALID_ARGUMENT naming the line at fault, PAYLOAD_TOO_LARGE, EVALUATION_NOT_FOUND,
                EVALUATION_FULL.
        """
        await self.get_set(set_id)
        return await self._files.import_jsonl(set_id, pieces)

    async def export_jsonl(self, set_id: str, by_name: bool = False) -> AsyncIterator[bytes]:
        """The queries of a set as lines of JSON; `by_name` calls documents by path or file name where it can.

        Raises EVALUATION_NOT_FOUND.
        """
        await self.get_set(set_id)
        return self._files.export_jsonl(set_id, by_name)

    async def documents_named(self, names: Iterable[str]) -> dict[str, str]:
        """Ids of documents by id, path, file name or title, where exactly one document has it."""
        return await self._store.documents_named(names)

    # Runs
    async def start_runs(self, set_id: str, settings: Sequence[RunSettings], name: str | None = None) -> list[Run]:
        """Queue a run for each way to search; they go on in the background of this process.

        Raises:
            KnowledgeError: EVALUATION_NOT_FOUND, EVALUATION_EMPTY, INVALID_FILTER, INVALID_ARGUMENT.
        """
        runs = await self.create_runs(set_id, settings, name)
        self._runs.queue(runs)
        return runs

    async def create_runs(self, set_id: str, settings: Sequence[RunSettings], name: str | None = None) -> list[Run]:
        """As `start_runs`, for a caller that sees them through with `execute`."""
        if not 1 <= len(settings) <= MAX_RUNS_AT_ONCE:
            raise KnowledgeError("INVALID_ARGUMENT", f"Choose 1 to {MAX_RUNS_AT_ONCE} ways to search.")
        for item in settings:
            self.run_settings(item.mode, item.fusion, item.collection_ids, item.filters)
        await self.get_set(set_id)
        if not await self._store.has_judged_cases(set_id):
            raise KnowledgeError("EVALUATION_EMPTY")
        return await self._runs.create(set_id, settings, name)

    async def execute(self, run: Run, told: Callable[[Run], None] | None = None) -> Run | None:
        """See a run through here and now; how it ended, None when it was deleted meanwhile."""
        return await self._runs.execute(run, told)

    def run_settings(
        self, mode: Any = None, fusion: Any = None, collection_ids: Any = None, filters: Any = None
    ) -> RunSettings:
        """A way to search out of a client's values; None: as a search without the field.

        Raises:
            KnowledgeError: SEARCH_MODE_UNSUPPORTED, INVALID_FILTER, INVALID_ARGUMENT.
        """
        request = search_request(
            self._settings, query="any", mode=mode, fusion=fusion, collection_ids=collection_ids, filters=filters
        )
        return RunSettings(
            request.mode,
            request.fusion if request.mode == "hybrid" else None,
            request.scope.collection_ids,
            dict(filters or {}),
        )

    async def runs(self, set_id: str, limit: int, after: Position | None = None) -> tuple[list[Run], Position | None]:
        """A page, newest first, and where the next one goes on. Raises EVALUATION_NOT_FOUND."""
        await self.get_set(set_id)
        found = await self._store.list_runs(set_id, limit + 1, after)
        items = found[:limit]
        return items, Position(items[-1].created_at_ms, items[-1].id) if len(found) > limit else None

    async def run(self, run_id: str) -> Run:
        """Raises RUN_NOT_FOUND."""
        return _found(await self._store.get_run(run_id), "RUN_NOT_FOUND")

    async def results(self, run_id: str, limit: int, after: int = -1) -> tuple[list[QueryResult], int | None]:
        """A page in the order of the cases, and what to give as `after` for the next one. Raises RUN_NOT_FOUND."""
        await self.run(run_id)
        found = await self._store.list_results(run_id, limit + 1, after)
        return found[:limit], after + limit if len(found) > limit else None

    async def run_to_compare_with(self, run_id: str, set_id: str) -> Run:
        """A completed run of a set. Raises RUN_NOT_FOUND (also for a run of another set), RUN_UNFINISHED."""
        run = await self.run(run_id)
        if run.set_id != set_id:
            raise KnowledgeError("RUN_NOT_FOUND", "Only runs of the same set can be compared.")
        if run.metrics is None:
            raise KnowledgeError("RUN_UNFINISHED")
        return run

    async def compare(self, run_id: str, baseline_id: str | None = None) -> Comparison:
        """A run against an earlier one; without one, against the baseline of its set.

        Raises:
            KnowledgeError: RUN_NOT_FOUND (also when the set has no baseline, or the two are of different sets),
                RUN_UNFINISHED.
        """
        run = await self.run(run_id)
        baseline_id = baseline_id or (await self.get_set(run.set_id)).baseline_run_id
        if baseline_id is None:
            raise KnowledgeError("RUN_NOT_FOUND", "This set has no baseline: choose one, or name a run.")
        baseline = await self.run_to_compare_with(baseline_id, run.set_id)
        if run.metrics is None:
            raise KnowledgeError("RUN_UNFINISHED")
        now = await self._store.list_results(run.id, MAX_CASES)
        then = await self._store.list_results(baseline.id, MAX_CASES)
        return await asyncio.to_thread(compared, run, now, baseline, then)  # of thousands of queries, maybe

    async def delete_run(self, run_id: str) -> None:
        """With its results; one at work ends. Raises RUN_NOT_FOUND."""
        await self._store.delete_run(run_id)

    async def _revise(self, set_id: str, query: str, change: Callable[[Case], Case]) -> Case | None:
        return await self._store.revise_case(set_id, self._query(query), change, MAX_CASES)

    def _query(self, query: str) -> str:
        return search_request(self._settings, query=query).query


def _found(item: T | None, code: str) -> T:
    if item is None:
        raise KnowledgeError(code)
    return item
