"""How fast, and how large: small text documents uploaded one after another over HTTP, and the same from a folder.

    python benchmarks/ingest.py [--documents 1000]

Each text has about 100 words and, inside a sentence, an identifier of its own such as LOCAL-RAG-0001. Prints
milliseconds a document until all are ready, processor seconds and peak memory of the server with its parser processes,
bytes on disk, and how many of the identifiers a search finds among its first five hits.
"""

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

TOP = 5
_START_S = 60.0
_SAMPLE_S = 0.02
_NEWBORN_S = 0.2  # until it runs its own program, a child shows its parent's memory as its own
# fmt: off
_NOUNS = (
    "harbour", "ledger", "engine", "report", "permit", "window", "garden", "invoice", "committee", "bridge",
    "river", "telescope", "budget", "museum", "orchard", "station", "archive", "contract", "kitchen",
    "festival", "laboratory", "railway", "library", "sensor", "valley", "compass", "market", "workshop",
    "reservoir", "journal", "hospital", "schedule", "turbine", "island", "magazine", "factory", "meeting",
    "voyage", "lantern", "glacier", "council", "theatre", "forest", "antenna",
)
_VERBS = (
    "reviewed", "repaired", "delivered", "measured", "approved", "postponed", "described", "painted",
    "inspected", "financed", "discovered", "replaced", "translated", "organised", "compared", "published",
    "rejected", "restored", "observed", "planned",
)
_ADJECTIVES = (
    "northern", "wooden", "annual", "quiet", "municipal", "expensive", "ancient", "digital", "narrow",
    "seasonal", "reliable", "foreign", "technical", "crowded", "temporary", "bright", "seventh", "preliminary",
    "coastal", "generous",
)
_PLACES = (
    "Lisbon", "Oslo", "Hamburg", "Kyoto", "Toronto", "Nairobi", "Lima", "Auckland", "Chennai", "Dublin",
    "Prague", "Austin",
)
# fmt: on
_ENDS = (
    "before the winter storms",
    "after a long discussion",
    "with help from the neighbours",
    "because the old plan had failed",
    "for less than the estimate",
    "in the presence of two engineers",
    "without any delay",
    "while the visitors were waiting",
)


def text_of(number: int, draw: random.Random) -> str:
    """About 100 words; the identifier stands in the fourth of eight sentences."""
    sentences = [_sentence(draw) for _ in range(7)]
    sentences.insert(
        3, f"The {draw.choice(_NOUNS)} was filed under {identifier(number)} by the {draw.choice(_NOUNS)} office."
    )
    return " ".join(sentences) + "\n"


def identifier(number: int) -> str:
    """The identifier of a document."""
    return f"LOCAL-RAG-{number:04d}"


def _sentence(draw: random.Random) -> str:
    subject, thing, place = draw.choice(_NOUNS), draw.choice(_NOUNS), draw.choice(_PLACES)
    first, second, end = draw.choice(_ADJECTIVES), draw.choice(_ADJECTIVES), draw.choice(_ENDS)
    return f"In {place} the {first} {subject} {draw.choice(_VERBS)} the {second} {thing} {end}."


@dataclass(frozen=True)
class Usage:
    """Processor seconds of a process and its children, and the most memory they held at one time."""

    cpu_s: float
    rss_bytes: int


