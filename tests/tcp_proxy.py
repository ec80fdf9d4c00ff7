"""A TCP proxy for tests: between a client and a server it can refuse, cut and stall connections."""

import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

_PIECE_BYTES = 64 * 1024
_LOOK_S = 0.05  # how soon a closed proxy is noticed by its threads
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset, as a broken network would


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to a connection.

    Args:
        kind: `cut` resets it; `stall` keeps it open and passes on nothing more; `answer` sends `reply` in the
            server's place.
        after_bytes: of the direction, passed on before that.
        direction: `up` to the server, `down` to the client.
    """

    kind: Literal["cut", "stall", "answer"]
    after_bytes: int = 0
    direction: Literal["up", "down"] = "down"
    reply: bytes = b""


class TcpProxy:
    """Listens on a port of its own, which it keeps until it is closed, and passes every connection on.

    Args:
        target: host and port of the server.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._faults: list[Fault] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        self._threads = [threading.Thread(target=self._accept, args=(self._listener,), daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"http://{self.address[0]}:{self.address[1]}"

    def refuse(self) -> None:
        """Break every connection and refuse new ones, until `restore`."""
        self._swap_listener(listening=False)
        self._reset_all()

    def restore(self) -> None:
        """Accept connections again, without faults."""
        self._faults.clear()
        self._swap_listener(listening=True)

    def inject(self, *faults: Fault) -> None:
        """Break every connection; each of the next ones meets one of these faults, in this order."""
        self._faults[:] = faults
        self._reset_all()

    @property
    def faults_left(self) -> int:
        """Faults that no connection has met."""
        return len(self._faults)

    def close(self) -> None:
        """Break every connection, give the port back and wait for the threads."""
        self._listener.close()
        self._reset_all()
        for thread in self._threads:
            thread.join(5)

    def _swap_listener(self, *, listening: bool) -> None:
        # A port that is bound without listening refuses connections, and nobody else can take it.
        self._listener.close()
        self._threads[0].join(5)
        fresh = socket.socket()
        fresh.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        fresh.bind(self.address)
        self._listener = fresh
        if listening:
            fresh.listen(128)
            self._threads[0] = threading.Thread(target=self._accept, args=(fresh,), daemon=True)
            self._threads[0].start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            listener.settimeout(_LOOK_S)
            while True:
                with suppress(TimeoutError):
                    client, _ = listener.accept()
                    self._serve(client)

    def _serve(self, client: socket.socket) -> None:
        self.accepted += 1
        fault = self._faults.pop(0) if self._faults else None
        if fault is not None and fault.kind == "answer":
            threading.Thread(target=_answer, args=(client, fault.reply), daemon=True).start()
            return
        try:
            server = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        with self._lock:
            self._open |= {client, server}
        for direction, source, target in (("up", client, server), ("down", server, client)):
            own = fault if fault is not None and fault.direction == direction else None
            thread = threading.Thread(target=self._pump, args=(source, target, own), daemon=True)
            thread.start()

    def _pump(self, source: socket.socket, target: socket.socket, fault: Fault | None) -> None:
        left = fault.after_bytes if fault else None
        with suppress(OSError):
            while left is None or left > 0:
                piece = source.recv(_PIECE_BYTES if left is None else min(_PIECE_BYTES, left))
                if not piece:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(piece)
                left = None if left is None else left - len(piece)
        if fault is not None and fault.kind == "stall":
            return  # both ends stay open, and nothing more comes through
        self._reset(source, target)

    def _reset_all(self) -> None:
        with self._lock:
            sockets = list(self._open)
        self._reset(*sockets)

    def _reset(self, *sockets: socket.socket) -> None:
        for end in sockets:
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                end.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads from it
            end.close()
            with self._lock:
                self._open.discard(end)


def _answer(client: socket.socket, reply: bytes) -> None:
    with suppress(OSError), client:
        request = b""
        while b"\r\n\r\n" not in request and (piece := client.recv(_PIECE_BYTES)):
            request += piece
        client.sendall(reply)
        client.shutdown(socket.SHUT_WR)
        while client.recv(_PIECE_BYTES):  # what is unread when a socket closes makes it a reset
            pass
