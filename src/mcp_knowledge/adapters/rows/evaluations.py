"""The store of evaluations; the statements are in evaluation_sets.py, evaluation_cases.py and evaluation_runs.py."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from mcp_knowledge.adapters.rows import evaluation_cases as cases
from mcp_knowledge.adapters.rows import evaluation_runs as runs
from mcp_knowledge.adapters.rows import evaluation_sets as sets
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.domain.evaluations import Case, EvaluationSet, Metrics, QueryResult, Run, RunState
from mcp_knowledge.ports import UNSET, NewRun, Position, Unset


class SqlEvaluationStore:
    """Sets, cases, runs and results; `ports.EvaluationStore` says what the methods promise."""

    def __init__(self, database: Database) -> None:
        self._read = database.read
        self._write = database.write

    async def create_set(self, name: str, description: str | None) -> EvaluationSet:
        """Make a set."""
        return await self._write(lambda c: sets.create_set(c, name, description))

    async def get_set(self, set_id: str) -> EvaluationSet | None:
        """One set."""
        return await self._read(lambda c: sets.get_set(c, set_id))

    async def find_set(self, name: str) -> EvaluationSet | None:
        """By name."""
        return await self._read(lambda c: sets.find_set(c, name))

    async def list_sets(self, limit: int, after: Position | None = None) -> list[EvaluationSet]:
        """Newest first."""
        return await self._read(lambda c: sets.list_sets(c, limit, after))

    async def update_set(
        self,
        set_id: str,
        name: str | Unset = UNSET,
        description: str | Unset | None = UNSET,
        baseline_run_id: str | Unset | None = UNSET,
    ) -> EvaluationSet:
        """Rename, describe or choose the baseline."""
        return await self._write(lambda c: sets.update_set(c, set_id, name, description, baseline_run_id))

    async def delete_set(self, set_id: str) -> None:
        """With all that belongs to it."""
        await self._write(lambda c: sets.delete_set(c, set_id))

    async def list_cases(self, set_id: str, limit: int, after_no: int = 0) -> tuple[list[Case], int | None]:
        """A page."""
        return await self._read(lambda c: cases.list_cases(c, set_id, limit, after_no))

    async def has_judged_cases(self, set_id: str) -> bool:
        """Whether anything can be measured."""
        return await self._read(lambda c: cases.has_judged_cases(c, set_id))

    async def get_case(self, set_id: str, case_id: str) -> Case | None:
        """By id."""
        return await self._read(lambda c: cases.get_case(c, set_id, case_id))

    async def find_case(self, set_id: str, query: str) -> Case | None:
        """By query."""
        return await self._read(lambda c: cases.find_case(c, set_id, query))

    async def revise_case(self, set_id: str, query: str, change: Callable[[Case], Case], max_cases: int) -> Case | None:
        """Change or make the case of a query."""
        return await self._write(lambda c: cases.revise_case(c, set_id, query, change, max_cases))

    async def put_cases(self, set_id: str, new: Sequence[Case], max_cases: int) -> tuple[int, int]:
        """Write cases whole."""
        return await self._write(lambda c: cases.put_cases(c, set_id, new, max_cases))

    async def merge_cases(self, set_id: str, new: Sequence[Case], max_cases: int) -> tuple[int, int]:
        """Write cases over those with the same query."""
        return await self._write(lambda c: cases.merge_cases(c, set_id, new, max_cases))

    async def resolve_cases(self, set_id: str, known: Mapping[str, str]) -> None:
        """Ids for names."""
        await self._write(lambda c: cases.resolve_cases(c, set_id, known))

    async def delete_case(self, set_id: str, case_id: str) -> None:
        """Away with a case."""
        await self._write(lambda c: cases.delete_case(c, set_id, case_id))

    async def documents_named(self, names: Iterable[str]) -> dict[str, str]:
        """Ids by name."""
        wanted = list(names)
        return await self._read(lambda c: cases.documents_named(c, wanted))

    async def create_runs(self, new: Sequence[NewRun]) -> list[Run]:
        """Queue runs."""
        return await self._write(lambda c: runs.create_runs(c, new))

    async def get_run(self, run_id: str) -> Run | None:
        """One run."""
        return await self._read(lambda c: runs.get_run(c, run_id))

    async def get_runs(self, run_ids: Iterable[str]) -> dict[str, Run]:
        """Several runs."""
        wanted = list(run_ids)
        return await self._read(lambda c: runs.get_runs(c, wanted))

    async def list_runs(self, set_id: str, limit: int, after: Position | None = None) -> list[Run]:
        """Newest first."""
        return await self._read(lambda c: runs.list_runs(c, set_id, limit, after))

    async def beat(self, run_ids: Sequence[str]) -> set[str]:
        """Sign of life."""
        return await self._write(lambda c: runs.beat(c, run_ids))

    async def advance(self, run_id: str, done: int, total: int) -> Run | None:
        """How far a run has come."""
        return await self._write(lambda c: runs.advance(c, run_id, done, total))

    async def add_results(self, run_id: str, first_position: int, results: Sequence[QueryResult]) -> bool:
        """Keep results."""
        return await self._write(lambda c: runs.add_results(c, run_id, first_position, results))

    async def finish(
        self, run_id: str, state: RunState, metrics: Metrics | None = None, error: str | None = None
    ) -> Run | None:
        """End a run."""
        return await self._write(lambda c: runs.finish(c, run_id, state, metrics, error))

    async def list_results(self, run_id: str, limit: int, after_position: int = -1) -> list[QueryResult]:
        """A page."""
        return await self._read(lambda c: runs.list_results(c, run_id, limit, after_position))

    async def delete_run(self, run_id: str) -> None:
        """With its results."""
        await self._write(lambda c: runs.delete_run(c, run_id))
