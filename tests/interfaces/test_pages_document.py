"""The page of one document as a browser gets it, without a browser."""

import asyncio
import json
import re
from html import unescape
from typing import Any

import httpx2
import pytest
from front_door import add, wait_finished
from page_kit import FORM, page, text_of
from pdf_files import make_pdf, text_page
from rest_kit import API

HOSTILE = "<script>alert(1)</script>"
OTTERS = "The otters sleep on the river bank while the heron waits for the fish of the evening."
GUIDE = f"""# Guide

## Otters

{OTTERS} {"They are seen at night and never by day. " * 15}

- first
  - below the first
- second

1. one
2. two

| animal | food |
|---|---|
| otter | fish |

> A heron said so.

```
let river = deep;
```

## Herons

{"The heron stands in the reeds and does not move for an hour or two. " * 10}
"""


async def chunks_of(client: httpx2.AsyncClient, document_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await client.get(f"{API}/documents/{document_id}/chunks?limit=100")).json()["items"]
    return items


def links(html: str, text: str) -> list[str]:
    found = re.findall(rf'<a[^>]*href="([^"]*)"[^>]*>{re.escape(text)}</a>', html)
    return [unescape(link) for link in found]


async def test_every_view_is_an_address_and_leads_to_the_others(client: httpx2.AsyncClient) -> None:
    document = await add(client, "guide.md", GUIDE.encode(), metadata='{"year": 2026, "public": false}')
    address = f"/documents/{document['id']}"
    told = {
        "passages": "Length in tokens",
        "reading": "The text as it was read",
        "original": "guide.md Markdown text",
        "details": "What is known of it Edit Title Guide Collection None year 2026 public no",
        "versions": "Add a newer version",
    }
    for name, text in told.items():
        html = await page(client, address if name == "passages" else f"{address}?view={name}")
        assert text in text_of(html), name
        tabs = html[html.index('<nav class="tabs"') :]
        assert tabs[: tabs.index("</nav>")].count('aria-current="page"') == 1
        for other in ("reading", "original", "details", "versions"):
            assert f'href="{address}?view={other}"' in html
    assert told["passages"] in text_of(await page(client, f"{address}?view=nothing-like-that"))
    assert "Pages can be shown of PDFs only" in text_of(await page(client, f"{address}?view=original"))


async def test_the_text_as_it_was_read_has_its_headings_lists_tables_code_and_quotes(
    client: httpx2.AsyncClient,
) -> None:
    document = await add(client, "guide.md", GUIDE.encode())
    html = await page(client, f"/documents/{document['id']}?view=reading")
    assert 'role="heading" aria-level="3" data-level="3">Otters</div>' in html
    flat = re.sub(r">\s+<", "><", re.sub(r"\n\s*", "\n", html)).replace("\n", "")
    assert "<ul><li>first<ul><li>below the first</li></ul></li><li>second</li></ul>" in flat
    assert "<ol><li>one</li><li>two</li></ol>" in flat
    assert '<th scope="col">animal</th>' in html and "<td>otter</td><td>fish</td>" in flat
    assert "<blockquote>A heron said so.</blockquote>" in html
    assert '<pre tabindex="0">let river = deep;' in html
    assert "<mark>" not in html and 'id="here"' not in html


async def test_a_passage_is_shown_in_its_place_in_every_format(client: httpx2.AsyncClient) -> None:
    rows = "\n".join(f"part-{number},machine {number % 7},{number}" for number in range(120))
    filler = "Nothing else in this long paragraph tells of animals, only of the weather and the wind. " * 10
    files = {
        "guide.md": GUIDE.encode(),
        "parts.csv": f"name,machine,stock\n{rows}".encode(),
        "animals.html": f"<h1>Animals</h1><p>{filler}</p><h2>River</h2><p>{OTTERS}</p><p>{filler}</p>".encode(),
        "animals.pdf": make_pdf([text_page(OTTERS, heading="One"), text_page("The heron waits.", heading="Two")]),
    }
    for name, data in files.items():
        document = await add(client, name, data)
        for chunk in (await chunks_of(client, document["id"]))[:6]:
            html = await page(client, f"/documents/{document['id']}?view=reading&passage={chunk['id']}")
            assert html.count('id="here"') == 1, (name, chunk["sequence"])
            marked = re.findall(r"<mark>(.*?)</mark>", html, re.DOTALL)
            marked += re.findall(r'<tr class="here">(.*?)</tr>', html, re.DOTALL)
            words = set(re.findall(r"\w+", text_of(" ".join(marked))))
            wanted = set(re.findall(r"\w+", chunk["content"]))
            assert words, (name, chunk["sequence"])
            assert len(words & wanted) >= 0.8 * len(wanted), (name, chunk["sequence"])
            assert f"Passage {chunk['sequence'] + 1}" in text_of(html)


