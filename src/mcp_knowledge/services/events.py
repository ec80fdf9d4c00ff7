"""Changes as they happen, for the dashboard and for scripts that follow `/events`, in whichever process they happen."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence

from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.ports import Broadcast, Event
from mcp_knowledge.services.references import Data, EventKind, LookUp, Reference, reference_in

log = logging.getLogger(__name__)

MAX_READERS = 1000  # each takes some 50 KB, mostly for its connection
KEPT_EVENTS = 1000  # a client that missed more than these polls instead
_WAITING_EVENTS = 1000  # a reader this far behind is cut off rather than held in memory
_GATHERING_S_EACH = 0.0003  # for each reader; waking one takes a seventh of that
_WORTH_GATHERING_S = 0.01
_FOLLOWED_S = 60.0  # events go on for so long after the last reader: it may only have lost its connection
_LOOK_UP_AFTER_S = 0.02  # what other processes tell within this time is looked up together
_CLOCKS_APART_MS = 2_000  # how far those of two machines are trusted to agree


class Events:
    """Publishes to every open reader and keeps the newest for readers that come back.

    Args:
        broadcast: carries references to the events to other processes; None where there are none.
        look_up: reads what the references of other processes point at.
    """

    def __init__(self, broadcast: Broadcast | None = None, look_up: LookUp | None = None) -> None:
        self._broadcast, self._look_up = broadcast, look_up
        self._kept: deque[Event | Reference] = deque(maxlen=KEPT_EVENTS)
        self.most_readers = MAX_READERS
        self._readers: set[asyncio.Queue[Event | None]] = set()
        self._heard: list[Reference] = []
        self._looking: asyncio.Task[None] | None = None
        self._followed_until_s = 0.0
        self._closed = False
        if broadcast is not None and look_up is not None:
            broadcast.hear("events", self._hear)

    @property
    def reader_count(self) -> int:
        """How many readers follow right now."""
        return len(self._readers)

    @property
    def followed(self) -> bool:
        """Whether somebody follows in this process, or has a moment ago: `refer` will do otherwise."""
        if self._readers:
            self._followed_until_s = time.monotonic() + _FOLLOWED_S
        return time.monotonic() < self._followed_until_s

    def publish(self, kind: EventKind, data: Data) -> None:
        """Tell every reader. What is no dict gets the JSON shape that REST shows from the interface that sends it."""
        event = Event(new_id("evt"), kind, data)
        self._kept.append(event)
        self._deliver(event)
        self._tell_others(Reference.to(event))

    def refer(self, kind: EventKind, subject: str) -> None:
        """Note that something has changed which need not be at hand: a reader that comes later, or in another process,
        gets it as it is then.
        """
        reference = Reference(new_id("evt"), kind, subject)
        self._kept.append(reference)
        self._tell_others(reference)

    async def follow(self, last_id: str | None = None) -> AsyncIterator[list[Event]]:
        """Events from now on, after those since `last_id` that are still kept; it may come from another process, or one
        before. They come one by one, or several together while many follow: waking a thousand readers for each of a
        dozen events a document would cost more than its ingestion.

        Ends when the service closes or the reader is too slow.
        """
        if self._closed:
            return
        missed = [] if last_id is None else self._since(last_id)
        reader: asyncio.Queue[Event | None] = asyncio.Queue()
        self._readers.add(reader)
        try:
            if events := await self._resolved(missed):
                yield events
            while (item := await reader.get()) is not None:
                if (gathering_s := len(self._readers) * _GATHERING_S_EACH) >= _WORTH_GATHERING_S:
                    await asyncio.sleep(gathering_s)
                batch, is_over = [item], False
                while not reader.empty() and not is_over:
                    following = reader.get_nowait()
                    is_over = following is None
                    batch += () if following is None else (following,)
                yield batch
                if is_over:
                    return
        finally:
            self._readers.discard(reader)

    def close(self) -> None:
        """End every open reader, and every later one at once."""
        self._closed = True
        for reader in self._readers:
            reader.put_nowait(None)
        self._readers.clear()
        if self._looking is not None:
            self._looking.cancel()

    def _deliver(self, event: Event) -> None:
        for reader in list(self._readers):
            if reader.qsize() >= _WAITING_EVENTS:
                self._readers.discard(reader)
                reader.put_nowait(None)
            else:
                reader.put_nowait(event)

    def _tell_others(self, reference: Reference) -> None:
        if self._broadcast is not None and not self._closed:
            self._broadcast.send(reference.message())

    def _hear(self, message: str) -> None:
        reference = reference_in(message)
        if reference is None or self._closed:
            return
        self._kept.append(reference)
        if self._readers:
            self._heard.append(reference)
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._deliver_heard())

    async def _deliver_heard(self) -> None:
        while self._heard:
            await asyncio.sleep(_LOOK_UP_AFTER_S)
            heard, self._heard = self._heard, []
            for event in await self._resolved(heard):
                self._deliver(event)

    def _since(self, last_id: str) -> list[Event | Reference]:
        """What a reader has missed that saw `last_id`. Events of other processes arrive in nearly the order of their
        ids: where the event itself is not among those kept, a few may come twice rather than one not at all.
        """
        kept = list(self._kept)
        for place, item in enumerate(kept):
            if item.id == last_id:
                return [*(before for before in kept[:place] if before.id > last_id), *kept[place + 1 :]]
        since = _earlier(last_id) if self._broadcast is not None else last_id
        return [item for item in kept if item.id > since]

    async def _resolved(self, items: Sequence[Event | Reference]) -> list[Event]:
        references = [item for item in items if isinstance(item, Reference)]
        if not references:
            return [item for item in items if isinstance(item, Event)]
        try:
            found = await self._look_up(references) if self._look_up is not None else {}
        except Exception as error:  # a client that misses events can poll
            log.warning("Events of other processes could not be looked up and are left out", exc_info=error)
            found = {}
        events = (item if isinstance(item, Event) else found.get(item.id) for item in items)
        return [event for event in events if event is not None]


def _earlier(event_id: str) -> str:
    """An id before one that another machine's clock may have made a little too late: a UUIDv7 begins with 48 bits of
    Unix milliseconds.
    """
    prefix, _, digits = event_id.partition("_")
    return f"{prefix}_{max(0, int(digits[:12], 16) - _CLOCKS_APART_MS):012x}"
