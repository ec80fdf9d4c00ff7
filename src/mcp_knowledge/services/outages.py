"""Database or storage out of reach: nobody's fault, over after a time, and until then there is no use in working."""

import asyncio
import errno
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore

log = logging.getLogger(__name__)

# A job whose worker was killed, or that met an outage, runs again at once and uses up no attempt. One that meets such
# an end every time must not keep a worker busy: after so many claims it waits long.
MAX_QUICK_CLAIMS = 50
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0
_LONG_WAIT_MS = 3_600_000
_PROBE_S = 10.0
# What the operating system says of a disk that is full, broken, read-only or gone.
_DISK_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ESTALE})


def is_outage(error: BaseException) -> bool:
    """Whether a failure says nothing but that the database or the storage could not be used."""
    if isinstance(error, KnowledgeError):
        return error.code == "SERVICE_UNAVAILABLE"
    return isinstance(error, OSError) and error.errno in _DISK_FAULTS


def put_off_ms(claims: int) -> int:
    """How long a job waits that has met an outage.

    Args:
        claims: how often it was claimed so far, for whatever reason.
    """
    if claims >= MAX_QUICK_CLAIMS:
        return _LONG_WAIT_MS
    return int(1000 * _pause_s(claims - 1))


def _pause_s(before: int) -> float:
    """The pause after `before` others."""
    return min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(before, 10))


class Outage:
    """Whether there is one now, as far as a worker knows, and the wait for its end.

    After it, a worker tries one job (`trying`) before it takes on as many as usual. The pauses grow until a job has
    ended well: what answers a look may still fail at work.

    Args:
        ask_database: anything that fails when the database cannot be used.
    """

    def __init__(self, ask_database: Callable[[], Awaitable[object]], blobs: BlobStore) -> None:
        self._ask_database, self._blobs = ask_database, blobs
        self._pauses = 0
        self.here = False
        self.trying = False
        self.ended = 0.0

    def note(self, error: BaseException) -> bool:
        """Whether a failure is an outage's. If so, it has begun."""
        if not is_outage(error):
            return False
        if not self.here:
            log.warning("Database or storage cannot be used, work waits for them: %s", error, exc_info=error.__cause__)
        self.here = True
        return True

    def prove(self) -> None:
        """A job has read what it needs: others may be claimed."""
        self.trying = False

    def forget(self) -> None:
        """A job has ended well: the next outage is a new one."""
        self.trying, self._pauses = False, 0

    async def outlast(self, stopped: asyncio.Event) -> None:
        """Return when database and storage answer again, or when `stopped` is set."""
        while self.here and not stopped.is_set():
            pause_s = _pause_s(self._pauses)
            self._pauses += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await stopped.wait()
            if not stopped.is_set() and await self._answer():
                log.info("Database and storage answer again")
                self.here, self.trying, self.ended = False, True, time.monotonic()

    async def _answer(self) -> bool:
        try:
            async with asyncio.timeout(_PROBE_S):
                await self._ask_database()
                return await self._blobs.healthy()
        except Exception as error:
            log.debug("There is no answer yet", exc_info=error)
            return False
