import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from access_kit import House, bearer, house, with_passphrase
from rest_kit import API, app_of, assert_error

from mcp_knowledge.domain.access import MINUTE_MS
from mcp_knowledge.services import access as access_service
from mcp_knowledge.settings import Settings

KEYS = f"{API}/api-keys"


def in_files(text: str, folder: Path) -> bool:
    """Whether any file below the folder holds the text."""
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
async def protected(settings: Settings) -> AsyncIterator[House]:
    async with house(with_passphrase(settings)) as running:
        yield running


async def test_a_key_is_shown_once_and_then_known_by_its_beginning(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    answer = await client.post(KEYS, json={"name": "  Nightly script ", "scopes": ["write", "read", "write"]})
    assert answer.status_code == 201
    made = answer.json()
    secret = made.pop("secret")
    assert re.fullmatch(r"key_[A-Za-z0-9_-]{43}", secret)
    assert made["name"] == "Nightly script" and made["scopes"] == ["read", "write"] and made["lastUsedAt"] is None
    assert secret.startswith(made["keyPrefix"]) and len(made["keyPrefix"]) < 16
    assert re.fullmatch(r"key_[0-9a-f]{32}", made["id"])
    assert (await client.get(KEYS)).json() == {"items": [made], "nextCursor": None}
    assert not in_files(secret, tmp_path) and in_files("Nightly script", tmp_path)


async def test_keys_are_listed_newest_first_in_pages(client: httpx2.AsyncClient) -> None:
    ids = [(await client.post(KEYS, json={"name": f"Key {number}"})).json()["id"] for number in range(5)]
    seen, cursor = [], None
    for _ in range(3):
        page = (await client.get(KEYS, params={"limit": "2", **({"cursor": cursor} if cursor else {})})).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["nextCursor"]
    assert cursor is None and seen == ids[::-1]
    assert_error(await client.get(KEYS, params={"cursor": "x"}), 400, "INVALID_CURSOR")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": " "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": ["everything"]}, "scopes"),
        ({"name": "x", "scopes": "read"}, "scopes"),
        ({"name": "x", "scope": ["read"]}, "scope"),
    ],
)
async def test_a_wrong_request_makes_no_key(client: httpx2.AsyncClient, body: dict[str, object], field: str) -> None:
    assert_error(await client.post(KEYS, json=body), 400, "INVALID_ARGUMENT", field)
    assert (await client.get(KEYS)).json()["items"] == []


async def test_a_revoked_key_is_dead_at_once(protected: House) -> None:
    admin = await protected.make_key("admin")
    made = (await protected.client.post(KEYS, json={"name": "Guest"}, headers=admin)).json()
    assert (await protected.client.get(f"{API}/documents", headers=bearer(made["secret"]))).status_code == 200
    answer = await protected.client.delete(f"{KEYS}/{made['id']}", headers=admin)
    assert answer.status_code == 204 and answer.content == b""
    assert_error(
        await protected.client.get(f"{API}/documents", headers=bearer(made["secret"])), 401, "UNAUTHORIZED", "revoked"
    )
    assert_error(await protected.client.delete(f"{KEYS}/{made['id']}", headers=admin), 404, "API_KEY_NOT_FOUND")


async def test_a_stream_of_events_ends_with_its_key(protected: House) -> None:
    admin, reader = await protected.make_key("admin"), await protected.make_key("read")
    app = app_of(protected.client)
    listed = (await protected.client.get(KEYS, headers=admin)).json()["items"]
    (key_id,) = [item["id"] for item in listed if item["scopes"] == ["read"]]
    received: list[bytes] = []

    async def on_message(message: dict[str, Any]) -> None:
        received.append(message.get("body", b""))
        if b"retry" in received[-1]:
            app.state.services.events.publish("document", {"text": "one"})
        elif b"one" in received[-1]:
            assert (await protected.client.delete(f"{KEYS}/{key_id}", headers=admin)).status_code == 204
            app.state.services.events.publish("document", {"text": "two"})

    async with asyncio.timeout(30):
        await app(head_of("GET", f"{API}/events", reader), never, on_message)
    text = b"".join(received)
    assert b"one" in text and b"two" not in text


async def test_a_key_may_revoke_itself(protected: House) -> None:
    admin = await protected.make_key("admin")
    (own,) = (await protected.client.get(KEYS, headers=admin)).json()["items"]
    assert (await protected.client.delete(f"{KEYS}/{own['id']}", headers=admin)).status_code == 204
    assert_error(await protected.client.get(KEYS, headers=admin), 401, "UNAUTHORIZED")


async def test_the_minute_of_the_last_use_is_noted_once_a_minute(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_800_000_000_000 + 12_345]
    monkeypatch.setattr(access_service, "now_ms", lambda: now[0])
    async with house(settings) as running:
        client, access = running.client, app_of(running.client).state.services.access
        writes: list[int] = []
        touch = access._store.touch_key

        async def counted(key_id: str, used_at_ms: int) -> None:
            writes.append(used_at_ms)
            await touch(key_id, used_at_ms)

        monkeypatch.setattr(access._store, "touch_key", counted)
        key = bearer((await client.post(KEYS, json={"name": "Busy", "scopes": ["admin"]})).json()["secret"])
        for minute in range(3):
            for _ in range(5):
                assert (await client.get(f"{API}/collections", headers=key)).status_code == 200
            await access.close()  # what is being written is written
            (item,) = (await client.get(KEYS, headers=key)).json()["items"]
            assert item["lastUsedAt"] == f"2027-01-15T08:0{minute}:00.000Z"
            now[0] += MINUTE_MS
        assert len(writes) == 3


async def test_an_upload_is_refused_before_any_of_its_body_is_read(protected: House) -> None:
    for headers, status in (({}, 401), (bearer("key_wrong"), 401), (await protected.make_key("read"), 403)):
        assert await status_from_head_alone(protected, headers) == status


async def status_from_head_alone(protected: House, headers: dict[str, str]) -> int:
    """The status of an upload whose body may not be asked for."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        raise AssertionError("the body was read")

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    app = app_of(protected.client)
    upload = {**headers, "Content-Type": "multipart/form-data; boundary=x"}
    await app(head_of("POST", f"{API}/documents", upload), receive, send)
    return int(sent[0]["status"])


def head_of(method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
    """A request as a server hands it to the application."""
    raw = [(name.lower().encode(), value.encode()) for name, value in {"Host": "127.0.0.1", **headers}.items()]
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": raw,
        "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 80), "state": {},
    }  # fmt: skip


async def never() -> dict[str, Any]:
    """A client that neither sends nor leaves."""
    await asyncio.Event().wait()
    return {}
