"""Every page, form and route with values that no page of ours sends: no fault, no markup, no way to another site."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from access_kit import PAGE
from front_door import add
from page_kit import LEFT_OUT, routes
from rest_kit import API

from mcp_knowledge.interfaces.rest.table import OPERATIONS
from mcp_knowledge.interfaces.web import fields

pytestmark = pytest.mark.both_databases

MARKUP = "\"><script>hostile()</script><img src=x onerror='hostile()'>"
VALUES = ("\0", "9" * 30, MARKUP)
ELSEWHERE = "//evil.example/\r\nSet-Cookie: a=b"
NAMES = (
    *("q", "search", "status", "sort", "collection", "format", "document", "passage", "view", "from", "page", "show"),
    *("mode", "limit", "fusion", "collapse", "filters", "expand", "before", "missing", "find", "a.mode", "b.filters"),
    *("notice", "count", "until", "about", "code", "client", "case", "open", "section", "around", "edit", "added"),
    *("do", "into", "name", "key", "value", "kind", "json", "title", "stamp", "action", "set", "query", "verdict"),
    *("back", "run", "way", "baseline", "theme", "next", "url", "which", "confirm", "scope", "description", "target"),
)
WRONG: tuple[Any, ...] = (*VALUES, *([value] for value in VALUES), {"": {}}, -1, None)
FORM = {**PAGE, "Content-Type": "application/x-www-form-urlencoded"}


async def some_ids(client: httpx2.AsyncClient) -> dict[str, str]:
    """Something of each kind, its names full of markup."""
    collection = (await client.post(f"{API}/collections", json={"name": MARKUP})).json()
    filing = {"collectionId": collection["id"], "metadata": '{"year": 2024}'}
    document = await add(client, "hostile.md", f"# {MARKUP}\n\nOtters. {MARKUP}".encode(), **filing)
    chunk = (await client.get(f"{API}/documents/{document['id']}/chunks")).json()["items"][0]
    job = (await client.get(f"{API}/jobs")).json()["items"][0]
    questions = (await client.post(f"{API}/evaluations", json={"name": MARKUP})).json()
    sets = f"{API}/evaluations/{questions['id']}"
    judgement = {"query": MARKUP, "documentId": document["id"], "verdict": "right"}
    case = (await client.post(f"{sets}/judgements", json=judgement)).json()["case"]
    run = (await client.post(f"{sets}/runs", json={"settings": [{"mode": "lexical"}]})).json()["items"][0]
    return {
        "collection_id": collection["id"],
        "document_id": document["id"],
        "chunk_id": chunk["id"],
        "job_id": job["id"],
        "set_id": questions["id"],
        "case_id": case["id"],
        "run_id": run["id"],
    }


def filled(path: str, ids: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: ids.get(match[1], "1"), path)


def check(answer: httpx2.Response, what: str) -> None:
    assert answer.status_code < 500, (what, answer.text)
    assert answer.headers["x-content-type-options"] == "nosniff", what
    assert re.fullmatch(r"/(?![/\\]).*", answer.headers.get("location", "/")), what
    assert not re.search(
        r"mk_(?!theme=(auto|light|dark);|set=evs_\w+;|session=\W+;)", answer.headers.get("set-cookie", "")
    ), what
    if answer.headers.get("content-type", "").startswith("text/html"):
        assert "default-src 'none'; script-src 'self'" in answer.headers["content-security-policy"], what
        assert not re.search(r"<script>hostile|<img src=x|\s(?:on\w+|style)=[\"']", answer.text), what
    if answer.status_code >= 400 and answer.request.method != "HEAD":
        told = re.sub(r"<head>.*?</head>|<[^>]*>", " ", answer.text, flags=re.DOTALL)
        assert re.search(r"[A-Za-z][^.{}]{8,}[.:?]", told), what


async def test_no_address_gives_a_fault_or_markup(client: httpx2.AsyncClient) -> None:
    ids = await some_ids(client)
    cookie = {"Cookie": f'mk_set="{ids["set_id"]}\\000"; mk_theme=<script>'}
    for value in VALUES:
        for cursor in ({}, {"after": f"{ids['document_id']}~{value}", "sort": "title"}):
            query = urlencode(dict.fromkeys(NAMES, value) | cursor)
            for method, path in routes():
                if method == "GET" and f"GET {path}" not in LEFT_OUT:
                    check(
                        await client.get(f"{filled(path, ids)}?{query}", headers={**PAGE, **cookie}), f"{path} {value}"
                    )


async def test_no_form_gives_a_fault_or_markup(client: httpx2.AsyncClient) -> None:
    ids = await some_ids(client)
    crowd = "&".join(["a=1"] * 60)
    for value in (*VALUES, ELSEWHERE):
        body = urlencode([(name, value) for name in NAMES] * 2)
        for method, path in routes():
            if method == "POST" and f"POST {path}" not in LEFT_OUT:
                headers = {**FORM, "Referer": f"http://127.0.0.1/?{crowd}"}
                check(await client.post(filled(path, ids), content=body, headers=headers), f"{path} {value}")


async def test_no_route_gives_a_fault(client: httpx2.AsyncClient) -> None:
    ids = await some_ids(client)
    for operation in OPERATIONS:
        route = f"{operation.method} {operation.path}"
        if operation.method == "DELETE" or route in LEFT_OUT or route.endswith(("/purge", "/restore")):
            continue
        names = list(operation.query.model_fields) if operation.query else []
        members = list(operation.body.model_fields) if operation.body else ["x"]
        for wrong in WRONG:
            address = f"{filled(operation.path, ids)}?{urlencode(dict.fromkeys(names[:1], str(wrong)))}"
            names = names[1:] + names[:1]
            sent = None if operation.method == "GET" else dict.fromkeys(members, wrong)
            check(await client.request(operation.method, address, json=sent), f"{route} {wrong}")


async def test_half_a_character_is_kept_out_of_metadata(client: httpx2.AsyncClient) -> None:
    document_id = (await some_ids(client))["document_id"]
    for action in ("save", "rows", "json", "add"):
        for rows in ({"json": '{"a": "\\ud800"}'}, {"key": "a", "kind": "json", "value": '["\\udfff"]'}):
            sent = {"title": "T", "stamp": "x", "action": action, **rows}
            answer = await client.post(f"/documents/{document_id}/edit", data=sent, headers=PAGE)
            assert answer.status_code == (400 if action == "save" else 200)
            assert "half of a character" in answer.text


async def test_a_form_that_drips_is_given_up(client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MAX_FORM_SECONDS", 0.01)

    async def drips() -> AsyncIterator[bytes]:
        yield b"theme="
        await asyncio.Event().wait()

    answer = await client.post("/theme", content=drips(), headers=FORM)
    assert answer.status_code == 400
    assert "did not arrive in time" in answer.text
