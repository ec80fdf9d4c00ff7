"""The limits that a process which reads files sets on itself, before it sees one."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from mcp_knowledge.adapters.parsers.confinement import confine

if sys.platform != "win32":
    import resource

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_MAX_OPEN_FILES = 64
_FIRST_TO_GO = "1000"  # proc_pid_oom_score_adj(5)


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Requests and answers, out of reach of libraries: whatever one prints must not end up among the answers, and
    nothing may read the requests.
    """
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return requests, answers


def restrain(memory_bytes: int) -> bool:
    """Bound memory and open files, forbid core dumps, writing to files, network and other processes; end with the
    parent, and before it where memory runs out. False when this system cannot keep it from the network.
    """
    _die_with_parent()
    _die_for_parent()
    _restrict(memory_bytes)
    return confine()


def limit_cpu(seconds: int) -> None:
    """Give the next request this much CPU time. SIGXCPU ends the process when it is used up."""
    if sys.platform == "win32":
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds + 1, hard))


def _die_with_parent() -> None:
    """Have Linux kill this process when the server dies, busy or not; elsewhere the end of stdin must do."""
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _die_for_parent() -> None:
    """Where the machine's or the container's memory runs out, have Linux end this process, not the larger server."""
    if sys.platform == "linux":
        with suppress(OSError):  # no /proc
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)


def _restrict(memory_bytes: int) -> None:
    if sys.platform == "win32":
        return
    bounds = {
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _MAX_OPEN_FILES,
    }
    for kind, bound in bounds.items():
        _, hard = resource.getrlimit(kind)
        allowed = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        try:
            resource.setrlimit(kind, (allowed, allowed))
        except (ValueError, OSError):  # macOS refuses some bounds on address space; the wall clock still holds
            continue
