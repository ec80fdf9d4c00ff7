import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from s3_server import S3Server

from mcp_knowledge.adapters.blobs import LocalBlobStore
from mcp_knowledge.adapters.s3 import S3BlobStore
from mcp_knowledge.adapters.upload_folder import UploadFolder
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import BlobStore


@pytest.fixture(params=["local", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    """Every test that asks for it runs once with each kind of store."""
    if request.param == "local":
        return LocalBlobStore(tmp_path / "documents")
    server: S3Server = request.getfixturevalue("s3_server")
    return S3BlobStore(server.new_bucket(), tmp_path / "uploads", "this database")


async def put(blobs: BlobStore, key: str, content: bytes) -> Path:
    path = blobs.upload_dir() / "upload"
    path.write_bytes(content)
    await blobs.put_file(key, path)
    return path


async def listed(blobs: BlobStore) -> dict[str, int]:
    found = blobs.keys()
    return {key: written_ms async for key, written_ms in found}


async def content_of(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


async def test_a_blob_is_read_whole_and_in_ranges(blobs: BlobStore) -> None:
    content = os.urandom(700_000)
    temporary = await put(blobs, "originals/ab/rev_1", content)

    assert not temporary.exists()
    assert await content_of(blobs.read("originals/ab/rev_1")) == content
    assert await content_of(blobs.read("originals/ab/rev_1", 5, 10)) == content[5:15]
    assert await content_of(blobs.read("originals/ab/rev_1", 300_000, 300_000)) == content[300_000:600_000]
    assert await content_of(blobs.read("originals/ab/rev_1", 699_999)) == content[-1:]
    assert await content_of(blobs.read("originals/ab/rev_1", 0, 0)) == b""
    assert await content_of(blobs.read("originals/ab/rev_1", 699_990, 1000)) == content[-10:]
    assert await content_of(blobs.read("originals/ab/rev_1", 700_000, 10)) == b""
    assert await content_of(blobs.read("originals/ab/rev_1", 700_001)) == b""
    async with blobs.local_copy("originals/ab/rev_1") as path:
        assert path.read_bytes() == content


@pytest.mark.parametrize(("start", "length"), [(0, None), (5, 10), (0, 0), (99, 1)])
async def test_a_blob_that_is_not_as_long_as_it_must_be_is_unavailable(
    blobs: BlobStore, start: int, length: int | None
) -> None:
    content = os.urandom(100)
    await put(blobs, "originals/ab/rev_1", content)

    end = None if length is None else start + length
    read = await content_of(blobs.read("originals/ab/rev_1", start, length, of_bytes=100))
    assert read == content[start:end]
    for size in (99, 101):
        with pytest.raises(KnowledgeError, match="DOCUMENT_CONTENT_UNAVAILABLE"):
            await content_of(blobs.read("originals/ab/rev_1", start, length, of_bytes=size))


async def test_a_missing_blob_is_unavailable_and_can_be_deleted(blobs: BlobStore) -> None:
    with pytest.raises(KnowledgeError, match="DOCUMENT_CONTENT_UNAVAILABLE"):
        await content_of(blobs.read("originals/ab/rev_1"))
    with pytest.raises(KnowledgeError, match="DOCUMENT_CONTENT_UNAVAILABLE"):
        await content_of(blobs.read("originals/ab/rev_1", 5, 10))
    with pytest.raises(KnowledgeError, match="DOCUMENT_CONTENT_UNAVAILABLE"):
        async with blobs.local_copy("originals/ab/rev_1"):
            pass
    await blobs.delete("originals/ab/rev_1")


async def test_an_empty_blob_is_a_blob(blobs: BlobStore) -> None:
    await put(blobs, "originals/ab/rev_1", b"")

    assert await content_of(blobs.read("originals/ab/rev_1")) == b""
    async with blobs.local_copy("originals/ab/rev_1") as path:
        assert path.read_bytes() == b""


async def test_a_blob_that_is_put_again_has_its_newer_bytes(blobs: BlobStore) -> None:
    await put(blobs, "originals/ab/rev_1", b"older and longer")
    await put(blobs, "originals/ab/rev_1", b"newer")

    assert await content_of(blobs.read("originals/ab/rev_1")) == b"newer"


async def test_a_reader_that_stops_early_leaves_the_store_as_it_was(blobs: BlobStore) -> None:
    content = os.urandom(3_000_000)
    await put(blobs, "originals/ab/rev_1", content)
    pieces = blobs.read("originals/ab/rev_1")

    first = await anext(pieces)
    del pieces

    assert content.startswith(first) and len(first) < len(content)
    assert await content_of(blobs.read("originals/ab/rev_1")) == content
    assert await blobs.healthy()


async def test_a_copy_is_no_longer_needed_by_the_store_when_it_is_left(blobs: BlobStore) -> None:
    await put(blobs, "originals/ab/rev_1", b"x")
    with pytest.raises(RuntimeError, match="of the reader"):
        async with blobs.local_copy("originals/ab/rev_1"):
            raise RuntimeError("of the reader")

    assert list(blobs.upload_dir().iterdir()) == []
    assert await content_of(blobs.read("originals/ab/rev_1")) == b"x"


async def test_a_deleted_blob_is_gone(blobs: BlobStore) -> None:
    await put(blobs, "originals/ab/rev_1", b"x")

    await blobs.delete("originals/ab/rev_1")

    assert await listed(blobs) == {}


async def test_keys_tell_when_each_was_written_and_leave_uploads_out(blobs: BlobStore) -> None:
    assert await listed(blobs) == {}
    before = now_ms()
    keys = {"originals/ab/rev_1", "originals/ab/rev_2", "originals/cd/rev_3", "archives/arc_1"}
    for key in keys:
        await put(blobs, key, b"x")
    (blobs.upload_dir() / "unfinished").write_bytes(b"x")

    found = await listed(blobs)

    assert set(found) == keys
    assert all(before - 1000 <= written <= now_ms() for written in found.values())


async def test_more_keys_than_are_listed_at_once_are_all_listed(tmp_path: Path) -> None:
    names = {f"originals/ab/rev_{number}" for number in range(2_500)}
    (tmp_path / "originals/ab").mkdir(parents=True)
    for name in names:
        (tmp_path / name).touch()

    assert (await listed(LocalBlobStore(tmp_path))).keys() == names


@pytest.mark.parametrize(
    "key",
    ["../x", "originals/../../x", "/etc/passwd", "originals//x", "uploads/x", "x", "", "a/.hidden", "a\\b/..", "a/b\n"],
)
async def test_no_key_leads_out_of_the_store(blobs: BlobStore, key: str) -> None:
    with pytest.raises(ValueError, match="blob key"):
        await blobs.delete(key)
    with pytest.raises(ValueError, match="blob key"):
        await content_of(blobs.read(key))


async def test_a_store_that_cannot_be_written_is_unhealthy(tmp_path: Path) -> None:
    good = LocalBlobStore(tmp_path / "documents")
    (tmp_path / "file").write_bytes(b"")
    bad = LocalBlobStore(tmp_path / "file")

    assert await good.healthy()
    assert not await bad.healthy()
    temporary = tmp_path / "upload"
    temporary.write_bytes(b"x")
    with pytest.raises(KnowledgeError, match="SERVICE_UNAVAILABLE"):
        await bad.put_file("originals/ab/rev_1", temporary)
    assert temporary.exists()


def test_uploads_that_killed_processes_left_are_removed_and_fresh_ones_kept(tmp_path: Path) -> None:
    for name in ("old", "fresh"):
        (tmp_path / name).write_bytes(b"x")
    two_days_ago_s = now_ms() / 1000 - 2 * 24 * 3600
    os.utime(tmp_path / "old", (two_days_ago_s, two_days_ago_s))

    folder = UploadFolder(tmp_path).path()

    assert [path.name for path in folder.iterdir()] == ["fresh"]
