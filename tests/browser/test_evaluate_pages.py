"""Judging hits and measuring search on one's own questions, in a real browser over the real service."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from visitors import PATIENCE_MS, RunningService, Visits

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser-evaluate")]
expect.set_options(timeout=PATIENCE_MS)

API = "/api/v1"
DAYS, MONTHS = "Unused days of leave may be kept. " * 20, "All days of leave end in March. " * 20
LEAVE = f"# Leave policy\n\n## Days\n\n{DAYS}\n\n## Months\n\n{MONTHS}\n".encode()  # two passages
TRAVEL = b"# Travel policy\n\nThe train is booked in second class.\n"


@pytest.fixture(scope="module")
def documents(server: RunningService) -> dict[str, str]:
    return {name: server.add(f"{name}.md", text)["id"] for name, text in (("leave", LEAVE), ("travel", TRAVEL))}


def hit(page: Page, place: int) -> Locator:
    return page.locator(".hit").nth(place)


def stays(page: Page) -> None:
    """Mark the page, to see later that it was not loaded again."""
    page.evaluate("window.stayed = true")


def stayed(page: Page) -> bool:
    return bool(page.evaluate("window.stayed === true"))


def made(server: RunningService, name: str, *lines: dict[str, Any]) -> str:
    """A set with these questions; its id."""
    set_id: str = server.request("POST", f"{API}/evaluations", json={"name": name}).json()["id"]
    answer = server.request(
        "POST",
        f"{API}/evaluations/{set_id}/import",
        content="\n".join(map(json.dumps, lines)),
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert answer.status_code == 200, answer.text
    return set_id


def test_hits_are_judged_in_place_and_make_a_question_of_a_set(visit: Visits, documents: dict[str, str]) -> None:
    page = visit("/playground?q=days+of+leave&mode=lexical").page
    expect(page.locator(".hit")).to_have_count(2)
    stays(page)
    right, wrong = (hit(page, 0).get_by_role("button", name=name, exact=True) for name in ("Right", "Wrong"))
    right.press("Enter")
    expect(right).to_have_attribute("aria-pressed", "true")
    other_passage = hit(page, 1).get_by_role("button", name="Right", exact=True)
    expect(other_passage).to_have_attribute("aria-pressed", "true")  # of the same document
    expect(page.get_by_role("region", name="Judging")).to_contain_text("Kept in My questions")
    expect(page.get_by_text("Marked right.")).to_be_visible()
    expect(right).to_be_focused()
    wrong.click()
    expect(wrong).to_have_attribute("aria-pressed", "true")
    expect(right).to_have_attribute("aria-pressed", "false")
    wrong.click()
    expect(wrong).to_have_attribute("aria-pressed", "false")

    nothing = page.get_by_role("button", name="Nothing answers this")
    nothing.press("Enter")
    expect(nothing).to_have_attribute("aria-pressed", "true")
    expect(nothing).to_be_focused()
    right.click()
    expect(nothing).to_have_attribute("aria-pressed", "false")
    expect(right).to_have_attribute("aria-pressed", "true")
    assert stayed(page)
    page.reload()
    expect(hit(page, 0).get_by_role("button", name="Right", exact=True)).to_have_attribute("aria-pressed", "true")

    page.get_by_role("link", name="My questions").click()
    question = page.locator("li.case")
    expect(question).to_have_count(1)
    question.get_by_text("days of leave").click()
    stays(page)
    question.get_by_role("button", name="Wrong").click()
    expect(question.locator("summary")).to_contain_text("1 wrong")
    expect(question.get_by_role("button", name="Wrong")).to_be_focused()
    question.get_by_role("button", name="Wrong").click()
    expect(page.locator("li.case")).to_have_count(0)  # nothing is said of it any more
    assert stayed(page)


def test_a_judgement_that_does_not_arrive_is_told(visit: Visits, documents: dict[str, str]) -> None:
    page = visit("/playground?q=train&mode=lexical").page
    page.route("**/evaluate/judge", lambda route: route.abort())
    hit(page, 0).get_by_role("button", name="Right", exact=True).click()
    expect(page.get_by_text("The service did not answer. Try again.")).to_be_visible()
    expect(hit(page, 0).get_by_role("button", name="Right", exact=True)).to_have_attribute("aria-pressed", "false")


def test_a_set_is_run_before_ones_eyes_and_compared(
    visit: Visits, server: RunningService, documents: dict[str, str]
) -> None:
    questions = [{"query": f"unused days {number}", "relevant": [documents["leave"]]} for number in range(40)]
    set_id = made(server, "Policies", *questions, {"query": "booking a journey", "relevant": [documents["travel"]]})
    page = visit(f"/evaluate/{set_id}").page
    page.get_by_role("checkbox", name="Meaning").check()
    page.get_by_role("button", name="Run 41 questions").click()
    stays(page)
    figures = page.locator("table.runs tbody tr td.figure")
    expect(figures).to_have_count(14)  # two runs with seven figures each: nothing was loaded again
    assert stayed(page)
    page.get_by_role("button", name="Recall@10").last.focus()
    expect(page.get_by_role("tooltip").filter(has_text="among the first 10 found")).to_be_visible()

    page.get_by_role("row", name="Meaning").get_by_role("button", name="baseline").click()
    expect(page.get_by_role("row", name="Meaning")).to_contain_text("Baseline")
    page.get_by_role("checkbox", name="Words").check()
    page.get_by_role("checkbox", name="Both, by rank").uncheck()
    page.get_by_role("button", name="Run 41 questions").click()
    page.get_by_role("row", name="Words").get_by_role("link", name="Words", exact=True).click()
    page.get_by_role("link", name="Worse").click()
    result = page.locator("li.case").filter(has_text="booking a journey")
    expect(page.locator("li.case")).to_have_count(1)
    result.locator("summary").click()
    expect(result.get_by_role("row", name="Travel policy")).to_contain_text("not in 10")
    expect(result.get_by_role("heading", name="Found then")).to_be_visible()
    page.get_by_label("Compared with").select_option("none")
    expect(page.get_by_role("link", name="Missed")).to_contain_text("1")
    page.go_back()
    expect(page.get_by_role("link", name="Worse")).to_have_attribute("aria-current", "true")
    page.locator("li.case summary").click()
    page.get_by_role("link", name="Ask this in the playground").click()
    expect(page.get_by_role("searchbox").first).to_have_value("booking a journey")


def test_the_chart_shows_runs_over_time_in_light_and_dark_and_narrow(
    visit: Visits, server: RunningService, documents: dict[str, str]
) -> None:
    set_id = made(server, "Charted", {"query": "days", "relevant": [documents["leave"]]})
    page = visit(f"/evaluate/{set_id}").page
    for count in (1, 2):
        page.get_by_role("button", name="Run 1 question").click()
        expect(page.locator("table.runs tbody tr").filter(has=page.locator("td.figure"))).to_have_count(count)
    expect(page.locator(".panel polyline")).to_have_count(4)
    label = page.locator(".panel .reach title").first.text_content()
    assert label is not None and label.startswith("Both, by rank: 1.000 on ")
    page.locator(".panel .reach").first.click()
    expect(page).to_have_url(f"{server.url}/evaluate/runs/{page.url.rpartition('/')[2]}")
    expect(page.get_by_role("heading", name="Both, by rank")).to_be_visible()
    for scheme in ("light", "dark"):
        person = visit(f"/evaluate/{set_id}", viewport={"width": 360, "height": 800}, color_scheme=scheme)
        assert person.content_width() <= 360
        expect(person.page.locator(".panel svg").first).to_be_visible()
