"""Changes that may take longer than a request: one process makes them, a page of any process tells how far they are."""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Broadcast
from mcp_knowledge.services.bulk import BulkOutcome, Told

log = logging.getLogger(__name__)

Work = Callable[[Told], Awaitable[BulkOutcome]]
_KEPT = 200  # a page may still ask about the newest ones that have ended
_SILENCE_S = 60.0  # another process that has told nothing for so long is gone
# errand:<id>:<name>:<done>/<total>, then `:broken`, or what came of it: <changed>,<until or ->,<code>=<count>,…
_MESSAGE = re.compile(
    r"errand:([0-9a-f]{16}):([a-z-]{1,20}):(\d{1,9})/(\d{1,9})(?::(broken|(\d{1,9}),(-|\d{1,15})"
    r"((?:,[A-Z_]{1,40}=\d{1,9})*)))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Errand:
    """A change, as it stands.

    Args:
        name: which change, for the page that tells of it; lower-case letters and hyphens.
        total: how many documents it goes through; `done` of them have had their turn.
        outcome: what came of it; None before its end, and when it was broken off.
        broken_off: it failed on the way, for a reason that has nothing to do with the documents.
    """

    name: str
    total: int
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    done: int = 0
    outcome: BulkOutcome | None = None
    broken_off: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.outcome is not None or self.broken_off

    def message(self) -> str:
        """As processes tell it."""
        told = f"errand:{self.id}:{self.name}:{self.done}/{self.total}"
        if self.outcome is None:
            return f"{told}:broken" if self.broken_off else told
        refused = "".join(f",{code}={count}" for code, count in self.outcome.refused.items())
        return f"{told}:{self.outcome.changed},{self.outcome.until_ms or '-'}{refused}"


def errand_in(message: str) -> Errand | None:
    """What another process has told; None for anything else."""
    parts = _MESSAGE.fullmatch(message)
    if parts is None:
        return None
    errand = Errand(parts[2], int(parts[4]), parts[1], int(parts[3]), broken_off=parts[5] == "broken")
    if parts[6] is None:
        return errand
    counts = (item.split("=") for item in parts[8].split(",") if item)
    refused = {code: int(count) for code, count in counts}
    return replace(errand, outcome=BulkOutcome(int(parts[6]), refused, None if parts[7] == "-" else int(parts[7])))


class Errands:
    """The changes under way, in this process and as others tell of theirs, and the last ones that have ended.

    Args:
        broadcast: reaches the other processes; None where there are none.
    """

    def __init__(self, broadcast: Broadcast | None = None) -> None:
        self._broadcast = broadcast
        self._errands: dict[str, Errand] = {}
        self._heard_s: dict[str, float] = {}  # when other processes told of theirs
        self._tasks: set[asyncio.Task[None]] = set()
        if broadcast is not None:
            broadcast.hear("events", self._hear)

    async def run(self, name: str, total: int, work: Work, patience_s: float) -> Errand:
        """Begin a change and wait for it, but no longer than `patience_s`: then it goes on by itself.

        Args:
            work: does it, and calls what it is given with the number of documents that have had their turn.
        """
        errand = Errand(name, total)
        self._tell(errand)
        task = asyncio.create_task(self._see_through(errand, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.wait([task], timeout=patience_s)
        return self._errands[errand.id]

    def get(self, errand_id: str) -> Errand | None:
        """None when it is long over, or of a process that is gone."""
        errand = self._errands.get(errand_id)
        heard_s = self._heard_s.get(errand_id)
        silent = heard_s is not None and time.monotonic() - heard_s > _SILENCE_S
        return None if errand is None or (silent and not errand.ended) else errand

    async def close(self) -> None:
        """Break off what is under way, between two transactions."""
        for task in self._tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _see_through(self, errand: Errand, work: Work) -> None:
        def told(done: int) -> None:
            self._tell(replace(self._errands[errand.id], done=done))

        outcome: BulkOutcome | None = None
        try:
            outcome = await work(told)
        except KnowledgeError as error:
            log.warning("A change of many documents was broken off: %s", error)
        except Exception:
            log.exception("A change of many documents was broken off")
        finally:  # also when this process stops
            self._tell(replace(self._errands[errand.id], outcome=outcome, broken_off=outcome is None))

    def _tell(self, errand: Errand) -> None:
        self._keep(errand)
        if self._broadcast is not None:
            self._broadcast.send(errand.message())

    def _hear(self, message: str) -> None:
        errand = errand_in(message)
        if errand is not None:
            self._keep(errand)
            self._heard_s[errand.id] = time.monotonic()

    def _keep(self, errand: Errand) -> None:
        while errand.id not in self._errands and len(self._errands) >= _KEPT:
            oldest = next((key for key in self._errands if self._over(key)), None)
            if oldest is None:
                break
            del self._errands[oldest]
            self._heard_s.pop(oldest, None)
        self._errands[errand.id] = errand

    def _over(self, errand_id: str) -> bool:
        errand = self.get(errand_id)
        return errand is None or errand.ended
