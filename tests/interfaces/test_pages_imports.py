"""The pages of imports as a browser gets them, without a browser."""

import re
from html import unescape

import httpx2
from page_kit import FORM, page, text_of
from rest_kit import import_archive, send_archive
from zip_files import Entry, raw_zip, zip_of

HOSTILE = "<script>alert(1)</script>"


async def test_without_imports_the_page_says_how_to_make_one(client: httpx2.AsyncClient) -> None:
    assert "No archive was imported yet" in text_of(await page(client, "/imports"))


async def test_an_import_shows_its_counts_and_why_files_were_passed_over(client: httpx2.AsyncClient) -> None:
    entries = [Entry(b"a.txt", b"one"), Entry(b"../b.txt"), Entry(b"c.exe"), Entry(b"d.txt", b"one")]
    item = await import_archive(client, raw_zip(*entries), "letters.zip")
    text = text_of(await page(client, "/imports"))
    assert "letters.zip" in text and "Imported in part" in text
    assert "3 files passed over" in text
    assert "../b.txt The path leads out of its folder." in text
    assert "c.exe This file format is not supported." in text
    assert "d.txt You have it already." in text

    html = await page(client, f"/imports/{item['id']}")
    assert f'<a href="/documents/{item["documentIds"][0]}"' in html
    assert "All 4 Added 1 Passed over 3" in text_of(html)
    skipped = text_of(await page(client, f"/imports/{item['id']}?show=skipped"))
    assert "c.exe" in skipped and "a.txt" not in skipped
    added = text_of(await page(client, f"/imports/{item['id']}?show=extracted"))
    assert "a.txt Added" in added and "c.exe" not in added


async def test_an_import_that_failed_says_why_and_what_to_do(client: httpx2.AsyncClient) -> None:
    item = await import_archive(client, raw_zip(Entry(b"a.txt", flags=1)))
    for path in ("/imports", f"/imports/{item['id']}"):
        text = text_of(await page(client, path))
        assert "This archive is password-protected. Pack it again without a password" in text


async def test_long_lists_are_cut_with_a_link_and_paged(client: httpx2.AsyncClient) -> None:
    item = await import_archive(client, zip_of(*((f"{number:03}.exe", "MZ") for number in range(250))))
    html = await page(client, "/imports")
    assert "250 files passed over" in text_of(html)
    assert html.count(".exe</bdi>") == 20
    assert f'<a href="/imports/{item["id"]}?show=skipped">All 250</a>' in html
    first = await page(client, f"/imports/{item['id']}?show=skipped")
    assert first.count(".exe</bdi>") == 200 and "?show=skipped&amp;from=201" in first
    last = await page(client, f"/imports/{item['id']}?show=skipped&from=201")
    assert last.count(".exe</bdi>") == 50 and "249.exe" in last and "from=1" in last
    for odd in ("from=0", "from=-5", "from=x", "from=99999999999", "show=x", "from=251"):
        await page(client, f"/imports/{item['id']}?{odd}")


async def test_the_list_of_imports_is_paged(client: httpx2.AsyncClient) -> None:
    for number in range(31):
        await send_archive(client, zip_of((f"{number}.exe", "MZ")), f"archive {number}.zip")
    html = await page(client, "/imports")
    assert html.count("archive ") >= 30 and "archive 0.zip" not in html
    (address,) = re.findall(r'href="(/imports\?after=[^"]*)"', html)
    assert "archive 0.zip" in await page(client, unescape(address))
    await page(client, "/imports?after=nonsense", 400)
    await page(client, "/imports?after=doc_1~5", 400)


async def test_names_of_archives_and_of_their_files_are_never_markup(client: httpx2.AsyncClient) -> None:
    item = await import_archive(client, zip_of((f"{HOSTILE}.txt", "one"), (f"{HOSTILE}.exe", "MZ")), f"{HOSTILE}.zip")
    for path in ("/imports", f"/imports/{item['id']}", "/"):
        html = await page(client, path)
        assert HOSTILE not in html
    assert HOSTILE[:7] in unescape(await page(client, "/imports"))


async def test_a_zip_sent_with_the_plain_form_leads_to_its_import(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/upload", files={"file": ("letters.zip", zip_of(("a.txt", "one")))}, headers=FORM)
    assert answer.status_code == 303
    assert re.fullmatch(r"/imports/arc_[0-9a-f]{32}", answer.headers["location"])
    assert "letters.zip" in await page(client, answer.headers["location"])


async def test_an_import_that_is_not_there_is_a_page_for_people(client: httpx2.AsyncClient) -> None:
    await page(client, "/imports/arc_none", 404)


async def test_the_list_of_documents_accepts_archives_and_says_so(client: httpx2.AsyncClient) -> None:
    html = await page(client, "/")
    assert ".zip" in html[html.index('accept="') :].split('"')[1]
    assert '<a href="/imports">' in html
