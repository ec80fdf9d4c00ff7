"""`eval`: judged queries against a temporary knowledge base, or against the user's own."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mcp_knowledge.services.evaluate import (
    Evaluation,
    JudgedSet,
    Run,
    add_documents,
    evaluate,
    read_judged_set,
    runs_for,
)
from mcp_knowledge.settings import Settings


def run_evaluation(
    settings: Settings, folder: Path, modes: Sequence[str] | None, fusions: Sequence[str] | None
) -> list[Evaluation]:
    """Run a judged set in the named modes and fusions (None: all of them). Raises KnowledgeError for a faulty set."""
    judged, runs = read_judged_set(folder), runs_for(modes, fusions)
    if judged.documents is None:
        return asyncio.run(_evaluate(settings, judged, runs))
    with tempfile.TemporaryDirectory(prefix="mcp-knowledge-eval-") as temporary:
        elsewhere = {
            "data_dir": Path(temporary),
            "database_driver": "sqlite",
            "database_url": "",
            "storage_driver": "local",
            "storage_path": None,
        }
        return asyncio.run(_evaluate(settings.model_copy(update=elsewhere), judged, runs))


async def _evaluate(settings: Settings, judged: JudgedSet, runs: Sequence[Run]) -> list[Evaluation]:
    from mcp_knowledge.app import open_services

    async with open_services(settings) as services:
        document_ids = None
        if judged.documents is not None:
            document_ids = await add_documents(services.library, judged.documents)
            await services.worker.drain()
        return await evaluate(services.search, judged, runs, document_ids)
