import asyncio
import hashlib
import json
import resource
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from front_door import add, running_client, wait_finished
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rest_kit import API, app_of, assert_error, field, file_part, multipart, upload

from mcp_knowledge.domain.disposition import read_disposition
from mcp_knowledge.settings import Settings, load_settings

DOCUMENTS = f"{API}/documents"


def left_over_uploads(settings: Settings) -> list[Path]:
    return list(settings.data_dir.rglob("*.upload"))


async def test_an_upload_becomes_a_pending_document(client: httpx2.AsyncClient) -> None:
    content = "Grüße aus dem Archiv".encode()
    receipt = await upload(client, "greeting.txt", content, metadata='{"year": 2026}')
    assert set(receipt) == {"id", "status", "revision", "duplicate"}
    assert receipt["status"] == "pending"
    assert receipt["revision"] == 1
    assert receipt["duplicate"] is False
    document = (await client.get(f"{DOCUMENTS}/{receipt['id']}")).json()
    assert document["sha256"] == hashlib.sha256(content).hexdigest()
    assert document["sizeBytes"] == len(content)
    assert document["originalFilename"] == "greeting.txt"
    assert document["extension"] == "txt"
    assert document["mimeType"] == "text/plain"
    assert document["metadata"]["year"] == 2026


async def test_the_same_bytes_again_answer_with_the_first_document(client: httpx2.AsyncClient) -> None:
    first = await upload(client, "one.txt", b"the same bytes")
    answer = await client.post(DOCUMENTS, files={"file": ("two.txt", b"the same bytes")})
    assert answer.status_code == 200
    assert answer.json()["id"] == first["id"]
    assert answer.json()["duplicate"] is True
    assert len((await client.get(DOCUMENTS)).json()["items"]) == 1


async def test_after_a_failed_revision_the_bytes_that_still_show_are_the_documents(client: httpx2.AsyncClient) -> None:
    document = await add(client, "one.txt", b"bytes that stay")
    bad = {"file": ("one.pdf", b"this is no PDF\x00\x01\x02")}
    assert (await client.post(f"{DOCUMENTS}/{document['id']}/revisions", files=bad)).status_code == 202
    assert (await wait_finished(client, document["id"]))["latestError"] is not None

    again = await client.post(DOCUMENTS, files={"file": ("two.txt", b"bytes that stay")})
    assert (again.status_code, again.json()["id"]) == (200, document["id"])
    other = await client.post(DOCUMENTS, files=bad)
    assert (other.status_code, other.json()["duplicate"]) == (202, False)


async def test_a_deleted_document_is_no_duplicate(client: httpx2.AsyncClient) -> None:
    first = await upload(client, "one.txt", b"to be deleted")
    await client.delete(f"{DOCUMENTS}/{first['id']}")
    again = await upload(client, "one.txt", b"to be deleted")
    assert again["id"] != first["id"]


async def test_fields_may_come_in_any_order_and_unknown_ones_are_passed_over(client: httpx2.AsyncClient) -> None:
    collection = (await client.post(f"{API}/collections", json={"name": "Papers"})).json()
    body, headers = multipart(
        field("extra", b"x" * 200_000),
        field("metadata", b'{"a": 1}'),
        file_part("a.md", b"# Heading"),
        field("collectionId", collection["id"].encode()),
    )
    answer = await client.post(DOCUMENTS, content=body, headers=headers)
    assert answer.status_code == 202, answer.text
    document = (await client.get(f"{DOCUMENTS}/{answer.json()['id']}")).json()
    assert document["collectionId"] == collection["id"]
    assert document["metadata"]["a"] == 1


async def test_an_empty_collection_field_means_none(client: httpx2.AsyncClient) -> None:
    receipt = await upload(client, "a.txt", b"form without a choice", collectionId="")
    assert (await client.get(f"{DOCUMENTS}/{receipt['id']}")).json()["collectionId"] is None


