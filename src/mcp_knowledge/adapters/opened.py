"""Everything that stands behind the ports, opened together and closed together."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from mcp_knowledge.adapters.backend import Backend, open_backend
from mcp_knowledge.adapters.minilm import MiniLmEmbedder
from mcp_knowledge.adapters.originals import open_blobs
from mcp_knowledge.adapters.parsers.page_renderer import SandboxedPageRenderer
from mcp_knowledge.adapters.parsers.sandbox import SandboxedParser
from mcp_knowledge.adapters.rows.access import SqlAccessStore
from mcp_knowledge.adapters.rows.archives import SqlArchiveStore
from mcp_knowledge.adapters.rows.evaluations import SqlEvaluationStore
from mcp_knowledge.adapters.rows.folder import SqlFolderStore
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.passages import SqlPassageStore
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.transfer.state import refuse_unfinished
from mcp_knowledge.ports import BlobStore
from mcp_knowledge.settings import Settings


@dataclass(frozen=True, slots=True)
class Adapters:
    """What stands behind the ports, opened."""

    backend: Backend
    blobs: BlobStore
    embedder: MiniLmEmbedder
    parser: SandboxedParser
    renderer: SandboxedPageRenderer
    store: SqlStore
    queue: SqlJobQueue
    archives: SqlArchiveStore
    folder: SqlFolderStore
    evaluations: SqlEvaluationStore
    access: SqlAccessStore
    passages: SqlPassageStore


@asynccontextmanager
async def open_adapters(settings: Settings) -> AsyncIterator[Adapters]:
    """Open all that the settings name, and close it in the opposite order.

    Raises:
        StartupError: the database or the storage cannot be used.
    """
    async with AsyncExitStack() as closing:
        embedder = MiniLmEmbedder(settings)
        closing.callback(embedder.close)
        backend = await closing.enter_async_context(open_backend(settings, lambda: embedder.fingerprint))
        database = backend.database
        await refuse_unfinished(database)
        parser = SandboxedParser(settings)
        closing.push_async_callback(parser.close)
        renderer = SandboxedPageRenderer(settings.parser_memory_bytes)
        closing.push_async_callback(renderer.close)
        yield Adapters(
            backend=backend,
            blobs=await closing.enter_async_context(open_blobs(settings, database)),
            embedder=embedder,
            parser=parser,
            renderer=renderer,
            store=SqlStore(database),
            queue=SqlJobQueue(database),
            archives=SqlArchiveStore(database),
            folder=SqlFolderStore(database),
            evaluations=SqlEvaluationStore(database),
            access=SqlAccessStore(database),
            passages=SqlPassageStore(database, lambda: embedder.fingerprint),
        )
