"""The background importer over a real store, blob store and reader, with faults where a test wants them."""

import asyncio
import errno
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from ingest_kit import NAME, Bench, open_bench, until
from outage_kit import BrittleDatabase, short_pauses
from zip_files import zip_of

from mcp_knowledge.adapters.rows.archives import SqlArchiveStore
from mcp_knowledge.adapters.sqlite import dialect
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.adapters.zip_files import ZipReader
from mcp_knowledge.domain.documents import ArchiveImport, now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import ArchiveMember, OpenArchive
from mcp_knowledge.services.archive_import import ArchiveImporter
from mcp_knowledge.services.archive_worker import ArchiveWorker
from mcp_knowledge.services.archives import Archives
from mcp_knowledge.services.cleanup import IMPORTER_LOCK, remove_orphan_blobs
from mcp_knowledge.services.library import Library, StoredUpload
from mcp_knowledge.settings import Settings

__all__ = ["short_pauses"]
FILES = 10
GONE_PROCESS = "this-host:2"  # holds no lock


class GatedReader:
    """The real reader; every extraction waits for `gate`, and fails with the faults that are there."""

    def __init__(self, settings: Settings) -> None:
        self._reader = ZipReader(settings)
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = asyncio.Event()
        self.faults: list[Exception] = []

    async def open(self, path: Path) -> OpenArchive:
        return _GatedArchive(self, await self._reader.open(path))


class _GatedArchive:
    def __init__(self, reader: GatedReader, archive: OpenArchive) -> None:
        self._reader, self._archive = reader, archive
        self.members = archive.members

    async def extract(self, member: ArchiveMember, target: Path) -> str:
        self._reader.arrived.set()
        await self._reader.gate.wait()
        if self._reader.faults:
            raise self._reader.faults.pop(0)
        return await self._archive.extract(member, target)


class ImportBench:
    """What an importer works with."""

    def __init__(self, bench: Bench, database: Database) -> None:
        self.bench = bench
        self.store = SqlArchiveStore(database)
        self.reader = GatedReader(bench.settings)
        self.library = Library(
            bench.store,
            bench.blobs,
            bench.events,
            accepted_extensions=frozenset({"txt"}),
            media_type=lambda extension: "text/plain",
            wake=lambda: None,
        )
        self.archives = Archives(self.store, bench.blobs, bench.events, wake=lambda: None)

    def worker(self, name: str = NAME) -> ArchiveWorker:
        importer = ArchiveImporter(
            self.store, self.bench.blobs, self.reader, self.library, self.bench.events, max_upload_bytes=1_000_000
        )
        return ArchiveWorker(self.store, self.bench.blobs, importer, self.bench.events, self.bench.locks, 60_000, name)

    @asynccontextmanager
    async def working(self, name: str = NAME) -> AsyncIterator[ArchiveWorker]:
        worker = self.worker(name)
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            self.reader.gate.set()
            await worker.stop()
            await running

    async def receive(self) -> str:
        data = zip_of(*((f"{number}.txt", f"text {number}") for number in range(FILES)))
        path = self.bench.blobs.upload_dir() / "received"
        path.write_bytes(data)
        upload = StoredUpload(path, "letters.zip", len(data), hashlib.sha256(data).hexdigest())
        return (await self.archives.receive(upload)).archive_id

    async def has_ended(self, archive_id: str) -> bool:
        return (await self.archives.get(archive_id)).ended

    async def assert_imported_once(self, archive_id: str) -> ArchiveImport:
        item = await self.archives.get(archive_id)
        assert item.state == "completed" and item.outcomes["extracted"] == FILES
        entries = (await self.archives.entries([archive_id]))[archive_id]
        assert sorted(entry.path for entry in entries) == [f"{number}.txt" for number in range(FILES)]
        assert len({entry.document_id for entry in entries}) == FILES
        assert len(await self.bench.keys()) == FILES  # the originals, and neither the archive nor orphans
        return item


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[BrittleDatabase]:
    opened = BrittleDatabase(settings.database_path)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def bench(settings: Settings, database: BrittleDatabase) -> AsyncIterator[ImportBench]:
    async with open_bench(settings) as bench:
        yield ImportBench(bench, database)


