"""A container of an image, as an engine starts it: `read_only`, `cap_drop: [ALL]`, `no-new-privileges`, no `init`."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Self

from steps import StepError, run

from image_proof.dockerfile import Config
from image_proof.linux import within

# Run at the root, in namespaces of its own: all of it read-only, /tmp and the volumes writable, then no rights at all.
READ_ONLY = """
set -e
mount --rbind . .
cd "$PWD"
mount -o remount,bind,ro .
mount -t proc -o nosuid,nodev,noexec proc proc
mount -t tmpfs -o mode=1777,nosuid,nodev,noexec,size=1g tmpfs tmp
"""
ENTER = """
exec /usr/sbin/chroot . /usr/bin/setpriv --reuid "$0" --regid "$1" {rights} /usr/bin/env --chdir="$2" "${{@:3}}"
"""
RIGHTS = ["--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
START_S = 60.0
POLL_S = 0.05


class Container:
    """One container.

    Args:
        name: for its files.
        root: the image, with its devices.
        config: what the image says of how it is run.
        env: the environment over that of the image.
        volumes: folders of this machine by their paths in the container, outer ones first.
        work: where its log goes.
    """

    def __init__(
        self, name: str, root: Path, config: Config, env: Mapping[str, str], volumes: Mapping[str, Path], work: Path
    ) -> None:
        self._root, self._config, self._volumes = root, config, volumes
        self._env = {"HOME": "/data", **config.env, **env}
        self.log = work / f"{name}.log"
        self._engine: subprocess.Popen[bytes] | None = None

    def start(self, arguments: Sequence[str] = ()) -> Self:
        """Start the entry point; `arguments` stand for CMD."""
        user, _, group = self._config.user.partition(":")
        command = [*self._config.entrypoint, *(arguments or self._config.cmd)]
        # Each program replaces the one before it: the entry point is process 1.
        words = ["/usr/bin/unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
        mounts = [f"mount --bind {quote(str(source))} .{quote(target)}\n" for target, source in self._volumes.items()]
        script = "".join([READ_ONLY, *mounts, ENTER.format(rights=" ".join(RIGHTS))])
        words += ["/bin/bash", "-c", script, user, group or user, self._config.workdir, *command]
        with self.log.open("ab") as log:
            self._engine = subprocess.Popen(
                words, cwd=self._root, env=self._env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        return self

    @property
    def pid(self) -> int:
        """The number of process 1, seen from outside.

        Raises:
            StepError: there is none (yet, or any more).
        """
        assert self._engine is not None
        children = Path(f"/proc/{self._engine.pid}/task/{self._engine.pid}/children").read_text().split()
        if not children:
            raise StepError(f"no process:\n{self.log.read_text()[-4000:]}")
        return int(children[0])

    def running(self) -> bool:
        """Whether process 1 is at work."""
        return self._engine is not None and self._engine.poll() is None

    def healthy(self) -> bool:
        """What the health check says, run as it is written."""
        try:
            self.execute(self._config.health)
        except StepError:
            return False
        return True

    def wait_healthy(self) -> float:
        """Seconds until the health check passes.

        Raises:
            StepError: the container ended, or time ran out.
        """
        started = time.monotonic()
        while not self.healthy():
            if not self.running() or time.monotonic() - started > START_S:
                raise StepError(f"not healthy:\n{self.log.read_text()[-4000:]}")
            time.sleep(POLL_S)
        return time.monotonic() - started

    def execute(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> str:
        """The output of another program in the container, with the container's rights (as `docker exec`).

        Raises:
            StepError: it failed.
        """
        user, _, group = self._config.user.partition(":")
        words = ["/usr/bin/nsenter", f"--target={self.pid}", "--mount", "--pid", "--ipc", "--uts", "--root", "--wd"]
        words += ["/usr/bin/setpriv", "--reuid", user, "--regid", group or user, *RIGHTS, *command]
        return run(*words, env={**self._env, **(env or {})})

    def status(self) -> dict[str, str]:
        """Fields of /proc/1/status."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def stop(self, within_s: float) -> tuple[int, float]:
        """Send the stop signal as an engine does. The exit code and how long it took, in s.

        Raises:
            StepError: it had to be killed.
        """
        assert self._engine is not None
        started = time.monotonic()
        os.kill(self.pid, signal.Signals[self._config.stop_signal])
        try:
            code = self._engine.wait(within_s)
        except subprocess.TimeoutExpired:
            self._engine.kill()
            raise StepError(
                f"still there {within_s} s after the stop signal:\n{self.log.read_text()[-2000:]}"
            ) from None
        return code, time.monotonic() - started


def new_volume(root: Path, target: str, folder: Path) -> Path:
    """An empty volume: an engine gives it what the image has at its place, with its owner."""
    run("cp", "--archive", within(root, target), folder)
    return folder
