"""What holds for every page: accessible, fit for a phone, still while it loads, headings in order, without faults."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from front_door import missing_tool
from page_addresses import filled, page_routes, things
from playwright.sync_api import Browser, Page, expect
from visitors import DESK, PATIENCE_MS, PHONE, UNFOLD, RunningService, Visitor, Visits

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser-pages")]
expect.set_options(timeout=PATIENCE_MS)

AXE = Path(__file__).parents[1] / "interfaces" / "clients" / "node_modules" / "axe-core" / "axe.min.js"
LEAVE = "# Leave policy\n\n## Carrying over\n\nFive unused days of annual leave may be carried over into March.\n"
STILL = 0.02  # cumulative layout shift; browsers call 0.1 good
MORE = (  # the same pages with something else on them
    "/?status=failed",
    "/?search=nothing+fits",
    "/playground?q=annual+leave",
    "/playground?q=annual+leave&mode=lexical&collapse=document",
    "/playground?q=zzzz&mode=lexical",
    "/playground?q=annual+leave&open=where&open=conditions&open=how&filters=%7B%22year%22%3A2026%7D",
    "/playground?q=annual+leave&limit=ten&filters=%7B",
    "/playground?q=annual+leave&a.mode=hybrid&b.mode=vector&c.mode=lexical",
    "/playground?q=annual+leave&missing=leave",
    "/documents/{document_id}?view=reading",
    "/documents/{document_id}?view=original",
    "/documents/{document_id}?view=details",
    "/documents/{document_id}?view=details&edit=1",
    "/documents/{document_id}?view=versions",
    "/similar?document={document_id}",
    "/documents/doc_none",
    "/nowhere",
    "/docs",
)
ROUTES = sorted({*page_routes(), *MORE} - {"/login"})  # which leads on where no passphrase is set

# How far things moved after they had been drawn, each shift weighed by its share of the window.
SHIFTS = """() => new Promise((resolve) => {
  let sum = 0;
  const add = (entries) => { for (const entry of entries) sum += entry.value; };
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({type: "layout-shift", buffered: true});
  requestAnimationFrame(() => requestAnimationFrame(() => { add(observer.takeRecords()); resolve(sum); }));
})"""
LEVELS = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
  .filter((item) => item.checkVisibility()).map((item) => Number(item.tagName[1]))"""
SETTLE = "() => document.getAnimations().forEach((item) => item instanceof CSSTransition && item.finish())"
# Of the REST reference, whose groups of operations are all made alike: the first stands for them.
SHORTEN = "() => { for (const item of document.querySelectorAll('.api-group ~ .api-group')) item.remove(); }"
AUDIT = """async (rules) => (await axe.run(document, {resultTypes: ["violations"], ...rules})).violations
  .filter((found) => ["serious", "critical"].includes(found.impact))
  .map((found) => `${found.id}: ${found.nodes.map((node) => node.target).join(", ")}`)"""


@pytest.fixture(scope="module")
def ids(server: RunningService) -> dict[str, str]:
    return things(server, "Policies", "leave", LEAVE, {"year": 2026, "tags": ["hr", "people"], "owner": {"team": "HR"}})


@pytest.fixture(scope="module")
def phone(browser: Browser, server: RunningService) -> Iterator[Visitor]:
    visitor = Visitor(browser, server.url, viewport=PHONE)
    yield visitor
    visitor.context.close()


@pytest.fixture(scope="module")
def audited(browser: Browser, server: RunningService) -> Iterator[Page]:
    """A window that lets the audit's script in, which the pages' policy would not."""
    if not AXE.exists():
        missing_tool("axe-core is not installed: run 'npm ci' in tests/interfaces/clients")
    visitor = Visitor(browser, server.url, viewport=DESK, bypass_csp=True)
    visitor.context.add_init_script(path=AXE)
    yield visitor.page
    visitor.context.close()


@pytest.mark.parametrize("route", ROUTES)
def test_an_audit_finds_nothing_serious_in_light_and_dark(audited: Page, ids: dict[str, str], route: str) -> None:
    audited.emulate_media(color_scheme="light")
    audited.goto(filled(route, ids))
    audited.evaluate(SHORTEN)
    audited.evaluate(UNFOLD)
    assert audited.evaluate(AUDIT, {}) == []
    audited.emulate_media(color_scheme="dark")
    audited.evaluate(SETTLE)
    assert audited.evaluate(AUDIT, {"runOnly": ["color-contrast"]}) == []


@pytest.mark.parametrize("route", ROUTES)
def test_a_page_fits_a_phone_stays_still_and_is_in_order(phone: Visitor, ids: dict[str, str], route: str) -> None:
    page = phone.page
    phone.faults.clear()
    page.goto(filled(route, ids))
    assert page.evaluate(SHIFTS) < STILL
    assert phone.content_width() <= PHONE["width"]
    page.evaluate(UNFOLD)
    assert phone.content_width() <= PHONE["width"]
    levels = page.evaluate(LEVELS)
    assert levels.count(1) == 1 and levels[0] == 1, levels
    assert all(next_one <= level + 1 for level, next_one in pairwise(levels)), levels
    name, _, product = page.title().rpartition(" · ")
    assert name and product == "MCP Knowledge"
    assert phone.faults == []


def test_on_a_phone_the_menu_says_where_you_are_and_leads_everywhere(visit: Visits) -> None:
    page = visit("/collections", viewport=PHONE).page
    menu, links = page.get_by_role("button", name="Menu: Collections"), page.get_by_role("navigation", name="Main")
    expect(links).to_be_hidden()
    menu.press("Enter")
    expect(links.get_by_role("link", name="Collections")).to_have_attribute("aria-current", "page")
    page.keyboard.press("Tab")
    expect(links.get_by_role("link").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(links).to_be_hidden()
    expect(menu).to_be_focused()
    menu.click()
    links.get_by_role("link", name="Playground").click()
    expect(page.get_by_role("button", name="Menu: Playground")).to_be_visible()
