"""Judged queries against the real search: how good each mode and fusion ranks, and how fast."""

import asyncio
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_knowledge.domain.metrics import mean, ndcg, percentile, recall, reciprocal_rank
from mcp_knowledge.domain.search import Fusion, SearchMode, SearchRequest
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services.library import Library, StoredUpload
from mcp_knowledge.services.search import Search

HITS = 10  # documents looked at for each query

Run = tuple[SearchMode, Fusion | None]
ALL_RUNS: tuple[Run, ...] = (("vector", None), ("lexical", None), ("hybrid", "rrf"), ("hybrid", "relative"))


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document of a judged set."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query and the ids of the documents that answer it; none: nothing in the set does."""

    id: str
    text: str
    relevant: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Queries with judgements, and the documents they speak of; None: those of the corpus at hand, by their ids."""

    name: str
    documents: tuple[JudgedDocument, ...] | None
    queries: tuple[JudgedQuery, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One run over a judged set.

    Means are over the answerable queries; `false_positive_rate` is the share of the unanswerable ones that got a hit
    all the same (None without such queries). Latencies are of whole searches, in milliseconds.
    """

    mode: SearchMode
    fusion: Fusion | None
    queries: int
    recall_at_5: float
    recall_at_10: float
    mrr_at_10: float
    ndcg_at_10: float
    no_answer_queries: int
    false_positive_rate: float | None
    p50_ms: float
    p95_ms: float

    @property
    def name(self) -> str:
        """The mode, with the fusion where there is one."""
        return f"{self.mode} ({self.fusion})" if self.fusion else self.mode

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "mode": self.mode,
            "fusion": self.fusion,
            "queries": self.queries,
            "recallAt5": round(self.recall_at_5, 4),
            "recallAt10": round(self.recall_at_10, 4),
            "mrrAt10": round(self.mrr_at_10, 4),
            "ndcgAt10": round(self.ndcg_at_10, 4),
            "noAnswerQueries": self.no_answer_queries,
            "falsePositiveRate": self.false_positive_rate,
            "p50Ms": round(self.p50_ms, 2),
            "p95Ms": round(self.p95_ms, 2),
        }


def read_judged_set(folder: Path) -> JudgedSet:
    """Read `queries.jsonl` ({id, query, relevant, kind}) and, if it is there, `docs.jsonl` ({id, title, text}).

    Raises:
        KnowledgeError: INVALID_ARGUMENT, naming the file and line that cannot be read.
    """
    queries = tuple(
        JudgedQuery(_text(row, "id"), _text(row, "query"), _ids(row), str(row.get("kind", "")))
        for row in _rows(folder / "queries.jsonl")
    )
    if not queries:
        raise KnowledgeError("INVALID_ARGUMENT", "queries.jsonl has no queries.")
    documents = None
    if (folder / "docs.jsonl").is_file():
        documents = tuple(
            JudgedDocument(_text(row, "id"), str(row.get("title", "")), _text(row, "text"))
            for row in _rows(folder / "docs.jsonl")
        )
    return JudgedSet(folder.resolve().name, documents, queries)


def runs_for(modes: Sequence[str] | None, fusions: Sequence[str] | None) -> tuple[Run, ...]:
    """The runs of the named modes and fusions; None: all.

    Raises:
        KnowledgeError: SEARCH_MODE_UNSUPPORTED or INVALID_ARGUMENT for an unknown name.
    """
    for mode in modes or ():
        if mode not in {known for known, _ in ALL_RUNS}:
            raise KnowledgeError("SEARCH_MODE_UNSUPPORTED")
    for fusion in fusions or ():
        if fusion not in {known for _, known in ALL_RUNS if known}:
            raise KnowledgeError("INVALID_ARGUMENT", "The fusion must be rrf or relative.")
    return tuple(
        (mode, fusion)
        for mode, fusion in ALL_RUNS
        if (not modes or mode in modes) and (fusion is None or not fusions or fusion in fusions)
    )


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
    search: Search, judged: JudgedSet, runs: Sequence[Run] = ALL_RUNS, document_ids: Mapping[str, str] | None = None
) -> list[Evaluation]:
    """Run every query once in each run, one after another.

    Args:
        document_ids: the document id of each judged id, from `add_documents`; None: judged ids are document ids.
    """
    known = document_ids or {}
    return [await _evaluate(search, judged.queries, known, mode, fusion) for mode, fusion in runs]


async def _evaluate(
    search: Search,
    queries: Sequence[JudgedQuery],
    document_ids: Mapping[str, str],
    mode: SearchMode,
    fusion: Fusion | None,
) -> Evaluation:
    answered: list[tuple[list[str], set[str]]] = []
    unanswerable: list[bool] = []
    milliseconds: list[float] = []
    for query in queries:
        request = SearchRequest(query.text, mode, HITS, fusion=fusion or "rrf", collapse="document")
        start = time.perf_counter()
        found = [hit.document_id for hit in (await search.search(request)).hits]
        milliseconds.append((time.perf_counter() - start) * 1000)
        if query.relevant:
            answered.append((found, {document_ids.get(item, item) for item in query.relevant}))
        else:
            unanswerable.append(bool(found))
    return Evaluation(
        mode,
        fusion,
        queries=len(queries),
        recall_at_5=mean([recall(*pair, 5) for pair in answered]),
        recall_at_10=mean([recall(*pair, 10) for pair in answered]),
        mrr_at_10=mean([reciprocal_rank(*pair, 10) for pair in answered]),
        ndcg_at_10=mean([ndcg(*pair, 10) for pair in answered]),
        no_answer_queries=len(unanswerable),
        false_positive_rate=mean(unanswerable) if unanswerable else None,
        p50_ms=percentile(milliseconds, 0.5),
        p95_ms=percentile(milliseconds, 0.95),
    )


def _stored(folder: Path, name: str, content: bytes) -> StoredUpload:
    handle, path = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return StoredUpload(Path(path), name, len(content), hashlib.sha256(content).hexdigest())


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _row(line, f"{path.name} line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise KnowledgeError("INVALID_ARGUMENT", f"{path.name} is missing or is no UTF-8 text.") from error


def _row(line: str, place: str) -> dict[str, Any]:
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


def _ids(row: Mapping[str, Any]) -> tuple[str, ...]:
    value = row.get("relevant")
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise KnowledgeError("INVALID_ARGUMENT", f"{row['']}: 'relevant' must be a list of document ids.")
    return tuple(dict.fromkeys(value))
