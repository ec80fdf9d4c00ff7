"""How a server bears 64 clients that search all the time while it ingests 1,000 documents.

    python benchmarks/load.py [--seconds 300] [--clients 64] [--documents 1000] [--pause 0]
        [--questions 0] [--postgres]

First one client asks alone: the quiet figures. Then all clients ask for so many seconds, each on a connection of its
own, over REST and MCP, in every mode, hardly ever the same question twice (with --questions: out of so many), while
documents are uploaded one after another. Without --pause every client asks again as soon as it has its answer, which
keeps the machine at its limit: the time that each waits then follows from how many searches a second the processors
manage. Afterwards each document is looked for, and at last the server is told to stop while all clients are at it.
"""

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil
from ingest import call, form, identifier, ready_count, text_of

from mcp_knowledge.domain.metrics import percentile

sys.path.append(str(Path(__file__).parent.parent / "tests"))
import load_clients  # these lie with the tests
from front_door import FreshServer
from load_clients import Findings
from postgres_server import PostgresServer

_FIRST_DOCUMENTS = 200  # there is something to find from the beginning
_QUIET_S = 15.0
_SHUTDOWN_S = 3.0  # of full load before the server is told to stop
_MIB = 1024 * 1024


class Memory:
    """Resident memory of a process, sampled every second."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.samples: list[float] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> list[float]:
        """MiB, second by second."""
        self._end.set()
        self._thread.join()
        return self.samples

    def _run(self) -> None:
        while not self._end.wait(1.0):
            self.samples.append(self._process.memory_info().rss / _MIB)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Clients at work, in a process of their own, and the file that they write what they found into."""

    process: "subprocess.Popen[str]"
    output: IO[str]


def searching(url: str, clients: int, seconds: float, pause_s: float = 0.0, questions: int = 0) -> Crowd:
    """Start clients."""
    values = {"clients": clients, "documents": _FIRST_DOCUMENTS, "seconds": seconds, "pause": pause_s}
    arguments = [f"--{name}={value}" for name, value in {**values, "questions": questions}.items()]
    command = [sys.executable, load_clients.__file__, url, *arguments]
    output = tempfile.TemporaryFile("w+")  # noqa: SIM115  # open as long as they work; a pipe lost what was over 64 KiB
    return Crowd(subprocess.Popen(command, stdout=output, text=True), output)


def findings(crowd: Crowd) -> Findings:
    """What they found, when they have ended."""
    crowd.process.wait()
    with crowd.output as output:
        output.seek(0)
        return Findings(**json.load(output))


def upload(address: str, numbers: Sequence[int]) -> None:
    """Upload documents one after another and wait until all that there are can be searched."""
    connection, draw = http.client.HTTPConnection(address), random.Random(numbers[0])
    for number in numbers:
        call(connection, "POST", "/api/v1/documents", *form(f"{number}.txt", text_of(number, draw).encode()))
    while ready_count(connection) <= numbers[-1]:
        time.sleep(0.5)


def missing(address: str, count: int) -> int:
    """How many of the documents a search for their identifiers does not find first."""
    connection, lost = http.client.HTTPConnection(address), 0
    for number in range(count):
        body = json.dumps({"query": identifier(number), "mode": "lexical", "limit": 1}).encode()
        hits = call(connection, "POST", "/api/v1/search", body, "application/json")["hits"]
        assert isinstance(hits, list)
        lost += not hits or identifier(number) not in hits[0]["content"]
    return lost


