"""Sets of judged queries, their runs, and the results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mcp_knowledge.domain.evaluations import Case, EvaluationSet, Metrics, QueryResult, Run, RunSettings, RunState
from mcp_knowledge.ports.terms import UNSET, Position, Unset


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that is to be made."""

    id: str
    set_id: str
    name: str
    settings: RunSettings
    index_configuration: Mapping[str, Any]
    corpus_version: str


class EvaluationStore(Protocol):
    """Rows of evaluations. Every write is one transaction. A case is found by its query without regard to case and
    runs of white space.
    """

    async def create_set(self, name: str, description: str | None) -> EvaluationSet:
        """Raises EVALUATION_EXISTS when the name is taken (case-insensitively, Unicode included)."""
        ...

    async def get_set(self, set_id: str) -> EvaluationSet | None:
        """None when there is no such set."""
        ...

    async def find_set(self, name: str) -> EvaluationSet | None:
        """The set with this name, without regard to case."""
        ...

    async def list_sets(self, limit: int, after: Position | None = None) -> list[EvaluationSet]:
        """Newest first by (created_at_ms, id)."""
        ...

    async def update_set(
        self,
        set_id: str,
        name: str | Unset = UNSET,
        description: str | Unset | None = UNSET,
        baseline_run_id: str | Unset | None = UNSET,
    ) -> EvaluationSet:
        """Raises EVALUATION_NOT_FOUND, EVALUATION_EXISTS, or RUN_NOT_FOUND for a baseline that is no run of the set."""
        ...

    async def delete_set(self, set_id: str) -> None:
        """With its cases and runs. Raises EVALUATION_NOT_FOUND."""
        ...

    async def list_cases(self, set_id: str, limit: int, after_no: int = 0) -> tuple[list[Case], int | None]:
        """Cases in the order in which they came, and the number to go on after, None at the end. Empty for an unknown
        set.
        """
        ...

    async def has_judged_cases(self, set_id: str) -> bool:
        """Whether a run would have anything to measure."""
        ...

    async def get_case(self, set_id: str, case_id: str) -> Case | None:
        """None when there is no such case."""
        ...

    async def find_case(self, set_id: str, query: str) -> Case | None:
        """The case of a query."""
        ...

    async def revise_case(self, set_id: str, query: str, change: Callable[[Case], Case], max_cases: int) -> Case | None:
        """Change the case of a query, or make it. A case of which nothing is said any more goes: None.

        Args:
            change: pure; may be called more than once.

        Raises EVALUATION_NOT_FOUND, EVALUATION_FULL.
        """
        ...

    async def put_cases(self, set_id: str, cases: Sequence[Case], max_cases: int) -> tuple[int, int]:
        """Write cases whole: over the one with the same id or else the same query, or as new ones. How many were new,
        and how many written over.

        Raises EVALUATION_NOT_FOUND, EVALUATION_FULL, or CASE_EXISTS when id and query belong to two different cases.
        """
        ...

    async def merge_cases(self, set_id: str, cases: Sequence[Case], max_cases: int) -> tuple[int, int]:
        """Judge queries as these cases do: over the case with the same query, which keeps its id, or as new ones, which
        get another id where theirs is taken. How many were new, and how many written over.

        Raises EVALUATION_NOT_FOUND, EVALUATION_FULL.
        """
        ...

    async def resolve_cases(self, set_id: str, known: Mapping[str, str]) -> None:
        """Write ids of documents for the names in `unresolved` that are known now. Raises EVALUATION_NOT_FOUND."""
        ...

    async def delete_case(self, set_id: str, case_id: str) -> None:
        """Raises EVALUATION_NOT_FOUND, CASE_NOT_FOUND."""
        ...

    async def documents_named(self, names: Iterable[str]) -> dict[str, str]:
        """Ids of live documents by name: an id, or else a path in the scanned folder or an archive, an original file
        name or a title that exactly one document has. Names that none or several have are left out.
        """
        ...

    async def create_runs(self, runs: Sequence[NewRun]) -> list[Run]:
        """Queue runs. Raises EVALUATION_NOT_FOUND."""
        ...

    async def get_run(self, run_id: str) -> Run | None:
        """None when there is no such run. One that nothing was heard of for too long is `interrupted`."""
        ...

    async def get_runs(self, run_ids: Iterable[str]) -> dict[str, Run]:
        """Those that exist, by id."""
        ...

    async def list_runs(self, set_id: str, limit: int, after: Position | None = None) -> list[Run]:
        """Newest first by (created_at_ms, id)."""
        ...

    async def beat(self, run_ids: Sequence[str]) -> set[str]:
        """Say that runs are waiting or at work in a living process; those that still exist."""
        ...

    async def advance(self, run_id: str, done: int, total: int) -> Run | None:
        """State how far a run has come; it is running. None: it was deleted."""
        ...

    async def add_results(self, run_id: str, first_position: int, results: Sequence[QueryResult]) -> bool:
        """Keep results from a position on (from 0). False: the run was deleted."""
        ...

    async def finish(
        self, run_id: str, state: RunState, metrics: Metrics | None = None, error: str | None = None
    ) -> Run | None:
        """End a run. None: it was deleted."""
        ...

    async def list_results(self, run_id: str, limit: int, after_position: int = -1) -> list[QueryResult]:
        """Results in the order of the cases; the first one has position 0."""
        ...

    async def delete_run(self, run_id: str) -> None:
        """With its results. Raises RUN_NOT_FOUND."""
        ...
