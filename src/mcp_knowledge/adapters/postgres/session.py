"""Connections outside the pool, for what belongs to a connection: messages and advisory locks.

They must reach the server itself: behind a pooler that lends a connection for one transaction at a time, neither works.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection

from mcp_knowledge.errors import KnowledgeError

log = logging.getLogger(__name__)

_ANSWER_S = 10.0
_UNDO_S = 1.0  # of the 10 seconds that a shutdown may take
LOST = (psycopg.Error, TimeoutError, OSError)  # what a connection outside the pool is given up for
# A server notices within half a minute that this process's machine is gone, and gives its locks to others.
_SETTINGS = """
    SET idle_session_timeout = 0; SET statement_timeout = 0;
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"""
_KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}

Row = tuple[Any, ...]


async def connect(dsn: str, purpose: str) -> AsyncConnection[Row]:
    """A connection that commits each statement by itself. Raises one of `LOST`.

    Args:
        purpose: shown with the connection in the server's list of them (pg_stat_activity).
    """
    settings = {**_KEEPALIVE, "fallback_application_name": f"mcp-knowledge {purpose}"}
    async with asyncio.timeout(_ANSWER_S):
        connection = await AsyncConnection.connect(dsn, autocommit=True, connect_timeout=5, **settings)
    try:
        async with asyncio.timeout(_ANSWER_S):
            await connection.execute(_SETTINGS)
    except BaseException:
        await close(connection)
        raise
    return connection


async def close(connection: AsyncConnection[Row]) -> None:
    """Close a connection that may be dead already."""
    with suppress(Exception):
        await connection.close()


class Session:
    """One connection, opened on first need, and again after it was lost.

    Args:
        dsn: `postgresql://…`.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: AsyncConnection[Row] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._closed = False
        self.number = 0  # of the connection: what belonged to another one is gone
        self.when_lost: Callable[[], None] = lambda: None

    async def fetch(self, statement: str, params: Sequence[Any] = ()) -> list[Row]:
        """Run one statement; its rows. Raises SERVICE_UNAVAILABLE."""
        async with self._one_at_a_time:
            return await self._fetch(statement, params)

    async def fetch_if_open(self, statement: str, params: Sequence[Any] = ()) -> None:
        """Run a statement that undoes something on the connection, unless that was lost; then there is nothing to undo.
        It does not wait long.
        """
        with suppress(KnowledgeError, TimeoutError):
            async with asyncio.timeout(_UNDO_S), self._one_at_a_time:
                if self._connection is not None and not self._connection.closed:
                    await self._fetch(statement, params)

    async def _fetch(self, statement: str, params: Sequence[Any]) -> list[Row]:
        try:
            connection = await self._opened()
            async with asyncio.timeout(_ANSWER_S):
                cursor = await connection.execute(statement, params)
                return await cursor.fetchall()
        except LOST as error:
            await self._lose()
            raise KnowledgeError("SERVICE_UNAVAILABLE") from error
        except asyncio.CancelledError:
            await self._lose()  # nobody knows whether the statement was run
            raise

    async def close(self) -> None:
        """Close the connection for good; its locks are free then."""
        async with self._one_at_a_time:
            self._closed = True
            await self._lose()

    async def _opened(self) -> AsyncConnection[Row]:
        if self._closed:
            raise KnowledgeError("SERVICE_UNAVAILABLE", "The service is shutting down.")
        if self._connection is not None and not self._connection.closed:
            return self._connection
        await self._lose()
        self._connection = await connect(self._dsn, "session")
        self.number += 1
        return self._connection

    async def _lose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self.when_lost()
            await close(connection)