class Watch:
    """Samples a process tree until it ends or `stop` is called."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._cpu: dict[int, float] = {}
        self._rss = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> Usage:
        """What was seen."""
        self._sample()
        self._end.set()
        self._thread.join()
        return Usage(sum(self._cpu.values()), self._rss)

    def _run(self) -> None:
        while not self._end.wait(_SAMPLE_S):
            self._sample()

    def _sample(self) -> None:
        rss = 0
        try:
            processes = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in processes:
            try:
                times, memory = process.cpu_times(), process.memory_info()
            except (psutil.NoSuchProcess, psutil.ZombieProcess):
                continue
            self._cpu[process.pid] = times.user + times.system
            if process is self._root or time.time() - process.create_time() > _NEWBORN_S:
                rss += memory.rss
        self._rss = max(self._rss, rss)


@contextmanager
def server(data_dir: Path, settings: Mapping[str, str] | None = None) -> Iterator[tuple[int, str, int]]:
    """A server on a data folder: its process id, host and port.

    Args:
        settings: environment variables, beside the present ones.
    """
    command = [sys.executable, "-m", "mcp_knowledge", "--data-dir", str(data_dir), "serve", "--port", "0"]
    variables = {**os.environ, **(settings or {})}
    process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _START_S
        while not (notes := list(data_dir.glob("server*.json"))):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the server did not start")
            time.sleep(0.02)
        host, port = json.loads(notes[0].read_text())["url"].removeprefix("http://").rsplit(":", 1)
        yield process.pid, host, int(port)
    finally:
        process.terminate()
        process.wait()


def call(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes = b"", kind: str = ""
) -> dict[str, object]:
    """One request on a kept connection; its JSON answer."""
    connection.request(method, path, body or None, {"Content-Type": kind} if kind else {})
    answer = connection.getresponse()
    content = answer.read()
    if answer.status >= 400:
        raise SystemExit(f"{method} {path}: {answer.status} {content[:200]!r}")
    data: dict[str, object] = json.loads(content)
    return data


def form(filename: str, content: bytes) -> tuple[bytes, str]:
    """A multipart body with one file, and its content type."""
    boundary = uuid.uuid4().hex
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{filename}"\r\n\r\n'
    return head.encode() + content + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def ready_count(connection: http.client.HTTPConnection) -> int:
    """Documents that are ready; ends the run when one has failed."""
    documents = call(connection, "GET", "/api/v1/system/status")["documents"]
    assert isinstance(documents, dict)
    if documents.get("failed"):
        raise SystemExit("a document failed")
    return int(documents.get("ready", 0))


def over_http(
    texts: list[str], data_dir: Path, settings: Mapping[str, str] | None = None
) -> tuple[float, float, Usage]:
    """Upload one after another: seconds until the last answer, until all are ready, and what it took."""
    with server(data_dir, settings) as (pid, host, port):
        connection = http.client.HTTPConnection(host, port)
        call(connection, "GET", "/ready")  # loads the model, as the first search would
        watch = Watch(pid)
        before = psutil.Process(pid).cpu_times()
        start = time.perf_counter()
        for number, text in enumerate(texts):
            call(connection, "POST", "/api/v1/documents", *form(f"document-{number:04d}.txt", text.encode()))
        uploaded = time.perf_counter() - start
        while ready_count(connection) < len(texts):
            time.sleep(0.01)
        finished = time.perf_counter() - start
        usage = watch.stop()
        print_found(connection, len(texts))
    return uploaded, finished, Usage(usage.cpu_s - before.user - before.system, usage.rss_bytes)


def print_found(connection: http.client.HTTPConnection, count: int) -> None:
    """Search for every identifier and print how many came among the first hits."""
    for mode in ("hybrid", "lexical"):
        found = 0
        for number in range(count):
            body = json.dumps({"query": identifier(number), "mode": mode, "limit": TOP}).encode()
            hits = call(connection, "POST", "/api/v1/search", body, "application/json")["hits"]
            assert isinstance(hits, list)
            found += any(identifier(number) in hit["content"] for hit in hits)
        print(f"  identifier among the first {TOP}, {mode}: {found / count:.1%}")


def by_folder(folder: Path, data_dir: Path) -> tuple[float, Usage]:
    """`mcp-knowledge ingest FOLDER`: seconds from start to end of the process, and what it took."""
    command = [sys.executable, "-m", "mcp_knowledge", "--data-dir", str(data_dir), "ingest", str(folder)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    watch = Watch(process.pid)
    code = process.wait()
    seconds = time.perf_counter() - start
    usage = watch.stop()
    if code:
        raise SystemExit("ingest failed")
    return seconds, usage


def disk(data_dir: Path) -> tuple[int, int]:
    """Bytes of all files: as they are long, and as the file system allots them."""
    stats = [path.stat() for path in data_dir.rglob("*") if path.is_file()]
    return sum(stat.st_size for stat in stats), sum(stat.st_blocks * 512 for stat in stats)


def print_row(name: str, seconds: float, usage: Usage, data_dir: Path, count: int) -> None:
    """One line of figures."""
    length, allotted = disk(data_dir)
    print(
        f"{name}: {seconds * 1000 / count:.1f} ms a document, {usage.cpu_s:.1f} CPU s "
        f"({usage.cpu_s * 1000 / count:.1f} ms a document), peak RSS {usage.rss_bytes / 1e6:.0f} MB, "
        f"disk {length / 1000 / count:.1f} kB a document ({allotted / 1000 / count:.1f} kB allotted)"
    )


def main() -> None:
    """Run both and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--only", choices=("http", "folder"))
    arguments = parser.parse_args()
    draw = random.Random(1)
    count: int = arguments.documents
    texts = [text_of(number, draw) for number in range(count)]
    words = sum(len(text.split()) for text in texts) / count
    print(f"{count} documents of {words:.0f} words on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as temporary:
        if arguments.only != "folder":
            data_dir = Path(temporary) / "http"
            uploaded, finished, usage = over_http(texts, data_dir)
            print_row("HTTP, one by one", finished, usage, data_dir, count)
            print(f"  the last upload was answered after {uploaded * 1000 / count:.1f} ms a document")
        if arguments.only != "http":
            folder, data_dir = Path(temporary) / "texts", Path(temporary) / "folder"
            folder.mkdir()
            for number, text in enumerate(texts):
                (folder / f"document-{number:04d}.txt").write_text(text)
            seconds, usage = by_folder(folder, data_dir)
            print_row("folder", seconds, usage, data_dir, count)


if __name__ == "__main__":
    main()
