"""Composition root: settings to adapters to services to the ASGI application. The only module that knows them all."""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_knowledge import __version__
from mcp_knowledge.adapters.backend import Backend
from mcp_knowledge.adapters.fetcher import WebFetcher
from mcp_knowledge.adapters.opened import Adapters, open_adapters
from mcp_knowledge.adapters.parsers.registry import accepted_extensions, mime_type_of
from mcp_knowledge.adapters.rows.access import SqlAccessStore
from mcp_knowledge.adapters.rows.changes import SqlDocumentChanges
from mcp_knowledge.adapters.rows.details import SqlDetailsStore
from mcp_knowledge.adapters.rows.metadata_keys import SqlMetadataStore
from mcp_knowledge.adapters.traces import open_tracer
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
from mcp_knowledge.services.figures import Figures
from mcp_knowledge.services.folders import FolderScanner
from mcp_knowledge.services.ingest import IngestWorker
from mcp_knowledge.services.intake import Intake
from mcp_knowledge.services.jobs import Jobs
from mcp_knowledge.services.library import Library
from mcp_knowledge.services.measuring import Measuring
from mcp_knowledge.services.metadata import Metadata
from mcp_knowledge.services.metrics import tell_build
from mcp_knowledge.services.pages import Pages
from mcp_knowledge.services.pauses import ShortPauses
from mcp_knowledge.services.presence import Presence
from mcp_knowledge.services.reading import Reading
from mcp_knowledge.services.references import ReferenceReader
from mcp_knowledge.services.samples import Samples
from mcp_knowledge.services.search import Search
from mcp_knowledge.services.similar import Similar
from mcp_knowledge.services.status import Status
from mcp_knowledge.services.tracing import traced_by
from mcp_knowledge.services.urls import Urls
from mcp_knowledge.services.why_not import WhyNot
from mcp_knowledge.settings import Settings

if TYPE_CHECKING:  # commands that open the services alone start sooner without it
    from fastapi import FastAPI


