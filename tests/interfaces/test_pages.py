"""The dashboard's pages as a browser gets them, without a browser."""

import asyncio
import re
from typing import Any

import httpx2
import pytest
from page_kit import FORM, HTML, page, text_of

from mcp_knowledge.services.library import Library

LEAVE = b"# Leave policy\n\n## Carrying over\n\nFive unused days of annual leave may be carried over.\n"
HOSTILE = "<script>alert(1)</script>"


async def upload(client: httpx2.AsyncClient, name: str, content: bytes, **fields: str) -> str:
    answer = await client.post("/api/v1/documents", files={"file": (name, content)}, data=fields)
    assert answer.status_code in (200, 202), answer.text
    document_id: str = answer.json()["id"]
    return document_id


async def finished(client: httpx2.AsyncClient, document_id: str) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            document: dict[str, Any] = (await client.get(f"/api/v1/documents/{document_id}")).json()
            if document["status"] in ("ready", "failed"):
                return document
            await asyncio.sleep(0.02)  # a condition is polled


async def test_every_page_has_the_strict_policy_and_nothing_inline(client: httpx2.AsyncClient) -> None:
    document_id = await upload(client, "leave.md", LEAVE)
    await finished(client, document_id)
    paths = (
        "/",
        f"/documents/{document_id}",
        f"/documents/{document_id}?view=versions",
        "/playground",
        "/playground?q=leave",
    )
    for path in (*paths, "/documents/doc_none", "/nowhere"):
        answer = await client.get(path, headers=HTML)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", answer.text), path
        assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", answer.text), path


async def test_static_files_are_kept_by_browsers_under_an_address_that_follows_their_content(
    client: httpx2.AsyncClient,
) -> None:
    html = await page(client, "/")
    addresses = re.findall(r"/static/[a-z]+\.[a-z]+\?v=[0-9a-f]+", html)
    assert len(addresses) >= 4
    for address in addresses:
        answer = await client.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        of_another_version = f"{address.partition('?')[0]}?v=0123456789"
        assert (await client.get(of_another_version)).headers["cache-control"] == "no-cache"
    plain = await client.get("/static/live.js")
    assert plain.headers["cache-control"] == "no-cache"
    assert (await client.get("/static/nothing.js")).json()["error"]["code"] == "NOT_FOUND"
    assert (await client.get("/static/..%2ftemplating.py")).status_code == 404


async def test_what_is_not_there_is_a_page_for_people_and_json_for_programs(client: httpx2.AsyncClient) -> None:
    assert "This document is gone" in await page(client, "/documents/doc_none", 404)
    assert "This document is gone" in await page(client, "/documents/doc_none?view=versions", 404)
    assert "There is nothing here" in await page(client, "/nowhere", 404)
    assert "That does not work here" in await page(client, "/upload", 405)
    wrong_host = await client.get("/", headers={**HTML, "Host": "evil.example"})
    assert (wrong_host.status_code, wrong_host.headers["content-type"]) == (421, "text/html; charset=utf-8")
    assert (await client.get("/nowhere")).json()["error"]["code"] == "NOT_FOUND"
    assert (await client.get("/api/v1/documents/doc_none", headers=HTML)).json()["error"][
        "code"
    ] == "DOCUMENT_NOT_FOUND"


