"""Folders of judged queries against the real search: how good each mode and fusion ranks, and how fast."""

import asyncio
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_knowledge.domain.evaluation_scores import summary
from mcp_knowledge.domain.evaluations import Case, Metrics, RunSettings
from mcp_knowledge.domain.judged_queries import JudgedQuery, read_judged_queries
from mcp_knowledge.domain.search import Fusion, SearchMode
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services.library import Library, StoredUpload
from mcp_knowledge.services.measuring import Measuring

ALL_WAYS: tuple[tuple[SearchMode, Fusion | None], ...] = (
    ("vector", None),
    ("lexical", None),
    ("hybrid", "rrf"),
    ("hybrid", "relative"),
)
_MAX_QUERIES = 1_000_000


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document of a judged set."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Queries with judgements, and the documents they speak of; None: those of the corpus at hand, by their ids."""

    name: str
    documents: tuple[JudgedDocument, ...] | None
    queries: tuple[JudgedQuery, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What searching in one way came to."""

    settings: RunSettings
    metrics: Metrics

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return {"mode": self.settings.mode, "fusion": self.settings.fusion, **self.metrics.to_json()}


def read_judged_set(folder: Path) -> JudgedSet:
    """Read `queries.jsonl` (see domain/judged_queries.py) and, if it is there, `docs.jsonl` ({id, title, text}).

    Raises:
        KnowledgeError: INVALID_ARGUMENT, naming the file and line that cannot be read.
    """
    path = folder / "queries.jsonl"
    queries = tuple(read_judged_queries(_lines(path), _MAX_QUERIES, path.name))
    if not queries:
        raise KnowledgeError("INVALID_ARGUMENT", "queries.jsonl has no queries.")
    documents = None
    if (folder / "docs.jsonl").is_file():
        documents = tuple(
            JudgedDocument(_text(row, "id"), str(row.get("title", "")), _text(row, "text"))
            for row in _rows(folder / "docs.jsonl")
        )
    return JudgedSet(folder.resolve().name, documents, queries)


def settings_for(
    modes: Sequence[str] | None,
    fusions: Sequence[str] | None,
    collection_ids: Sequence[str] = (),
    filters: Mapping[str, Any] | None = None,
) -> list[RunSettings]:
    """Every way to search of the named modes and fusions; None: all of them.

    Raises:
        KnowledgeError: SEARCH_MODE_UNSUPPORTED or INVALID_ARGUMENT for an unknown name.
    """
    for mode in modes or ():
        if mode not in {known for known, _ in ALL_WAYS}:
            raise KnowledgeError("SEARCH_MODE_UNSUPPORTED")
    for fusion in fusions or ():
        if fusion not in {known for _, known in ALL_WAYS if known}:
            raise KnowledgeError("INVALID_ARGUMENT", "The fusion must be rrf or relative.")
    return [
        RunSettings(mode, fusion, tuple(collection_ids), dict(filters or {}))
        for mode, fusion in ALL_WAYS
        if (not modes or mode in modes) and (fusion is None or not fusions or fusion in fusions)
    ]


def as_markdown(document: JudgedDocument) -> bytes:
    """A judged document as the file that is ingested: its title is the heading."""
    title = " ".join(document.title.split())
    return (f"# {title}\n\n{document.text}\n" if title else f"{document.text}\n").encode("utf-8", "replace")


async def add_documents(library: Library, documents: Iterable[JudgedDocument]) -> dict[str, str]:
    """Upload judged documents; each one's document id (the same for equal texts). The worker has yet to index them."""
    ids = {}
    for number, document in enumerate(documents, 1):
        upload = await asyncio.to_thread(_stored, library.upload_dir(), f"{number}.md", as_markdown(document))
        ids[document.id] = (await library.upload(upload)).document_id
    return ids


async def evaluate(
    measuring: Measuring,
    judged: JudgedSet,
    ways: Sequence[RunSettings],
    document_ids: Mapping[str, str] | None = None,
    told: Callable[[int], None] = lambda queries: None,
) -> list[Evaluation]:
    """Run every query once in each way to search, one after another.

    Args:
        document_ids: the document id of each judged id, from `add_documents`; None: judged ids are document ids.
        told: is told of every further query that was run.
    """
    known = document_ids or {}
    cases = [
        Case(
            item.id,
            item.query,
            tuple(dict.fromkeys(known.get(name, name) for name in item.relevant)),
            tuple(dict.fromkeys(known.get(name, name) for name in item.wrong)),
            item.no_answer,
            item.kind,
        )
        for item in judged.queries
    ]
    return [
        Evaluation(way, await _metrics(measuring, [case for case in cases if case.judged], way, told)) for way in ways
    ]


async def _metrics(
    measuring: Measuring, cases: Sequence[Case], way: RunSettings, told: Callable[[int], None]
) -> Metrics:
    results = []
    async for result in measuring.results(cases, way):
        results.append(result)
        told(1)
    return summary(results)


def _stored(folder: Path, name: str, content: bytes) -> StoredUpload:
    handle, path = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return StoredUpload(Path(path), name, len(content), hashlib.sha256(content).hexdigest())


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as lines:
            yield from lines
    except OSError as error:
        raise KnowledgeError("INVALID_ARGUMENT", f"{path.name} is missing or cannot be read.") from error


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_lines(path), 1):
        if line.strip():
            yield _row(line, f"{path.name} line {number}")


def _row(line: bytes, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise KnowledgeError("INVALID_ARGUMENT", f"{place} is no JSON object.")
    return {**row, "": place}


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise KnowledgeError("INVALID_ARGUMENT", f"{row['']}: '{name}' must be a text.")
    return value
