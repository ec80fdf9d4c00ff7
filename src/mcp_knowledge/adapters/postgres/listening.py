"""Messages between processes: LISTEN on a connection of its own, and NOTIFY in small batches."""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from psycopg import AsyncConnection, Notify, sql

from mcp_knowledge.adapters.postgres.dialect import CHANNELS
from mcp_knowledge.adapters.postgres.session import LOST, Row, Session, close, connect
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Topic

log = logging.getLogger(__name__)

_BATCH_S = 0.03  # what comes within this time goes together
_PAYLOAD_BYTES = 7_500  # PostgreSQL takes less than 8,000
_MOST_WAITING = 5_000  # messages, while the server is away; the oldest are given up
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_SILENCE_S = 20.0  # so long it is believed
_ANSWER_S = 10.0
_FAREWELL_S = 1.0
_TRIES = 2  # a connection that the server has ended shows it only when it is used
_TOPICS: dict[str, Topic] = {CHANNELS["jobs"]: "jobs", CHANNELS["archives"]: "archives", "mk_events": "events"}
_NOTIFY = "SELECT pg_notify('mk_events', %s)"


class PostgresBroadcast:
    """The `Broadcast` port.

    Args:
        dsn: `postgresql://…`.
        session: sends the messages.
    """

    reaches_others = True

    def __init__(self, dsn: str, session: Session) -> None:
        self._dsn, self._session = dsn, session
        self._own = secrets.token_hex(4)  # begins every payload: nobody hears what it has said itself
        self._hearers: dict[Topic, list[Callable[[str], None]]] = {}
        self._waiting: deque[str] = deque(maxlen=_MOST_WAITING)
        self._sending: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()

    def hear(self, topic: Topic, heard: Callable[[str], None]) -> None:
        """Call `heard` with each message of a topic, an empty one when some may have been lost."""
        self._hearers.setdefault(topic, []).append(heard)

    def send(self, message: str) -> None:
        """Tell the other processes of a change, together with what else happens at this moment."""
        self._waiting.append(message)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())

    async def run(self) -> None:
        """Listen until `stop`, over any number of lost connections."""
        listening = asyncio.create_task(self._listen())
        await self._stopped.wait()
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening

    async def stop(self) -> None:
        """End `run`."""
        self._stopped.set()

    async def close(self) -> None:
        """Send what still waits, if the server takes it at once."""
        if self._sending is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL_S):
                    await self._sending

    async def _listen(self) -> None:
        failures, missed = 0, False
        while True:
            try:
                async with self._listening() as connection:
                    if missed:
                        self._say_that_some_are_lost()
                    failures = 0
                    await self._hear_out(connection)
            except LOST as error:
                level = logging.DEBUG if failures else logging.WARNING
                log.log(level, "What other processes say is missed until the database answers again: %s", error)
            except Exception:
                log.exception("Listening to other processes met a failure and begins anew")
            missed = True
            await asyncio.sleep(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
            failures += 1

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[AsyncConnection[Row]]:
        connection = await connect(self._dsn, "listener")
        try:
            for channel, topic in _TOPICS.items():
                if topic in self._hearers:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            yield connection
        finally:
            await close(connection)

    async def _hear_out(self, connection: AsyncConnection[Row]) -> None:
        while True:
            async for notify in connection.notifies(timeout=_SILENCE_S):
                self._dispatch(notify)
            async with asyncio.timeout(_ANSWER_S):  # all is quiet: is anybody there?
                await connection.execute("SELECT 1")

    def _dispatch(self, notify: Notify) -> None:
        topic = _TOPICS[notify.channel]
        sender, *messages = notify.payload.split(" ") if topic == "events" else ("", "")
        if sender != self._own:
            for message in messages:
                for heard in self._hearers.get(topic, ()):
                    heard(message)

    def _say_that_some_are_lost(self) -> None:
        for hearers in self._hearers.values():
            for heard in hearers:
                heard("")

    async def _send_all(self) -> None:
        while self._waiting:
            await asyncio.sleep(_BATCH_S)
            payload = self._own
            while self._waiting and len(payload) + 1 + len(self._waiting[0]) <= _PAYLOAD_BYTES:
                payload += " " + self._waiting.popleft()
            for _ in range(_TRIES):
                try:
                    await self._session.fetch(_NOTIFY, (payload,))
                    break
                except KnowledgeError as error:
                    log.debug("Other processes were not told", exc_info=error.__cause__)
