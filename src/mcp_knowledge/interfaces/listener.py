"""The socket that a server listens on."""

import errno
import socket

from mcp_knowledge.errors import StartupError

_BACKLOG = 1024  # connections that the system keeps until they are accepted; it may keep fewer (somaxconn)
# What connections take over from their listener, on Linux. So many bytes of an answer the system keeps that the network
# has not taken yet, where it would take megabytes of whoever reads nothing; and for so many milliseconds it waits for a
# client that is gone without a word, where it would wait for a quarter of an hour.
_TCP_OPTIONS = tuple(
    (getattr(socket, name), value)
    for name, value in (("TCP_NOTSENT_LOWAT", 128 * 1024), ("TCP_USER_TIMEOUT", 60_000))
    if hasattr(socket, name)
)
_LOOPBACK = "127.0.0.1"
_BIND_STEPS = {
    errno.EADDRINUSE: "Stop the program that uses it, or set PORT to another one.",
    errno.EACCES: "Set PORT to one above 1023, or have the system let this user have it.",
}


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. `localhost` is this machine alone, whatever a hosts file says of it. Raises StartupError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for option, value in _TCP_OPTIONS:
        listener.setsockopt(socket.IPPROTO_TCP, option, value)
    try:
        listener.bind((_LOOPBACK if host == "localhost" else host, port))
        listener.listen(_BACKLOG)
    except (OSError, UnicodeError) as error:
        listener.close()
        step = _BIND_STEPS.get(getattr(error, "errno", 0), "Set HOST to an address or a name of this machine.")
        reason = getattr(error, "strerror", None) or "no host name"
        raise StartupError(f"Cannot listen on {host}:{port} ({reason}). {step}") from None
    listener.setblocking(False)
    return listener
