"""Every route there is, walked with every kind of credential: the routes come from the OpenAPI document, from the
application's own list and from MCP's list of tools; what each needs is said here as a rule, so that a route that is new
tomorrow is judged as well.
"""

import base64
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from access_kit import ALLOWED, FROM_ELSEWHERE, NO_CREDENTIAL, NOT_ENOUGH, PASSPHRASE, House, bearer, house, verdict
from fastapi.routing import APIRoute
from rest_kit import API, app_of
from starlette.routing import BaseRoute, Route

from mcp_knowledge.domain.access import SESSION_MS, Passphrase
from mcp_knowledge.domain.cursors import CursorSigner
from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.settings import Settings, load_settings

SECRET = bytes(range(32))
OPEN, READ, WRITE, ADMIN = range(4)
DOORS = {"/health", "/ready", f"{API}/session", "/login", "/logout", "/theme", "/static/{name}"}
ABOUT_KEYS = (f"{API}/api-keys", "/keys", "/connect/key")
QUESTIONS = {f"{API}/search", f"{API}/search/explain", f"{API}/search/why-not", "/connect/test", "/mcp"}
OUR_PAGE = {"Sec-Fetch-Site": "same-origin"}
Headers = dict[str, str] | list[tuple[str, str]]


def needed(route: str) -> int:
    """The doors need nothing, what is about keys admin, reading and asking read, all the rest write."""
    method, path = route.split(" ")
    if path in DOORS:
        return OPEN
    if path.startswith(ABOUT_KEYS):
        return ADMIN
    return READ if method == "GET" or path in QUESTIONS else WRITE


