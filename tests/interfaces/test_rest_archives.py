import stat
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from front_door import running_client, wait_finished
from rest_kit import API, assert_error, import_archive, send_archive
from zip_files import Entry, bomb_of_overlaps, directory_only, nested, raw_zip, zip_of

from mcp_knowledge.settings import load_settings

pytestmark = pytest.mark.both_databases

SEGMENTS = "/".join(["deep"] * 33) + "/a.txt"


def blobs(client_settings_dir: Path, folder: str) -> list[Path]:
    return [path for path in (client_settings_dir / "documents" / folder).rglob("*") if path.is_file()]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
async def small(data_dir: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """A service with small limits."""
    settings = load_settings(
        data_dir=data_dir, max_upload_bytes=50_000, max_archive_entries=20, max_archive_uncompressed_bytes=300_000
    )
    async with running_client(settings) as connected:
        yield connected


async def test_every_allowed_file_becomes_a_document_that_can_be_searched(client: httpx2.AsyncClient) -> None:
    data = zip_of(("notes/harbour.md", "# Harbour\n\nThe ferry leaves at noon."), ("plan.txt", "Build a lighthouse."))
    item = await import_archive(client, data)
    assert item["state"] == "completed" and item["error"] is None
    assert item["counts"] == dict(
        zip(
            ("examined", "extracted", "duplicate", "unsupported", "oversized", "failed"),
            (2, 2, 0, 0, 0, 0),
            strict=True,
        )
    )
    assert [entry["path"] for entry in item["entries"]] == ["notes/harbour.md", "plan.txt"]
    assert item["documentIds"] == [entry["documentId"] for entry in item["entries"]]
    assert (item["originalFilename"], item["fileCount"], item["sizeBytes"]) == ("letters.zip", 2, len(data))
    assert item["createdAt"] <= item["startedAt"] <= item["completedAt"]
    document = await wait_finished(client, item["documentIds"][0])
    assert (document["status"], document["sourcePath"]) == ("ready", "notes/harbour.md")
    assert (document["originalFilename"], document["title"]) == ("harbour.md", "Harbour")
    answer = await client.post(f"{API}/search", json={"query": "ferry at noon"})
    assert answer.json()["hits"][0]["documentId"] == document["id"]


async def test_metadata_and_collection_of_the_upload_are_those_of_every_document(client: httpx2.AsyncClient) -> None:
    collection = (await client.post(f"{API}/collections", json={"name": "Letters"})).json()["id"]
    data = zip_of(("a.txt", "first"), ("b.txt", "second"))
    item = await import_archive(client, data, collectionId=collection, metadata='{"year": 2025}')
    assert item["collectionId"] == collection
    for document_id in item["documentIds"]:
        document = (await client.get(f"{API}/documents/{document_id}")).json()
        assert document["collectionId"] == collection and document["metadata"]["year"] == 2025
    refused = await client.post(f"{API}/documents", files={"file": ("x.zip", data)}, data={"collectionId": "col_none"})
    assert_error(refused, 404, "COLLECTION_NOT_FOUND")


async def test_the_zip_itself_is_kept_until_the_import_has_ended_and_no_longer(
    client: httpx2.AsyncClient, data_dir: Path
) -> None:
    await import_archive(client, zip_of(("a.txt", "first")))
    await import_archive(client, b"not an archive")
    assert blobs(data_dir, "archives") == []
    assert blobs(data_dir, "uploads") == []
    assert len(blobs(data_dir, "originals")) == 1


async def test_every_file_that_gives_no_document_is_named_with_its_reason(small: httpx2.AsyncClient) -> None:
    known = (await small.post(f"{API}/documents", files={"file": ("known.txt", b"known already")})).json()["id"]
    entries = [
        Entry(b"good.txt", b"good"),
        Entry(b"folder/copy.txt", b"known already"),
        Entry(b"setup.exe", b"MZ"),
        Entry(b"README", b"no extension"),
        Entry(b"inner.zip", zip_of(("a.txt", "a"))),
        Entry(b"large.txt", bytes(range(256)) * 250),
        Entry(b"empty.txt", b""),
        Entry(b"torn.txt", crc=1),
        Entry(b"/etc/passwd.txt", b"absolute"),
        Entry(b"a/../../up.txt", b"up"),
        Entry(b"C:\\Windows\\win.txt", b"drive"),
        Entry(SEGMENTS.encode(), b"deep"),
        Entry(b"nul\0.txt", b"nul"),
        Entry(b"link.txt", b"/etc/passwd", mode=stat.S_IFLNK | 0o777),
        Entry(b"other.txt", b"packed otherwise", method=12),
        Entry(b"__MACOSX/._good.txt", b"noise"),
        Entry(b".DS_Store", b"noise"),
        Entry(b"sub/._x.txt", b"noise"),
        Entry(b"~$letter.docx", b"the name of a user"),
        Entry(b"sub/", b""),
    ]
    item = await import_archive(small, raw_zip(*entries))
    assert item["state"] == "completed_with_errors"
    found = {entry["path"]: (entry["outcome"], entry.get("error", "").partition(":")[0]) for entry in item["entries"]}
    unsafe = ("failed", "ARCHIVE_ENTRY_UNSAFE")
    assert found == {
        "good.txt": ("extracted", ""),
        "folder/copy.txt": ("duplicate", ""),
        "setup.exe": ("unsupported", "DOCUMENT_UNSUPPORTED_FORMAT"),
        "README": ("unsupported", "DOCUMENT_UNSUPPORTED_FORMAT"),
        "~$letter.docx": ("unsupported", "DOCUMENT_UNSUPPORTED_FORMAT"),
        "inner.zip": ("unsupported", "DOCUMENT_UNSUPPORTED_FORMAT"),
        "large.txt": ("oversized", "PAYLOAD_TOO_LARGE"),
        "empty.txt": ("failed", "DOCUMENT_EMPTY"),
        "torn.txt": ("failed", "DOCUMENT_MALFORMED"),
        "/etc/passwd.txt": unsafe,
        "a/../../up.txt": unsafe,
        "C:\\Windows\\win.txt": unsafe,
        SEGMENTS: unsafe,
        "nul\ufffd.txt": unsafe,
        "link.txt": unsafe,
        "other.txt": ("failed", "DOCUMENT_MALFORMED"),
    }
    by_path = {entry["path"]: entry for entry in item["entries"]}
    assert by_path["folder/copy.txt"]["documentId"] == known
    assert all(("documentId" in entry) == (entry["outcome"] in ("extracted", "duplicate")) for entry in item["entries"])
    assert item["counts"] == {
        "examined": 16, "extracted": 1, "duplicate": 1, "unsupported": 4, "oversized": 1, "failed": 9,
    }  # fmt: skip
    total = (await small.get(f"{API}/documents")).json()["items"]
    assert {document["originalFilename"] for document in total} == {"good.txt", "known.txt"}


async def test_files_of_other_kinds_alone_are_no_error(client: httpx2.AsyncClient) -> None:
    item = await import_archive(client, zip_of(("a.exe", "MZ"), ("b.txt", "text")))
    assert item["state"] == "completed"
    assert (await import_archive(client, zip_of()))["counts"]["examined"] == 0


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"no archive at all", "ARCHIVE_MALFORMED"),
        (zip_of(("a.txt", "some text"), ("b.txt", "more"))[:-30], "ARCHIVE_MALFORMED"),
        (raw_zip(Entry(b"a.txt", b"fine"), Entry(b"b.txt", flags=1)), "ARCHIVE_ENCRYPTED"),
        (zip_of(*((f"{i}.txt", f"{i}") for i in range(21))), "ARCHIVE_TOO_LARGE"),
        (raw_zip(Entry(b"a.txt", b"fine"), Entry(b"b.txt", b"0" * 2_000_000)), "ARCHIVE_TOO_LARGE"),
        (raw_zip(Entry(b"a.txt", b"fine"), Entry(b"b.txt", b"0" * 2_000_000, size=4)), "ARCHIVE_TOO_LARGE"),
        (bomb_of_overlaps(15, 20_000), "ARCHIVE_MALFORMED"),
    ],
    ids=["garbage", "torn", "encrypted", "entries", "inflated", "lying", "overlaps"],
)
async def test_an_archive_beyond_the_limits_is_refused_whole(small: httpx2.AsyncClient, data: bytes, code: str) -> None:
    item = await import_archive(small, data)
    assert item["state"] == "failed"
    assert item["error"].startswith(f"{code}: ")
    assert (item["documentIds"], item["entries"], item["counts"]["examined"]) == ([], [], 0)
    assert (await small.get(f"{API}/documents")).json()["items"] == []


