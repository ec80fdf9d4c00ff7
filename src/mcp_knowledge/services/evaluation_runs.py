"""Runs of evaluation sets: one at a time in a process, in the background, with their progress told."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.domain.evaluation_scores import summary
from mcp_knowledge.domain.evaluations import Case, Metrics, QueryResult, Run, RunSettings, RunState
from mcp_knowledge.errors import ERROR_CODES, KnowledgeError
from mcp_knowledge.ports import EvaluationStore, NewRun
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.log_context import about
from mcp_knowledge.services.measuring import Measuring
from mcp_knowledge.services.status import Status

log = logging.getLogger(__name__)

MAX_CASES = 10_000
_CASES_AT_ONCE = 500
_TELL_S = 0.5  # between two reports of a run's progress
_BEAT_S = 5.0  # a run that is silent for half a minute counts as interrupted
_OUR_FAULT = f"INTERNAL_ERROR: {ERROR_CODES['INTERNAL_ERROR'].message}"


class EvaluationRuns:
    """Makes runs and sees them through. What a killed process leaves shows as interrupted after half a minute."""

    def __init__(self, store: EvaluationStore, measuring: Measuring, status: Status, events: Events) -> None:
        self._store, self._measuring, self._status, self._events = store, measuring, status, events
        self._waiting: deque[Run] = deque()
        self._current: str | None = None
        self._awake = asyncio.Event()
        self._stopped = asyncio.Event()
        self._ended = asyncio.Event()
        self._running = False

    async def create(self, set_id: str, settings: Sequence[RunSettings], name: str | None = None) -> list[Run]:
        """Write runs, one for each way to search. They wait for `queue` or `execute`.

        Raises:
            KnowledgeError: EVALUATION_NOT_FOUND.
        """
        status = await self._status.system()
        configuration = {**status.index_configuration, **status.ranking_configuration, **status.corpus_figures}
        return await self._store.create_runs(
            [
                NewRun(
                    id=new_id("run"),
                    set_id=set_id,
                    name=name or item.name,
                    settings=item,
                    index_configuration=configuration,
                    corpus_version=f"generation:{status.generation}",
                )
                for item in settings
            ]
        )

    def queue(self, runs: Sequence[Run]) -> None:
        """Let the background loop of this process take them, in their order."""
        self._waiting.extend(runs)
        for run in runs:
            self._events.publish("evaluation", run)
        self._awake.set()

    async def run(self) -> None:
        """Work until `stop`, which is final."""
        self._running = True
        beating = asyncio.create_task(self._beat())
        try:
            while not self._stopped.is_set():
                if self._waiting:
                    await self.execute(self._waiting.popleft())
                else:
                    self._awake.clear()
                    await self._awake.wait()
            for left in self._waiting:
                await self._end(left, "interrupted")
        finally:
            beating.cancel()
            self._running = False
            self._ended.set()

    async def stop(self) -> None:
        """End after the query that is at work; what is not completed is interrupted."""
        self._stopped.set()
        self._awake.set()
        if self._running:
            await self._ended.wait()

    async def execute(self, run: Run, told: Callable[[Run], None] | None = None) -> Run | None:
        """See one run through; how it ended, None when it was deleted meanwhile. Its faults are in its row.

        Args:
            told: is told its progress.
        """
        self._current = run.id
        with about(runId=run.id):
            try:
                return await self._measure(run, told or (lambda _: None))
            except KnowledgeError as error:
                return await self._end(run, "failed", error=f"{error.code}: {error.message}")
            except Exception:
                log.exception("The run %s failed", run.id)
                return await self._end(run, "failed", error=_OUR_FAULT)
            finally:
                self._current = None

    async def _measure(self, run: Run, told: Callable[[Run], None]) -> Run | None:
        cases = await self._cases(run.set_id)
        results: list[QueryResult] = []
        kept, told_at = 0, time.monotonic()
        if not await self._advance(run, 0, len(cases), told):
            return None
        async for result in self._measuring.results(cases, run.settings):
            results.append(result)
            if self._stopped.is_set():
                return await self._end(run, "interrupted")
            if time.monotonic() - told_at >= _TELL_S:
                if not await self._store.add_results(run.id, kept, results[kept:]):
                    return None
                await self._advance(run, len(results), len(cases), told)
                kept, told_at = len(results), time.monotonic()
        await self._store.add_results(run.id, kept, results[kept:])
        await self._advance(run, len(results), len(cases), told)
        return await self._end(run, "completed", summary(results))

    async def _cases(self, set_id: str) -> list[Case]:
        """The judged ones. Documents that an import did not find may be there by now."""
        cases: list[Case] = []
        after: int | None = 0
        while after is not None:
            page, after = await self._store.list_cases(set_id, _CASES_AT_ONCE, after)
            cases += page
        names = {name for case in cases for name in case.unresolved}
        known = await self._store.documents_named(names) if names else {}
        if known:
            await self._store.resolve_cases(set_id, known)
        return [case for case in (case.resolved(known) for case in cases) if case.judged]

    async def _advance(self, run: Run, done: int, total: int, told: Callable[[Run], None]) -> Run | None:
        changed = await self._store.advance(run.id, done, total)
        if changed is not None:
            self._events.publish("evaluation", changed)
            told(changed)
        return changed

    async def _end(
        self, run: Run, state: RunState, metrics: Metrics | None = None, error: str | None = None
    ) -> Run | None:
        """If the database does not answer, the run shows as interrupted by itself."""
        try:
            ended = await self._store.finish(run.id, state, metrics, error)
        except KnowledgeError as fault:
            log.warning("The end of the run %s could not be noted: %s", run.id, fault)
            return None
        if ended is not None:
            self._events.publish("evaluation", ended)
        return ended

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(_BEAT_S)
            ids = [run.id for run in self._waiting]
            if self._current is not None:
                ids.append(self._current)
            if ids:
                with suppress(KnowledgeError):  # a busy database: the next one is soon enough
                    await self._store.beat(ids)
