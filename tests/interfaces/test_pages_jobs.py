"""The page of jobs as a browser gets it."""

import re
from typing import Any

import httpx2
import pytest
from front_door import add
from page_kit import page, row_of, send, text_of
from rest_kit import API, upload

from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.interfaces.web import jobs
from mcp_knowledge.services.presence import Presence

HOSTILE = "<script>alert(1)</script>"


async def job_of(client: httpx2.AsyncClient, document_id: str) -> dict[str, Any]:
    (job, *_) = (await client.get(f"{API}/jobs", params={"documentId": document_id})).json()["items"]
    found: dict[str, Any] = job
    return found


@pytest.fixture
def nobody_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> list[Any]:
        return []

    monkeypatch.setattr(SqlJobQueue, "claim", nothing)


async def test_jobs_are_told_in_words_with_reason_and_advice(client: httpx2.AsyncClient) -> None:
    assert "No job yet" in text_of(await page(client, "/jobs"))
    tea = await add(client, "tea.txt", b"Green tea.")
    await client.patch(f"{API}/documents/{tea['id']}", json={"title": HOSTILE})
    await add(client, "broken.pdf", b"no PDF")
    html = await page(client, "/jobs")
    assert HOSTILE not in html
    assert re.fullmatch(
        r"read <script>alert\(1\)</script> tea.txt .*Done 1 of 3 \d\.\d s just now", row_of(html, "tea")
    )
    failed = row_of(html, "broken")
    assert "This file could not be read. It may be damaged" in failed
    assert "Failed 1 of 3" in failed and failed.endswith("Try again")
    assert "All done, nothing is waiting 1 failed" in text_of(html)
    assert "All 2 Waiting 0 At work 0 Failed 1 Done 1 Cancelled 0" in text_of(html)
    only_failed = await page(client, "/jobs?status=failed")
    assert "tea.txt" not in only_failed and "broken" in only_failed and "Try all failed again" in only_failed
    assert "Nothing has failed" not in only_failed and "No job fits" in await page(client, "/jobs?status=cancelled")


async def test_a_failed_job_is_tried_again_from_where_the_button_was(client: httpx2.AsyncClient) -> None:
    document = await add(client, "broken.pdf", b"no PDF")
    job = await job_of(client, document["id"])
    answer = await send(client, f"/jobs/{job['id']}/retry", referer="/jobs?status=failed&notice=gone&count=3")
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?status=failed&notice=queued")
    assert "The job is queued again." in await page(client, answer.headers["location"])
    (await add(client, "tea.txt", b"Green tea."))["id"]
    done = await job_of(client, (await add(client, "honey.txt", b"Honey."))["id"])
    for job_id, outcome in ((done["id"], "not-retryable"), ("job_none", "gone")):
        answer = await send(client, f"/jobs/{job_id}/retry")
        assert answer.headers["location"] == f"/jobs?notice={outcome}"
        assert 'class="notice bad"' in await page(client, answer.headers["location"])


@pytest.mark.both_databases
async def test_all_failed_jobs_are_tried_again_but_those_a_later_one_has_overtaken(client: httpx2.AsyncClient) -> None:
    first = await add(client, "broken.pdf", b"no PDF")
    await add(client, "worse.pdf", b"no PDF either")
    await client.post(f"{API}/documents/{first['id']}/reindex")
    await add(client, "tea.txt", b"Green tea.")
    html = await page(client, f"/jobs?document={first['id']}")
    assert "Overtaken" in text_of(html) and html.count("/retry") == 1
    answer = await send(client, "/jobs/retry-failed")
    assert answer.headers["location"] == "/jobs?notice=retried&count=2"
    assert "2 jobs queued again." in await page(client, answer.headers["location"])
    assert "Nothing was left to try again" in await page(client, "/jobs?notice=retried&count=0")


async def test_jobs_of_one_document_and_of_one_that_is_gone(client: httpx2.AsyncClient) -> None:
    tea = await add(client, "tea.txt", b"Green tea.")
    await add(client, "honey.txt", b"Honey.")
    html = await page(client, f"/jobs?document={tea['id']}")
    assert "Document: tea" in text_of(html) and "honey" not in html
    assert "All 1" in text_of(html)
    await client.delete(f"{API}/documents/{tea['id']}")
    gone = await page(client, "/jobs")
    assert f'href="/documents/{tea["id"]}"' not in gone
    assert "tea.txt" in gone
    assert "This document has no jobs" in await page(client, "/jobs?document=doc_none")


async def test_a_long_queue_is_read_page_by_page(client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PAGE_JOBS", 2)
    for number in range(5):
        await add(client, f"{number}.txt", str(number).encode())
    seen, path = [], "/jobs?status=done"
    while path:
        html = await page(client, path)
        seen += re.findall(r'<tr id="(job_\w+)"', html)
        following = re.search(r'rel="next" href="([^"]+)"', html)
        path = following[1].replace("&amp;", "&") if following else ""
    assert len(seen) == len(set(seen)) == 5
    assert "Back to the start" in html


@pytest.mark.usefixtures("nobody_claims")
async def test_a_queue_that_nobody_works_on_says_so(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await upload(client, "tea.txt", b"Green tea.")
    assert "Nothing is being worked on" not in await page(client, "/jobs")

    async def nobody(_: Presence) -> bool:
        return False

    monkeypatch.setattr(Presence, "somebody_works", nobody)
    assert "Nothing is being worked on. 1 job waiting, and no worker is running." in text_of(
        await page(client, "/jobs")
    )


async def test_how_long_the_queue_takes_is_told_once_that_is_no_guess(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        await add(client, f"{number}.txt", str(number).encode())

    async def nothing(*_: Any) -> list[Any]:
        return []

    monkeypatch.setattr(SqlJobQueue, "claim", nothing)
    assert "done in" not in text_of(await page(client, "/jobs"))
    await upload(client, "tea.txt", b"Green tea.")
    assert "1 waiting done in less than a minute" in text_of(await page(client, "/jobs"))


@pytest.mark.parametrize("query", ["after=nonsense", "after=job_1~x", "after=doc_1~1", "after=job_1~" + "9" * 30])
async def test_a_place_that_is_none_is_refused(client: httpx2.AsyncClient, query: str) -> None:
    assert "INVALID_CURSOR" in await page(client, f"/jobs?{query}", 400)


async def test_what_an_address_says_amiss_is_passed_over(client: httpx2.AsyncClient) -> None:
    for query in (
        "status=odd",
        "document=%00",
        "notice=odd",
        "notice=retried&count=many",
        "notice=retried&count=" + "9" * 40,
    ):
        await page(client, f"/jobs?{query}")