async def test_a_hundred_thousand_entries_are_refused_whatever_the_archive_claims(client: httpx2.AsyncClient) -> None:
    for claimed in (65_535, 3):
        item = await import_archive(client, directory_only(100_000, claimed))
        assert item["error"].startswith("ARCHIVE_TOO_LARGE: ")


async def test_archives_within_archives_are_named_and_not_opened(client: httpx2.AsyncClient) -> None:
    item = await import_archive(client, nested(6, b"deep inside"))
    assert [entry["outcome"] for entry in item["entries"]] == ["unsupported"]
    assert "Archives in archives" in item["entries"][0]["error"]


async def test_a_document_in_the_disguise_of_an_archive_is_not_taken_apart(client: httpx2.AsyncClient) -> None:
    package = zip_of(("[Content_Types].xml", "<Types/>"), ("word/document.xml", "<w:document/>"))
    item = await import_archive(client, package)
    assert item["state"] == "failed" and item["error"].startswith("ARCHIVE_MALFORMED: This is a document")


async def test_names_in_either_encoding_and_with_either_separator_read_right(client: httpx2.AsyncClient) -> None:
    entries = [
        Entry("Müller/Übersicht.txt".encode("cp437"), b"one"),
        Entry("Müller/Prüfung.txt".encode(), b"two", flags=0x800),
        Entry("Åre\\naïve.txt".encode(), b"three"),
    ]
    item = await import_archive(client, raw_zip(*entries))
    assert [entry["path"] for entry in item["entries"]] == [
        "Müller/Übersicht.txt",
        "Müller/Prüfung.txt",
        "Åre/naïve.txt",
    ]


