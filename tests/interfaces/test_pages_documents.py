"""The list of documents as a browser without scripts has it: filters, many at once, undo, samples, better copies."""

import asyncio
import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from folder_kit import Office
from front_door import add, until, wait_finished
from hypothesis import given
from hypothesis import strategies as st
from page_kit import HTML, page, text_of
from rest_kit import API, app_of, import_archive, upload
from zip_files import zip_of

from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.interfaces.web import bulk
from mcp_knowledge.interfaces.web.bulk import tag_value
from mcp_knowledge.services.samples import FOLDER

HERE = "http://127.0.0.1"
HOSTILE = "<script>alert(1)</script>"


async def submit(client: httpx2.AsyncClient, path: str, left: str = "/", **fields: Any) -> tuple[str, str]:
    """Send a form of the page `left`; where its answer leads, and what is said there."""
    answer = await client.post(path, data=fields, headers={**HTML, "Referer": f"{HERE}{left}"})
    assert answer.status_code == 303, answer.text
    address = await followed(client, answer.headers["location"])
    said = re.search(r'<div class="notice[^"]*" role="status">(.*?)</div>', await page(client, address), re.DOTALL)
    return address, text_of(said[1]) if said else ""


async def followed(client: httpx2.AsyncClient, address: str) -> str:
    """Where a change leads when it has ended, which may take longer than its form waits."""

    async def ended() -> bool:
        return (await client.get(address, headers=HTML)).status_code == 303

    if address.startswith("/documents/bulk/"):
        await until(ended)
        address = (await client.get(address, headers=HTML)).headers["location"]
    return address


async def listed(client: httpx2.AsyncClient, address: str = "/") -> list[str]:
    return re.findall(r"data-title>([^<]*)</a>", await page(client, address))


async def titles(client: httpx2.AsyncClient, **query: str) -> set[str]:
    return {item["title"] for item in (await client.get(f"{API}/documents", params=query)).json()["items"]}


async def several(client: httpx2.AsyncClient, count: int, **fields: str) -> list[str]:
    return [(await upload(client, f"note {n}.txt", f"words {n}".encode(), **fields))["id"] for n in range(count)]


async def shelf(client: httpx2.AsyncClient, name: str = "Shelf") -> str:
    collection_id: str = (await client.post(f"{API}/collections", json={"name": name})).json()["id"]
    return collection_id


async def test_the_list_is_narrowed_by_collection_format_state_and_text_together(client: httpx2.AsyncClient) -> None:
    shelf_id = await shelf(client)
    await several(client, 2, collectionId=shelf_id)
    await upload(client, "guide.md", b"a guide", collectionId=shelf_id)
    await upload(client, "loose.md", b"loose words")
    assert await listed(client, f"/?collection={shelf_id}&sort=title") == ["guide", "note 0", "note 1"]
    assert await listed(client, f"/?collection={shelf_id}&format=md") == ["guide"]
    assert await listed(client, "/?collection=none") == ["loose"]
    assert await listed(client, "/?format=md&search=LOO") == ["loose"]
    assert await listed(client, "/?sort=oldest") == ["note 0", "note 1", "guide", "loose"]
    told = text_of(await page(client, f"/?collection={shelf_id}&format=txt"))
    assert "Documents in Shelf" in told and "All 2" in told
    for choice in ("Shelf (3)", "txt (2)", "md (2)"):
        assert choice in told
    gone = text_of(await page(client, "/?collection=col_none&format=nothing"))
    assert "in a collection that is gone" in gone and "nothing (0)" in gone and "There is nothing here yet." in gone


@pytest.mark.both_databases
async def test_those_that_are_ticked_are_moved_tagged_and_read_again(client: httpx2.AsyncClient) -> None:
    first, second, third = await several(client, 3)
    for item in (first, second, third):
        await wait_finished(client, item)
    bulk_form: dict[str, Any] = {"document": [first, second, "doc_none"]}

    address, said = await submit(client, "/documents/bulk", do="move", into="new", name=" Letters ", **bulk_form)
    assert said == "2 documents were moved. One was gone already."
    assert await titles(client, collectionId=await _collection(client, "Letters")) == {"note 0", "note 1"}
    _, said = await submit(client, "/documents/bulk", do="move", into="new", name="LETTERS", document=third)
    assert said == "The document was moved."  # into the one that has this name
    _, said = await submit(client, "/documents/bulk", do="move", into="none", document=third, search="note")
    assert await listed(client, "/?collection=none") == ["note 2"]

    _, said = await submit(client, "/documents/bulk", do="tag", key="year", value="2024", **bulk_form)
    assert said == "2 documents were tagged. One was gone already."
    assert (await client.get(f"{API}/documents/{first}")).json()["metadata"] == {"year": 2024}
    address, said = await submit(client, "/documents/bulk", do="untag", key="year", document=first, sort="title")
    assert said == "The tag was removed from the document."
    assert parse_qs(urlsplit(address).query)["sort"] == ["title"]  # the view stays as it was
    assert (await client.get(f"{API}/documents/{first}")).json()["metadata"] == {}

    _, said = await submit(client, "/documents/bulk", do="reindex", document=first)
    assert said.startswith("The file is being read again.")
    await wait_finished(client, first)