@pytest.mark.parametrize(
    ("disposition", "stored"),
    [
        (b'form-data; name="file"; filename="plain.txt"', "plain.txt"),
        (b"form-data; name=file; filename=token.txt", "token.txt"),
        ('form-data; name="file"; filename="文書 №1.txt"'.encode(), "文書 №1.txt"),
        (b'form-data; name="file"; filename="caf\xe9.txt"', "café.txt"),
        (b'form-data; name="file"; filename="x.txt"; filename*=UTF-8\'\'na%C3%AFve%20a.txt', "naïve a.txt"),
        (b"form-data; name=\"file\"; filename*=iso-8859-1'en'caf%E9.txt", "café.txt"),
        (b'form-data; name="file"; filename="C:\\Users\\me\\file.txt"', "file.txt"),
        (b'form-data; name="file"; filename="say \\"hi\\".txt"', 'say "hi".txt'),
        (b'form-data; name="file"; filename="../../etc/cron.txt"', "cron.txt"),
        (b'form-data; name="file"; filename="semi;colon.txt"', "semi;colon.txt"),
    ],
)
async def test_file_names_of_all_spellings_arrive(client: httpx2.AsyncClient, disposition: bytes, stored: str) -> None:
    body = b"--b\r\nContent-Disposition: " + disposition + b"\r\n\r\n" + stored.encode() + b"\r\n--b--\r\n"
    answer = await client.post(DOCUMENTS, content=body, headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert answer.status_code == 202, answer.text
    document = (await client.get(f"{DOCUMENTS}/{answer.json()['id']}")).json()
    assert document["originalFilename"] == stored


@pytest.mark.parametrize(
    ("parts", "status", "code"),
    [
        ([field("metadata", b"{}")], 400, "INVALID_UPLOAD"),
        ([field("file", b"text without a name")], 400, "INVALID_UPLOAD"),
        ([file_part("", b"no name")], 400, "INVALID_UPLOAD"),
        ([file_part("a.txt", b"")], 400, "INVALID_UPLOAD"),
        ([file_part("a.txt", b"1"), file_part("b.txt", b"2")], 400, "INVALID_UPLOAD"),
        ([file_part("a.txt", b"1"), field("collectionId", b"\xff\xfe")], 400, "INVALID_UPLOAD"),
        ([file_part("a.txt", b"1"), field("collectionId", b"x" * 70_000)], 400, "INVALID_UPLOAD"),
        ([file_part("a.txt", b"1"), field("collectionId", b"col_none")], 404, "COLLECTION_NOT_FOUND"),
        ([file_part("a.exe", b"MZ")], 415, "DOCUMENT_UNSUPPORTED_FORMAT"),
        ([file_part("a.rar", b"Rar!")], 415, "DOCUMENT_UNSUPPORTED_FORMAT"),
        ([file_part("noextension", b"x")], 415, "DOCUMENT_UNSUPPORTED_FORMAT"),
        ([file_part("a.txt", b"1"), field("metadata", b"[1]")], 400, "INVALID_METADATA"),
        ([file_part("a.txt", b"1"), field("metadata", b"{nope")], 400, "INVALID_METADATA"),
        ([file_part("a.txt", b"1"), field("metadata", b'{"a": NaN}')], 400, "INVALID_METADATA"),
        ([file_part("a.txt", b"1"), field("metadata", b'{"a": 1e999}')], 400, "INVALID_METADATA"),
        ([file_part("a.txt", b"1"), field("metadata", b'{"a": "\\ud800"}')], 400, "INVALID_METADATA"),
        ([file_part("a.txt", b"1"), field("metadata", b'{"a": "\\u0000"}')], 400, "INVALID_METADATA"),
        ([file_part("a.txt", b"1"), field("metadata", b'{"a": 99999999999999999999}')], 400, "INVALID_METADATA"),
        ([file_part("a.txt", b"1"), field("metadata", b'{"a": "' + b"x" * 70_000 + b'"}')], 400, "INVALID_METADATA"),
        ([file_part("a.txt", b"1"), field("metadata", b'{"a":' * 65 + b"1" + b"}" * 65)], 400, "INVALID_METADATA"),
        ([file_part("a.txt", b"1"), field("metadata", b'{"a":' * 5000)], 400, "INVALID_METADATA"),
        ([file_part("a.txt", b"1"), field("metadata", b"{}"), field("metadata", b"{}")], 400, "INVALID_UPLOAD"),
    ],
)
async def test_what_is_wrong_with_a_form_gets_its_code_and_leaves_nothing(
    client: httpx2.AsyncClient, settings: Settings, parts: list[tuple[str, bytes]], status: int, code: str
) -> None:
    body, headers = multipart(*parts)
    assert_error(await client.post(DOCUMENTS, content=body, headers=headers), status, code)
    assert (await client.get(DOCUMENTS)).json()["items"] == []
    assert left_over_uploads(settings) == []


async def test_metadata_may_be_64_levels_deep(client: httpx2.AsyncClient) -> None:
    metadata = '{"a":' * 64 + "1" + "}" * 64
    receipt = await upload(client, "deep.txt", b"deep", metadata=metadata)
    document = (await client.get(f"{DOCUMENTS}/{receipt['id']}")).json()
    assert document["metadata"] == json.loads(metadata)


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "application/json",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/mixed; boundary=b",
        "multipart/form-data; boundary=" + "b" * 300,
    ],
)
async def test_a_body_of_another_type_is_no_upload(client: httpx2.AsyncClient, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    answer = await client.post(DOCUMENTS, content=b"--b\r\n\r\n--b--\r\n", headers=headers)
    assert_error(answer, 400, "INVALID_UPLOAD")


@pytest.fixture
async def small_client(tmp_path: Path) -> AsyncIterator[tuple[httpx2.AsyncClient, Settings]]:
    settings = load_settings(data_dir=tmp_path / "small", max_upload_bytes=1000)
    async with running_client(settings) as client:
        yield client, settings


async def test_a_file_of_exactly_the_limit_is_taken_and_one_byte_more_is_not(
    small_client: tuple[httpx2.AsyncClient, Settings],
) -> None:
    client, settings = small_client
    await upload(client, "fits.txt", b"x" * 1000)
    answer = await client.post(DOCUMENTS, files={"file": ("big.txt", b"x" * 1001)})
    assert_error(answer, 413, "PAYLOAD_TOO_LARGE")
    assert left_over_uploads(settings) == []


async def test_too_large_an_announcement_is_refused_before_the_body_is_read(
    small_client: tuple[httpx2.AsyncClient, Settings],
) -> None:
    client, _ = small_client
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(50):
            read += 1
            yield b"x" * 100_000

    _, headers = multipart()
    answer = await client.post(DOCUMENTS, content=body(), headers={**headers, "Content-Length": "5000000"})
    assert_error(answer, 413, "PAYLOAD_TOO_LARGE")
    assert read <= 1


async def test_an_endless_body_is_stopped_while_streaming(
    small_client: tuple[httpx2.AsyncClient, Settings],
) -> None:
    client, settings = small_client
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(1_000_000):
            read += 1
            yield b"x" * 100

    answer = await client.post(DOCUMENTS, content=body(), headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert_error(answer, 413, "PAYLOAD_TOO_LARGE")
    assert read < 100
    assert left_over_uploads(settings) == []


async def test_endless_other_fields_are_stopped_too(small_client: tuple[httpx2.AsyncClient, Settings]) -> None:
    client, _ = small_client

    async def body() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="other"\r\n\r\n'
        for _ in range(10_000):
            yield b"x" * 10_000

    answer = await client.post(DOCUMENTS, content=body(), headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert_error(answer, 413, "PAYLOAD_TOO_LARGE")


async def test_a_large_file_arrives_whole_whatever_the_size_of_its_pieces(client: httpx2.AsyncClient) -> None:
    content = bytes(range(256)) * 16_384
    body, headers = multipart(file_part("large.txt", content))

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 70_001):
            yield body[start : start + 70_001]

    answer = await client.post(DOCUMENTS, content=pieces(), headers=headers)
    assert answer.status_code == 202, answer.text
    document = (await client.get(f"{DOCUMENTS}/{answer.json()['id']}")).json()
    assert document["sha256"] == hashlib.sha256(content).hexdigest()
    assert (await client.get(f"{DOCUMENTS}/{document['id']}/file")).content == content


async def test_a_client_that_goes_away_leaves_nothing(settings: Settings) -> None:
    body, headers = multipart(file_part("a.txt", b"x" * 1000))
    sent: list[dict[str, Any]] = []

    async with running_client(settings) as client:
        app: Any = app_of(client)
        messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": body[:500], "more_body": True},
            {"type": "http.disconnect"},
        ]

        async def receive() -> dict[str, Any]:
            return messages.pop(0)

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "path": DOCUMENTS,
            "raw_path": DOCUMENTS.encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "headers": [(b"host", b"localhost"), (b"content-type", headers["Content-Type"].encode())],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        await app(scope, receive, send)
        assert left_over_uploads(settings) == []
        assert (await client.get(DOCUMENTS)).json()["items"] == []
    assert sent == []


async def test_a_new_revision_keeps_the_document_and_counts_up(client: httpx2.AsyncClient) -> None:
    receipt = await upload(client, "a.txt", b"first version")
    answer = await client.post(f"{DOCUMENTS}/{receipt['id']}/revisions", files={"file": ("b.md", b"second version")})
    assert answer.status_code == 202, answer.text
    assert answer.json()["id"] == receipt["id"]
    assert answer.json()["revision"] == 2
    revisions = (await client.get(f"{DOCUMENTS}/{receipt['id']}/revisions")).json()
    assert [item["revision"] for item in revisions["items"]] == [2, 1]
    assert [item["originalFilename"] for item in revisions["items"]] == ["b.md", "a.txt"]
    missing = await client.post(f"{DOCUMENTS}/doc_none/revisions", files={"file": ("b.md", b"x")})
    assert_error(missing, 404, "DOCUMENT_NOT_FOUND")
    wrong = await client.post(f"{DOCUMENTS}/{receipt['id']}/revisions", files={"file": ("b.exe", b"x")})
    assert_error(wrong, 415, "DOCUMENT_UNSUPPORTED_FORMAT")


@given(
    body=st.binary(max_size=400), prefix=st.sampled_from([b"", b"--b\r\n", b"--b\r\nContent-Disposition: form-data; "])
)
@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_body_whatsoever_brings_the_server_down(
    client: httpx2.AsyncClient, body: bytes, prefix: bytes
) -> None:
    answer = await client.post(
        DOCUMENTS, content=prefix + body, headers={"Content-Type": "multipart/form-data; boundary=b"}
    )
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]["code"] in ("INVALID_UPLOAD", "DOCUMENT_UNSUPPORTED_FORMAT")


