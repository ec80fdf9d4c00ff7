"""Helpers of the REST tests."""

import asyncio
from typing import Any

import httpx2
from front_door import POLL_S

API = "/api/v1"


def app_of(client: httpx2.AsyncClient) -> Any:
    """The application that an in-process client calls."""
    return client._transport.app  # type: ignore[attr-defined]  # httpx2 has no public way to it


def multipart(*parts: tuple[str, bytes], boundary: str = "frontier") -> tuple[bytes, dict[str, str]]:
    """A hand-made multipart body of (part headers without the last line break, content), and its request headers."""
    body = b"".join(
        b"--" + boundary.encode() + b"\r\n" + headers.encode() + b"\r\n\r\n" + content + b"\r\n"
        for headers, content in parts
    )
    body += b"--" + boundary.encode() + b"--\r\n"
    return body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def field(name: str, content: bytes) -> tuple[str, bytes]:
    return f'Content-Disposition: form-data; name="{name}"', content


def file_part(filename: str, content: bytes, name: str = "file") -> tuple[str, bytes]:
    return f'Content-Disposition: form-data; name="{name}"; filename="{filename}"\r\nContent-Type: text/plain', content


def assert_error(answer: httpx2.Response, status: int, code: str, *mentions: str) -> None:
    """The one shape of every failure."""
    assert answer.status_code == status, answer.text
    data: dict[str, Any] = answer.json()
    assert set(data) == {"error"}
    assert set(data["error"]) == {"code", "message", "requestId"}
    assert data["error"]["code"] == code
    assert data["error"]["requestId"] == answer.headers["x-request-id"]
    assert data["error"]["message"]
    for text in mentions:
        assert text in data["error"]["message"]


async def upload(client: httpx2.AsyncClient, name: str, content: bytes, **fields: str) -> dict[str, Any]:
    """Upload a document; its receipt."""
    answer = await client.post(f"{API}/documents", files={"file": (name, content)}, data=fields)
    assert answer.status_code == 202, answer.text
    receipt: dict[str, Any] = answer.json()
    return receipt


async def send_archive(client: httpx2.AsyncClient, data: bytes, name: str = "letters.zip", **fields: str) -> str:
    """Upload an archive; the import's id."""
    answer = await client.post(f"{API}/documents", files={"file": (name, data)}, data=fields)
    assert answer.status_code == 202, answer.text
    assert set(answer.json()) == {"archiveId", "status"} and answer.json()["status"] == "queued"
    archive_id: str = answer.json()["archiveId"]
    assert archive_id.startswith("arc_")
    return archive_id


async def import_archive(
    client: httpx2.AsyncClient, data: bytes, name: str = "letters.zip", **fields: str
) -> dict[str, Any]:
    """Upload an archive; its import, once nothing more comes of it."""
    archive_id = await send_archive(client, data, name, **fields)
    async with asyncio.timeout(60):
        while True:
            item: dict[str, Any] = (await client.get(f"{API}/archives/{archive_id}")).json()
            if item["state"] not in ("queued", "extracting"):
                return item
            await asyncio.sleep(POLL_S)  # a condition is polled
