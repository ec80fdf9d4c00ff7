"""Short pauses in a process that answers requests while documents are cut into passages beside it.

A thread that computes keeps Python's interpreter lock for 5 ms before another may have it, and an answer needs the lock
several times. A full garbage collection looks at every object and lets nothing else run: with a large document in
memory that took 45 to 75 ms of processor time, several times a document. Nearly all memory is freed by reference
counts; the rest can wait until nothing is at work.
"""

import asyncio
import gc
import sys
from collections.abc import Callable

_PERIOD_S = 30.0
# With Python's 5 ms a search during the chunking of a large file took twice as long as in quiet, with 1 ms 1.6 times,
# with 0.2 ms 1.2; chunking got no slower.
_SWITCH_S = 0.0005
# Young objects are looked at every 5,000 allocations and again every 50,000 (some milliseconds); full collections by
# themselves only every 100 million, should it never be quiet.
_THRESHOLDS = (5_000, 10, 2_000)


class ShortPauses:
    """Hands the lock over sooner, and collects garbage when `at_work` says no.

    Args:
        at_work: whether documents are being ingested.
    """

    def __init__(self, at_work: Callable[[], bool]) -> None:
        self._at_work = at_work
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Work until `stop`; then everything is as it was."""
        switch_s, thresholds = sys.getswitchinterval(), gc.get_threshold()
        sys.setswitchinterval(_SWITCH_S)
        gc.freeze()  # modules and services stay as long as the process
        gc.set_threshold(*_THRESHOLDS)
        try:
            while not self._stopped.is_set():
                try:
                    async with asyncio.timeout(_PERIOD_S):
                        await self._stopped.wait()
                except TimeoutError:
                    if not self._at_work():
                        gc.collect()
        finally:
            sys.setswitchinterval(switch_s)
            gc.set_threshold(*thresholds)
            gc.unfreeze()

    async def stop(self) -> None:
        """End `run`."""
        self._stopped.set()
