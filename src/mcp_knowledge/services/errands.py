"""Changes that may take longer than a request: they go on in this process, and a page can ask how far they are."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services.bulk import BulkOutcome, Told

log = logging.getLogger(__name__)

Work = Callable[[Told], Awaitable[BulkOutcome]]
_KEPT = 200  # ended ones that a page may still ask about


@dataclass(slots=True, eq=False)
class Errand:
    """A change under way.

    Args:
        total: how many documents it will go through; `done` of them have had their turn.
        leads_to: the address of the page to show when it has ended.
        outcome: what came of it; None before its end, and when it was broken off.
        broken_off: it failed on the way, for a reason that has nothing to do with the documents.
    """

    total: int
    leads_to: Callable[[BulkOutcome], str]
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    done: int = 0
    outcome: BulkOutcome | None = None
    broken_off: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.outcome is not None or self.broken_off


class Errands:
    """The changes under way in this process, and the last ones that have ended."""

    def __init__(self) -> None:
        self._errands: dict[str, Errand] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(
        self,
        total: int,
        work: Work,
        leads_to: Callable[[BulkOutcome], str],
        patience_s: float,
    ) -> Errand:
        """Begin a change and wait for it, but no longer than `patience_s`: then it goes on by itself.

        Args:
            work: does it, and calls what it is given with the number of documents that have had their turn.
        """
        errand = Errand(total, leads_to)
        while len(self._errands) >= _KEPT and (old := next((e for e in self._errands.values() if e.ended), None)):
            del self._errands[old.id]
        self._errands[errand.id] = errand
        task = asyncio.create_task(_see_through(errand, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.wait([task], timeout=patience_s)
        return errand

    def get(self, errand_id: str) -> Errand | None:
        """None when it is another process's, or long over."""
        return self._errands.get(errand_id)

    async def close(self) -> None:
        """Break off what is under way, between two transactions."""
        for task in self._tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*self._tasks, return_exceptions=True)


async def _see_through(errand: Errand, work: Work) -> None:
    def told(done: int) -> None:
        errand.done = done

    try:
        errand.outcome = await work(told)
    except KnowledgeError as error:
        log.warning("A change of many documents was broken off after %d: %s", errand.done, error)
        errand.broken_off = True
    except Exception:
        log.exception("A change of many documents was broken off after %d", errand.done)
        errand.broken_off = True
