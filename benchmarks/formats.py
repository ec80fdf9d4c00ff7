"""What becomes of real files: outcome, time and peak memory of every file of a folder with known outcomes.

    python benchmarks/formats.py DIR [--format odt] [--parse-only] [--out FOLDER]

DIR holds `manifest.tsv` (columns: file, format, bytes, source_repo, source_path, expect) and the files it names.
`expect` is OK, EMPTY, NEEDS_OCR, ENCRYPTED, MALFORMED or LIMIT_OR_OK. The files go one after another to a server on a
fresh data directory and through all stages; with `--parse-only`, only through the parser processes. Prints a line for
each format, every disagreement, and every file that took over 30 seconds or 2 GiB, crashed its parser or hung.
"""

import argparse
import asyncio
import csv
import http.client
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from ingest import form, server

from mcp_knowledge.adapters.parsers.sandbox import SandboxedParser
from mcp_knowledge.adapters.parsers.sinks import plain_text
from mcp_knowledge.domain.blocks import Block, block_from_json
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.settings import load_settings

_MIB = 1024 * 1024
_MOST_S = 30.0
_MOST_BYTES = 2048 * _MIB
_SAMPLE_S = 0.02
_GIVE_UP_S = 240.0  # three attempts of a parser that hangs, with the pauses between them
_WORKER_MODULE = "mcp_knowledge.adapters.parsers.worker"
_RESET_PEAK = "5"  # proc_pid_clear_refs(5): the peak resident set size starts again at the present one
_NO_CONTENT = "EMPTY"
_OUR_FAULTS = ("INGESTION_FAILED", "INGESTION_TIMEOUT", "HANGS")

Read = Callable[[Path], tuple[str, list[Block]]]


@dataclass(frozen=True)
class Sample:
    """A file and the outcome it should have."""

    path: Path
    name: str
    format: str
    expected: str


@dataclass(frozen=True)
class Result:
    """What became of a file. `peak_bytes` is the largest parser process, 0 when none was seen."""

    sample: Sample
    outcome: str
    seconds: float
    peak_bytes: int

    @property
    def agrees(self) -> bool:
        """Whether this is the expected outcome."""
        if self.sample.expected == "LIMIT_OR_OK":
            return self.outcome in ("OK", "RESOURCE_LIMIT", "PAYLOAD_TOO_LARGE")
        return self.outcome == self.sample.expected

    @property
    def faults(self) -> list[str]:
        """What no file may do."""
        found = [f"{self.seconds:.1f} s"] if self.seconds > _MOST_S else []
        found += [f"{self.peak_bytes / _MIB:.0f} MiB"] if self.peak_bytes > _MOST_BYTES else []
        return found + ([self.outcome] if self.outcome in _OUR_FAULTS else [])