async def test_a_fault_of_ours_is_a_page_with_the_request_id_and_no_detail(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(Library, "list_documents", fail)
    answer = await client.get("/", headers={**HTML, "X-Request-Id": "req-7"})
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "req-7" in answer.text
    assert "secret detail" not in answer.text


async def test_a_plain_form_uploads_and_tells_what_became_of_the_file(client: httpx2.AsyncClient) -> None:
    async def send(name: str, content: bytes) -> str:
        answer = await client.post("/upload", files={"file": (name, content)}, headers=FORM)
        assert answer.status_code == 303
        return text_of(await page(client, answer.headers["location"]))

    assert "The file was added." in await send("leave.md", LEAVE)
    assert "You have this file already" in await send("again.md", LEAVE)
    assert "The file was not added. This file format is not supported." in await send("setup.exe", b"MZ")
    assert "The file is empty" in await send("empty.md", b"")
    nothing = await client.post("/upload", data={"file": ""}, headers=FORM)
    assert nothing.status_code == 303
    assert "code=INVALID_UPLOAD" in nothing.headers["location"]
    told = (await client.get(nothing.headers["location"])).text
    assert "The file is empty or did not arrive whole." in told
    assert "multipart field" not in told


async def test_a_plain_form_deletes_and_reads_again(client: httpx2.AsyncClient) -> None:
    document_id = await upload(client, "leave.md", LEAVE)
    await finished(client, document_id)
    again = await client.post(f"/documents/{document_id}/reindex", headers=FORM)
    assert again.headers["location"] == f"/documents/{document_id}?notice=again"
    await finished(client, document_id)
    gone = await client.post(f"/documents/{document_id}/delete", headers=FORM)
    assert gone.status_code == 303
    assert "The document was deleted." in await page(client, gone.headers["location"])
    await page(client, f"/documents/{document_id}", 404)
    twice = await client.post(f"/documents/{document_id}/delete", headers=FORM)
    assert twice.status_code == 404


async def test_another_site_cannot_post_the_forms(client: httpx2.AsyncClient) -> None:
    document_id = await upload(client, "leave.md", LEAVE)
    for origin, site in (("https://evil.example", "cross-site"), ("null", "cross-site"), ("null", "none")):
        headers = {**HTML, "Origin": origin, "Sec-Fetch-Site": site}
        answer = await client.post(f"/documents/{document_id}/delete", headers=headers)
        assert answer.status_code == 403, (origin, site)
    await page(client, f"/documents/{document_id}")


async def test_markup_in_title_heading_metadata_and_body_is_text(client: httpx2.AsyncClient) -> None:
    content = f"# `{HOSTILE}`\n\n## `{HOSTILE}`\n\n`{HOSTILE}` tells of otters.\n".encode()
    document_id = await upload(client, "otters.md", content, metadata=f'{{"{HOSTILE}": "{HOSTILE}"}}')
    assert (await finished(client, document_id))["title"] == HOSTILE
    for path in (
        "/",
        f"/documents/{document_id}",
        f"/documents/{document_id}?view=versions",
        f"/playground?q=otters {HOSTILE}",
    ):
        html = await page(client, path)
        assert "<script>alert" not in html, path
        assert HOSTILE in text_of(html), path


async def test_the_list_shows_state_reason_and_advice(client: httpx2.AsyncClient) -> None:
    ready = await upload(client, "leave.md", LEAVE)
    torn = await upload(client, "torn.pdf", b"%PDF-1.7\nnot one")
    await finished(client, ready)
    await finished(client, torn)
    everything = text_of(await page(client, "/"))
    assert "All 2 Ready 1 In progress 0 Failed 1" in everything
    assert "This file could not be read. It may be damaged" in everything
    failed = await page(client, "/?status=failed")
    assert torn in failed and ready not in failed
    found = await page(client, "/?search=LEAVE")
    assert ready in found and torn not in found
    assert "No document fits" in await page(client, "/?search=walrus")
    assert "Nothing is in progress" in await page(client, "/?status=working")


async def test_a_link_from_a_hit_opens_the_page_of_passages_that_holds_it(client: httpx2.AsyncClient) -> None:
    sections = (f"## Part {number}\n\n{f'The rule number {number} is about otters. ' * 12}\n" for number in range(120))
    document_id = await upload(client, "rules.md", ("# Rules\n\n" + "\n".join(sections)).encode())
    await finished(client, document_id)
    html = await page(client, "/playground?q=" + '"rule number 70"' + "&mode=lexical&limit=1")
    link = re.search(rf'href="(/documents/{document_id}\?passage=(chk_[0-9a-f]+)#\2)"', html)
    assert link is not None
    target = await page(client, link[1])
    assert f'class="passage wanted" id="{link[2]}"' in target
    assert "The rule number 70" in target and "Earlier passages" in target and "Later passages" in target
    first = await page(client, f"/documents/{document_id}")
    assert "The rule number 0 " in first and "Earlier passages" not in first
    assert link[2] not in first


async def test_the_playground_explains_a_search_and_says_what_was_wrong_with_it(client: httpx2.AsyncClient) -> None:
    assert "Nothing to search yet" in await page(client, "/playground")
    document_id = await upload(client, "leave.md", LEAVE)
    await finished(client, document_id)
    assert "1 document to search" in await page(client, "/playground")
    for mode in ("hybrid", "vector", "lexical"):
        for fusion in ("rrf", "relative"):
            html = await page(client, f"/playground?q=the annual leave&mode={mode}&fusion={fusion}&collapse=document")
            told = text_of(html)
            assert "Where the time went" in told and "Whole search" in told
            assert ("Place 1 by words" in told) is (mode != "vector")
            assert ("closest in meaning" in told) is (mode != "lexical")
            assert ('<rect class="fill-meaning"' in html) is (mode != "lexical")
    assert '<mark class="exact">annual</mark>' in await page(client, "/playground?q=annual&mode=lexical")
    assert "The search mode must be" in await page(client, "/playground?q=a&mode=guess", 400)
    assert "must be a whole number" in await page(client, "/playground?q=a&limit=ten", 400)
    assert "1 to 2,000 characters" in await page(client, "/playground?q=" + "y" * 2001, 400)
    assert "a document that is gone" in await page(client, "/playground?q=leave&document=doc_none")


@pytest.mark.parametrize(
    "path",
    [
        "/?status=%00&sort=;&search=%00%ff&after=",
        "/?search=" + "%25_" * 300,
        "/?collection=nowhere",
        "/?notice=refused&code=%3Cscript%3E",
        "/?notice=added&about=//evil.example",
        "/playground?q=%00&limit=8",
        "/playground?q=%22%28%29*%00&limit=0",
        "/playground?q=x&limit=999999999&fusion=&mode=",
    ],
)
async def test_strange_addresses_still_give_a_page(client: httpx2.AsyncClient, path: str) -> None:
    html = await page(client, path)
    assert "evil.example" not in html
    assert "<script>" not in html


@pytest.mark.parametrize(
    "after", ["x", "doc_1", "doc_1~x", "doc_1~-1", "doc_1~99999999999999999999", "col_1~5", "doc_1~٣"]
)
async def test_a_made_up_page_position_is_refused(client: httpx2.AsyncClient, after: str) -> None:
    lost = await page(client, f"/?after={after}", 400)
    assert "INVALID_CURSOR" in lost and "This part of the list is not there" in lost


@pytest.mark.parametrize(
    "query", ["from=0", "from=-1", "from=999999999999", "from=x", "passage=chk_none", "passage=%00"]
)
async def test_a_strange_place_in_a_document_still_gives_a_page(client: httpx2.AsyncClient, query: str) -> None:
    document_id = await upload(client, "leave.md", LEAVE)
    await finished(client, document_id)
    await page(client, f"/documents/{document_id}?{query}")


@pytest.mark.parametrize(
    ("came_from", "leads_to"),
    [
        ("http://127.0.0.1/playground?q=tea&mode=lexical#hit", "/playground?q=tea&mode=lexical"),
        ("http://elsewhere.example/jobs", "/jobs"),
        ("http://127.0.0.1//elsewhere.example", "/"),
        ("http://[torn", "/"),
        ("", "/"),
    ],
)
async def test_the_theme_is_kept_and_the_page_comes_back(
    client: httpx2.AsyncClient, came_from: str, leads_to: str
) -> None:
    answer = await client.post("/theme", data={"theme": "dark"}, headers={"Referer": came_from})
    assert (answer.status_code, answer.headers["location"]) == (303, leads_to)
    assert 'data-theme="dark"' in (await client.get("/")).text
    await client.post("/theme", data={"theme": "no such"})
    assert 'data-theme="dark"' in (await client.get("/")).text
    await client.post("/theme", data={"theme": "auto"})
    assert "data-theme" not in (await client.get("/")).text
