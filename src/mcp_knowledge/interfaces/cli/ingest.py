"""`ingest` and `reindex`: put work into the queue, see it through, and report every file by name."""

import asyncio
from contextlib import suppress
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mcp_knowledge.domain.documents import Metadata
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.report import IngestReport, Skipped
from mcp_knowledge.interfaces.cli.sources import FileSource, UrlSource, find_sources
from mcp_knowledge.interfaces.cli.watch import Watch
from mcp_knowledge.services import Services
from mcp_knowledge.services.archives import ArchiveReceipt
from mcp_knowledge.services.background import Background

_QUEUE_AHEAD = 256  # documents waiting for the worker while more files are read: some seconds of work


async def _collection_id(services: Services, wanted: str | None) -> str | None:
    if wanted is None:
        return None
    after = None
    while True:
        items, after = await services.collections.list(100, after)
        for item in items:
            if wanted == item.id or wanted.casefold() == item.name.casefold():
                return item.id
        if after is None:
            break
    if wanted.startswith("col_"):
        raise KnowledgeError("COLLECTION_NOT_FOUND")
    return (await services.collections.create(wanted, None)).id


def progress_bar(quiet: bool) -> Progress:
    """Shown on a terminal only."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=output.err,
        disable=quiet or not output.err.is_terminal,
        transient=True,
    )


async def with_worker(services: Services, work: asyncio.Task[Any], run_worker: bool) -> None:
    """See `work` through, with a worker in this process unless a server has one."""
    if not run_worker:
        await work
        return
    background = Background(services.worker, services.archive_worker)
    worker = asyncio.create_task(background.run())
    try:
        done, _ = await asyncio.wait({work, worker}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        work.cancel()
        await background.stop()
        with suppress(asyncio.CancelledError):
            await worker


async def ingest_sources(
    services: Services,
    arguments: list[str],
    collection: str | None,
    metadata: Metadata | None,
    *,
    wait: bool,
    quiet: bool,
) -> IngestReport:
    """Add files, folders and documents from the web.

    Without a running server this process does the work; with one, its worker does, and this process only waits.

    Args:
        arguments: paths and addresses.
        collection: name or id; a name that does not exist yet makes a collection.
        wait: False returns as soon as everything is in the queue (a server, or the next ingest, does the work).
        quiet: no progress bar.
    """
    report = IngestReport()
    collection_id = await _collection_id(services, collection)
    sources = list(find_sources(arguments, report.skipped))
    serving = await services.presence.somebody_works()
    with progress_bar(quiet) as bar:
        watch = Watch(services, report, bar, bar.add_task("Ingesting", total=len(sources)))

        async def add_all() -> None:
            for source in sources:
                if not await _add(services, source, collection_id, metadata, report, watch):
                    bar.advance(watch.task)
                if wait and len(watch.pending) >= _QUEUE_AHEAD:
                    await watch.settle(_QUEUE_AHEAD // 2)
            if wait:
                await watch.settle(0)
            else:
                await watch.leave()

        await with_worker(services, asyncio.create_task(add_all()), run_worker=wait and not serving)
    return report


async def _add(
    services: Services,
    source: FileSource | UrlSource,
    collection_id: str | None,
    metadata: Metadata | None,
    report: IngestReport,
    watch: Watch,
) -> bool:
    """Queue one source; False when it was skipped or is there already."""
    try:
        receipt = await source.add(services, collection_id, metadata)
    except KnowledgeError as error:
        failure = isinstance(source, UrlSource) or error.code == "SERVICE_UNAVAILABLE"
        report.skipped.append(Skipped(source.name, str(error), asked_for=failure))
        return False
    except OSError as error:
        report.skipped.append(Skipped(source.name, f"cannot be read: {error.strerror}"))
        return False
    if isinstance(receipt, ArchiveReceipt):
        watch.archives[receipt.archive_id] = source.name
        return True
    if receipt.duplicate:
        await watch.note_duplicates([receipt.document_id])
        return False
    watch.pending.add(receipt.document_id)
    return True


async def reindex_documents(
    services: Services, document_ids: list[str] | None, *, only_stale: bool, wait: bool, quiet: bool
) -> IngestReport:
    """Queue documents (None: all of them) to be indexed again from their originals, and see it through.

    Args:
        only_stale: of all documents, those that versions made which are not the present ones.
        wait: False returns as soon as everything is in the queue (a server, or the next command that works, goes on).
        quiet: no progress bar.
    """
    report = IngestReport()
    with progress_bar(quiet) as bar:
        watch = Watch(services, report, bar, bar.add_task("Reindexing", total=None))

        async def queue_all() -> None:
            if document_ids is None:
                stale_to = services.status.index_versions() if only_stale else ()
                watch.pending.update(await services.library.reindex_all(stale_to))
            else:
                for document_id in document_ids:
                    await services.library.reindex_document(document_id)
                    watch.pending.add(document_id)
            bar.update(watch.task, total=len(watch.pending))
            await (watch.settle(0) if wait else watch.leave())

        serving = await services.presence.somebody_works()
        await with_worker(services, asyncio.create_task(queue_all()), run_worker=wait and not serving)
    return report
