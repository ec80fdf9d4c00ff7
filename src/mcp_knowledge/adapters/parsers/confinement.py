"""What a parser process may not do, whatever a file makes of it: no network, no other programs, no hand on other
processes, the server above all, and none on files but to read them.

On Linux a seccomp filter refuses the system calls; it needs no privileges and binds everything that the process starts.
Elsewhere the limits of memory, time and files must do.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator

# Numbers of system calls on x86_64 and aarch64, None where it has no such call (Linux: arch/x86/entry/syscalls/
# syscall_64.tbl, include/uapi/asm-generic/unistd.h).
_REFUSED: tuple[tuple[int | None, int | None], ...] = (
    *((41, 198), (425, 425)),  # socket, io_uring_setup
    *((57, None), (58, None), (59, 221), (322, 281)),  # fork, vfork, execve, execveat
    *((101, 117), (310, 270), (311, 271), (438, 438)),  # ptrace, process_vm_readv, process_vm_writev, pidfd_getfd
    *((200, 130), (129, 138), (297, 240), (424, 424)),  # tkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal
    *((272, 97), (308, 268), (321, 280), (298, 241), (165, 40)),  # unshare, setns, bpf, perf_event_open, mount
    *((87, None), (263, 35), (84, None), (76, 45)),  # unlink, unlinkat, rmdir, truncate
    *((82, None), (264, 38), (316, 276)),  # rename, renameat, renameat2
    *((85, None), (83, None), (258, 34), (133, None), (259, 33)),  # creat, mkdir, mkdirat, mknod, mknodat
    *((86, None), (265, 37), (88, None), (266, 36)),  # link, linkat, symlink, symlinkat
    *((90, None), (91, 52), (268, 53), (452, 452)),  # chmod, fchmod, fchmodat, fchmodat2
    *((92, None), (93, 55), (94, None), (260, 54)),  # chown, fchown, lchown, fchownat
)
_OPENING = {"x86_64": ((2, 1), (257, 2)), "aarch64": ((56, 2),)}  # open, openat, and which argument says how
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_SIGNALS = {"x86_64": (62, 234), "aarch64": (129, 131)}  # kill, tgkill: a process may end itself
_CLONE = {"x86_64": 56, "aarch64": 220}  # threads need it
_UNREADABLE = (435, 437)  # clone3, openat2: their arguments are in memory; the C library falls back to clone and openat
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h
_X32_BIT = 0x40000000  # of the numbers of x86_64's second call table

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2  # linux/prctl.h, linux/seccomp.h
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
_LOAD, _EQUAL, _AT_LEAST, _HAS_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # linux/bpf_common.h
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT, _ARGUMENT_BYTES = 0, 4, 16, 8  # in struct seccomp_data (little-endian on both)
_CLONE_THREAD = 0x10000


def confine() -> bool:
    """Give up for good what no parser needs. False when this system cannot do it."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _MACHINES:
        return False
    instructions = b"".join(struct.pack("=HBBI", *line) for line in _filter(machine))
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack("@HP", len(instructions) // 8, ctypes.addressof(buffer))
    prctl = ctypes.CDLL(None).prctl
    alone: int = prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    filtered: int = prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0)
    return alone == 0 and filtered == 0


def _filter(machine: str) -> Iterator[tuple[int, int, int, int]]:
    """The program, as (operation, lines to skip if true, lines to skip if false, operand)."""
    refuse = (_RETURN, 0, 0, _REFUSE | errno.EPERM)
    yield _LOAD, 0, 0, _MACHINE_AT
    yield _EQUAL, 1, 0, _MACHINES[machine]
    yield refuse
    yield _LOAD, 0, 0, _NUMBER_AT
    yield _AT_LEAST, 0, 1, _X32_BIT
    yield refuse
    place = tuple(_MACHINES).index(machine)
    for numbers in _REFUSED:
        if (number := numbers[place]) is not None:
            yield _EQUAL, 0, 1, number
            yield refuse
    for signalling in _SIGNALS[machine]:
        yield _EQUAL, 0, 4, signalling
        yield _LOAD, 0, 0, _ARGUMENTS_AT
        yield _EQUAL, 0, 1, os.getpid()
        yield _RETURN, 0, 0, _ALLOW
        yield refuse
    for opening, place_of_flags in _OPENING[machine]:
        yield _EQUAL, 0, 4, opening
        yield _LOAD, 0, 0, _ARGUMENTS_AT + place_of_flags * _ARGUMENT_BYTES
        yield _HAS_BITS, 0, 1, _WRITING
        yield refuse
        yield _RETURN, 0, 0, _ALLOW
    for unreadable in _UNREADABLE:
        yield _EQUAL, 0, 1, unreadable
        yield _RETURN, 0, 0, _REFUSE | errno.ENOSYS
    yield _EQUAL, 0, 3, _CLONE[machine]
    yield _LOAD, 0, 0, _ARGUMENTS_AT
    yield _HAS_BITS, 1, 0, _CLONE_THREAD
    yield refuse
    yield _RETURN, 0, 0, _ALLOW
