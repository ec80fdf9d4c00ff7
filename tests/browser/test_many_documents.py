"""Every page over 10,000 documents: nobody gets more than a page of them, and what is asked for is found."""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from front_door import Server
from many_documents import FAILED_OF, SHELVES, fill
from page_addresses import API, filled, page_routes
from playwright.sync_api import expect
from visitors import PATIENCE_MS, RunningService, Visits

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser-many")]
expect.set_options(timeout=PATIENCE_MS)

DOCUMENTS = 10_000
MOST_BYTES = 400_000  # of a page's HTML: what a phone reads in a second
MOST_ELEMENTS = 4_000
HTML = {"Accept": "text/html"}
FAILED = DOCUMENTS // FAILED_OF
MORE = (
    "/?sort=title",
    "/?sort=largest",
    "/?sort=changed",
    "/?status=failed",
    "/?search=paper",
    "/playground?q=paper+on+shelf+12",
    "/playground?q=paper&mode=lexical&limit=50",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data_dir = tmp_path_factory.mktemp("many") / "data"
    with ThreadPoolExecutor(1) as elsewhere:  # a browser may have an event loop running in this thread
        elsewhere.submit(asyncio.run, fill(data_dir, DOCUMENTS)).result()
    running = Server(data_dir).start()
    yield running
    running.stop()


def test_no_page_grows_with_the_number_of_documents(server: RunningService) -> None:
    def first(path: str) -> str:
        answer = server.request("GET", f"{API}/{path}", params={"limit": 1})
        return str(answer.json()["items"][0]["id"])

    ids = {"document_id": first("documents"), "collection_id": first("collections")}
    known = {route for route in page_routes() if set(re.findall(r"\{(\w+)\}", route)) <= set(ids)}
    for route in sorted({*known, *MORE}):
        answer = server.request("GET", filled(route, ids), headers=HTML)
        assert answer.status_code < 500, (route, answer.text[:500])
        assert len(answer.content) < MOST_BYTES, (route, len(answer.content))
        assert len(re.findall(r"<[a-z]", answer.text)) < MOST_ELEMENTS, route


def test_the_list_counts_narrows_and_goes_on_without_reading_it_all(visit: Visits) -> None:
    page = visit("/?sort=title").page
    rows = page.locator("table.docs tbody tr [data-title]")
    shown = page.get_by_role("navigation", name="Show")
    expect(shown.get_by_role("link", name=f"All {DOCUMENTS:,}")).to_be_visible()
    expect(shown.get_by_role("link", name=f"Failed {FAILED:,}")).to_be_visible()
    expect(rows.first).to_have_text("Paper 00000")
    page.get_by_role("link", name="Next page").click()
    expect(rows.first).to_have_text("Paper 00050")
    page.go_back()
    expect(rows.first).to_have_text("Paper 00000")
    page.locator("#search").fill("paper 0999")
    page.locator("#search").press("Enter")
    expect(rows).to_have_count(10)
    page.goto("/collections")
    expect(page.locator(".collections > li")).to_have_count(50)
    page.locator(".collections > li").first.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile("collection="))
    expect(rows).to_have_count(50)
    expect(page.locator("main")).to_contain_text(f"Shelf {SHELVES - 1}")


def test_a_passage_among_ten_thousand_is_found_and_opened(visit: Visits) -> None:
    page = visit("/playground").page
    page.get_by_role("searchbox").fill("paper number 7777")
    page.get_by_role("searchbox").press("Enter")
    first = page.locator(".hit").first
    expect(first).to_contain_text("Paper number 7777 is kept")
    first.get_by_role("link", name="Paper 07777").click()
    expect(page.get_by_role("heading", name="Paper 07777", level=1)).to_be_visible()