class MemoryWatch:
    """Samples the parser processes below a process: the most that one of them held since the last `reset`."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._peak_bytes = 0
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def reset(self) -> None:
        """Forget what was held until now."""
        with self._lock:
            for process in self._workers():
                with suppress(OSError):
                    Path(f"/proc/{process.pid}/clear_refs").write_text(_RESET_PEAK)
            self._peak_bytes = 0

    def peak_bytes(self) -> int:
        """The largest resident set size of one process."""
        self._sample()
        return self._peak_bytes

    def stop(self) -> None:
        """End the sampling."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(_SAMPLE_S):
            self._sample()

    def _sample(self) -> None:
        with self._lock:
            for process in self._workers():
                with suppress(psutil.NoSuchProcess, OSError, ValueError):
                    self._peak_bytes = max(self._peak_bytes, _peak_bytes(process))

    def _workers(self) -> Iterator[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            for process in self._root.children(recursive=True):
                with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                    if _WORKER_MODULE in process.cmdline():
                        yield process


def _peak_bytes(process: psutil.Process) -> int:
    """Linux keeps the peak itself; elsewhere the present size must do."""
    if sys.platform != "linux":
        return int(process.memory_info().rss)
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def samples(folder: Path, formats: list[str] | None) -> list[Sample]:
    """The files of a folder's manifest, of these formats only if any are named."""
    with (folder / "manifest.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Sample(folder / row["file"], row["file"], row["format"], row["expect"])
        for row in rows
        if not formats or row["format"] in formats
    ]


@contextmanager
def parsers_only() -> Iterator[tuple[int, Read]]:
    """Files through the parser processes of this process."""
    with asyncio.Runner() as runner:
        parser = SandboxedParser(load_settings())

        def read(path: Path) -> tuple[str, list[Block]]:
            try:
                parsed = runner.run(parser.parse(path, path.name))
            except KnowledgeError as error:
                return _outcome(error.code), []
            return "OK", list(parsed.document.blocks)

        yield psutil.Process().pid, read
        runner.run(parser.close())


@contextmanager
def whole_way() -> Iterator[tuple[int, Read]]:
    """Files to a server over HTTP, each until it is searchable or has failed."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder) / "data") as (pid, host, port):
        connection = http.client.HTTPConnection(host, port)
        _get(connection, "/ready")  # loads the model, as the first search would

        def read(path: Path) -> tuple[str, list[Block]]:
            body, kind = form(path.name, path.read_bytes())
            answer = _call(connection, "POST", "/api/v1/documents", body, kind)
            if "error" in answer:
                return _outcome(answer["error"]["code"]), []
            place = f"/api/v1/documents/{answer['id']}"
            document = finished(connection, place)
            if document is None:
                return "HANGS", []
            if document["status"] == "failed":
                return _outcome(document["latestError"].partition(":")[0]), []
            return "OK", [block_from_json(block) for block in _get(connection, f"{place}/normalized")["blocks"]]

        yield pid, read


def _outcome(code: str) -> str:
    return _NO_CONTENT if code == "INVALID_UPLOAD" else code.removeprefix("DOCUMENT_")


def finished(connection: http.client.HTTPConnection, place: str) -> dict[str, Any] | None:
    """The document at `place` once it is ready or has failed; None when that never comes."""
    deadline = time.monotonic() + _GIVE_UP_S
    while time.monotonic() < deadline:
        document = _get(connection, place)
        if document["status"] in ("ready", "failed") and document["progress"] is None:
            return document
        time.sleep(_SAMPLE_S)
    return None


def _get(connection: http.client.HTTPConnection, path: str) -> dict[str, Any]:
    return _call(connection, "GET", path)


def _call(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None, kind: str = ""
) -> dict[str, Any]:
    connection.request(method, path, body, {"Content-Type": kind} if kind else {})
    answer: dict[str, Any] = json.loads(connection.getresponse().read())
    return answer


def measure(wanted: Iterable[Sample], read: Read, memory: MemoryWatch, out: Path | None) -> Iterator[Result]:
    """Read one file after another."""
    for sample in wanted:
        memory.reset()
        start = time.perf_counter()
        outcome, blocks = read(sample.path)
        seconds = time.perf_counter() - start
        if out is not None:
            target = out / f"{sample.name}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join([outcome, *map(_shown, blocks)]), encoding="utf-8")
        yield Result(sample, outcome, seconds, memory.peak_bytes())


def _shown(block: Block) -> str:
    """A block for a person's eye: its kind and place, then its text."""
    place = " ".join(f"{name}={value}" for name, value in block.location.to_json().items())
    return f"\n[{block.type}{getattr(block, 'level', '')} {place}]\n{plain_text(block)}"


def print_report(results: list[Result]) -> None:
    """A line for each format, then what is not as it should be."""
    print(f"{'format':8} {'files':>5} {'agree':>5} {'':>7} {'median s':>9} {'max s':>7} {'max MiB':>8}")
    for kind in [*sorted({result.sample.format for result in results}), "all"]:
        rows = [result for result in results if kind in ("all", result.sample.format)]
        agree = sum(result.agrees for result in rows)
        seconds = [result.seconds for result in rows]
        print(
            f"{kind:8} {len(rows):5} {agree:5} {agree / len(rows):7.1%} {statistics.median(seconds):9.2f} "
            f"{max(seconds):7.2f} {max(result.peak_bytes for result in rows) / _MIB:8.0f}"
        )
    for result in results:
        if not result.agrees:
            print(f"differs: {result.sample.name}: expected {result.sample.expected}, got {result.outcome}")
    for result in results:
        if result.faults:
            print(f"FAULT: {result.sample.name}: {', '.join(result.faults)}")


def main() -> None:
    """Read the folder and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--format", action="append", help="only files of this format; may be given several times")
    parser.add_argument("--parse-only", action="store_true", help="through the parser processes, without a server")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write each file's blocks as text below FOLDER")
    arguments = parser.parse_args()
    wanted = samples(arguments.folder, arguments.format)
    if not wanted:
        raise SystemExit("the manifest names no such files")
    with (parsers_only if arguments.parse_only else whole_way)() as (pid, read):
        memory = MemoryWatch(pid)
        try:
            print_report(list(measure(wanted, read, memory, arguments.out)))
        finally:
            memory.stop()


if __name__ == "__main__":
    main()