async def test_an_archive_that_comes_while_the_importer_sleeps_is_imported(bench: ImportBench) -> None:
    async with bench.working():
        archive_id = await bench.receive()
        await until(lambda: bench.has_ended(archive_id))
    await bench.assert_imported_once(archive_id)


async def test_a_stop_hands_the_import_back_after_the_file_at_hand_and_the_next_one_goes_on(
    bench: ImportBench,
) -> None:
    archive_id = await bench.receive()
    bench.reader.gate.clear()
    async with bench.working() as worker:
        await bench.reader.arrived.wait()
        stopping = asyncio.create_task(worker.stop())
        bench.reader.gate.set()
        await stopping
    item = await bench.archives.get(archive_id)
    assert (item.state, item.outcomes["extracted"], item.file_count) == ("queued", 1, FILES)
    async with bench.working():
        await until(lambda: bench.has_ended(archive_id))
    await bench.assert_imported_once(archive_id)


async def test_the_import_of_a_process_that_is_gone_is_taken_over_before_its_lease_ends(bench: ImportBench) -> None:
    archive_id = await bench.receive()
    assert await bench.store.claim(GONE_PROCESS, 3_600_000) is not None
    async with bench.working():
        await until(lambda: bench.has_ended(archive_id))
    assert (await bench.assert_imported_once(archive_id)).attempt == 2


async def test_the_import_of_a_living_process_is_left_alone(bench: ImportBench) -> None:
    first = await bench.receive()
    assert await bench.store.claim("another-host:1", 3_600_000) is not None
    await bench.bench.locks.keep(f"{IMPORTER_LOCK}/another-host:1")
    async with bench.working():
        second = await bench.receive()
        await until(lambda: bench.has_ended(second))
    assert (await bench.archives.get(first)).state == "extracting"


