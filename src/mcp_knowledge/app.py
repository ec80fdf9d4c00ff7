"""Composition root: settings to adapters to services to the ASGI application. The only module that knows them all."""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from starlette.routing import Route

from mcp_knowledge.adapters.backend import Backend, open_backend
from mcp_knowledge.adapters.fetcher import WebFetcher
from mcp_knowledge.adapters.minilm import MiniLmEmbedder
from mcp_knowledge.adapters.originals import open_blobs
from mcp_knowledge.adapters.parsers.page_renderer import SandboxedPageRenderer
from mcp_knowledge.adapters.parsers.registry import accepted_extensions, mime_type_of
from mcp_knowledge.adapters.parsers.sandbox import SandboxedParser
from mcp_knowledge.adapters.rows.access import SqlAccessStore
from mcp_knowledge.adapters.rows.archives import SqlArchiveStore
from mcp_knowledge.adapters.rows.changes import SqlDocumentChanges
from mcp_knowledge.adapters.rows.details import SqlDetailsStore
from mcp_knowledge.adapters.rows.evaluations import SqlEvaluationStore
from mcp_knowledge.adapters.rows.folder import SqlFolderStore
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.metadata_keys import SqlMetadataStore
from mcp_knowledge.adapters.rows.passages import SqlPassageStore
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.transfer.state import refuse_unfinished
from mcp_knowledge.adapters.watching import NotifiedFolder
from mcp_knowledge.adapters.zip_files import ZipReader
from mcp_knowledge.domain.access import Passphrase
from mcp_knowledge.domain.cursors import SECRET_BYTES, CursorSigner, secret_from
from mcp_knowledge.domain.downloads import Formats
from mcp_knowledge.domain.folder import ScanStatus
from mcp_knowledge.ports import Broadcast
from mcp_knowledge.services import Services
from mcp_knowledge.services.access import Access
from mcp_knowledge.services.archive_import import ArchiveImporter
from mcp_knowledge.services.archive_worker import ArchiveWorker
from mcp_knowledge.services.archives import Archives
from mcp_knowledge.services.background import Background, Loop
from mcp_knowledge.services.bulk import Bulk
from mcp_knowledge.services.catalog import Catalog
from mcp_knowledge.services.collections import Collections
from mcp_knowledge.services.contents import Contents
from mcp_knowledge.services.editing import Editing
from mcp_knowledge.services.errands import Errands
from mcp_knowledge.services.evaluation_runs import EvaluationRuns
from mcp_knowledge.services.evaluations import Evaluations
from mcp_knowledge.services.events import Events
from mcp_knowledge.services.folders import FolderScanner
from mcp_knowledge.services.ingest import IngestWorker
from mcp_knowledge.services.intake import Intake
from mcp_knowledge.services.jobs import Jobs
from mcp_knowledge.services.library import Library
from mcp_knowledge.services.measuring import Measuring
from mcp_knowledge.services.metadata import Metadata
from mcp_knowledge.services.pages import Pages
from mcp_knowledge.services.pauses import ShortPauses
from mcp_knowledge.services.presence import Presence
from mcp_knowledge.services.reading import Reading
from mcp_knowledge.services.references import ReferenceReader
from mcp_knowledge.services.samples import Samples
from mcp_knowledge.services.search import Search
from mcp_knowledge.services.similar import Similar
from mcp_knowledge.services.status import Status
from mcp_knowledge.services.urls import Urls
from mcp_knowledge.services.why_not import WhyNot
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Open the data directory and put the use cases together. The worker is made but not started.

    Raises:
        StartupError: the database or the storage cannot be used.
    """
    async with AsyncExitStack() as closing:
        embedder = MiniLmEmbedder(settings)
        closing.callback(embedder.close)
        backend = await closing.enter_async_context(open_backend(settings, lambda: embedder.fingerprint))
        database, locks = backend.database, backend.locks
        await refuse_unfinished(database)
        parser = SandboxedParser(settings)
        closing.push_async_callback(parser.close)
        renderer = SandboxedPageRenderer(settings.parser_memory_bytes)
        closing.push_async_callback(renderer.close)
        store, queue = SqlStore(database), SqlJobQueue(database)
        archive_store, folder_store = SqlArchiveStore(database), SqlFolderStore(database)
        evaluation_store = SqlEvaluationStore(database)
        blobs = await closing.enter_async_context(open_blobs(settings, database))
        events = Events(
            backend.broadcast,
            _reference_reader(store, queue, archive_store, evaluation_store, lambda: folders.status()),
        )
        closing.callback(events.close)
        access_store = SqlAccessStore(database)
        secret = await _shared_secret(settings, access_store)
        cursors = CursorSigner(secret)
        phrase = settings.dashboard_passphrase
        access = Access(access_store, Passphrase(phrase.get_secret_value(), secret) if phrase else None)
        closing.push_async_callback(access.close)
        name = _process_name()
        worker = IngestWorker(store, queue, blobs, parser, embedder, events, locks, settings, name)
        extensions = accepted_extensions()
        library = Library(
            store,
            blobs,
            events,
            accepted_extensions=extensions,
            media_type=mime_type_of,
            wake=worker.wake,
        )
        importer = ArchiveImporter(
            archive_store, blobs, ZipReader(settings), library, events, settings.max_upload_bytes
        )
        archive_worker = ArchiveWorker(archive_store, blobs, importer, events, locks, settings.job_lease_ms, name)
        archives = Archives(archive_store, blobs, events, archive_worker.wake)
        intake, collections = Intake(library, archives), Collections(store)
        formats = Formats(intake.accepted_extensions, mime_type_of)
        folders = FolderScanner(folder_store, library, archives, intake, blobs, events, locks, settings, NotifiedFolder)
        passages = SqlPassageStore(database, lambda: embedder.fingerprint)
        contents, reading = Contents(store, blobs, passages), Reading(store, cursors, settings)
        bulk, errands = Bulk(SqlDocumentChanges(database), store, events, worker.wake), Errands(backend.broadcast)
        closing.push_async_callback(errands.close)
        answers_only = settings.role == "api"
        presence = Presence(locks, name, works=not answers_only)
        pauses = ShortPauses(lambda: worker.busy)
        search = Search(store, backend.lexical, backend.vectors, embedder, settings)
        status = Status(
            store,
            blobs,
            embedder,
            parser,
            settings,
            accepted_extensions=extensions,
            worker_running=lambda: answers_only or worker.running,
        )
        measuring = Measuring(search, store)
        runs = EvaluationRuns(evaluation_store, measuring, status, events)
        loops: list[Loop] = [presence, runs, pauses]
        if not answers_only:
            loops += [worker, archive_worker, folders]
        yield Services(
            settings=settings,
            cursors=cursors,
            access=access,
            library=library,
            errands=errands,
            bulk=bulk,
            samples=Samples(library, bulk, collections, store),
            archives=archives,
            intake=intake,
            folders=folders,
            urls=Urls(WebFetcher(settings, blobs.upload_dir), intake, collections, formats),
            contents=contents,
            pages=Pages(contents, reading, blobs, renderer),
            editing=Editing(SqlDetailsStore(database), events),
            collections=collections,
            jobs=Jobs(queue, events, worker.wake),
            search=search,
            why_not=WhyNot(store, backend.lexical, backend.vectors, search),
            evaluations=Evaluations(evaluation_store, store, runs, measuring, settings),
            metadata=Metadata(store, SqlMetadataStore(database)),
            similar=Similar(store, reading, backend.vectors, passages),
            catalog=Catalog(store, cursors, settings),
            reading=reading,
            status=status,
            events=events,
            worker=worker,
            archive_worker=archive_worker,
            presence=presence,
            background=Background(*loops, *_listening(settings, backend, worker, archive_worker)),
        )


def create_app(settings: Settings) -> FastAPI:
    """The HTTP application for a role: REST, MCP and the dashboard over the same services, with workers beside them
    (`all`) or without (`api`); or the probes of a process that only ingests (`worker`).
    """
    return _create_worker(settings) if settings.role == "worker" else _create_api(settings)


def _create_api(settings: Settings) -> FastAPI:
    from mcp_knowledge.interfaces.mcp.http import McpEndpoint
    from mcp_knowledge.interfaces.rest.api import create_api
    from mcp_knowledge.interfaces.web.pages import mount_web

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with _at_work(settings, app) as services, mcp.run():
            warming = asyncio.create_task(services.search.warm_up())
            try:
                yield
            finally:
                warming.cancel()

    app = create_api(settings)
    app.router.lifespan_context = lifespan
    mcp = McpEndpoint(lambda: app.state.services)
    app.router.routes.append(Route("/mcp", mcp))
    mount_web(app)
    return app


def _create_worker(settings: Settings) -> FastAPI:
    from mcp_knowledge.interfaces.rest.probes import create_probes

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with _at_work(settings, app):
            yield

    app = create_probes(settings)
    app.router.lifespan_context = lifespan
    return app


@asynccontextmanager
async def _at_work(settings: Settings, app: FastAPI) -> AsyncIterator[Services]:
    """The services in the application's state, and what works beside its requests."""
    async with open_services(settings) as services:
        app.state.services, app.state.cursors = services, services.cursors
        work = asyncio.create_task(services.background.run())
        try:
            yield services
        finally:
            services.events.close()
            await services.background.stop()
            await work


