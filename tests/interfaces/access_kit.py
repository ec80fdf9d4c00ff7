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