@pytest.mark.parametrize("fault", [OSError("a surprise"), RuntimeError("another")])
async def test_a_fault_of_ours_is_tried_again_and_nothing_is_doubled(
    bench: ImportBench, fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive_id = await bench.receive()
    bench.reader.faults = [fault]

    async def is_queued_again() -> bool:
        item = await bench.archives.get(archive_id)
        return item.state == "queued" and item.attempt == 1

    async with bench.working():
        await until(is_queued_again)
        monkeypatch.setattr(dialect, "now_ms", lambda: now_ms() + 60_000)
        await until(lambda: bench.has_ended(archive_id))
    await bench.assert_imported_once(archive_id)


async def test_outages_of_the_storage_interrupt_an_import_and_neither_double_nor_blame(
    bench: ImportBench, short_pauses: None
) -> None:
    archive_id = await bench.receive()
    outages = [KnowledgeError("SERVICE_UNAVAILABLE"), OSError(errno.ENOSPC, "No space left")] * 6
    bench.reader.faults = list(outages)
    async with bench.working():
        await until(lambda: bench.has_ended(archive_id))
    item = await bench.assert_imported_once(archive_id)
    assert (item.error, item.attempt) == (None, len(outages) + 1)


async def test_an_import_goes_on_after_an_outage_of_the_database(
    bench: ImportBench, database: BrittleDatabase, short_pauses: None
) -> None:
    archive_id = await bench.receive()
    bench.reader.gate.clear()
    async with bench.working() as worker:
        await bench.reader.arrived.wait()
        database.down = True
        bench.reader.gate.set()
        await until(lambda: worker._outage._pauses >= 3)
        database.down = False
        await until(lambda: bench.has_ended(archive_id))
    await remove_orphan_blobs(bench.bench.store, bench.bench.blobs, age_ms=-1000)
    assert (await bench.assert_imported_once(archive_id)).error is None


async def test_no_file_is_doubled_or_lost_when_answers_to_commits_get_lost(
    bench: ImportBench, database: BrittleDatabase, short_pauses: None
) -> None:
    archive_id = await bench.receive()
    database.loss = 0.25
    async with bench.working():
        await until(lambda: bench.has_ended(archive_id))
    database.loss = 0.0
    item = await bench.archives.get(archive_id)
    assert (item.state, item.error) == ("completed", None)
    assert database.lost_in_all >= 3 and item.attempt >= 3
    assert await bench.bench.store.blob_keys() <= set(await bench.bench.keys())  # every document has its original
    await remove_orphan_blobs(bench.bench.store, bench.bench.blobs, age_ms=-1000)
    await bench.assert_imported_once(archive_id)


async def test_an_archive_is_kept_and_tried_again_however_often_we_have_failed(
    bench: ImportBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive_id = await bench.receive()
    for _ in range(60):
        held = await bench.store.claim("another-host:1", 1)
        assert held is not None and await bench.store.release(held)
    bench.reader.faults = [OSError("the disk is gone")]

    async def waits_with_a_reason() -> bool:
        item = await bench.archives.get(archive_id)
        return item.state == "queued" and item.error is not None and item.error.startswith("INGESTION_FAILED: ")

    async with bench.working():
        await until(waits_with_a_reason)
        assert f"archives/{archive_id}" in await bench.bench.keys()
        monkeypatch.setattr(dialect, "now_ms", lambda: now_ms() + 3_600_000)
        await until(lambda: bench.has_ended(archive_id))
    assert (await bench.assert_imported_once(archive_id)).error is None


async def test_an_archive_that_kills_its_process_every_time_lets_it_live_for_a_while(bench: ImportBench) -> None:
    archive_id = await bench.receive()
    for _ in range(49):
        held = await bench.store.claim(GONE_PROCESS, 1)
        assert held is not None and await bench.store.release(held)
    assert await bench.store.claim(GONE_PROCESS, 3_600_000) is not None
    async with bench.working():
        later = await bench.receive()
        await until(lambda: bench.has_ended(later))
    item = await bench.archives.get(archive_id)
    assert (item.state, item.attempt) == ("queued", 50)
    assert f"archives/{archive_id}" in await bench.bench.keys()


async def test_a_worker_that_lost_its_import_writes_nothing_more(bench: ImportBench) -> None:
    archive_id = await bench.receive()
    bench.reader.gate.clear()
    async with bench.working():
        await bench.reader.arrived.wait()
        lost = await bench.archives.get(archive_id)
        assert await bench.store.release(lost)
        await bench.bench.locks.keep(f"{IMPORTER_LOCK}/another-host:1")
        other = await bench.store.claim("another-host:1", 3_600_000)
        assert other is not None
    item = await bench.archives.get(archive_id)
    assert (item.state, item.worker, item.examined) == ("extracting", "another-host:1", 0)
    assert await bench.bench.keys() == [f"archives/{archive_id}"]


async def test_a_purge_in_the_middle_ends_the_import_in_silence(bench: ImportBench) -> None:
    archive_id = await bench.receive()
    bench.reader.gate.clear()
    async with bench.working():
        await bench.reader.arrived.wait()
        await bench.library.purge()
        bench.reader.gate.set()
        later = await bench.receive()
        await until(lambda: bench.has_ended(later))
    with pytest.raises(KnowledgeError, match="ARCHIVE_NOT_FOUND"):
        await bench.archives.get(archive_id)
    await bench.assert_imported_once(later)


async def test_readers_of_events_follow_an_import(bench: ImportBench) -> None:
    reader = bench.bench.events.follow()
    seen: list[str] = []

    async def follow() -> None:
        async for batch in reader:
            for event in batch:
                if isinstance(event.data, ArchiveImport):
                    assert event.kind == "archive"
                    seen.append(event.data.state)
                    if event.data.ended:
                        return

    following = asyncio.create_task(follow())
    await until(lambda: bench.bench.events.reader_count == 1)
    async with bench.working():
        await bench.receive()
        await asyncio.wait_for(following, 20)
    assert seen[0] == "queued" and seen[-1] == "completed" and "extracting" in seen
