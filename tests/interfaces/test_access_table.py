"""Every route with every credential, against a table written by hand."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from access_kit import (
    ALLOWED,
    FROM_ELSEWHERE,
    FROM_OUR_PAGES,
    NO_CREDENTIAL,
    NOT_ENOUGH,
    PAGE,
    House,
    bearer,
    house,
    verdict,
    with_passphrase,
)
from rest_kit import API

from mcp_knowledge.interfaces.rest.table import OPERATIONS
from mcp_knowledge.interfaces.web.pages import router
from mcp_knowledge.settings import Settings

OPEN = {
    "GET /health",
    "GET /ready",
    f"GET {API}/session",
    f"POST {API}/session",
    f"DELETE {API}/session",
    "GET /login",
    "POST /login",
    "POST /logout",
    "POST /theme",
    "GET /static/app.css",
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-authorization-server",
}
READ = {
    "GET /metrics",
    f"GET {API}/system/status",
    f"GET {API}/collections",
    f"GET {API}/collections/{{collection_id}}",
    f"GET {API}/documents",
    f"GET {API}/documents/{{document_id}}",
    f"GET {API}/documents/{{document_id}}/revisions",
    f"GET {API}/documents/{{document_id}}/file",
    f"GET {API}/documents/{{document_id}}/normalized",
    f"GET {API}/documents/{{document_id}}/pages/{{number}}",
    f"GET {API}/documents/{{document_id}}/chunks",
    f"GET {API}/document-catalog",
    f"GET {API}/metadata-keys",
    f"GET {API}/metadata-keys/{{key}}/values",
    f"GET {API}/chunks/{{chunk_id}}",
    f"GET {API}/chunks/{{chunk_id}}/similar",
    f"GET {API}/evaluations",
    f"GET {API}/evaluations/{{set_id}}",
    f"GET {API}/evaluations/{{set_id}}/cases",
    f"GET {API}/evaluations/{{set_id}}/cases/{{case_id}}",
    f"GET {API}/evaluations/{{set_id}}/judgements",
    f"GET {API}/evaluations/{{set_id}}/export",
    f"GET {API}/evaluations/{{set_id}}/runs",
    f"GET {API}/evaluations/{{set_id}}/runs/{{run_id}}",
    f"GET {API}/evaluations/{{set_id}}/runs/{{run_id}}/results",
    f"GET {API}/evaluations/{{set_id}}/runs/{{run_id}}/comparison",
    f"GET {API}/archives",
    f"GET {API}/archives/{{archive_id}}",
    f"GET {API}/jobs",
    f"GET {API}/jobs/{{job_id}}",
    f"GET {API}/ingest/scan-status",
    f"GET {API}/ingest/scan-files",
    f"GET {API}/events",
    "GET /events",
    f"POST {API}/search",
    f"POST {API}/search/explain",
    f"POST {API}/search/why-not",
    "POST /mcp",
    "GET /mcp",
    "DELETE /mcp",
    "GET /openapi.json",
    "GET /docs",
    "GET /",
    "GET /documents/{document_id}",
    "GET /similar",
    "GET /documents/bulk/{errand_id}",
    "GET /documents/from-url",
    "GET /collections",
    "GET /collections/{collection_id}/delete",
    "GET /imports",
    "GET /imports/{archive_id}",
    "GET /folder",
    "GET /jobs",
    "GET /connect",
    "GET /connect/test",
    "POST /connect/test",
    "GET /system",
    "GET /system/stale",
    "GET /playground",
    "GET /evaluate",
    "GET /evaluate/judging",
    "GET /evaluate/{set_id}",
    "GET /evaluate/{set_id}/delete",
    "GET /evaluate/{set_id}/delete-question",
    "GET /evaluate/runs/{run_id}",
    "GET /evaluate/runs/{run_id}/delete",
    "GET /playground/conditions",
    "GET /playground/context",
    "GET /playground/documents",
    "GET /no/such/page",
    f"GET {API}/no/such/route",
}
WRITE = {
    f"POST {API}/collections",
    f"PATCH {API}/collections/{{collection_id}}",
    f"DELETE {API}/collections/{{collection_id}}",
    f"POST {API}/evaluations",
    f"PATCH {API}/evaluations/{{set_id}}",
    f"DELETE {API}/evaluations/{{set_id}}",
    f"PUT {API}/evaluations/{{set_id}}/cases/{{case_id}}",
    f"DELETE {API}/evaluations/{{set_id}}/cases/{{case_id}}",
    f"POST {API}/evaluations/{{set_id}}/judgements",
    f"POST {API}/evaluations/{{set_id}}/import",
    f"POST {API}/evaluations/{{set_id}}/runs",
    f"DELETE {API}/evaluations/{{set_id}}/runs/{{run_id}}",
    f"POST {API}/documents",
    f"POST {API}/documents/from-url",
    f"POST {API}/documents/purge",
    f"POST {API}/documents/reindex",
    f"PATCH {API}/documents/{{document_id}}",
    f"DELETE {API}/documents/{{document_id}}",
    f"POST {API}/documents/{{document_id}}/revisions",
    f"POST {API}/documents/{{document_id}}/reindex",
    f"POST {API}/documents/{{document_id}}/restore",
    f"POST {API}/jobs/{{job_id}}/retry",
    "POST /collections",
    "POST /collections/{collection_id}",
    "POST /collections/{collection_id}/delete",
    "POST /evaluate",
    "POST /evaluate/judge",
    "POST /evaluate/use",
    "POST /evaluate/import",
    "POST /evaluate/{set_id}",
    "POST /evaluate/{set_id}/import",
    "POST /evaluate/{set_id}/runs",
    "POST /evaluate/{set_id}/baseline",
    "POST /evaluate/{set_id}/delete",
    "POST /evaluate/{set_id}/delete-question",
    "POST /evaluate/runs/{run_id}/delete",
    "POST /upload",
    "POST /jobs/retry-failed",
    "POST /system/reindex",
    "POST /system/purge",
    "POST /jobs/{job_id}/retry",
    "POST /documents/from-url",
    "POST /documents/{document_id}/delete",
    "POST /documents/bulk",
    "POST /documents/restore",
    "POST /samples/add",
    "POST /samples/remove",
    "POST /documents/{document_id}/reindex",
    "POST /documents/{document_id}/edit",
    "POST /documents/{document_id}/versions",
    f"PUT {API}/documents",
    f"POST {API}/no/such/route",
}
ADMIN = {
    f"GET {API}/api-keys",
    f"POST {API}/api-keys",
    f"DELETE {API}/api-keys/{{key_id}}",
    "GET /keys",
    "POST /keys",
    "POST /keys/{key_id}/revoke",
    "GET /connect/key",
    "POST /connect/key",
}
TABLE = {route: scope for scope, routes in enumerate((OPEN, READ, WRITE, ADMIN)) for route in routes}
ORIGIN_ALONE = {"Origin": "http://127.0.0.1"}  # what browsers tell over plain http


def pages(routes: Any = router.routes) -> Iterator[str]:
    for route in routes:
        if hasattr(route, "original_router"):
            yield from pages(route.original_router.routes)
        else:
            yield from (f"{method} {route.path}" for method in route.methods if method != "HEAD")


def test_the_table_has_every_route_and_page() -> None:
    assert {f"{item.method} {item.path}" for item in OPERATIONS} <= set(TABLE)
    assert set(pages()) <= set(TABLE)
    assert len(TABLE) == len(OPEN) + len(READ) + len(WRITE) + len(ADMIN)


async def verdicts(client: httpx2.AsyncClient, headers: dict[str, str]) -> dict[str, str]:
    return {route: await verdict(client, route, headers) for route in TABLE}


@pytest.fixture
async def protected(settings: Settings) -> Any:
    async with house(with_passphrase(settings)) as running:
        yield running


async def test_without_a_credential_only_the_open_routes_answer(protected: House) -> None:
    for headers in ({}, {"Cookie": "mk_session=made-up"}, {"Authorization": "Basic a2V5XzE6eA=="}, FROM_OUR_PAGES):
        found = await verdicts(protected.client, headers)
        assert found == {route: NO_CREDENTIAL if scope else ALLOWED for route, scope in TABLE.items()}


async def test_a_wrong_key_is_refused_even_beside_a_session(protected: House) -> None:
    for headers in (bearer("key_" + "x" * 43), bearer(""), bearer("x")):
        found = await verdicts(protected.client, {**headers, **await protected.sign_in()})
        assert found == {route: NO_CREDENTIAL if scope else ALLOWED for route, scope in TABLE.items()}


@pytest.mark.parametrize(("scope", "reach"), [("read", 1), ("write", 2), ("admin", 3)])
async def test_a_key_reaches_as_far_as_its_scope_wherever_it_is_sent_from(
    protected: House, scope: Any, reach: int
) -> None:
    key = await protected.make_key(scope)
    expected = {route: ALLOWED if needed <= reach else NOT_ENOUGH for route, needed in TABLE.items()}
    assert await verdicts(protected.client, key) == expected
    from_elsewhere = {route: found for route, found in expected.items() if TABLE[route]}
    found = await verdicts(protected.client, {**key, **FROM_ELSEWHERE})
    assert {route: found[route] for route in from_elsewhere} == from_elsewhere


async def test_a_session_may_do_everything_from_our_own_pages(protected: House) -> None:
    cookie = (await protected.sign_in())["Cookie"]
    for headers in (FROM_OUR_PAGES, ORIGIN_ALONE, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert await verdicts(protected.client, {"Cookie": cookie, **headers}) == dict.fromkeys(TABLE, ALLOWED)


async def test_a_session_may_change_nothing_without_a_word_of_where_it_comes_from(protected: House) -> None:
    cookie_alone = {"Cookie": (await protected.sign_in())["Cookie"]}
    found = await verdicts(protected.client, cookie_alone)
    assert found == {
        route: NOT_ENOUGH if scope > 1 and not route.startswith("GET") else ALLOWED for route, scope in TABLE.items()
    }


async def test_a_session_may_change_nothing_from_another_site(protected: House) -> None:
    cookie = (await protected.sign_in())["Cookie"]
    for headers in (FROM_ELSEWHERE, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
        found = await verdicts(protected.client, {"Cookie": cookie, **headers})
        assert found == {route: ALLOWED if route.startswith("GET") else NOT_ENOUGH for route in TABLE}


@pytest.mark.parametrize(
    "spelling", ["{}%0A", "{}%0a%0A", "{}/", "{}//", "/{}", "{}%00", "{}%20", "{};a=b", "{}/.", "{}%3F"]
)
async def test_no_other_spelling_of_an_address_needs_less(protected: House, spelling: str) -> None:
    reader, writer = await protected.make_key("read"), await protected.make_key("write")
    for route, scope in TABLE.items():
        method, path = route.replace("{", "").replace("}", "").split(" ")
        address = f"http://127.0.0.1{spelling.format(path)}"
        for headers, reach in (({}, 0), (reader, 1), (writer, 2)):
            if scope > reach and not path.endswith("/events"):
                answer = await protected.client.request(method, address, headers=headers)
                assert answer.status_code in (401, 403, 404, 405), (method, address, answer.text)


async def test_another_host_name_is_turned_away_with_any_credential(protected: House) -> None:
    credentials: tuple[dict[str, str], ...] = ({}, await protected.sign_in(), await protected.make_key("admin"))
    for headers in credentials:
        for route in TABLE:
            method, path = route.split(" ")
            answer = await protected.client.request(method, path, headers={**headers, "Host": "evil.example"})
            assert answer.status_code == 421, route


async def test_without_a_passphrase_all_is_open_but_a_key_that_is_sent_is_checked(settings: Settings) -> None:
    async with house(settings) as running:
        assert await verdicts(running.client, {}) == dict.fromkeys(TABLE, ALLOWED)
        wrong = await verdicts(running.client, bearer("key_wrong"))
        assert wrong == {route: NO_CREDENTIAL if scope else ALLOWED for route, scope in TABLE.items()}
        made = await running.client.post(f"{API}/api-keys", json={"name": "Reader"})
        assert made.status_code == 201 and made.json()["scopes"] == ["read"]
        reader = await verdicts(running.client, bearer(made.json()["secret"]))
        assert reader == {route: ALLOWED if scope < 2 else NOT_ENOUGH for route, scope in TABLE.items()}


async def test_people_are_led_to_the_login_page_and_back(protected: House) -> None:
    for route, scope in TABLE.items():
        method, path = route.replace("{", "").replace("}", "").split(" ")
        if not scope or path.startswith(("/api/", "/mcp")):
            continue
        answer = await protected.client.request(method, f"{path}?a=b%20c&d=1", headers=PAGE)
        assert answer.status_code == 303, route
        wanted = httpx2.URL(answer.headers["location"])
        assert wanted.path == "/login"
        assert wanted.params.get("next") == (f"{path}?a=b%20c&d=1" if method == "GET" else None)
