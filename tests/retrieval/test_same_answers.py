"""PostgreSQL answers as the embedded database does: the project's own judged set through both, with the real model."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from mcp_knowledge.app import open_services
from mcp_knowledge.domain.metrics import mean, ndcg
from mcp_knowledge.domain.search import Hit, SearchMode, SearchRequest
from mcp_knowledge.services.library import StoredUpload
from mcp_knowledge.settings import Settings, load_settings

HERE = Path(__file__).parent
QUERIES = [json.loads(line) for line in (HERE / "queries.jsonl").read_text("utf-8").splitlines()]
MODES: tuple[SearchMode, ...] = ("lexical", "hybrid")
Answers = dict[SearchMode, list[list[Hit]]]
pytestmark = pytest.mark.slow


async def answers(settings: Settings) -> tuple[Answers, dict[str, str]]:
    """The ten best hits of every query in both modes, and the file name of each document id."""
    async with open_services(settings) as services:
        names = {}
        for file in sorted((HERE / "corpus").iterdir()):
            copy = services.library.upload_dir() / file.name
            shutil.copyfile(file, copy)
            content = file.read_bytes()
            upload = StoredUpload(copy, file.name, len(content), hashlib.sha256(content).hexdigest())
            names[(await services.library.upload(upload)).document_id] = file.name
        await services.worker.drain()
        found: Answers = {mode: [] for mode in MODES}
        for mode in MODES:
            for query in QUERIES:
                hits = (await services.search.search(SearchRequest(query["query"], mode, 10))).hits
                found[mode].append(list(hits))
        return found, names


def quality(found: list[list[Hit]], names: dict[str, str]) -> float:
    """Mean nDCG@10 over the answerable queries, by file."""
    pairs = zip(QUERIES, found, strict=True)
    ranked = [(list(dict.fromkeys(names[hit.document_id] for hit in hits)), query["relevant"]) for query, hits in pairs]
    return mean([ndcg(files, set(relevant), 10) for files, relevant in ranked if relevant])


async def test_both_databases_give_the_same_answers(tmp_path: Path, empty_postgres_dsn: str) -> None:
    embedded, names = await answers(load_settings(data_dir=tmp_path / "embedded"))
    server, server_names = await answers(
        load_settings(data_dir=tmp_path / "server", database_driver="postgres", database_url=empty_postgres_dsn)
    )

    assert sorted(names.values()) == sorted(server_names.values())
    for query, ours, theirs in zip(QUERIES, embedded["lexical"], server["lexical"], strict=True):
        assert [hit.chunk_id for hit in theirs] == [hit.chunk_id for hit in ours], query["query"]
        assert [hit.score for hit in theirs] == pytest.approx([hit.score for hit in ours], abs=1e-9)
    assert any(embedded["lexical"])
    assert abs(quality(server["hybrid"], server_names) - quality(embedded["hybrid"], names)) <= 0.005
