"""What the proof needs of Linux: namespaces, mounts, and programs within another root."""

import ctypes
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from steps import run

CLONE_NEWNS = 0x00020000  # linux/sched.h
CLONE_NEWNET = 0x40000000
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
# Mounts of a root that a program runs in, undone with the namespace that `unshare --mount` has made.
PREPARE = "mount -t proc proc proc && "
BUILD_PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


def leave(namespace: int) -> None:
    """Take this process into a namespace of its own, for good."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(namespace) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def own_mounts() -> None:
    """What is mounted from here on is seen by this process and its children only, and ends with them."""
    leave(CLONE_NEWNS)
    run("mount", "--make-rprivate", "/")


def no_network() -> None:
    """Only a loopback of one's own from here on."""
    leave(CLONE_NEWNET)
    run("ip", "link", "set", "lo", "up")


def within(root: Path, path: str) -> Path:
    """Where an absolute path of another root lies."""
    return root / path.lstrip("/")


def overlay(lower: Path, upper: Path, work: Path, target: Path) -> None:
    """A root whose changes alone lie in `upper`."""
    for folder in (upper, work, target):
        folder.mkdir(parents=True, exist_ok=True)
    run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", target)


def add_devices(root: Path) -> None:
    """The devices that every container has."""
    run("mount", "-t", "tmpfs", "-o", "mode=755,size=1m", "tmpfs", root / "dev")
    for name in DEVICES:
        (root / "dev" / name).touch()
        run("mount", "--bind", f"/dev/{name}", root / "dev" / name)
    (root / "dev" / "shm").mkdir()
    run("mount", "-t", "tmpfs", "-o", "mode=1777,size=64m", "tmpfs", root / "dev" / "shm")
    (root / "dev" / "fd").symlink_to("/proc/self/fd")


def in_root(root: Path, workdir: str, env: Mapping[str, str], command: Sequence[str]) -> str:
    """A program's output, run in another root as its root user, without a network.

    Raises:
        StepError: it failed.
    """
    script = f'{PREPARE} exec /usr/sbin/chroot . /usr/bin/env --chdir="$0" "$@"'
    words = ["/usr/bin/unshare", "--mount", "--pid", "--fork", "--net", "/bin/sh", "-c", script, workdir, *command]
    return run(*words, env={"PATH": BUILD_PATH, "HOME": "/root", **env}, cwd=root)