async def test_a_long_document_is_read_page_by_page_there_and_back(client: httpx2.AsyncClient) -> None:
    rows = "\n".join(f"| row {number} | {'x' * 8} |" for number in range(300))
    parts = "\n\n".join(f"## Part {number}\n\n" + f"Sentence {number} of the otters. " * 40 for number in range(14))
    content = f"# Long\n\n{parts}\n\n| name | text |\n|---|---|\n{rows}\n\nThe last words.\n"
    document = await add(client, "long.md", content.encode())
    address, seen, pages = f"/documents/{document['id']}?view=reading", "", 0
    last = address
    while address:
        html = await page(client, address)
        assert len(html) < 200_000
        seen += text_of(html[html.index("<article") : html.index("</article>")])
        last, pages = address, pages + 1
        address = next(iter(links(html, "Later text")), "")
    assert pages >= 2
    for number in range(14):
        assert seen.count(f"Sentence {number} of") == 40
    assert [seen.count(f"row {number} x") for number in (0, 1, 149, 150, 299)] == [1] * 5
    assert seen.endswith("The last words.")
    for _ in range(pages + 3):
        back = links(await page(client, last), "Earlier text")
        if not back:
            break
        last = back[0]
    assert "Sentence 0 of" in await page(client, last)
    assert "Sentence 0 of" in await page(client, f"/documents/{document['id']}?view=reading&from=99999999")


async def test_headings_lead_to_their_passages_and_to_their_text(client: httpx2.AsyncClient) -> None:
    parts = "\n\n".join(f"## Part {number}\n\n" + f"Sentence {number} of the otters. " * 12 for number in range(70))
    document = await add(client, "long.md", f"# Long\n\n{parts}".encode())
    html = await page(client, f"/documents/{document['id']}")
    (to_passages,) = links(html, "Part 60")
    passages = await page(client, to_passages)
    first = re.search(r'class="passage[^>]*>.*?<p class="text">(.*?)</p>', passages, re.DOTALL)
    assert first is not None and first[1].startswith("Sentence 60 of")
    (to_text,) = links(await page(client, f"/documents/{document['id']}?view=reading"), "Part 60")
    html = await page(client, to_text)
    assert to_text.partition("#")[2] in re.findall(r'id="(b\d+)"', html)
    assert "Sentence 60 of" in html and "Sentence 59 of" not in html


async def test_the_page_of_a_pdf_stands_beside_its_passages(client: httpx2.AsyncClient) -> None:
    pdf = make_pdf([text_page(f"{OTTERS} {number}", heading=f"Part {number}") for number in range(1, 4)])
    document = await add(client, "animals.pdf", pdf)
    address, pictures = f"/documents/{document['id']}", f"{API}/documents/{document['id']}/pages"
    html = await page(client, address)
    assert f'src="{pictures}/1?width=1000"' in html and 'alt="Page 1 of the original"' in html
    assert 'rel="prev"' not in html and f'rel="next" href="{address}?page=2"' in html
    chunk = (await chunks_of(client, document["id"]))[-1]
    number = chunk["location"]["pageEnd"]
    html = unescape(await page(client, f"{address}?passage={chunk['id']}&page={number}"))
    assert f'src="{pictures}/{number}?width=1000&chunkId={chunk["id"]}"' in html
    assert f'alt="Page {number} of the original, with the words of the passage marked"' in html
    assert "are marked." in html
    picture = re.search(r'<img src="(/api/[^"]*)"', html)
    assert picture is not None
    assert (await client.get(picture[1])).headers["content-type"] == "image/png"
    for view in ("reading", "original"):
        html = await page(client, f"{address}?view={view}&page=99")
        assert f'src="{pictures}/3?width=1000"' in html
        assert 'rel="next"' not in html


async def test_the_pages_of_a_pdf_that_could_not_be_read_are_shown_all_the_same(client: httpx2.AsyncClient) -> None:
    document = await add(client, "blank.pdf", make_pdf([text_page(""), text_page("")]))
    assert document["status"] == "failed"
    html = text_of(await page(client, f"/documents/{document['id']}?view=original"))
    assert "of 2" in html
    torn = await add(client, "torn.pdf", b"%PDF-1.7\nnothing")
    assert "Pages can be shown of PDFs only" not in text_of(
        await page(client, f"/documents/{torn['id']}?view=original")
    )


