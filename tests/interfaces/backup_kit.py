"""Backups for tests: taken apart, put together again, and made by processes that die."""

import asyncio
import io
import os
import signal
import sys
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mcp_knowledge.interfaces.cli.backing_up import BackupReport, back_up
from mcp_knowledge.settings import Settings

_STEPS = {"open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "sqlite3.connect"}


def backed_up(settings: Settings, file: Path, *, force: bool = False) -> BackupReport:
    return asyncio.run(back_up(settings, file, force=force, quiet=True))


def members(file: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    """What is in a backup, in order."""
    with tarfile.open(file) as archive:
        found = []
        for info in archive.getmembers():
            content = archive.extractfile(info)
            assert content is not None
            found.append((info, content.read()))
        return found


def write(file: Path, parts: Sequence[tuple[tarfile.TarInfo, bytes]], **options: Any) -> None:
    """Make a tar of members that need not be honest."""
    with tarfile.open(file, "w", format=options.get("format", tarfile.GNU_FORMAT)) as archive:
        for info, content in parts:
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)


def steps_of(work: Callable[[], object], die_at: int | None = None) -> tuple[int, bool]:
    """Do some work in a process of its own, which dies by SIGKILL at one of its steps on the disk; how many steps it
    has made, and whether it died.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _work_and_die(work, die_at, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return len(said), os.WIFSIGNALED(status)


def _work_and_die(work: Callable[[], object], die_at: int | None, writer: int) -> None:
    made = 0

    def step(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal made
        if event in _STEPS:
            made += 1
            os.write(writer, b".")
            if made == die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)
    try:
        work()
    finally:
        os._exit(0)
