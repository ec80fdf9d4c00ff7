"""The page of one document in a real browser."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pdf_files import make_pdf, text_page
from playwright.sync_api import Page, expect
from visitors import PATIENCE_MS, PHONE, RunningService, Visits

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser-document")]
expect.set_options(timeout=PATIENCE_MS)

LINES = "\n".join(f"The otters of part {{0}} sleep on the river bank, as line {line} tells." for line in range(14))
PDF = make_pdf([text_page(LINES.format(number), heading=f"Part {number}") for number in range(1, 5)])
DRAWN = "(picture) => picture.complete && picture.naturalWidth"


@pytest.fixture(scope="module")
def document(server: RunningService) -> Iterator[dict[str, Any]]:
    yield server.add("otters.pdf", PDF, metadata='{"year": 2026}')


def chunks_of(server: RunningService, document: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = server.request("GET", f"/api/v1/documents/{document['id']}/chunks").json()["items"]
    return items


def picture_is_drawn(page: Page) -> None:
    page.wait_for_function(f"() => ({DRAWN})(document.querySelector('#viewer img'))")


def test_a_click_on_a_passage_shows_its_page_and_marks_it_and_back_leads_back(
    visit: Visits, server: RunningService, document: dict[str, Any]
) -> None:
    page = visit(f"/documents/{document['id']}").page
    viewer, picture = page.locator("#viewer"), page.locator("#viewer img")
    expect(viewer).to_contain_text("Page 1 of 4")
    picture_is_drawn(page)
    page.evaluate("window.sameWindow = true")
    chunk = next(item for item in chunks_of(server, document) if item["location"]["pageStart"] == 3)
    passage = page.locator(f"#{chunk['id']}")
    passage.locator("header").click()  # anywhere but on a link
    expect(viewer).to_contain_text("Page 3 of 4")
    expect(picture).to_have_attribute("src", re.compile(rf"pages/3\?width=1000&chunkId={chunk['id']}"))
    expect(passage).to_have_class(re.compile("wanted"))
    expect(page).to_have_url(re.compile(rf"\?passage={chunk['id']}#"))
    expect(page.locator("#announce")).to_have_text("The original, page 3 of 4")
    picture_is_drawn(page)

    following = page.get_by_role("link", name="Next page")
    following.focus()
    following.press("Enter")
    expect(viewer).to_contain_text("Page 4 of 4")
    expect(page.get_by_role("link", name="Previous page")).to_be_focused()  # there is no next one any more
    page.go_back()
    expect(viewer).to_contain_text("Page 3 of 4")
    page.go_back()
    expect(viewer).to_contain_text("Page 1 of 4")
    expect(page.locator(".passage.wanted")).to_have_count(0)
    assert page.evaluate("window.sameWindow") is True

    passage.get_by_role("link", name="In its place").click()
    expect(page.locator("#here")).to_be_in_viewport()
    expect(page.locator("#here mark").first).to_be_visible()
    expect(viewer).to_contain_text("Page 3 of 4")


def test_a_page_that_cannot_be_drawn_says_why(visit: Visits, document: dict[str, Any]) -> None:
    person = visit("/docs")
    page = person.page
    refusal = '{"error": {"code": "PAGE_UNREADABLE", "message": "This page is damaged.", "requestId": "r"}}'
    page.route("**/pages/1?**", lambda route: route.fulfill(status=422, content_type="application/json", body=refusal))
    page.goto(f"/documents/{document['id']}")
    expect(page.locator("#viewer")).to_contain_text("This page is damaged.")


@pytest.mark.parametrize("scripts", [True, False])
def test_details_are_edited_in_place_with_the_keyboard_and_nobodys_change_is_lost(
    visit: Visits, server: RunningService, document: dict[str, Any], scripts: bool
) -> None:
    address = f"/api/v1/documents/{document['id']}"
    server.request("PATCH", address, json={"title": "Otters", "metadata": {"year": 2026}})
    page = visit(f"/documents/{document['id']}?view=details", java_script_enabled=scripts).page
    page.get_by_role("link", name="Edit").press("Enter")
    year = page.get_by_role("textbox", name="Value 1: year")
    page.get_by_label("Title").fill("My otters")
    year.fill("last")
    page.get_by_label("Title").press("Enter")  # saves, as no other button is pressed by it
    expect(page.get_by_text("Write a number with digits")).to_be_visible()
    expect(year).to_have_value("last")
    year.fill("2027")

    server.request("PATCH", address, json={"title": "Their otters"})
    expect(page.get_by_label("Title")).to_have_value("My otters")  # what is filled in stays
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("alert")).to_contain_text("Their otters")
    page.get_by_role("button", name="Save mine").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("My otters")
    saved = server.request("GET", address).json()
    assert {key: value for key, value in saved["metadata"].items() if key != "document"} == {"year": 2027}


def test_without_scripts_pages_passages_and_versions_are_links_and_forms(
    visit: Visits, server: RunningService, document: dict[str, Any]
) -> None:
    page = visit(f"/documents/{document['id']}", java_script_enabled=False).page
    page.get_by_role("link", name="Next page").click()
    expect(page.locator("#viewer")).to_contain_text("Page 2 of 4")
    page.get_by_role("link", name="Larger").click()
    page.get_by_label("Page", exact=True).fill("4")
    page.get_by_role("button", name="Go").click()
    expect(page.get_by_role("img", name="Page 4 of the original")).to_be_visible()
    page.get_by_role("link", name="Versions").click()
    second = make_pdf([text_page("The second edition tells of herons that stand in the reeds.")])
    page.locator("input[type=file]").set_input_files(
        {"name": "second.pdf", "mimeType": "application/pdf", "buffer": second}
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("The new version was taken in.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the original of version 2").click()
    assert download.value.path().read_bytes() == second


def test_a_newer_version_is_sent_and_the_list_shows_how_it_comes_along(visit: Visits, server: RunningService) -> None:
    made = server.add("otters.md", b"# Otters\n\nThe first edition tells of otters.\n")
    page = visit(f"/documents/{made['id']}?view=versions").page
    for name, content, told in (
        ("otters.exe", b"MZ", "This file format is not supported."),
        ("otters.md", b"# Otters\n\nThe second edition tells of herons.\n", "The new version was taken in."),
    ):
        page.get_by_label("Add a newer version").set_input_files(
            {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        )
        page.get_by_role("button", name="Upload").click()
        expect(page.locator(".notice")).to_contain_text(told)
    row = page.locator(".versions tbody tr").first
    expect(row).to_contain_text("2")
    expect(row).to_contain_text("In use")  # nothing was reloaded

    server.request("DELETE", f"/api/v1/documents/{made['id']}")  # as in somebody else's window
    expect(page.get_by_role("heading", name="This document is gone")).to_be_visible()


def test_every_view_of_a_pdf_fits_a_phone(visit: Visits, server: RunningService) -> None:
    made = server.add("wide.pdf", make_pdf([text_page("A page that is read on a phone. " + "x" * 300)]))
    person = visit("/docs", viewport=PHONE)
    (chunk, *_) = chunks_of(server, made)
    views = ("passages", "reading", "original", "details", "details&edit=1", "versions")
    for view in views:
        person.page.goto(f"/documents/{made['id']}?view={view}&passage={chunk['id']}")
        assert person.content_width() <= PHONE["width"], view