def processor_s(pid: int) -> float:
    """What a process has computed so far, without its parser processes."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def figures(answered: Sequence[tuple[float, float]]) -> dict[str, float]:
    """The percentiles of what was answered, in milliseconds."""
    waited = [milliseconds for _, milliseconds in answered]
    return {f"p{share}": percentile(waited, share / 100) for share in (50, 95, 99)}


def row(name: str, answered: Sequence[tuple[float, float]], seconds: float, quiet_ms: float) -> None:
    """Print a line of the table."""
    found = figures(answered)
    times = " | ".join(f"{value:.1f}" for value in found.values())
    ratio = found["p99"] / quiet_ms
    print(f"| {name} | {len(answered):,} | {len(answered) / seconds:.0f} | {times} | {ratio:.1f} |", flush=True)


@contextmanager
def environment(postgres: bool) -> Iterator[dict[str, str]]:
    """The settings of the server, with a database server that lives as long."""
    if not postgres:
        yield {}
        return
    with PostgresServer(durable=True) as database:
        yield {"DATABASE_DRIVER": "postgres", "DATABASE_URL": database.create_database("load")}


def measure(server: FreshServer, arguments: argparse.Namespace) -> None:
    """Print the table, and what is not a matter of milliseconds."""
    assert server.process is not None
    process = server.process
    url, documents = server.url, arguments.documents
    address = url.removeprefix("http://")
    upload(address, range(_FIRST_DOCUMENTS))
    before_s = processor_s(process.pid)
    quiet = findings(searching(url, 1, _QUIET_S, questions=arguments.questions))
    quiet_cpu_ms = 1000 * (processor_s(process.pid) - before_s) / len(quiet.answered)
    quiet_ms = figures(quiet.answered)["p50"]
    print("| | searches | a second | p50 ms | p95 ms | p99 ms | p99 / quiet p50 |\n|---|---|---|---|---|---|---|")
    row("quiet, one client", quiet.answered, _QUIET_S, quiet_ms)

    before_s = processor_s(process.pid)
    memory, started = Memory(process.pid), time.monotonic()
    crowd = searching(url, arguments.clients, arguments.seconds, arguments.pause, arguments.questions)
    upload(address, range(_FIRST_DOCUMENTS, _FIRST_DOCUMENTS + documents))
    ingested_s = min(time.monotonic() - started, arguments.seconds)
    loaded = findings(crowd)
    samples = memory.stop()
    loaded_cpu_ms = 1000 * (processor_s(process.pid) - before_s) / len(loaded.answered)
    row(f"{arguments.clients} clients", loaded.answered, arguments.seconds, quiet_ms)
    busy = [item for item in loaded.answered if item[0] <= ingested_s]
    row(f"of these, while {documents:,} documents are ingested", busy, ingested_s, quiet_ms)
    calm = [item for item in loaded.answered if item[0] > ingested_s]
    if calm and ingested_s < arguments.seconds:
        row("of these, afterwards", calm, arguments.seconds - ingested_s, quiet_ms)

    print(f"\nthe server's processor time a search: {quiet_cpu_ms:.1f} ms quiet, {loaded_cpu_ms:.1f} ms of all loaded")
    wrong = [*quiet.wrong, *loaded.wrong]
    print(f"errors: {len(wrong)}", *wrong[:5], sep="\n  ")
    lost = missing(address, _FIRST_DOCUMENTS + documents)
    print(f"documents that are not found by their identifier: {lost}")
    warm = samples[len(samples) // 5 :]
    step = max(1, len(samples) // 12)
    print(f"server RSS, MiB, every {step} s: {' '.join(f'{value:.0f}' for value in samples[::step])}")
    print(f"after a fifth of the time: {min(warm):.0f} to {max(warm):.0f} MiB, at the end {warm[-1]:.0f}")

    crowd = searching(url, arguments.clients, _SHUTDOWN_S + 30)
    time.sleep(_SHUTDOWN_S)
    told = time.monotonic()
    process.send_signal(signal.SIGTERM)
    code = process.wait(60)
    print(f"stopped under full load after {time.monotonic() - told:.1f} s, exit code {code}")
    findings(crowd)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--pause", type=float, default=0.0, metavar="SECONDS", help="of each client, on average")
    parser.add_argument("--questions", type=int, default=0, help="different ones; 0: hardly any is asked twice")
    parser.add_argument("--postgres", action="store_true")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as temporary, environment(arguments.postgres) as settings:
        server = FreshServer(Path(temporary) / "data", settings).start()
        try:
            measure(server, arguments)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