@dataclass(frozen=True, slots=True)
class _TakingIn:
    """The use cases that make documents of files, and what works for them beside the requests."""

    library: Library
    archives: Archives
    intake: Intake
    folders: FolderScanner
    worker: IngestWorker
    archive_worker: ArchiveWorker


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Open the data directory and put the use cases together. The worker is made but not started.

    Raises:
        StartupError: the database or the storage cannot be used.
    """
    async with open_adapters(settings) as adapters, AsyncExitStack() as closing:
        name = _process_name()
        tell_build(__version__, settings.role, settings.database_driver, settings.storage_driver)
        secret = await _shared_secret(settings, adapters.access)
        # Events tell of scans, and scans make events: the way back is looked up when it is first taken.
        events = Events(adapters.backend.broadcast, _reference_reader(adapters, lambda: taking_in.folders.status()))
        closing.callback(events.close)
        access = _access(settings, adapters.access, secret)
        closing.push_async_callback(access.close)
        errands = Errands(adapters.backend.broadcast)
        closing.push_async_callback(errands.close)
        taking_in = _taking_in(settings, adapters, events, name)
        yield _services(settings, adapters, CursorSigner(secret), access, events, errands, taking_in, name)


@asynccontextmanager
async def traced() -> AsyncIterator[None]:
    """Trace what is done meanwhile, if the environment asks for it: for processes that serve, not for single commands,
    which would wait for a collector at their end.
    """
    async with open_tracer(__version__) as tracer:
        with nullcontext() if tracer is None else traced_by(tracer):
            yield


def _taking_in(settings: Settings, adapters: Adapters, events: Events, name: str) -> _TakingIn:
    store, blobs, locks = adapters.store, adapters.blobs, adapters.backend.locks
    worker = IngestWorker(
        store, adapters.queue, blobs, adapters.parser, adapters.embedder, events, locks, settings, name
    )
    library = Library(
        store,
        blobs,
        events,
        accepted_extensions=accepted_extensions(),
        media_type=mime_type_of,
        wake=worker.wake,
    )
    zip_reader = ZipReader(settings)
    importer = ArchiveImporter(adapters.archives, blobs, zip_reader, library, events, settings.max_upload_bytes)
    archive_worker = ArchiveWorker(adapters.archives, blobs, importer, events, locks, settings.job_lease_ms, name)
    archives = Archives(adapters.archives, blobs, events, archive_worker.wake)
    intake = Intake(library, archives)
    folders = FolderScanner(adapters.folder, library, archives, intake, blobs, events, locks, settings, NotifiedFolder)
    return _TakingIn(library, archives, intake, folders, worker, archive_worker)


def _services(
    settings: Settings,
    adapters: Adapters,
    cursors: CursorSigner,
    access: Access,
    events: Events,
    errands: Errands,
    taking_in: _TakingIn,
    name: str,
) -> Services:
    store, blobs, backend, worker = adapters.store, adapters.blobs, adapters.backend, taking_in.worker
    library, intake = taking_in.library, taking_in.intake
    answers_only = settings.role == "api"
    collections = Collections(store)
    contents, reading = Contents(store, blobs, adapters.passages), Reading(store, cursors, settings)
    bulk = Bulk(SqlDocumentChanges(backend.database), store, events, worker.wake)
    search = Search(store, backend.lexical, backend.vectors, adapters.embedder, settings)
    status = Status(
        store,
        blobs,
        adapters.embedder,
        adapters.parser,
        settings,
        accepted_extensions=accepted_extensions(),
        worker_running=lambda: answers_only or worker.running,
    )
    measuring = Measuring(search, store)
    runs = EvaluationRuns(adapters.evaluations, measuring, status, events)
    presence = Presence(backend.locks, name, works=not answers_only)
    loops: list[Loop] = [presence, runs, ShortPauses(lambda: worker.busy)]
    if not answers_only:
        loops += [worker, taking_in.archive_worker, taking_in.folders]
    formats = Formats(intake.accepted_extensions, mime_type_of)
    return Services(
        settings=settings,
        cursors=cursors,
        access=access,
        library=library,
        errands=errands,
        bulk=bulk,
        samples=Samples(library, bulk, collections, store),
        archives=taking_in.archives,
        intake=intake,
        folders=taking_in.folders,
        urls=Urls(WebFetcher(settings, blobs.upload_dir), intake, collections, formats),
        contents=contents,
        pages=Pages(contents, reading, blobs, adapters.renderer),
        editing=Editing(SqlDetailsStore(backend.database), events),
        collections=collections,
        jobs=Jobs(adapters.queue, events, worker.wake),
        search=search,
        why_not=WhyNot(store, backend.lexical, backend.vectors, search),
        evaluations=Evaluations(adapters.evaluations, store, runs, measuring, settings),
        metadata=Metadata(store, SqlMetadataStore(backend.database)),
        similar=Similar(store, reading, backend.vectors, adapters.passages),
        catalog=Catalog(store, cursors, settings),
        reading=reading,
        status=status,
        figures=Figures(status.counts, adapters.queue.next_due_ms, status.checks, lambda: worker.paused),
        events=events,
        worker=worker,
        archive_worker=taking_in.archive_worker,
        presence=presence,
        background=Background(*loops, *_listening(settings, backend, taking_in)),
    )


def create_app(settings: Settings) -> "FastAPI":
    """The HTTP application for a role: REST, MCP and the dashboard over the same services, with workers beside them
    (`all`) or without (`api`); or the probes of a process that only ingests (`worker`).
    """
    return _create_worker(settings) if settings.role == "worker" else _create_api(settings)


def _create_api(settings: Settings) -> "FastAPI":
    from starlette.routing import Route

    from mcp_knowledge.interfaces.mcp.http import McpEndpoint
    from mcp_knowledge.interfaces.rest.api import create_api
    from mcp_knowledge.interfaces.web.pages import mount_web

    @asynccontextmanager
    async def lifespan(app: "FastAPI") -> AsyncIterator[None]:
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


def _create_worker(settings: Settings) -> "FastAPI":
    from mcp_knowledge.interfaces.rest.probes import create_probes

    @asynccontextmanager
    async def lifespan(app: "FastAPI") -> AsyncIterator[None]:
        async with _at_work(settings, app):
            yield

    app = create_probes(settings)
    app.router.lifespan_context = lifespan
    return app


@asynccontextmanager
async def _at_work(settings: Settings, app: "FastAPI") -> AsyncIterator[Services]:
    """The services in the application's state, and what works beside its requests."""
    async with traced(), open_services(settings) as services:
        app.state.services, app.state.cursors = services, services.cursors
        work = asyncio.create_task(services.background.run())
        try:
            yield services
        finally:
            services.status.stop()
            services.events.close()
            await services.background.stop()
            await work


async def _shared_secret(settings: Settings, store: SqlAccessStore) -> bytes:
    """What signs cursors and sessions, the same in every process and after a restart."""
    setting = settings.document_cursor_secret
    if setting is not None:
        return secret_from(setting.get_secret_value())
    return await store.shared_secret(os.urandom(SECRET_BYTES))


def _access(settings: Settings, store: SqlAccessStore, secret: bytes) -> Access:
    phrase = settings.dashboard_passphrase
    return Access(store, Passphrase(phrase.get_secret_value(), secret) if phrase else None)


def _reference_reader(adapters: Adapters, scan: Callable[[], Awaitable[ScanStatus]]) -> ReferenceReader:
    """What reads that which other processes tell of."""
    return ReferenceReader(
        adapters.store.get_documents,
        adapters.queue.get_many,
        adapters.archives.get_many,
        adapters.evaluations.get_runs,
        scan,
    )


def _listening(settings: Settings, backend: Backend, taking_in: _TakingIn) -> list[Broadcast]:
    """The loop that hears what other processes say, if there are any."""
    if backend.broadcast is None:
        return []
    if settings.role != "api":
        backend.broadcast.hear("jobs", lambda _: taking_in.worker.wake())
        backend.broadcast.hear("archives", lambda _: taking_in.archive_worker.wake())
    return [backend.broadcast]


def _process_name() -> str:
    """Host and process, for people, and what tells it from all others: in containers these may be the same."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