async def _collection(client: httpx2.AsyncClient, name: str) -> str:
    items = (await client.get(f"{API}/collections")).json()["items"]
    return next(str(item["id"]) for item in items if item["name"] == name)


@pytest.mark.both_databases
async def test_all_that_fit_are_deleted_and_brought_back_together(client: httpx2.AsyncClient) -> None:
    await several(client, 60)
    await upload(client, "kept.md", b"kept words")
    before = await client.get(f"{API}/documents?limit=100")
    address, said = await submit(client, "/documents/bulk", do="delete", all="1", format="txt", seen=str(now_ms()))
    assert said.startswith("60 documents were deleted.") and said.endswith("Undo")
    assert await listed(client) == ["kept"]

    undo = re.search(r'name="until" value="(\d+)"', await page(client, address))
    assert undo is not None
    address, said = await submit(client, "/documents/restore", left="/?format=txt&sort=title", until=undo[1])
    assert said == "60 documents are back." and address.startswith("/?format=txt&sort=title&")
    after = await client.get(f"{API}/documents?limit=100")
    assert [item["id"] for item in after.json()["items"]] == [item["id"] for item in before.json()["items"]]
    _, said = await submit(client, "/documents/restore", until=undo[1])
    assert said == "That was undone already: there is nothing left to bring back."
    _, said = await submit(client, "/documents/restore", until=str(now_ms() - 1))
    assert said == "It is too late to undo this: what was deleted is gone for good."


async def test_what_came_after_the_page_was_made_is_not_among_all_that_fit(client: httpx2.AsyncClient) -> None:
    await several(client, 2)
    seen = re.search(r'name="seen" value="(\d+)"', await page(client, "/"))
    assert seen is not None
    await until(lambda: now_ms() > int(seen[1]))
    await upload(client, "later.txt", b"nobody has seen this yet")
    _, said = await submit(client, "/documents/bulk", do="delete", all="1", seen=seen[1])
    assert said.startswith("2 documents were deleted.")
    assert await listed(client) == ["later"]


async def test_one_document_is_deleted_from_the_list_or_its_page_and_comes_back(client: httpx2.AsyncClient) -> None:
    (document_id,) = await several(client, 1)
    for left, leads_to in (("/?sort=title&notice=moved&count=3", "/?sort=title&"), (f"/documents/{document_id}", "/?")):
        address, said = await submit(client, f"/documents/{document_id}/delete", left=left)
        assert said == "The document was deleted. Undo"
        assert address.startswith(f"{leads_to}notice=removed&count=1&until=")
        undo = re.search(r"until=(\d+)", address)
        assert undo is not None
        _, said = await submit(client, "/documents/restore", left=address, until=undo[1])
        assert said == "The document is back."
        assert await listed(client) == ["note 0"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"do": "delete"}, "Choose documents first."),
        ({"do": "move", "into": "new", "name": " "}, "Choose a collection, or name a new one."),
        ({"do": "move", "into": "new", "name": "x" * 300}, "Choose a collection, or name a new one."),
        ({"do": "move"}, "Choose a collection, or name a new one."),
        ({"do": "move", "into": "col_none"}, "That collection is gone. Nothing was changed."),
        ({"do": "tag", "key": " ", "value": "x"}, "Say which key of the metadata, in 1 to 100 characters."),
        ({"do": "tag", "key": "a\0b", "value": "x"}, "Say which key of the metadata, in 1 to 100 characters."),
        ({"do": "tag", "key": "k" * 101}, "Say which key of the metadata, in 1 to 100 characters."),
    ],
)
async def test_a_form_that_says_too_little_changes_nothing(
    client: httpx2.AsyncClient, fields: dict[str, str], said: str
) -> None:
    documents = [] if fields["do"] == "delete" else await several(client, 1)
    assert (await submit(client, "/documents/bulk", document=documents, **fields))[1] == said


