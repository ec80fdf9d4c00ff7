"""A server that takes what it is sent and answers nothing: its machine has stopped, or a network swallows packets.

A statement may rightly run for minutes, so that no time limit tells it from one that nobody works on. Whether the
server still takes new connections does.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from mcp_knowledge.adapters.rows.dialect import Row

log = logging.getLogger(__name__)

_LOOK_S = 0.5
_PATIENCE_S = 3.0  # with an answer, before the server is asked whether it is there
_ANSWER_S = 3  # to a new connection


class SilenceWatch:
    """Breaks the connections that wait for a server that has fallen silent: whoever waits gets an error then.

    Args:
        dsn: `postgresql://…`.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._busy: dict[psycopg.Connection[Row], float] = {}  # since when, in monotonic seconds
        self._one_at_a_time = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="db-silence", daemon=True)

    def start(self) -> None:
        """Watch, on a thread of its own, until `stop`."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()

    @contextmanager
    def over(self, raw: "psycopg.Connection[Row]") -> Iterator[None]:
        """Watch over a connection while the block uses it."""
        with self._one_at_a_time:
            self._busy[raw] = time.monotonic()
        try:
            yield
        finally:
            with self._one_at_a_time:
                self._busy.pop(raw, None)

    def break_all(self) -> None:
        """Break every connection in use."""
        with self._one_at_a_time:
            for raw in self._busy:
                _break(raw)

    def _run(self) -> None:
        while not self._stopped.wait(_LOOK_S):
            with self._one_at_a_time:
                oldest = min(self._busy.values(), default=None)
            if oldest is None or time.monotonic() - oldest < _PATIENCE_S:
                continue
            if self._answers():
                self._stopped.wait(_PATIENCE_S)
            else:
                log.warning("PostgreSQL does not answer any more: the connections to it are given up")
                self.break_all()

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._dsn, connect_timeout=_ANSWER_S).close()
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.Error:
            return True  # a refusal is an answer
        return True


def _break(raw: "psycopg.Connection[Row]") -> None:
    """Not `close`: the thread that waits for an answer would go on waiting."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(raw.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)
