"""The parser process: `python -m mcp_knowledge.adapters.parsers.worker MODULE:REGISTRY LIMITS`.

It reads requests `{path, filename}` from stdin and answers on stdout with frames `{blocks}` and a last one: either
`{title, metadata, parser, version, mimeType}` or `{error}` with a public code; `{error, fault}` when a reader failed
in a way that nobody expected. It ends when stdin does.
"""

import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_knowledge.adapters.parsers import framing
from mcp_knowledge.adapters.parsers.faults import fault_of
from mcp_knowledge.adapters.parsers.finishing import finish
from mcp_knowledge.adapters.parsers.registry import Registry, load_registry
from mcp_knowledge.adapters.parsers.restraints import limit_cpu, restrain, take_streams
from mcp_knowledge.adapters.parsers.sniffing import detect
from mcp_knowledge.adapters.parsers.source import Limits, Source
from mcp_knowledge.domain.blocks import Block, block_to_json
from mcp_knowledge.errors import KnowledgeError

_YOUNG_OBJECTS = 200_000  # between collections; with Python's 700 a tree of two million elements takes a third longer


def main() -> None:
    """Serve requests until stdin ends."""
    registry = load_registry(sys.argv[1])
    limits = Limits(**json.loads(sys.argv[2]))
    requests, answers = take_streams()
    gc.set_threshold(_YOUNG_OBJECTS, 20, 20)
    framing.send(answers, {"ready": True, "confined": restrain(limits.memory_bytes)})
    while (request := framing.read(requests)) is not None:
        limit_cpu(limits.cpu_seconds)
        for message in _answer(request, registry, limits):
            framing.send(answers, message)


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


if __name__ == "__main__":
    main()
