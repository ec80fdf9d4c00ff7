"""The parser process: `python -m mcp_knowledge.adapters.parsers.worker MODULE:REGISTRY LIMITS`.

It reads requests `{path, filename}` from stdin and answers on stdout with frames `{blocks}` and a last one: either
`{title, metadata, parser, version, mimeType}` or `{error}` with a public code; `{error, fault}` when a reader failed
in a way that nobody expected. It ends when stdin does.
"""

import gc
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from mcp_knowledge.adapters.parsers import framing
from mcp_knowledge.adapters.parsers.confinement import confine
from mcp_knowledge.adapters.parsers.faults import fault_of
from mcp_knowledge.adapters.parsers.finishing import finish
from mcp_knowledge.adapters.parsers.registry import Registry, load_registry
from mcp_knowledge.adapters.parsers.sniffing import detect
from mcp_knowledge.adapters.parsers.source import Limits, Source
from mcp_knowledge.domain.blocks import Block, block_to_json
from mcp_knowledge.errors import KnowledgeError

if sys.platform != "win32":
    import resource

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_MAX_OPEN_FILES = 64
_YOUNG_OBJECTS = 200_000  # between collections; with Python's 700 a tree of two million elements takes a third longer


def main() -> None:
    """Serve requests until stdin ends."""
    registry = load_registry(sys.argv[1])
    limits = Limits(**json.loads(sys.argv[2]))
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not end up among the answers, and nothing may read the requests.
    os.dup2(2, 1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    gc.set_threshold(_YOUNG_OBJECTS, 20, 20)
    _die_with_parent()
    _restrict(limits)
    _send(answers, {"ready": True, "confined": confine()})
    while (request := framing.read(requests)) is not None:
        _limit_cpu(limits.cpu_seconds)
        for message in _answer(request, registry, limits):
            _send(answers, message)


def _send(answers: BinaryIO, message: dict[str, Any]) -> None:
    answers.write(framing.encode(message))
    answers.flush()


def _answer(request: dict[str, Any], registry: Registry, limits: Limits) -> Iterator[dict[str, Any]]:
    try:
        yield from _parsed(request, registry, limits)
    except KnowledgeError as error:
        yield {"error": error.code}
    except (MemoryError, RecursionError):
        yield {"error": "DOCUMENT_RESOURCE_LIMIT"}
    except (OSError, ImportError) as error:  # it could not be opened or a library is missing: nothing the file did
        yield {"error": "INGESTION_FAILED", "fault": fault_of(error)}
    except BaseException as error:  # a panic of a Rust library is no Exception
        yield {"error": "DOCUMENT_MALFORMED", "fault": fault_of(error)}


def _parsed(request: dict[str, Any], registry: Registry, limits: Limits) -> Iterator[dict[str, Any]]:
    source = Source(Path(request["path"]).read_bytes(), request["filename"], limits)
    kind = detect(source, registry)
    document = finish(kind.parse(source), limits)
    for group in _groups(document.blocks):
        yield {"blocks": [block_to_json(block) for block in group]}
    yield {
        "title": document.title,
        "metadata": document.metadata,
        "parser": kind.name,
        "version": kind.version,
        "mimeType": kind.mime_type(source.extension),
    }


def _groups(blocks: tuple[Block, ...]) -> Iterator[list[Block]]:
    group: list[Block] = []
    chars = 0
    for block in blocks:
        group.append(block)
        chars += _size(block)
        if chars >= framing.BLOCKS_PER_FRAME_CHARS:
            yield group
            group, chars = [], 0
    if group:
        yield group


def _size(block: Block) -> int:
    text = getattr(block, "text", None)
    if isinstance(text, str):
        return len(text) + 64
    return (
        64
        + sum(len(item) for item in getattr(block, "items", ()))
        + sum(len(cell) + 4 for row in getattr(block, "rows", ()) for cell in row)
    )


def _die_with_parent() -> None:
    """Have Linux kill this process when the server dies, busy or not; elsewhere the end of stdin must do."""
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _restrict(limits: Limits) -> None:
    """Bound memory and open files, and forbid core dumps and writing to files."""
    if sys.platform == "win32":
        return
    bounds = {
        resource.RLIMIT_AS: limits.memory_bytes,
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


def _limit_cpu(seconds: int) -> None:
    """Give the next file this much CPU time. SIGXCPU ends the process when it is used up."""
    if sys.platform == "win32":
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds + 1, hard))


if __name__ == "__main__":
    main()