async def _shared_secret(settings: Settings, store: SqlAccessStore) -> bytes:
    """What signs cursors and sessions, the same in every process and after a restart."""
    setting = settings.document_cursor_secret
    if setting is not None:
        return secret_from(setting.get_secret_value())
    return await store.shared_secret(os.urandom(SECRET_BYTES))


def _reference_reader(
    store: SqlStore,
    queue: SqlJobQueue,
    archives: SqlArchiveStore,
    evaluations: SqlEvaluationStore,
    scan: Callable[[], Awaitable[ScanStatus]],
) -> ReferenceReader:
    """What reads that which other processes tell of."""
    return ReferenceReader(store.get_documents, queue.get_many, archives.get_many, evaluations.get_runs, scan)


def _listening(
    settings: Settings, backend: Backend, worker: IngestWorker, archive_worker: ArchiveWorker
) -> list[Broadcast]:
    """The loop that hears what other processes say, if there are any."""
    if backend.broadcast is None:
        return []
    if settings.role != "api":
        backend.broadcast.hear("jobs", lambda _: worker.wake())
        backend.broadcast.hear("archives", lambda _: archive_worker.wake())
    return [backend.broadcast]


def _process_name() -> str:
    """Host and process, for people, and what tells it from all others: in containers these may be the same."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