async def test_forms_that_no_page_sends_are_refused(client: httpx2.AsyncClient) -> None:
    (document_id,) = await several(client, 1)
    for fields in ({"do": "steal"}, {}, {"do": "delete", "after": "doc_x~y"}):
        answer = await client.post("/documents/bulk", data={"document": document_id, **fields}, headers=HTML)
        assert answer.status_code == 400, answer.text
    for until_ms in ("", "x", "-1", "9" * 30, "٣"):
        assert "too late" in (await submit(client, "/documents/restore", until=until_ms))[1]
    crowd = "&".join(f"document=doc_{n}" for n in range(200))
    headers = {**HTML, "Content-Type": "application/x-www-form-urlencoded"}
    assert (await client.post("/documents/bulk", content=crowd, headers=headers)).status_code == 400
    assert await listed(client) == ["note 0"]


async def test_a_long_change_shows_how_far_it_has_come(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await several(client, 3)
    services = app_of(client).state.services
    may_go_on, change = asyncio.Event(), type(services.bulk).change

    async def slow(self: Any, document_ids: Any, what: Any, told: Any) -> Any:
        told(1)
        await may_go_on.wait()
        return await change(self, document_ids, what, told)

    monkeypatch.setattr(type(services.bulk), "change", slow)
    monkeypatch.setattr(bulk, "PATIENCE_S", 0)
    fields = {"do": "tag", "key": "k", "value": "v", "document": ids}
    sent = await client.post("/documents/bulk", data={"sort": "title", **fields}, headers=HTML)
    address = sent.headers["location"]
    html = await page(client, address)
    assert '<progress max="3" value="1"' in html and "1 of 3 documents" in text_of(html)
    assert '<noscript><meta http-equiv="refresh"' in html
    may_go_on.set()
    await until(lambda: services.errands.get(urlsplit(address).path.rpartition("/")[2]).ended)
    answer = await client.get(address, headers=HTML)
    assert (answer.status_code, answer.headers["location"]) == (303, "/?sort=title&notice=tagged&count=3")
    unknown = await client.get("/documents/bulk/none", headers=HTML)
    assert "The change goes on or has ended" in await page(client, unknown.headers["location"])


async def test_a_change_that_is_broken_off_says_after_how_many(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await several(client, 2)

    async def broken(self: Any, document_ids: Any, told: Any) -> Any:
        told(1)
        raise RuntimeError("secret")

    monkeypatch.setattr(type(app_of(client).state.services.bulk), "delete", broken)
    address, said = await submit(client, "/documents/bulk", do="delete", document=ids)
    assert said.startswith("The change was broken off after 1 document: the service could not go on.")
    assert address == "/?notice=broken-off&count=1"


async def test_samples_come_with_one_click_and_go_with_one_and_nothing_else_goes(client: httpx2.AsyncClient) -> None:
    assert "Try it with sample documents" in await page(client, "/")
    own = await upload(client, "my-guide.md", (FOLDER / "visitor-guide.md").read_bytes())
    _, said = await submit(client, "/samples/add")
    assert said == "10 sample documents are here. Each can be searched as soon as it is ready."
    collection_id = await _collection(client, "Sample documents")
    samples = (await client.get(f"{API}/documents", params={"collectionId": collection_id})).json()["items"]
    formats = {(await wait_finished(client, item["id"]))["extension"] for item in samples}
    assert formats >= {"html", "csv", "docx", "pdf", "xlsx", "pptx", "odt", "eml", "json", "txt"}
    assert {(await client.get(f"{API}/documents/{item['id']}")).json()["status"] for item in samples} == {"ready"}
    questions = re.findall(r'class="chip" href="(/playground\?q=[^"]+)"', await page(client, "/"))
    assert len(questions) == 3
    for question in questions:
        assert 'class="hit' in await page(client, unescape(question))
    assert (await submit(client, "/samples/add"))[1] == "You have all the samples already."

    mine, changed = samples[0]["id"], samples[1]["id"]
    await client.patch(f"{API}/documents/{mine}", json={"metadata": {}})
    await client.post(f"{API}/documents/{changed}/revisions", files={"file": ("mine.txt", b"my own words")})
    await wait_finished(client, changed)
    _, said = await submit(client, "/samples/remove")
    assert said == "The 8 samples were removed."
    left = {item["id"] for item in (await client.get(f"{API}/documents")).json()["items"]}
    assert left == {own["id"], mine, changed}
    assert (await client.get(f"{API}/collections/{collection_id}")).status_code == 200  # there is something in it
    assert (await submit(client, "/samples/remove"))[1] == "There were no samples to remove."


async def test_the_collection_of_the_samples_goes_with_them_if_it_was_made_for_them(client: httpx2.AsyncClient) -> None:
    await submit(client, "/samples/add")
    await submit(client, "/samples/remove")
    assert (await client.get(f"{API}/collections")).json()["items"] == []
    own = await shelf(client, "sample documents")
    await client.patch(f"{API}/collections/{own}", json={"description": "Mine"})
    await submit(client, "/samples/add")
    await submit(client, "/samples/remove")
    assert [item["id"] for item in (await client.get(f"{API}/collections")).json()["items"]] == [own]


async def test_a_failure_has_its_reason_advice_and_ways_out_beside_it(client: httpx2.AsyncClient) -> None:
    torn = await add(client, "torn.pdf", b"%PDF-1.7\nnot one")
    html = await page(client, "/?status=failed")
    assert "This file could not be read. It may be damaged" in text_of(html)
    assert (
        f'href="/documents/{torn["id"]}?view=versions#file"' in html
        and f'href="/api/v1/documents/{torn["id"]}/file"' in html
    )
    assert f'action="/documents/{torn["id"]}/reindex"' not in html  # the same bytes will fail again
    assert 'id="file"' in await page(client, f"/documents/{torn['id']}?view=versions")


async def test_files_and_addresses_go_into_the_collection_that_is_shown(client: httpx2.AsyncClient) -> None:
    shelf_id = await shelf(client, f"Shelf {HOSTILE}")
    html = await page(client, f"/?collection={shelf_id}")
    assert f'name="collectionId" value="{shelf_id}"' in html and f'name="collection" value="{shelf_id}"' in html
    assert text_of(html).count(f"Shelf {HOSTILE}") >= 3 and HOSTILE not in html
    sent = await client.post(
        "/upload",
        data={"collectionId": shelf_id},
        files={"file": ("a.txt", b"words")},
        headers={**HTML, "Referer": f"{HERE}/?collection={shelf_id}"},
    )
    assert sent.headers["location"].startswith(f"/?collection={shelf_id}&notice=added&about=doc_")
    assert await listed(client, f"/?collection={shelf_id}") == ["a"]
    for place in ("none", "col_none"):  # a collection that is gone takes nothing in
        assert 'name="collectionId"' not in await page(client, f"/?collection={place}")


async def test_recent_imports_are_told_in_a_line_with_a_way_to_every_file_that_was_passed_over(
    client: httpx2.AsyncClient,
) -> None:
    assert re.search(r'<section class="incoming"[^>]* hidden>', await page(client, "/"))
    item = await import_archive(client, zip_of(("a.txt", b"words"), ("b.exe", b"MZ")))
    html = await page(client, "/")
    assert "letters.zip" in html and "1 of 2 files added" in text_of(html)
    assert f'<a href="/imports/{item["id"]}?show=skipped">1 passed over</a>' in html


async def test_the_scanned_folder_is_told_in_a_line_and_a_file_keeps_its_document_over_an_undo(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.write("kept.txt", "words that are kept")
    office.write("setup.exe", "MZ")
    async with office.opened() as look:
        html = await page(look.client, "/")
        assert "office Up to date 2 files: 1 new or changed, 1 of other formats." in text_of(html)
        assert '<a href="/folder">1 file passed over or failed</a>' in html
        document_id = look.document("kept.txt")["id"]
        address, _ = await submit(look.client, f"/documents/{document_id}/delete")
        assert "2 files passed over" in await page(look.client, "/")  # the folder knows that it was deleted
        undo = re.search(r"until=(\d+)", address)
        assert undo is not None
        await submit(look.client, "/documents/restore", until=undo[1])
        assert "1 file passed over" in await page(look.client, "/")
    look = await office.look()  # another scan takes nothing in twice
    assert [item["id"] for item in look.documents] == [document_id]


@given(st.text(max_size=40))
def test_a_tags_value_is_what_was_written(text: str) -> None:
    value, written = tag_value(text), text.replace("\0", "").strip()
    if isinstance(value, str):
        assert value in written
    else:
        assert str(value).lower() == written.lower() or float(value) == float(written)


@pytest.mark.parametrize(
    ("text", "value"),
    [("2024", 2024), ("-3", -3), ("1.50", 1.5), ("007", "007"), ("TRUE", True), ('"2024"', "2024"), ("1e5", "1e5"),
     ("", ""), ("9" * 30, "9" * 30), (" a b ", "a b")],
)  # fmt: skip
def test_numbers_and_truths_are_kept_as_such(text: str, value: object) -> None:
    assert tag_value(text) == value and type(tag_value(text)) is type(value)
