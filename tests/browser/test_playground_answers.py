"""The playground's answers in a browser: reasons, surroundings on demand, and why something is not here."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from visitors import PATIENCE_MS, RunningService, Visitor, Visits

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser-answers")]
expect.set_options(timeout=PATIENCE_MS)

PUMPS = "# Pumps\n\n" + "\n\n".join(
    f"## Part {number}\n\n" + f"Part {number} of the pump is described here in words of its own. " * 12
    for number in range(6)
)
TRAVEL = b"# Travel by train\n\nTickets are booked by the office, a month ahead."
PART_3 = "/playground?q=%22Part+3+of%22&mode=lexical&limit=1"


@pytest.fixture(scope="module")
def corpus(server: RunningService) -> Iterator[str]:
    yield str(server.add("pumps.md", PUMPS.encode(), metadata='{"year": 2024}')["id"])


@pytest.fixture(scope="module")
def train(server: RunningService, corpus: str) -> str:
    return str(server.add("travel.md", TRAVEL)["id"])


def test_what_is_around_a_hit_comes_in_its_place_and_goes_again(visit: Visits, corpus: str) -> None:
    page = visit(PART_3).page
    hit = page.locator(".hit")
    expect(hit.locator("mark.exact").first).to_have_text("Part 3 of")
    around = hit.get_by_role("link", name="What is around it")
    around.click()
    expect(hit.get_by_text("The passage found")).to_be_visible()
    expect(around).to_have_attribute("aria-expanded", "true")
    expect(hit.locator(".beside").first).to_contain_text("Part 2 of the pump")
    expect(hit.locator(".own mark.exact").first).to_have_text("Part 3 of")
    hit.locator("summary", has_text="more characters after").click()
    expect(hit.get_by_text("Part 5 of the pump").first).to_be_visible()
    hit.get_by_role("link", name="Its section").press("Enter")
    expect(hit.get_by_text("There is nothing else in its section.")).to_be_visible()
    expect(around).to_have_attribute("aria-expanded", "false")
    hit.get_by_role("link", name="Its section").press("Enter")
    expect(hit.get_by_text("There is nothing else")).to_have_count(0)
    expect(hit.locator(".hit-text")).to_be_visible()
    expect(page).to_have_url(re.compile(re.escape(PART_3) + "$"))


def test_reasons_and_explanations_open_by_keyboard(visit: Visits, corpus: str) -> None:
    page = visit("/playground?q=pump+described+zebra").page
    why = page.locator("details.why summary").first
    why.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("table", name="How the score comes about")).to_contain_text("1 ÷ (60 + 1)")
    page.get_by_role("button", name="Looking up words").focus()
    expect(page.get_by_text("The index of words is asked for passages")).to_be_visible()
    page.get_by_role("button", name="The numbers").focus()
    expect(page.get_by_text("In how many passages of all documents")).to_be_visible()
    expect(page.get_by_text("No passage has “zebra”")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_what_is_missing_is_followed_through_the_search_and_stays_while_it_is_tried_otherwise(
    visit: Visits, train: str, scripts: bool
) -> None:
    page = visit(
        "/playground?q=pump+words&limit=5", java_script_enabled=scripts, viewport={"width": 360, "height": 800}
    ).page
    page.get_by_label("Why is something not here?").fill("train")
    page.get_by_role("button", name="Find out").click()
    verdict = page.get_by_role("region", name="Where is Travel by train?")
    expect(verdict).to_contain_text("It is number 7 of what was found; you asked for 5.")
    expect(page).to_have_url(re.compile(r"missing=train"))
    expect(page).to_have_url(re.compile(r"limit=5"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360 if scripts else True
    page.get_by_role("searchbox").fill("tickets for the train")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("heading", name="Why is Travel by train at place 1?")).to_be_visible()
    page.go_back()
    expect(verdict).to_be_visible()
    verdict.get_by_role("link", name="Ask for at least 7 results.").click()
    expect(page.get_by_text("It is here, at place 7.")).to_be_visible()
    page.get_by_role("link", name="Close").click()
    expect(page.get_by_role("heading", name="7 passages")).to_be_visible()
    expect(page.locator("#why-not")).to_have_count(0)


def test_surroundings_and_why_not_work_without_scripts(visit: Visits, corpus: str) -> None:
    page = visit("/playground?q=pump+described&limit=3", java_script_enabled=False).page
    page.locator(".hit").nth(1).get_by_role("link", name="Why not higher?").click()
    expect(page.get_by_role("heading", name=re.compile("Why is the passage of Pumps at place 2"))).to_be_visible()
    expect(page.get_by_text("One place higher")).to_be_visible()
    page.goto(PART_3)
    page.get_by_role("link", name="What is around it").click()
    expect(page.get_by_role("heading", name="Pumps")).to_be_visible()
    expect(page.locator("#around mark.exact").first).to_have_text("Part 3 of")
    page.get_by_role("link", name="The whole section").click()
    expect(page.get_by_text("There is nothing else in its section.")).to_be_visible()
    page.get_by_role("link", name="In its document").click()
    expect(page).to_have_url(re.compile(f"/documents/{corpus}"))


def test_a_verdict_fits_a_phone_in_the_dark(browser: Browser, server: RunningService, train: str) -> None:
    visitor = Visitor(browser, server.url, viewport={"width": 360, "height": 800}, color_scheme="dark")
    visitor.page.goto(f"/playground?q=pump&filters=%7B%22year%22%3A2024%7D&missing={train}")
    expect(visitor.page.get_by_text("the document has no such value").first).to_be_visible()
    visitor.page.locator("details.why summary").first.click()
    assert visitor.content_width() <= 360
    visitor.context.close()
