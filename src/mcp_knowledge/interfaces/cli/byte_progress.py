"""A progress bar over bytes, on a terminal only."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from mcp_knowledge.interfaces.cli import output


class ByteProgress:
    """How far a piece of work has come. Its total grows as more of it becomes known."""

    def __init__(self, bar: Progress, name: str) -> None:
        self._bar = bar
        self._task = bar.add_task(name, total=0)
        self._total = 0

    def expect(self, count: int) -> None:
        """So many further bytes there are."""
        self._total += count
        self._bar.update(self._task, total=self._total)

    def advance(self, count: int) -> None:
        """So many further bytes are done. Work that blocks the loop ends here when it was cancelled."""
        self._bar.advance(self._task, count)
        if _is_cancelled():
            raise asyncio.CancelledError


def _is_cancelled() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs on this thread
        return False
    return task is not None and task.cancelling() > 0


@contextmanager
def byte_progress(name: str, *, quiet: bool) -> Iterator[ByteProgress]:
    """A bar for the time of a block."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    hidden = quiet or not output.err.is_terminal
    with Progress(*columns, console=output.err, disable=hidden, transient=True) as bar:
        yield ByteProgress(bar, name)
