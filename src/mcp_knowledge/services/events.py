"""Changes as they happen, for the dashboard and for scripts that follow `/events`."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Literal

from mcp_knowledge.domain.documents import ArchiveImport, Document, Job, new_id
from mcp_knowledge.domain.folder import ScanStatus
from mcp_knowledge.ports import Event

EventKind = Literal["document", "job", "archive", "scan"]
KEPT_EVENTS = 1000  # a client that missed more than these polls instead
_WAITING_EVENTS = 1000  # a reader this far behind is cut off rather than held in memory


class Events:
    """Publishes to every open reader and keeps the newest for readers that come back."""

    def __init__(self) -> None:
        self._kept: deque[Event] = deque(maxlen=KEPT_EVENTS)
        self._readers: set[asyncio.Queue[Event | None]] = set()
        self._closed = False

    @property
    def reader_count(self) -> int:
        """How many readers follow right now."""
        return len(self._readers)

    def publish(self, kind: EventKind, data: Document | Job | ArchiveImport | ScanStatus | dict[str, Any]) -> None:
        """Tell every reader. What is no dict gets the JSON shape that REST shows from the interface that sends it."""
        event = Event(new_id("evt"), kind, data)
        self._kept.append(event)
        for reader in list(self._readers):
            if reader.qsize() >= _WAITING_EVENTS:
                self._readers.discard(reader)
                reader.put_nowait(None)
            else:
                reader.put_nowait(event)

    async def follow(self, last_id: str | None = None) -> AsyncIterator[Event]:
        """Events from now on, after those since `last_id` that are still kept; it may come from a process before.

        Ends when the service closes or the reader is too slow.
        """
        reader: asyncio.Queue[Event | None] = asyncio.Queue()
        if last_id is not None:
            for event in self._kept:
                if event.id > last_id:
                    reader.put_nowait(event)
        if self._closed:
            return
        self._readers.add(reader)
        try:
            while (item := await reader.get()) is not None:
                yield item
        finally:
            self._readers.discard(reader)

    def close(self) -> None:
        """End every open reader, and every later one at once."""
        self._closed = True
        for reader in self._readers:
            reader.put_nowait(None)
        self._readers.clear()
