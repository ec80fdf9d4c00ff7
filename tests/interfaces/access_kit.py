"""Visitors of a service with a passphrase, for tests of access."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
from front_door import running_client
from rest_kit import API

from mcp_knowledge.domain.access import AccessScope
from mcp_knowledge.settings import Settings

PASSPHRASE = "Grüner Tee mit Honig"
PAGE = {"Accept": "text/html"}
ALLOWED, NO_CREDENTIAL, NOT_ENOUGH = "allowed", "401", "403"
FROM_ELSEWHERE = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
FROM_OUR_PAGES = {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}


def with_passphrase(settings: Settings, passphrase: str = PASSPHRASE) -> Settings:
    return type(settings).model_validate({**settings.model_dump(), "dashboard_passphrase": passphrase})


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@dataclass(frozen=True)
class House:
    """A running service with a passphrase; its client has no credentials of its own."""

    client: httpx2.AsyncClient

    async def sign_in(self, passphrase: str = PASSPHRASE) -> dict[str, str]:
        """A session, as the headers that a browser sends from our pages."""
        answer = await self.client.post(f"{API}/session", json={"passphrase": passphrase})
        assert answer.status_code == 200, answer.text
        session = answer.cookies["mk_session"]
        self.client.cookies.clear()
        return {"Cookie": f"mk_session={session}", "Sec-Fetch-Site": "same-origin"}

    async def make_key(self, *scopes: AccessScope) -> dict[str, str]:
        """An API key with these scopes, as a header."""
        body = {"name": "A key", "scopes": list(scopes)}
        answer = await self.client.post(f"{API}/api-keys", json=body, headers=await self.sign_in())
        assert answer.status_code == 201, answer.text
        return bearer(answer.json()["secret"])


@asynccontextmanager
async def house(settings: Settings) -> AsyncIterator[House]:
    async with running_client(settings) as client:
        yield House(client)


async def verdict(
    client: httpx2.AsyncClient, route: str, headers: dict[str, str] | list[tuple[str, str]], query: str = ""
) -> str:
    """What the gate says of a request: ALLOWED, NO_CREDENTIAL or NOT_ENOUGH; what comes of an allowed one is open.

    Args:
        route: `METHOD /path`; what stands in braces is taken for an id.
    """
    method, path = route.replace("{", "").replace("}", "").split(" ")
    method = "HEAD" if path.endswith("/events") else method  # the answer to GET never ends
    answer = await client.request(method, path + query, headers=headers)
    assert answer.status_code < 500 or path == "/ready", (route, answer.text)
    if path in ("/login", f"{API}/session") and answer.status_code == 401:
        return ALLOWED  # it was read, and the passphrase in it is wrong
    if answer.status_code == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
        assert method == "HEAD" or answer.json()["error"]["code"] == "UNAUTHORIZED"
        return NO_CREDENTIAL
    if answer.status_code == 403:
        assert method == "HEAD" or answer.json()["error"]["code"] == "FORBIDDEN"
        return NOT_ENOUGH
    return ALLOWED