async def edit(client: httpx2.AsyncClient, document_id: str, **changes: Any) -> httpx2.Response:
    """Send the form as it is shown, with some fields changed."""
    html = await page(client, f"/documents/{document_id}?view=details&edit=1")
    fields = form_values(html)
    return await client.post(f"/documents/{document_id}/edit", data=fields | changes, headers=FORM)


def form_values(html: str) -> dict[str, Any]:
    """What a browser would send of the form in a page."""
    form = html[html.index('<form class="details-form"') :]
    form = form[: form.index("</form>")]
    values: dict[str, Any] = {
        "stamp": re.findall(r'name="stamp" value="([^"]*)"', form)[0],
        "title": unescape(re.findall(r'name="title" value="([^"]*)"', form)[0]),
        "collection": "".join(re.findall(r'<option value="(col_[^"]*)" selected', form)),
        "key": [unescape(key) for key in re.findall(r'name="key" value="([^"]*)"', form)],
        "kind": re.findall(r'<option value="(text|number|boolean|date|list|json)" selected', form),
        "value": [unescape(text) for text in re.findall(r'name="value"[^>]*>\n(.*?)</textarea>', form, re.DOTALL)],
    }
    if found := re.search(r'name="json"[^>]*>\n(.*?)</textarea>', form, re.DOTALL):
        values["json"] = unescape(found[1])
    return values


async def test_title_collection_and_metadata_are_edited_as_typed_fields(client: httpx2.AsyncClient) -> None:
    shelf = (await client.post(f"{API}/collections", json={"name": "Shelf"})).json()["id"]
    metadata = {"year": 2026, "open": True, "since": "2026-03-31", "tags": ["a", "b"], "more": {"x": [1, None]}}
    pdf = make_pdf([text_page(OTTERS)], {"Author": "Ada"})
    document = await add(client, "animals.pdf", pdf, metadata=json.dumps(metadata))
    html = await page(client, f"/documents/{document['id']}?view=details&edit=1")
    fields = form_values(html)
    assert fields["key"] == [*metadata, ""]
    assert fields["kind"] == ["number", "boolean", "date", "list", "json", "text"]
    assert fields["value"][3] == "a\nb"
    assert "The file says" in text_of(html) and "Ada" in text_of(html)
    answer = await edit(
        client,
        document["id"],
        title="  Animals of the  river ",
        collection=shelf,
        key=["year", "open", "tags", "more", "by"],
        kind=["number", "boolean", "list", "json", "text"],
        value=["2027", "no", "a\r\nc\r\n", '{"x": 2}', "Grace"],
    )
    assert answer.status_code == 303
    assert "Saved." in await page(client, answer.headers["location"])
    now = (await client.get(f"{API}/documents/{document['id']}")).json()
    assert (now["title"], now["collectionId"]) == ("Animals of the river", shelf)
    own = {"year": 2027, "open": False, "tags": ["a", "c"], "more": {"x": 2}, "by": "Grace"}
    assert {key: value for key, value in now["metadata"].items() if key != "document"} == own
    assert now["metadata"]["document"]["author"] == "Ada"
    newer = make_pdf([text_page(OTTERS)], {"Author": "Grace"})
    await client.post(f"{API}/documents/{document['id']}/revisions", files={"file": ("a.pdf", newer)})
    now = await wait_finished(client, document["id"])
    assert now["metadata"]["document"]["author"] == "Grace"  # what the file says is not frozen by an edit
    assert now["title"] == "Animals of the river"


async def test_what_cannot_be_saved_is_told_beside_its_field_and_nothing_is_lost(client: httpx2.AsyncClient) -> None:
    document = await add(client, "guide.md", GUIDE.encode(), metadata='{"year": 2026}')
    before = (await client.get(f"{API}/documents/{document['id']}")).json()
    wrong = await edit(
        client,
        document["id"],
        title=" ",
        key=["year", "year", ""],
        kind=["date", "text", "text"],
        value=["31.3.2026", "b", "alone"],
    )
    assert wrong.status_code == 400
    told = text_of(wrong.text)
    for text in ("A document needs a title.", "year-month-day", "This key is used twice.", "Give it a key"):
        assert text in told
    fields = form_values(wrong.text)
    assert fields["value"] == ["31.3.2026", "b", "alone"]
    assert wrong.text.count("aria-invalid") == 7  # the title, and name and value of each row
    gone = await edit(client, document["id"], collection="col_none")
    assert (gone.status_code, "no collection" in gone.text) == (404, True)
    large = await edit(client, document["id"], key=["x"], kind=["json"], value=[str(2**63)])
    assert (large.status_code, "64 bits" in large.text) == (400, True)
    assert (await client.get(f"{API}/documents/{document['id']}")).json() == before
    assert (await edit(client, document["id"], value="x" * 700_000)).status_code == 413


