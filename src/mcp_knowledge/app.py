"""Composition root: settings to adapters to services to the ASGI application. The only module that knows them all."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from starlette.routing import Route

from mcp_knowledge.adapters.blobs import LocalBlobStore
from mcp_knowledge.adapters.fetcher import WebFetcher
from mcp_knowledge.adapters.minilm import MiniLmEmbedder
from mcp_knowledge.adapters.parsers.registry import accepted_extensions, mime_type_of
from mcp_knowledge.adapters.parsers.sandbox import SandboxedParser
from mcp_knowledge.adapters.rows.access import SqlAccessStore
from mcp_knowledge.adapters.rows.archives import SqlArchiveStore
from mcp_knowledge.adapters.rows.folder import SqlFolderStore
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.adapters.sqlite.lexical import SqliteLexicalIndex
from mcp_knowledge.adapters.sqlite.vectors import SqliteVectorIndex
from mcp_knowledge.adapters.watching import NotifiedFolder
from mcp_knowledge.adapters.zip_files import ZipReader
from mcp_knowledge.domain.access import Passphrase
from mcp_knowledge.domain.cursors import SECRET_BYTES, CursorSigner, secret_from
from mcp_knowledge.domain.downloads import Formats
from mcp_knowledge.services import Services
from mcp_knowledge.services.access import Access
from mcp_knowledge.services.archive_import import ArchiveImporter
from mcp_knowledge.services.archive_worker import ArchiveWorker
from mcp_knowledge.services.archives import Archives
from mcp_knowledge.services.background import Background
from mcp_knowledge.services.catalog import Catalog
from mcp_knowledge.services.collections import Collections
from mcp_knowledge.services.contents import Contents
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.folders import FolderScanner
from mcp_knowledge.services.ingest import IngestWorker
from mcp_knowledge.services.intake import Intake
from mcp_knowledge.services.jobs import Jobs
from mcp_knowledge.services.library import Library
from mcp_knowledge.services.pauses import ShortPauses
from mcp_knowledge.services.reading import Reading
from mcp_knowledge.services.search import Search
from mcp_knowledge.services.status import Status
from mcp_knowledge.services.urls import Urls
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Open the data directory and put the use cases together. The worker is made but not started.

    Raises:
        StartupError: the database or the storage cannot be used.
    """
    async with AsyncExitStack() as closing:
        database = Database(settings.database_path, settings.database_driver)
        await database.open()
        closing.push_async_callback(database.close)
        parser = SandboxedParser(settings)
        closing.push_async_callback(parser.close)
        embedder = MiniLmEmbedder(settings)
        closing.callback(embedder.close)
        store, queue = SqlStore(database), SqlJobQueue(database)
        blobs = LocalBlobStore(settings.blobs_path)
        events = Events()
        closing.callback(events.close)
        access_store = SqlAccessStore(database)
        secret = await _shared_secret(settings, access_store)
        cursors = CursorSigner(secret)
        phrase = settings.dashboard_passphrase
        access = Access(access_store, Passphrase(phrase.get_secret_value(), secret) if phrase else None)
        closing.push_async_callback(access.close)
        worker = IngestWorker(store, queue, blobs, parser, embedder, events, settings, _worker_name())
        lexical, vectors = (
            SqliteLexicalIndex(database),
            SqliteVectorIndex(database, settings.embedding_dimensions, lambda: embedder.fingerprint),
        )
        extensions = accepted_extensions()
        library = Library(
            store,
            blobs,
            events,
            accepted_extensions=extensions,
            media_type=mime_type_of,
            wake=worker.wake,
        )
        archive_store = SqlArchiveStore(database)
        importer = ArchiveImporter(
            archive_store, blobs, ZipReader(settings), library, events, settings.max_upload_bytes
        )
        archive_worker = ArchiveWorker(archive_store, blobs, importer, events, settings.job_lease_ms, _worker_name())
        archives = Archives(archive_store, blobs, events, archive_worker.wake)
        intake, collections = Intake(library, archives), Collections(store)
        formats = Formats(intake.accepted_extensions, mime_type_of)
        folder_store = SqlFolderStore(database)
        folders = FolderScanner(folder_store, library, archives, intake, blobs, events, settings, NotifiedFolder)
        yield Services(
            settings=settings,
            cursors=cursors,
            access=access,
            library=library,
            archives=archives,
            intake=intake,
            folders=folders,
            urls=Urls(WebFetcher(settings, blobs.upload_dir), intake, collections, formats),
            contents=Contents(store, blobs),
            collections=collections,
            jobs=Jobs(queue, events, worker.wake),
            search=Search(store, lexical, vectors, embedder, settings),
            catalog=Catalog(store, cursors, settings),
            reading=Reading(store, cursors, settings),
            status=Status(
                store,
                blobs,
                embedder,
                parser,
                settings,
                accepted_extensions=extensions,
                worker_running=lambda: worker.running,
            ),
            events=events,
            worker=worker,
            archive_worker=archive_worker,
            background=Background(worker, archive_worker, folders, ShortPauses(lambda: worker.busy)),
        )


def create_app(settings: Settings) -> FastAPI:
    """The HTTP application: REST, MCP and the dashboard over the same services, with a worker in the background."""
    from mcp_knowledge.interfaces.mcp.http import McpEndpoint
    from mcp_knowledge.interfaces.rest.api import create_api
    from mcp_knowledge.interfaces.web.pages import mount_web

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_services(settings) as services, mcp.run():
            app.state.services, app.state.cursors = services, services.cursors
            work = asyncio.create_task(services.background.run())
            warming = asyncio.create_task(services.search.warm_up())
            try:
                yield
            finally:
                warming.cancel()
                services.events.close()
                await services.background.stop()
                await work

    app = create_api(settings)
    app.router.lifespan_context = lifespan
    mcp = McpEndpoint(lambda: app.state.services)
    app.router.routes.append(Route("/mcp", mcp))
    mount_web(app)
    return app


async def _shared_secret(settings: Settings, store: SqlAccessStore) -> bytes:
    """What signs cursors and sessions, the same in every process and after a restart."""
    setting = settings.document_cursor_secret
    if setting is not None:
        return secret_from(setting.get_secret_value())
    return await store.shared_secret(os.urandom(SECRET_BYTES))


def _worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
