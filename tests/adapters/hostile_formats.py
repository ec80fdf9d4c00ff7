"""Formats whose readers misbehave: the sandbox's tests let parser processes load this registry."""

import ctypes
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from mcp_knowledge.adapters.parsers import framing
from mcp_knowledge.adapters.parsers.registry import Format, Registry
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import NormalizedDocument, Paragraph


def _attempt(forbidden: Callable[[], object]) -> str:
    try:
        forbidden()
    except PermissionError:
        return "refused"
    return "allowed"


def _system_call(name: str) -> None:
    """On the parent, asking for nothing. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(os.getppid(), None, 0, None, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), name)


def begin(marker: Path) -> None:
    """Tell the test, by all that a parser process may do to a file, that it has begun."""
    if marker.exists():
        os.utime(marker, (0, 0))


def has_begun(marker: Path) -> bool:
    return marker.stat().st_mtime == 0


class Panic(BaseException):
    pass


def parse(source: Source) -> NormalizedDocument:
    text = source.data.decode()
    match source.extension:
        case "sleep":
            begin(Path(text))
            time.sleep(3600)
        case "spin":
            while True:
                pass
        case "hog":
            held = []
            while True:
                held.append(bytearray(8 * 1024 * 1024))
        case "nativehog":
            os.write(2, b"memory allocation of 4294967296 bytes failed\n")
            os.abort()
        case "crash":
            ctypes.string_at(1)
        case "crashonce":
            if not has_begun(Path(text)):
                begin(Path(text))
                os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            os._exit(3)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "panic":
            raise Panic
        case "bug":
            raise ZeroDivisionError(text)
        case "deep":
            return parse(source)
        case "noise":
            print("noise on stdout " * 10_000)
            sys.stderr.write("noise on stderr " * 100_000)
        case "garbage":
            for descriptor in range(3, 16):
                try:
                    os.write(descriptor, b"\x00\x00\x00\x02{]")
                except OSError:
                    continue
        case "flood":
            frame = framing.encode({"blocks": [{"type": "paragraph", "text": "x" * 1_000_000}]})
            for descriptor in range(3, 16):
                try:
                    while True:
                        os.write(descriptor, frame)
                except OSError:
                    continue
        case "huge":
            text = "word " * 2_000_000
        case "many":
            return NormalizedDocument(None, {}, tuple(Paragraph(f"Paragraph {n} {text}") for n in range(2_000)))
        case "write":
            Path(text).write_text("x" * 100)
        case "remove":
            text = _attempt(Path(text).unlink)
        case "move":
            text = _attempt(lambda: Path(text).rename(text + ".moved"))
        case "shorten":
            text = _attempt(lambda: os.truncate(text, 0))
        case "append":
            text = _attempt(lambda: os.open(text, os.O_RDWR | os.O_APPEND))
        case "pid":
            text = str(os.getpid())
        case "socket":
            text = _attempt(socket.socket)
        case "fork":
            text = _attempt(os.fork)
        case "signal":
            text = _attempt(lambda: os.kill(os.getppid(), 0))
        case "memory":
            text = _attempt(lambda: _system_call("process_vm_readv"))
        case "exec":
            text = _attempt(lambda: os.execv("/bin/true", ["true"]))
        case "thread":
            thread = threading.Thread(target=lambda: None)
            thread.start()
            thread.join()
        case "env":
            text = " ".join(sorted(os.environ)) + " ."
        case "stdin":
            text = f"read {len(os.read(0, 10))}"
        case "surrogate":
            text = "lone \ud800 surrogate and \x07 bell"
        case "unreadable":
            raise OSError(5, "Input/output error", "/etc/secret")
    return NormalizedDocument(None, {}, (Paragraph(text),))


_NAMES = (
    "sleep spin hog nativehog crash crashonce exit killed panic bug deep noise garbage flood huge many write remove "
    "move shorten append pid env stdin surrogate unreadable socket fork exec signal memory thread ok"
)
HOSTILE = Registry([Format("hostile", "7", __name__, dict.fromkeys(_NAMES.split(), "text/plain"))])