async def test_rows_come_and_go_and_everything_can_be_edited_as_json(client: httpx2.AsyncClient) -> None:
    document = await add(client, "guide.md", GUIDE.encode(), metadata='{"year": 2026, "by": "Ada"}')
    more = await edit(client, document["id"], action="add", title="Not saved yet")
    assert more.status_code == 200
    fields = form_values(more.text)
    assert (fields["key"], fields["title"]) == (["year", "by", ""], "Not saved yet")
    fewer = await edit(client, document["id"], action="remove:0")
    assert form_values(fewer.text)["key"] == ["by", ""]
    as_json = await edit(client, document["id"], action="json", key=["by"], kind=["text"], value=["Grace"])
    text = form_values(as_json.text)["json"]
    assert json.loads(text) == {"by": "Grace"}
    for bad, told in (("{", "not JSON"), ("[1]", "must be a JSON object"), ('{"a": 1e999}', "too large")):
        answer = await edit(client, document["id"], json=bad)
        assert (answer.status_code, told in text_of(answer.text)) == (400, True)
        assert form_values(answer.text)["json"] == bad
    back = await edit(client, document["id"], json='{"a": {"b": [true]}}', action="rows")
    assert form_values(back.text)["kind"] == ["json", "text"]
    saved = await edit(client, document["id"], json='{"": "no name", "document": {"author": "Me"}}')
    assert saved.status_code == 303
    now = (await client.get(f"{API}/documents/{document['id']}")).json()
    assert now["metadata"] == {"": "no name", "document": {"author": "Me"}}
    html = await page(client, f"/documents/{document['id']}?view=details&edit=1")
    assert json.loads(form_values(html)["json"])[""] == "no name"  # what rows cannot show is edited as JSON


async def test_an_edit_never_overwrites_silently_what_somebody_else_changed(client: httpx2.AsyncClient) -> None:
    document = await add(client, "guide.md", GUIDE.encode(), metadata='{"year": 2026}')
    address = f"/documents/{document['id']}"
    mine = form_values(await page(client, f"{address}?view=details&edit=1"))
    await client.patch(f"{API}{address}", json={"title": "Theirs", "metadata": {"year": 1999}})
    mine |= {"title": "Mine", "value": ["2030", ""]}
    answer = await client.post(f"{address}/edit", data=mine, headers=FORM)
    assert answer.status_code == 409
    told = text_of(answer.text)
    assert "Somebody else changed this document meanwhile." in told and "Theirs" in told and "1999" in told
    fields = form_values(answer.text)
    assert (fields["title"], fields["value"][0]) == ("Mine", "2030")
    assert (await client.get(f"{API}{address}")).json()["title"] == "Theirs"
    again = await client.post(f"{address}/edit", data=fields, headers=FORM)  # now they have seen it
    assert again.status_code == 303
    now = (await client.get(f"{API}{address}")).json()
    assert (now["title"], now["metadata"]) == ("Mine", {"year": 2030})


async def test_a_newer_version_is_uploaded_and_every_original_can_be_downloaded(client: httpx2.AsyncClient) -> None:
    document = await add(client, "guide.md", GUIDE.encode())
    address = f"/documents/{document['id']}"
    newer = b"# Guide\n\nThe second edition tells of otters alone.\n"
    answer = await client.post(f"{address}/versions", files={"file": ("second.md", newer)}, headers=FORM)
    assert answer.status_code == 303
    assert "The new version was taken in." in await page(client, answer.headers["location"])
    await wait_finished(client, document["id"])
    html = await page(client, f"{address}?view=versions")
    assert "2 In use second.md" in text_of(html)
    downloads = re.findall(r'href="([^"]*revisionId=[^"]*)"', html)
    assert [(await client.get(link)).content for link in downloads] == [newer, GUIDE.encode()]
    for name, content, told in (("setup.exe", b"MZ", "format is not supported"), ("empty.md", b"", "is empty")):
        answer = await client.post(f"{address}/versions", files={"file": (name, content)}, headers=FORM)
        assert told in text_of(await page(client, answer.headers["location"]))
    assert (await client.get(f"{API}{address}/file?revisionId=rev_none")).json()["error"][
        "code"
    ] == "REVISION_NOT_FOUND"
    await client.post(f"{address}/versions", files={"file": ("torn.pdf", b"%PDF-1.7\nx")}, headers=FORM)
    await wait_finished(client, document["id"])
    html = text_of(await page(client, f"{address}?view=versions"))
    assert "3 Never ready torn.pdf" in html and "searches go on with the former one" in html


