"""A commit whose answer got lost: what may have been written keeps its original; what certainly was not leaves none."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from ingest_kit import Bench, open_bench
from outage_kit import BrittleDatabase
from zip_files import zip_of

from mcp_knowledge.adapters.rows.archives import SqlArchiveStore
from mcp_knowledge.adapters.sqlite import connection
from mcp_knowledge.app import open_services
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services import folders
from mcp_knowledge.services.archives import Archives
from mcp_knowledge.services.cleanup import remove_orphan_blobs
from mcp_knowledge.services.intake import Intake
from mcp_knowledge.services.library import Filing, Library, StoredUpload
from mcp_knowledge.settings import Settings, load_settings


class Doors:
    """The ways in, over a database whose answers can get lost."""

    def __init__(self, bench: Bench, database: BrittleDatabase) -> None:
        self.bench, self.database = bench, database
        self.library = Library(
            bench.store,
            bench.blobs,
            bench.events,
            accepted_extensions=frozenset({"txt"}),
            media_type=lambda extension: "text/plain",
            wake=lambda: None,
        )
        self.archive_store = SqlArchiveStore(database)
        archives = Archives(self.archive_store, bench.blobs, bench.events, wake=lambda: None)
        self.intake = Intake(self.library, archives)

    def file(self, name: str, content: bytes = b"Some text.") -> StoredUpload:
        path = self.bench.blobs.upload_dir() / "received"
        path.write_bytes(content)
        return StoredUpload(path, name, len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture
async def doors(settings: Settings) -> AsyncIterator[Doors]:
    database = BrittleDatabase(settings.database_path)
    async with open_bench(settings, database) as bench:
        yield Doors(bench, database)


async def assert_every_row_has_its_original(bench: Bench, originals: int) -> None:
    keys = await bench.store.blob_keys()
    assert len(keys) == originals
    assert keys <= set(await bench.keys())


async def test_an_upload_without_an_answer_is_kept_and_sent_again_it_is_a_duplicate(doors: Doors) -> None:
    doors.database.lost_answers = 1
    with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
        await doors.intake.add(doors.file("note.txt"))
    await assert_every_row_has_its_original(doors.bench, 1)
    again = await doors.intake.add(doors.file("note.txt"))
    assert again.duplicate
    assert len(await doors.bench.keys()) == 1
    await doors.bench.worker.drain()
    assert [await doors.bench.texts(item) for item in await all_ids(doors.bench)] == [["Some text."]]


async def all_ids(bench: Bench) -> list[str]:
    return [job.document_id for job in await bench.queue.list(100)]


async def test_a_revision_without_an_answer_is_kept(doors: Doors) -> None:
    document_id = await doors.bench.upload("note", "The old text.")
    await doors.bench.worker.drain()
    doors.database.lost_answers = 1
    with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
        await doors.library.add_revision(document_id, doors.file("note.txt", b"The new text."))
    await doors.bench.worker.drain()
    assert await doors.bench.texts(document_id) == ["The new text."]


async def test_an_archive_without_an_answer_is_kept(doors: Doors) -> None:
    doors.database.lost_answers = 1
    with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
        await doors.intake.add(doors.file("letters.zip", zip_of(("a.txt", "A letter."))))
    (queued,) = await doors.archive_store.unfinished()
    assert await doors.bench.keys() == [queued.blob_key]


async def test_what_could_not_be_written_while_the_database_was_away_is_removed_after_a_time(doors: Doors) -> None:
    doors.database.down = True
    for name in ("note.txt", "letters.zip"):
        with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
            await doors.intake.add(doors.file(name))
    doors.database.down = False
    assert len(await doors.bench.keys()) == 2
    assert await remove_orphan_blobs(doors.bench.store, doors.bench.blobs, age_ms=-1000) == 2
    assert not list(doors.bench.blobs.upload_dir().iterdir())


@pytest.mark.parametrize("name", ["note.txt", "letters.zip"])
async def test_what_is_refused_leaves_no_original(doors: Doors, name: str) -> None:
    with pytest.raises(KnowledgeError, match="COLLECTION_NOT_FOUND"):
        await doors.intake.add(doors.file(name), Filing(collection_id="col_none"))
    with pytest.raises(KnowledgeError, match="DOCUMENT_NOT_FOUND"):
        await doors.library.add_revision("doc_none", doors.file("note.txt"))
    assert await doors.bench.keys() == []


async def test_an_answer_does_not_fail_because_an_original_cannot_be_removed_now(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(key: str) -> None:
        raise KnowledgeError("SERVICE_UNAVAILABLE")

    first = await doors.intake.add(doors.file("note.txt"))
    monkeypatch.setattr(doors.bench.blobs, "delete", unavailable)
    assert (await doors.intake.add(doors.file("copy.txt"))).duplicate and not first.duplicate
    await doors.library.purge()
    monkeypatch.undo()
    assert await remove_orphan_blobs(doors.bench.store, doors.bench.blobs, age_ms=-1000) == 2


async def test_a_scan_of_the_folder_begins_again_after_an_outage_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[BrittleDatabase] = []

    def brittle(path: Path, driver: object) -> BrittleDatabase:
        """What the real composition works with."""
        opened.append(BrittleDatabase(path))
        return opened[0]

    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.txt").write_text(f"Text number {number}.")
    monkeypatch.setattr(connection, "Database", brittle)
    monkeypatch.setattr(folders, "_AGAIN_S", 0.01)
    settings = load_settings(data_dir=tmp_path / "data", ingest_data_dir=folder)
    async with open_services(settings) as services:
        (database,) = opened
        add, losses = services.folders._folder.add_document, [3, 1]

        async def add_without_answer(*arguments: object) -> object:
            if losses:
                losses[-1] -= 1
                if not losses[-1]:
                    losses.pop()
                    database.lost_answers = 1
            return await add(*arguments)  # type: ignore[arg-type] # handed on as they are

        monkeypatch.setattr(services.folders._folder, "add_document", add_without_answer)
        await services.folders.run()
        assert not losses and (await services.folders.status()).state == "completed"
        documents = (await services.status.document_counts())["pending"]
        assert documents == 5