@given(content=st.binary(min_size=1, max_size=300), cuts=st.lists(st.integers(1, 80), max_size=20))
@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_content_in_any_pieces_arrives_unchanged(
    client: httpx2.AsyncClient, content: bytes, cuts: list[int]
) -> None:
    body, headers = multipart(file_part("a.txt", content), boundary="a-boundary-that-content-cannot-hold")

    async def pieces() -> AsyncIterator[bytes]:
        start = 0
        for size in cuts:
            yield body[start : start + size]
            start += size
        yield body[start:]

    answer = await client.post(DOCUMENTS, content=pieces(), headers=headers)
    assert answer.status_code in (200, 202), answer.text
    document = (await client.get(f"{DOCUMENTS}/{answer.json()['id']}")).json()
    assert document["sha256"] == hashlib.sha256(content).hexdigest()


@given(st.binary(max_size=200))
def test_any_disposition_is_read_without_failing(header: bytes) -> None:
    name, filename = read_disposition(header)
    assert name is None or isinstance(name, str)
    assert filename is None or isinstance(filename, str)


def originals(settings: Settings) -> list[Path]:
    return [path for path in settings.blobs_path.rglob("rev_*") if path.is_file()]


async def test_a_full_disk_is_told_as_such_and_leaves_nothing_behind(
    client: httpx2.AsyncClient, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    await add(client, "first.txt", b"a text from better days")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * 1024, hard))  # no file may grow beyond, as if the disk were full
    try:
        answer = await client.post(DOCUMENTS, files={"file": ("large.txt", b"large text " * 200_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_error(answer, 503, "SERVICE_UNAVAILABLE")
    assert "OSError" in caplog.text  # the cause
    assert list((settings.blobs_path / "uploads").iterdir()) == []
    assert len((await client.get(DOCUMENTS)).json()["items"]) == 1
    assert (await add(client, "large.txt", b"large text " * 2000))["status"] == "ready"


async def test_a_duplicate_keeps_no_second_original(client: httpx2.AsyncClient, settings: Settings) -> None:
    await upload(client, "one.txt", b"the same bytes")
    for name in ("two.txt", "three.md"):
        assert (await client.post(DOCUMENTS, files={"file": (name, b"the same bytes")})).json()["duplicate"] is True
    assert len(originals(settings)) == 1
    await client.post(f"{DOCUMENTS}/purge", json={"confirm": "purge"})
    assert originals(settings) == []


async def test_the_same_bytes_at_the_same_time_become_one_document(
    client: httpx2.AsyncClient, settings: Settings
) -> None:
    answers = await asyncio.gather(
        *(client.post(DOCUMENTS, files={"file": (f"{n}.txt", b"the same bytes")}) for n in range(8))
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [202]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(originals(settings)) == 1


@pytest.mark.parametrize(("free_bytes", "announced"), [(100_000, True), (5_000_000, False)])
async def test_uploads_leave_room_on_the_disk(
    client: httpx2.AsyncClient,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    free_bytes: int,
    announced: bool,
) -> None:
    def usage(folder: Path) -> shutil._ntuple_diskusage:
        written = sum(path.stat().st_size for path in left_over_uploads(settings))
        return shutil._ntuple_diskusage(200_000_000, 0, free_bytes - written)  # of which 4 MB stay free

    async def pieces() -> AsyncIterator[bytes]:
        yield multipart(file_part("large.txt", b"a" * 3_000_000))[0]

    body, headers = multipart(file_part("large.txt", b"a" * 3_000_000))
    monkeypatch.setattr("mcp_knowledge.interfaces.rest.uploads.shutil.disk_usage", usage)
    answer = await client.post(DOCUMENTS, content=body if announced else pieces(), headers=headers)
    assert_error(answer, 503, "SERVICE_UNAVAILABLE", "disk is full")
    assert left_over_uploads(settings) == []