async def test_similar_passages_are_listed_for_a_passage_and_for_a_document(client: httpx2.AsyncClient) -> None:
    own = await add(client, "otters.md", GUIDE.encode())
    assert "no other document to compare" in text_of(await page(client, f"/similar?document={own['id']}"))
    other = await add(client, "fish.txt", b"At night otters go fishing in the river; by day they sleep on its banks.")
    chunk = (await chunks_of(client, own["id"]))[0]
    for query in (f"document={own['id']}", f"passage={chunk['id']}", f"passage={chunk['id']}&document={own['id']}"):
        html = await page(client, f"/similar?{query}")
        assert f'href="/documents/{other["id"]}?passage=chk_' in html
        assert '<rect class="fill-meaning" width="' in html
        assert f"← {own['title']}" in text_of(html)
        assert links(html, "Search for this in the playground")[0].startswith("/playground?q=")
    assert "choose “Find similar”" in text_of(await page(client, "/similar"))
    failed = await add(client, "torn.pdf", b"%PDF-1.7\nnothing")
    assert "no passages yet" in text_of(await page(client, f"/similar?document={failed['id']}", 404))
    for query in ("passage=chk_none", "document=doc_none", f"passage={chunk['id']}&document={other['id']}"):
        assert "This document is gone" in await page(client, f"/similar?{query}", 404)


async def test_markup_shows_as_text_in_every_view(client: httpx2.AsyncClient) -> None:
    cell = HOSTILE.replace("|", "")
    content = (
        f"# `{HOSTILE}`\n\n## `{HOSTILE}`\n\n`{HOSTILE}` tells of otters.\n\n- `{HOSTILE}`\n\n"
        f"| `{cell}` |\n|---|\n| `{cell}` |\n\n```\n{HOSTILE}\n```\n\n> `{HOSTILE}`\n"
    )
    metadata = json.dumps({HOSTILE: HOSTILE, "list": [HOSTILE], "</textarea>": {"</textarea>": HOSTILE}})
    document = await add(client, f"{HOSTILE.replace('/', '')}.md", content.encode(), metadata=metadata)
    await add(client, "other.md", content.encode() + b"more", metadata=metadata)
    (chunk,) = await chunks_of(client, document["id"])
    address = f"/documents/{document['id']}"
    queries = (
        "",
        "view=reading",
        f"view=reading&passage={chunk['id']}",
        "view=original",
        "view=details",
        "view=versions",
    )
    paths = [f"{address}?{query}" for query in (*queries, "view=details&edit=1")]
    for path in (*paths, f"/similar?document={document['id']}"):
        html = await page(client, path)
        assert "<script>alert" not in html, path
        assert HOSTILE in text_of(html), path
        assert html.count("<textarea") == html.count("</textarea>"), path
    as_json = await edit(client, document["id"], action="json")
    assert as_json.text.count("</textarea>") == 1
    conflict = await edit(client, document["id"], stamp=HOSTILE, title=HOSTILE)
    assert conflict.status_code == 409 and "<script>alert" not in conflict.text


@pytest.mark.parametrize(
    "query",
    [
        "view=reading&from=-1",
        "view=reading&from=999999999.999999999",
        "view=reading&from=%00&passage=%00",
        "view=reading&passage=chk_none",
        "view=original&page=0",
        "view=original&page=99999999999&passage=x",
        "page=%D9%A1&section=x",
        "section=999999999",
        "view=details&edit=&passage=chk_none",
        "view=%00",
    ],
)
async def test_strange_addresses_still_give_a_page(client: httpx2.AsyncClient, query: str) -> None:
    document = await add(client, "animals.pdf", make_pdf([text_page(OTTERS)]))
    await page(client, f"/documents/{document['id']}?{query}")


async def test_a_document_that_is_still_read_has_all_its_views(client: httpx2.AsyncClient) -> None:
    answer = await client.post(f"{API}/documents", files={"file": ("guide.md", GUIDE.encode())})
    address = f"/documents/{answer.json()['id']}"
    views = ("passages", "reading", "original", "details", "versions")
    await asyncio.gather(*(page(client, f"{address}?view={view}") for view in views))
    await wait_finished(client, answer.json()["id"])
