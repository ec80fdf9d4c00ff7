"""The page of the system as a browser gets it."""

from dataclasses import replace
from typing import Any

import httpx2
import pytest
from front_door import add, running_client, until
from page_kit import page, row_of, send, text_of
from rest_kit import API

from mcp_knowledge.adapters.blobs import LocalBlobStore
from mcp_knowledge.adapters.rows.jobs import SqlJobQueue
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.domain.documents import IndexVersions
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web import system
from mcp_knowledge.ports import StoreHealth
from mcp_knowledge.settings import Settings

MADE = IndexVersions("pdf", "1", "sections", "1", "model-a", 384, "1")


async def test_a_service_that_is_well_says_so_with_its_figures(client: httpx2.AsyncClient) -> None:
    await add(client, "tea.txt", b"Green tea.")
    await add(client, "broken.pdf", b"no PDF")
    text = text_of(await page(client, "/system"))
    assert "Everything works" in text
    assert "Originals Kept in a folder of this server." in text
    assert "Queue Nothing is waiting, 1 failed." in text
    assert "Every document was read and cut as a new one would be." in text
    assert "Read everything again" in text and "Read them again" not in text
    assert "Ready 1 Failed 1" in text and "Originals The files as they were uploaded" in text and "16 B" in text
    assert "local: one machine" in text and "all-MiniLM-L6-v2, 384 numbers a passage" in text


async def test_what_does_not_work_is_told_with_what_to_do(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: LocalBlobStore) -> bool:
        raise OSError("no such device")

    async def another(_: SqlStore) -> str:
        return "of another model"

    monkeypatch.setattr(LocalBlobStore, "healthy", broken)
    monkeypatch.setattr(SqlStore, "fingerprint", another)
    text = text_of(await page(client, "/system"))
    assert "2 parts need attention" in text
    assert "They cannot be reached (a folder of this server)." in text and "doctor" in text
    assert "some documents were learned by another one" in text

    async def silent(_: SqlStore) -> StoreHealth:
        return StoreHealth("sqlite", False, 0, 7)

    async def no_answer(_: SqlStore, *__: Any) -> int:
        raise KnowledgeError("SERVICE_UNAVAILABLE")

    monkeypatch.setattr(SqlStore, "health", silent)
    monkeypatch.setattr(SqlStore, "generation", no_answer)
    text = text_of(await page(client, "/system"))
    assert "It does not answer. Check that its disk is there" in text
    assert "Remove all documents" not in text and "This server Version" in text
    monkeypatch.setattr(SqlStore, "list_collections", no_answer)
    away = await client.get("/collections", headers={"Accept": "text/html"})
    assert away.status_code == 503 and '<a class="button primary" href="/system">See what is wrong</a>' in away.text


@pytest.mark.both_databases
async def test_documents_that_are_out_of_date_are_listed_with_the_reason_and_read_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_client(settings) as client:
        for name in ("a.txt", "b.txt", "c.txt"):
            await add(client, name, name.encode())
    monkeypatch.setattr(system, "PAGE_STALE", 2)
    claim = SqlJobQueue.claim

    async def nothing(*_: Any) -> list[Any]:
        return []

    async with running_client(settings.model_copy(update={"chunk_target_tokens": 150})) as client:
        html = await page(client, "/system")
        assert "3 documents were made in another way" in text_of(html)
        assert "3 passages are cut differently now" in text_of(html)
        listed = await page(client, "/system/stale")
        assert listed.count("<tr id=") == 2
        assert row_of(listed, ">a<") == "a Passages are cut differently now (their sizes or the rules have changed)."
        rest = await page(client, listed.split('rel="next" href="')[1].split('"')[0])
        assert rest.count("<tr id=") == 1

        monkeypatch.setattr(SqlJobQueue, "claim", nothing)
        answer = await send(client, "/system/reindex", which="stale")
        assert (answer.status_code, answer.headers["location"]) == (303, "/system?notice=reading&count=3#stale")
        text = text_of(await page(client, "/system?notice=reading&count=3"))
        assert "3 documents will be read again." in text and "Reading again 0 of 3" in text
        assert (await send(client, "/system/reindex", which="all")).headers["location"].endswith("count=0#stale")
        monkeypatch.setattr(SqlJobQueue, "claim", claim)

        async def none_is_stale() -> bool:
            return "Every document was read" in await page(client, "/system")

        await until(none_is_stale, 60)
        assert "Nothing is out of date" in await page(client, "/system/stale")
        assert "Reading again" not in await page(client, "/system")


async def test_everything_is_removed_only_after_the_word_was_typed(client: httpx2.AsyncClient) -> None:
    document = await add(client, "tea.txt", b"Green tea.")
    for typed in ("", "yes", "purge it"):
        refused = await send(client, "/system/purge", confirm=typed)
        assert refused.status_code == 400
        assert "Nothing was removed" in refused.text and 'id="danger" open' in refused.text
    assert (await client.get(f"{API}/documents/{document['id']}")).status_code == 200
    answer = await send(client, "/system/purge", confirm=" Purge ")
    assert (answer.status_code, answer.headers["location"]) == (303, "/system?notice=purged")
    assert "Every document is gone." in await page(client, answer.headers["location"])
    assert (await client.get(f"{API}/documents/{document['id']}")).status_code == 404


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (replace(MADE, parser_version="2"), "the reader “pdf” is newer now (1 → 2)"),
        (replace(MADE, parser_name="text"), "the reader “pdf” is no longer used"),
        (replace(MADE, chunker_version="1-90"), "passages are cut differently now"),
        (replace(MADE, embedding_model="model-b"), "meaning was learned by another model (model-a)"),
        (replace(MADE, embedding_version="2"), "another version of the model"),
        (replace(MADE, embedding_dimensions=768), "another version of the model"),
        (replace(MADE, parser_version="2", chunker_version="2"), "newer now (1 → 2); passages are cut"),
    ],
)
def test_the_reason_names_what_has_changed(now: IndexVersions, why: str) -> None:
    assert why in system.reason(MADE, [now])


async def test_addresses_that_say_something_amiss_do_no_harm(client: httpx2.AsyncClient) -> None:
    for path in (
        "/system?notice=reading&count=-1",
        "/system?notice=odd",
        "/system/stale?after=%00%FF",
        "/system/stale?after=zzz",
    ):
        await page(client, path)
