"""Runs in the background: one after another, ended by deletion and by the end of the process, behind other searches."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
from front_door import until

from mcp_knowledge.app import open_services
from mcp_knowledge.domain.evaluations import Case, QueryResult, Run, RunSettings
from mcp_knowledge.domain.search import SearchRequest, SearchResult
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services import Services
from mcp_knowledge.services.evaluation_runs import EvaluationRuns
from mcp_knowledge.services.measuring import Measuring
from mcp_knowledge.settings import Settings

pytestmark = pytest.mark.both_databases

LEXICAL = RunSettings("lexical", None)


class Halting(Measuring):
    """Halts after each search until it is let go on."""

    def __init__(self, services: Services) -> None:
        super().__init__(services.search, services.library._store)
        self.go_on = asyncio.Event()
        self.halted = asyncio.Event()
        self.fault: Exception | None = None

    async def results(self, cases: Sequence[Case], settings: RunSettings) -> AsyncIterator[QueryResult]:
        async for result in super().results(cases, settings):
            self.halted.set()
            await self.go_on.wait()
            if self.fault is not None:
                raise self.fault
            yield result


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with open_services(settings) as services:
        yield services


@pytest.fixture
async def set_id(services: Services) -> str:
    """A set of three queries."""
    made = await services.evaluations.create_set("Questions")
    for number in range(3):
        await services.evaluations.mark_no_answer(made.id, f"question {number}", True)
    return made.id


class Background:
    """Runs with a measuring that can be halted, at work."""

    def __init__(self, services: Services) -> None:
        self.evaluations = services.evaluations
        self.measuring = Halting(services)
        self.runs = EvaluationRuns(self.evaluations._store, self.measuring, services.status, services.events)

    async def start(self, set_id: str, count: int = 1) -> list[Run]:
        queued = await self.runs.create(set_id, [LEXICAL] * count)
        self.runs.queue(queued)
        return queued

    async def state(self, run: Run) -> str:
        return (await self.evaluations.run(run.id)).state

    async def ended(self, run: Run) -> bool:
        return not (await self.evaluations.run(run.id)).active


@pytest.fixture
async def background(services: Services) -> AsyncIterator[Background]:
    made = Background(services)
    work = asyncio.create_task(made.runs.run())
    yield made
    made.measuring.go_on.set()
    await made.runs.stop()
    await work


async def test_runs_wait_for_each_other(background: Background, set_id: str) -> None:
    first, second = await background.start(set_id, 2)
    await background.measuring.halted.wait()
    assert [await background.state(run) for run in (first, second)] == ["running", "queued"]
    background.measuring.go_on.set()
    await until(lambda: background.ended(second))
    assert [await background.state(run) for run in (first, second)] == ["completed", "completed"]


async def test_a_deleted_run_ends_and_the_next_one_goes_on(background: Background, set_id: str) -> None:
    first, second = await background.start(set_id, 2)
    await background.measuring.halted.wait()
    await background.evaluations.delete_run(first.id)
    background.measuring.go_on.set()
    await until(lambda: background.ended(second))
    assert await background.state(second) == "completed"
    with pytest.raises(KnowledgeError, match="RUN_NOT_FOUND"):
        await background.evaluations.run(first.id)


async def test_what_is_not_completed_when_the_process_ends_is_interrupted(background: Background, set_id: str) -> None:
    first, second = await background.start(set_id, 2)
    await background.measuring.halted.wait()
    ending = asyncio.create_task(background.runs.stop())
    await asyncio.sleep(0)
    background.measuring.go_on.set()
    await ending
    assert [await background.state(run) for run in (first, second)] == ["interrupted", "interrupted"]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (KnowledgeError("EMBEDDING_MISMATCH"), "EMBEDDING_MISMATCH: "),
        (RuntimeError("secret detail"), "INTERNAL_ERROR: "),
    ],
)
async def test_a_run_that_fails_says_why(background: Background, set_id: str, fault: Exception, error: str) -> None:
    background.measuring.fault = fault
    background.measuring.go_on.set()
    (run,) = await background.start(set_id)
    await until(lambda: background.ended(run))
    ended = await background.evaluations.run(run.id)
    assert (ended.state, ended.metrics) == ("failed", None)
    assert ended.error is not None and ended.error.startswith(error) and "secret" not in ended.error
    with pytest.raises(KnowledgeError, match="RUN_UNFINISHED"):
        await background.evaluations.compare(run.id, run.id)


async def test_other_searches_go_first(services: Services, set_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    search, let_go = services.search, asyncio.Event()
    order: list[str] = []
    plain = search._search

    async def watched(request: SearchRequest) -> object:
        if request.query == "of a person":
            await let_go.wait()
        order.append(request.query)
        return await plain(request)

    monkeypatch.setattr(search, "_search", watched)
    monkeypatch.setattr("mcp_knowledge.services.measuring._LONGEST_WAIT_S", 60)
    waiting: asyncio.Task[SearchResult] = asyncio.create_task(search.search(SearchRequest("of a person", "lexical")))
    await asyncio.sleep(0)
    (run,) = await services.evaluations.create_runs(set_id, [replace(LEXICAL)])
    measured = asyncio.create_task(services.evaluations.execute(run))
    await until(lambda: _is_running(services, run))
    let_go.set()
    await asyncio.gather(waiting, measured)
    assert order == ["of a person", "question 0", "question 1", "question 2"]


async def _is_running(services: Services, run: Run) -> bool:
    return (await services.evaluations.run(run.id)).state == "running"