async def test_a_path_that_stands_twice_gives_two_documents(client: httpx2.AsyncClient) -> None:
    item = await import_archive(client, raw_zip(Entry(b"a.txt", b"first"), Entry(b"a.txt", b"second")))
    assert [entry["outcome"] for entry in item["entries"]] == ["extracted", "extracted"]
    assert len(set(item["documentIds"])) == 2


async def test_the_same_archive_again_gives_only_duplicates(client: httpx2.AsyncClient) -> None:
    data = zip_of(("a.txt", "first"), ("b.txt", "second"))
    first, again = await import_archive(client, data), await import_archive(client, data)
    assert again["counts"]["duplicate"] == 2 and again["documentIds"] == []
    assert [entry["documentId"] for entry in again["entries"]] == first["documentIds"]


async def test_imports_are_listed_newest_first_page_by_page(client: httpx2.AsyncClient) -> None:
    ids = [(await import_archive(client, zip_of(("a.txt", f"text {number}"))))["id"] for number in range(3)]
    page = (await client.get(f"{API}/archives", params={"limit": "2"})).json()
    assert [item["id"] for item in page["items"]] == ids[:0:-1]
    assert page["items"][0] == (await client.get(f"{API}/archives/{ids[2]}")).json()
    rest = (await client.get(f"{API}/archives", params={"limit": "2", "cursor": page["nextCursor"]})).json()
    assert [item["id"] for item in rest["items"]] == ids[:1] and rest["nextCursor"] is None
    assert_error(await client.get(f"{API}/archives", params={"cursor": "x"}), 400, "INVALID_CURSOR")
    assert_error(await client.get(f"{API}/archives/arc_none"), 404, "ARCHIVE_NOT_FOUND")


async def test_a_zip_is_no_revision_of_a_document(client: httpx2.AsyncClient) -> None:
    document = (await client.post(f"{API}/documents", files={"file": ("a.txt", b"text")})).json()["id"]
    answer = await client.post(f"{API}/documents/{document}/revisions", files={"file": ("a.zip", zip_of())})
    assert_error(answer, 415, "DOCUMENT_UNSUPPORTED_FORMAT")


async def test_a_purge_removes_every_import_and_its_bytes(client: httpx2.AsyncClient, data_dir: Path) -> None:
    await import_archive(client, zip_of(("a.txt", "first")))
    for number in range(3):  # some of these wait or are at work when the purge comes
        await send_archive(client, zip_of(*((f"{number}-{i}.txt", f"text {number} {i}") for i in range(50))))
    answer = await client.post(f"{API}/documents/purge", json={"confirm": "purge"})
    assert answer.status_code == 200
    assert (await client.get(f"{API}/archives")).json()["items"] == []
    assert (await client.get(f"{API}/documents")).json()["items"] == []
    assert blobs(data_dir, "archives") == []
    item = await import_archive(client, zip_of(("a.txt", "first")))  # and the importer goes on
    assert item["counts"]["extracted"] == 1
    assert len((await client.get(f"{API}/documents")).json()["items"]) == 1


async def test_a_collection_can_go_after_an_import_into_it_has_ended(client: httpx2.AsyncClient) -> None:
    collection = (await client.post(f"{API}/collections", json={"name": "Letters"})).json()["id"]
    item = await import_archive(client, b"garbage", collectionId=collection)
    assert (await client.delete(f"{API}/collections/{collection}")).is_success
    assert (await client.get(f"{API}/archives/{item['id']}")).json()["collectionId"] is None
