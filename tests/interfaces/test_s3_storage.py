"""The whole product with its originals in a bucket, over HTTP and on the command line."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cli_kit import run
from folder_kit import settled
from front_door import add, running_client, wait_finished, wait_until
from rest_kit import API, import_archive, upload
from s3_server import KEY, SECRET, S3Server
from tcp_proxy import Fault, TcpProxy
from web_host import answer, reaching_loopback, web_host
from zip_files import zip_of

from mcp_knowledge.adapters.backend import open_backend
from mcp_knowledge.adapters.originals import open_blobs
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.adapters.s3_connection import Bucket
from mcp_knowledge.adapters.s3_uploads import PART_BYTES
from mcp_knowledge.app import create_app
from mcp_knowledge.domain.blob_keys import original_key
from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.services.cleanup import remove_orphan_blobs
from mcp_knowledge.settings import Settings, SettingsError, load_settings

POLICY = b"# Travel policy\n\nTravel costs are approved with form INV-0042.\n"


@pytest.fixture
def proxy(s3_server: S3Server) -> Any:
    running = TcpProxy(s3_server.address)
    yield running
    running.close()


@pytest.fixture
def bucket(s3_server: S3Server, proxy: TcpProxy) -> Bucket:
    return s3_server.new_bucket(proxy.url)


@pytest.fixture
def variables(bucket: Bucket) -> dict[str, str]:
    """What a user sets."""
    return {
        "STORAGE_DRIVER": "s3",
        "S3_BUCKET": bucket.name,
        "S3_ENDPOINT": bucket.endpoint,
        "S3_REGION": bucket.region,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }


@pytest.fixture
def settings(tmp_path: Path, variables: dict[str, str]) -> Settings:
    (tmp_path / "office").mkdir()
    named = {name.lower(): value for name, value in variables.items()}
    return load_settings(data_dir=tmp_path / "data", ingest_data_dir=tmp_path / "office", **named)


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    async with running_client(settings) as connected:
        yield connected
    assert list((settings.data_dir / "uploads").iterdir()) == []
    assert not (settings.data_dir / "documents").exists()


async def original(client: httpx2.AsyncClient, document_id: str, **headers: str) -> httpx2.Response:
    return await client.get(f"{API}/documents/{document_id}/file", headers=headers)


async def test_a_document_lives_its_life_with_its_original_in_the_bucket(
    client: httpx2.AsyncClient, s3_server: S3Server, bucket: Bucket
) -> None:
    document = await add(client, "policy.md", POLICY)
    assert document["status"] == "ready"
    found = (await client.post(f"{API}/search", json={"query": "INV-0042"})).json()
    assert [hit["documentId"] for hit in found["hits"]] == [document["id"]]
    assert len(s3_server.keys(bucket)) == 1

    assert (await original(client, document["id"])).content == POLICY
    part = await original(client, document["id"], Range="bytes=2-14")
    assert (part.status_code, part.content) == (206, POLICY[2:15])
    assert (await original(client, document["id"], Range="bytes=-7")).content == POLICY[-7:]
    assert (await original(client, document["id"], Range=f"bytes={len(POLICY)}-")).status_code == 416

    again = await client.post(f"{API}/documents", files={"file": ("same.md", POLICY)})
    assert again.json()["duplicate"] is True
    newer = await client.post(f"{API}/documents/{document['id']}/revisions", files={"file": ("policy.md", POLICY * 2)})
    assert newer.status_code == 202
    await wait_finished(client, document["id"])
    assert (await original(client, document["id"])).content == POLICY * 2
    assert len(s3_server.keys(bucket)) == 2  # both revisions, and nothing of the duplicate

    assert (await client.delete(f"{API}/documents/{document['id']}")).status_code == 200
    await asyncio.to_thread(wait_until, lambda: s3_server.keys(bucket) == set(), what="both originals to go")


async def test_a_large_original_streams_from_the_bucket_though_the_line_breaks(
    client: httpx2.AsyncClient, proxy: TcpProxy, s3_server: S3Server, bucket: Bucket
) -> None:
    content = b"%PDF-1.4 not really" + os.urandom(2 * PART_BYTES)
    document = await add(client, "large.pdf", content)
    assert document["latestError"].startswith("DOCUMENT_MALFORMED")
    (key,) = s3_server.keys(bucket)
    assert s3_server.etag(bucket, key).endswith("-3")

    proxy.inject(Fault("cut", 5_000_000), Fault("cut", 5_000_000))
    whole = await original(client, document["id"])
    assert whole.headers["content-length"] == str(len(content)) and whole.content == content
    assert proxy.faults_left == 0
    proxy.inject(Fault("cut", 5_000_000))
    part = await original(client, document["id"], Range="bytes=1000-9000999")
    assert part.content == content[1000:9_001_000]
    assert proxy.faults_left == 0


async def test_archives_folders_and_the_web_lead_to_the_bucket(
    settings: Settings, s3_server: S3Server, bucket: Bucket
) -> None:
    assert settings.ingest_data_dir is not None
    (settings.ingest_data_dir / "scanned.txt").write_text("Scanned from the folder.")
    (settings.ingest_data_dir / "old.zip").write_bytes(zip_of(("zipped.txt", "Zipped in the folder.")))
    app = create_app(settings)
    async with app.router.lifespan_context(app), web_host() as host:
        app.state.services = reaching_loopback(app.state.services)
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            imported = await import_archive(client, zip_of(("a.txt", "First letter."), ("b.txt", "Second letter.")))
            assert imported["counts"]["extracted"] == 2
            host.answers["/page"] = answer(b"<h1>From the web</h1><p>Words of a page.</p>", "Content-Type: text/html")
            fetched = await client.post(f"{API}/documents/from-url", json={"url": host.url("/page")})
            assert fetched.status_code == 202
            look = await settled(client)
            assert {item["status"] for item in look.documents} == {"ready"} and len(look.documents) == 5
            assert {key.split("/")[0] for key in s3_server.keys(bucket)} == {"originals"}
            assert len(s3_server.keys(bucket)) == 5

            assert (await client.post(f"{API}/documents/purge", json={"confirm": "purge"})).status_code == 200
            assert s3_server.keys(bucket) == set()
    assert list((settings.data_dir / "uploads").iterdir()) == []


async def test_searches_go_on_while_the_bucket_cannot_be_reached(client: httpx2.AsyncClient, proxy: TcpProxy) -> None:
    document = await add(client, "policy.md", POLICY)
    assert (await client.get(f"{API}/system/status")).json()["storage"] == {"driver": "s3", "healthy": True}

    proxy.refuse()
    ready = await client.get("/ready")
    assert ready.status_code == 503
    assert {name for name, ok in ready.json()["checks"].items() if not ok} == {"storage"}
    assert (await client.get(f"{API}/system/status")).json()["storage"] == {"driver": "s3", "healthy": False}
    found = (await client.post(f"{API}/search", json={"query": "INV-0042"})).json()
    assert found["hits"][0]["documentId"] == document["id"]

    proxy.restore()
    assert (await client.get("/ready")).status_code == 200
    assert (await original(client, document["id"])).content == POLICY


async def test_a_sweep_removes_what_no_document_holds_and_nothing_of_others(
    settings: Settings, s3_server: S3Server, bucket: Bucket
) -> None:
    async with running_client(settings) as client:
        await upload(client, "policy.md", POLICY)
    (held,) = s3_server.keys(bucket)
    orphan = original_key(new_id("rev"))
    async with open_backend(settings, lambda: "") as backend, open_blobs(settings, backend.database) as blobs:
        for key in (orphan, "originals/holiday.jpg", "letters/one.pdf"):
            path = blobs.upload_dir() / "upload"
            path.write_bytes(b"x")
            await blobs.put_file(key, path)

        assert await remove_orphan_blobs(SqlStore(backend.database), blobs, age_ms=-2000) == 1

    assert s3_server.keys(bucket) == {held, "originals/holiday.jpg", "letters/one.pdf"}


# The command line


def test_a_wrong_bucket_or_server_ends_the_start_with_one_sentence(tmp_path: Path, variables: dict[str, str]) -> None:
    refused = run(tmp_path / "data", "serve", "--port", "0", **{**variables, "S3_BUCKET": "no-such-bucket"})

    assert refused.returncode == 1
    assert "There is no bucket 'no-such-bucket'" in refused.stderr and "S3_BUCKET" in refused.stderr
    assert "Traceback" not in refused.stderr and SECRET not in refused.stderr


def test_the_configuration_is_printed_without_secrets(tmp_path: Path, variables: dict[str, str]) -> None:
    for arguments in (["config"], ["config", "--json"]):
        shown = run(tmp_path / "data", *arguments, **{**variables, "AWS_SESSION_TOKEN": "a-token-of-tests"}).stdout
        assert variables["S3_BUCKET"] in shown and variables["S3_ENDPOINT"] in shown
        assert not any(secret in shown for secret in (KEY, SECRET, "a-token-of-tests"))


def test_doctor_tries_the_bucket(
    tmp_path: Path, variables: dict[str, str], s3_server: S3Server, bucket: Bucket
) -> None:
    good = run(tmp_path / "data", "doctor", **variables)
    assert f"s3://{bucket.name} at {bucket.endpoint}" in " ".join(good.stdout.split())
    assert s3_server.keys(bucket) == set()

    bad = run(tmp_path / "data", "doctor", **{**variables, "S3_BUCKET": "no-such-bucket"})
    assert bad.returncode == 1
    assert "There is no bucket 'no-such-bucket'" in " ".join(bad.stdout.split())


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"s3_bucket": ""}, "S3_BUCKET must be the name of a bucket"),
        ({"s3_bucket": "../other"}, "S3_BUCKET must be the name of a bucket"),
        ({"s3_endpoint": "minio:9000"}, "S3_ENDPOINT must look like"),
        ({"s3_endpoint": "https://key:secret@minio"}, "S3_ENDPOINT must look like"),
        ({"s3_region": "eu central"}, "S3_REGION must be"),
        ({"aws_secret_access_key": None}, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set both"),
        ({"aws_secret_access_key": "hidden\n"}, "AWS_SECRET_ACCESS_KEY must not hold"),
    ],
)
def test_settings_that_cannot_work_are_told_without_the_secret(
    variables: dict[str, str], changes: dict[str, Any], fault: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings(**{**{name.lower(): value for name, value in variables.items()}, **changes})

    assert len(raised.value.faults) == 1 and raised.value.faults[0].startswith(fault)
    assert SECRET not in str(raised.value) and "hidden" not in str(raised.value) and "secret@" not in str(raised.value)
