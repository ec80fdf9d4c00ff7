"""What hostile clients cost a server, and what its other clients notice.

    python benchmarks/abuse.py [--only NAME …] [--seconds 20] [--descriptors 128] [--postgres]

Starts a server of its own, with some documents, and attacks it in one way after another, for so many seconds each. All
the while a neighbour asks for its health, a search and a document, each on a new connection. Prints a Markdown table:
what the attackers were told, the server's resident memory and open descriptors before, at most, and when they are gone,
and how long the neighbour waited. At last the server is told to stop while clients of every kind are attached.
"""

import argparse
import asyncio
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
from attacks import AT_THE_END, ATTACKS, HOST, MIB, Field
from load import environment

from mcp_knowledge.domain.metrics import percentile

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from front_door import FreshServer, wait_until  # it lies with the tests

_LOOK_S, _LOOKS = 0.2, 150  # for descriptors to come back: half a minute
_INGESTED_S = 600.0


class Neighbour:
    """Somebody who only wants an answer: milliseconds that each took, and what failed."""

    def __init__(self, where: Field) -> None:
        self._where = where
        self.taken_ms: dict[str, list[float]] = {}
        self.failed: Counter[str] = Counter()

    async def run(self) -> None:
        """Ask until cancelled."""
        body = b'{"query":"quiet harbour","limit":5}'
        while True:
            await self._ask("health", b"GET /health HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
            head = b"POST /api/v1/search HTTP/1.1\r\n%sContent-Type: application/json\r\n" % HOST
            await self._ask("search", head + b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            path = b"/api/v1/documents/" + self._where.small.encode()
            await self._ask("document", b"GET %s HTTP/1.1\r\n%sConnection: close\r\n\r\n" % (path, HOST))
            await asyncio.sleep(0.1)

    async def _ask(self, what: str, request: bytes) -> None:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(30):
                reader, writer = await asyncio.open_connection(self._where.host, self._where.port)
                writer.write(request)
                answer = await reader.read()
                writer.close()
            if b" 200 OK" not in answer[:20]:
                self.failed[f"{what} {answer[9:12].decode() or 'closed'}"] += 1
        except (OSError, TimeoutError) as error:
            self.failed[f"{what} {type(error).__name__}"] += 1
        self.taken_ms.setdefault(what, []).append((time.perf_counter() - began) * 1000)

    def row(self) -> str:
        """Median and slowest by what was asked, and failures."""
        times = [f"{percentile(times, 0.5):.0f}/{max(times):.0f}" for times in self.taken_ms.values()]
        return f"{' '.join(times)} | {', '.join(f'{n}× {what}' for what, n in self.failed.items()) or '–'}"


class Gauge:
    """Resident memory (MiB) and open descriptors of the server."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.most = (0.0, 0)

    def now(self) -> tuple[float, int]:
        """What they are."""
        return self._process.memory_info().rss / MIB, self._process.num_fds()

    async def watch(self) -> None:
        """Keep the most of each, until cancelled."""
        while True:
            memory, descriptors = self.now()
            self.most = max(self.most[0], memory), max(self.most[1], descriptors)
            await asyncio.sleep(_LOOK_S)

    async def settled(self, descriptors: int) -> tuple[float, int]:
        """What they are once the descriptors are back, or when they do not come back."""
        for _ in range(_LOOKS):
            if self.now()[1] <= descriptors:
                break
            await asyncio.sleep(_LOOK_S)
        return self.now()


async def begin(name: str, where: Field) -> asyncio.subprocess.Process:
    """An attack in a process of its own, so that it does not hold up the neighbour's clock."""
    place = [where.host, str(where.port), str(where.seconds), where.file, where.long, where.small]
    command = (sys.executable, __file__, "--attack", name, *place)
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


async def attack(name: str, where: Field) -> None:
    """Be the attacker; print what was told."""
    with suppress(TimeoutError):
        await asyncio.wait_for(ATTACKS[name](where), where.seconds * 3)
    print(", ".join(f"{number}× {what}" for what, number in where.told.most_common(5)))
    await where.leave()


async def row(name: str, where: Field, gauge: Gauge) -> str:
    """One attack."""
    before = gauge.now()
    gauge.most = before
    neighbour = Neighbour(where)
    tasks = [asyncio.create_task(neighbour.run()), asyncio.create_task(gauge.watch())]
    attacker = await begin(name, where)
    told = (await attacker.communicate())[0].decode().strip()
    for task in tasks:
        task.cancel()
    after = await gauge.settled(before[1])
    figures = " | ".join(f"{a:.0f} → {b:.0f} → {c:.0f}" for a, b, c in zip(before, gauge.most, after, strict=True))
    return f"| {name} | {told} | {figures} | {neighbour.row()} |"


def prepare(server: FreshServer) -> Field:
    """A file to download, a document with much text and a small one, beside some more."""
    words = "The quiet harbour keeps a ledger of every engine that was repaired. "
    for number in range(20):
        server.upload(f"{number}.txt", (f"Number {number}. " + words * 30).encode())
    small = server.add("small.txt", words.encode())["id"]
    long = "\n\n".join(f"Paragraph {n} of the long ledger. {words * 4}" for n in range(600))
    long_id = server.upload("long.txt", long.encode())["id"]
    path = f"/api/v1/documents/{long_id}"
    wait_until(lambda: server.request("GET", path).json()["status"] == "ready", _INGESTED_S, "the long document")
    file = server.add("file.pdf", b"%PDF-1.7\n" + os.urandom(30 * MIB))["id"]  # it is no PDF, but can be downloaded
    return Field("127.0.0.1", int(server.url.rpartition(":")[2]), 0.0, file, long_id, small)


async def run(server: FreshServer, names: list[str], seconds: float) -> None:
    """Print the table, then stop the server among its attackers."""
    assert server.process is not None
    where = prepare(server)
    where.seconds = seconds
    print("prepared", file=sys.stderr)
    gauge = Gauge(server.process.pid)
    print("| attack | what it was told | memory, MiB | descriptors | others: median/most, ms | others' failures |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names:
        print(await row(name, where, gauge), flush=True)
    where.seconds = 30.0
    attackers = [await begin(name, where) for name in AT_THE_END]
    await asyncio.sleep(8)
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    code = await asyncio.to_thread(server.process.wait, 60)
    print(f"\nStopped with all attached in {time.monotonic() - began:.1f} s, exit code {code}.")
    for attacker in attackers:
        with suppress(ProcessLookupError):
            attacker.kill()
        await attacker.wait()


class _Limited(FreshServer):
    """A server that may open so many files."""

    descriptors: int | None = None

    def command(self) -> list[str]:
        """What starts the process."""
        if self.descriptors is None:
            return super().command()
        return ["prlimit", f"--nofile={self.descriptors}:{self.descriptors}", *super().command()]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(ATTACKS), choices=list(ATTACKS), metavar="NAME")
    parser.add_argument("--attack", nargs=7, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--descriptors", type=int, help="the server's limit")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    if arguments.attack:
        name, host, port, seconds, *ids = arguments.attack
        asyncio.run(attack(name, Field(host, int(port), float(seconds), *ids)))
        return
    with tempfile.TemporaryDirectory() as folder, environment(arguments.postgres) as settings:
        server = _Limited(Path(folder) / "data", settings)
        server.descriptors = arguments.descriptors
        server.start()
        try:
            asyncio.run(run(server, arguments.only, arguments.seconds))
        finally:
            server.kill()


if __name__ == "__main__":
    main()