def described(document: dict[str, Any]) -> dict[str, Any]:
    """The operations of an OpenAPI document by their route."""
    return {
        f"{method.upper()} {path}": operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def listed(routes: Iterable[BaseRoute], document: dict[str, Any]) -> Iterator[str]:
    """The routes of an application beside those of its document: pages, `/mcp`, the documentation itself."""
    for route in routes:
        if hasattr(route, "original_router"):
            yield from listed(route.original_router.routes, document)
        elif isinstance(route, APIRoute):
            yield from (f"{method} {route.path}" for method in (route.methods or ()) if method != "HEAD")
        elif isinstance(route, Route) and route.path not in document["paths"]:
            yield from (f"{method} {route.path}" for method in ("GET", "POST", "DELETE"))


@dataclass(frozen=True)
class Ground:
    """A house and every route of it, the secrets of its keys by scope, and a session."""

    house: House
    document: dict[str, Any]
    routes: tuple[str, ...]
    keys: dict[str, str]
    session: str

    async def verdicts(self, headers: Headers, query: str = "") -> dict[str, str]:
        client = self.house.client
        return {route: await verdict(client, route, headers, query) for route in self.routes}

    def reached(self, reach: int, beyond: str) -> dict[str, str]:
        """What is allowed to whoever reaches so far, when the rest is refused like this."""
        return {route: ALLOWED if needed(route) <= reach else beyond for route in self.routes}


@pytest.fixture
async def ground(settings: Settings) -> AsyncIterator[Ground]:
    secret = base64.b64encode(SECRET).decode()
    settings = load_settings(data_dir=settings.data_dir, dashboard_passphrase=PASSPHRASE, document_cursor_secret=secret)
    async with house(settings) as running:
        made = {scope: await running.make_key(scope) for scope in ("read", "write", "admin")}
        keys = {scope: header["Authorization"].removeprefix("Bearer ") for scope, header in made.items()}
        document = (await running.client.get("/openapi.json", headers=made["read"])).json()
        routes = {**described(document), **dict.fromkeys(listed(app_of(running.client).router.routes, document))}
        session = (await running.sign_in())["Cookie"].removeprefix("mk_session=")
        yield Ground(running, document, tuple(routes), keys, session)


def wrong(ground: Ground) -> dict[str, Headers]:
    """Whatever looks like a credential and is none."""
    key, session, now = ground.keys["admin"], ground.session, now_ms()
    basic = base64.b64encode(f"admin:{key}".encode()).decode()
    cookies = {
        "a session that was changed": ("B" if session[0] == "A" else "A") + session[1:],
        "a session that was cut": session[:-1],
        "an expired session": Passphrase(PASSPHRASE, SECRET).new_session(now - SESSION_MS - 1),
        "a session of another passphrase": Passphrase("Schwarzer Tee", SECRET).new_session(now),
        "a session of another service": Passphrase(PASSPHRASE, bytes(32)).new_session(now),
        "what the secret itself signs": CursorSigner(SECRET).make("session", [now + SESSION_MS, "00"]),
        "a key as a session": key,
        "an empty session": "",
    }
    bearers = {
        "a key that nobody made": f"key_{'x' * 43}",
        "no key": "",
        "a key that was cut": key[:-1],
        "a key with something behind it": f"{key}A",
        "a key in capitals": key.upper(),
        "a key without its mark": key.removeprefix("key_"),
        "what a key begins with": key[:12],
        "two keys": f"{key}, {ground.keys['read']}",
        "a session as a key": session,
    }
    return {
        "nothing": {},
        "nothing from our own page": OUR_PAGE,
        **{name: {"Cookie": f"mk_session={value}", **OUR_PAGE} for name, value in cookies.items()},
        "a session by another name": {"Cookie": f"MK_SESSION={session}; session={session}", **OUR_PAGE},
        **{name: bearer(value) for name, value in bearers.items()},
        "a wrong key beside a session": {**bearer("key_x"), "Cookie": f"mk_session={session}", **OUR_PAGE},
        "two headers": [("Authorization", f"Bearer {key}"), ("Authorization", f"Bearer {key}")],
        "a key behind another scheme": [("Authorization", f"Basic {basic}"), ("Authorization", f"Bearer {key}")],
        "Basic": {"Authorization": f"Basic {basic}"},
        "another scheme": {"Authorization": f"Token {key}"},
        "no scheme": {"Authorization": key},
        "other headers": {"X-API-Key": key, "Proxy-Authorization": f"Bearer {key}", "X-Authorization": f"Bearer {key}"},
        "a word of a proxy": {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1", "X-Real-IP": "::1"},
        "another method by a header": {"X-HTTP-Method-Override": "GET", "X-Original-URL": "/health"},
    }


async def test_no_route_beside_the_doors_takes_a_wrong_credential(ground: Ground) -> None:
    assert len(ground.routes) > 100 and "POST /mcp" in ground.routes
    for name, headers in wrong(ground).items():
        assert await ground.verdicts(headers) == ground.reached(OPEN, NO_CREDENTIAL), name
    for query in (
        f"?access_token={ground.keys['admin']}",
        f"?mk_session={ground.session}&api_key={ground.keys['admin']}",
    ):
        assert await ground.verdicts({}, query) == ground.reached(OPEN, NO_CREDENTIAL), query


async def test_a_key_reaches_what_its_scope_includes_until_it_is_revoked(ground: Ground) -> None:
    for reach, scope in enumerate(("read", "write", "admin"), start=READ):
        assert await ground.verdicts(bearer(ground.keys[scope])) == ground.reached(reach, NOT_ENOUGH), scope
    signed_in = {"Cookie": f"mk_session={ground.session}", **OUR_PAGE}
    for item in (await ground.house.client.get(f"{API}/api-keys", headers=signed_in)).json()["items"]:
        gone = await ground.house.client.delete(f"{API}/api-keys/{item['id']}", headers=signed_in)
        assert gone.status_code == 204
    for scope in ("read", "admin"):
        assert await ground.verdicts(bearer(ground.keys[scope])) == ground.reached(OPEN, NO_CREDENTIAL), scope


async def test_a_session_changes_something_from_our_own_pages_alone(ground: Ground) -> None:
    cookie = {"Cookie": f"mk_session={ground.session}"}
    assert await ground.verdicts({**cookie, **OUR_PAGE}) == ground.reached(ADMIN, NOT_ENOUGH)
    changes = {route for route in ground.routes if not route.startswith("GET") and needed(route) > READ}
    found = await ground.verdicts(cookie)
    assert found == {route: NOT_ENOUGH if route in changes else ALLOWED for route in ground.routes}
    found = await ground.verdicts({**cookie, **FROM_ELSEWHERE})
    assert found == {route: ALLOWED if route.startswith("GET") else NOT_ENOUGH for route in ground.routes}


async def test_the_document_says_what_each_route_needs(ground: Ground) -> None:
    scopes = {READ: "read", WRITE: "write", ADMIN: "admin"}
    for route, operation in described(ground.document).items():
        scope = scopes.get(needed(route))
        assert operation["security"] == ([{"apiKey": [scope]}, {"session": []}] if scope else []), route
        refusals = {"401", "403"} if scope in ("write", "admin") else {"401"} if scope else set()
        assert refusals <= operation["responses"].keys(), route


async def test_every_tool_of_mcp_needs_a_credential_that_reads(ground: Ground) -> None:
    async def ask(headers: dict[str, str], method: str, **params: Any) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await ground.house.client.post("/mcp", json=body, headers=headers)

    cookie = {"Cookie": f"mk_session={ground.session}"}
    readers = [*(bearer(key) for key in ground.keys.values()), cookie, {**cookie, **OUR_PAGE}]
    tools = [tool["name"] for tool in (await ask(readers[0], "tools/list")).json()["result"]["tools"]]
    assert "search_documents" in tools
    calls = [("tools/call", {"name": name, "arguments": {}}) for name in tools]
    calls += [("tools/list", {}), ("resources/list", {}), ("resources/read", {"uri": "document://doc_1"}), ("ping", {})]
    for method, params in calls:
        for headers in readers:
            answered = await ask(headers, method, **params)
            assert answered.status_code in (200, 400, 404) and "jsonrpc" in answered.json(), (method, params)
        for headers in ({}, bearer("key_wrong"), {"Cookie": "mk_session=made-up", **OUR_PAGE}):
            refused = await ask(headers, method, **params)
            assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer", (method, params)
        assert (await ask({**cookie, **FROM_ELSEWHERE}, method, **params)).status_code == 403, (method, params)
