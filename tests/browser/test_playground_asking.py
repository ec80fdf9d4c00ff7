"""The question side of the playground in a browser: conditions, places, side by side, code, keyboard."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from front_door import Server, wait_until
from playwright.sync_api import Browser, Page, expect
from visitors import Visits

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser-questions")]

TEAMS = ("audit", "legal", "sales")
PARTS = {
    "Leave policy": "Five unused days of annual leave may be carried over into the next year.",
    "Parental leave": "Parents may take leave of up to three years. Leave can be shared between both.",
    "Travel": "Leave by train, second class. Hotels are refunded up to 120 euros a night.",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with a small corpus that no test changes."""
    running = Server(tmp_path_factory.mktemp("server") / "data").start()
    made = running.request("POST", "/api/v1/collections", json={"name": "Handbook"}).json()["id"]
    for number, (title, text) in enumerate(PARTS.items()):
        metadata: dict[str, Any] = {"team": TEAMS[number], "year": 2022 + number, "draft": number == 2}
        where = {"collectionId": made} if number else {}
        running.upload(f"{number}.md", f"# {title}\n\n{text}\n".encode(), metadata=json.dumps(metadata), **where)
    wait_until(lambda: len(running.request("GET", "/api/v1/documents?status=ready").json()["items"]) == len(PARTS))
    yield running
    running.stop()


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Visits]:
    visits = Visits(browser, server.url)
    yield visits
    visits.close()


def conditions(page: Page) -> Any:
    """What the JSON under the rows says."""
    return json.loads(page.locator("#filters").input_value() or "{}")


def row_values(page: Page) -> list[str]:
    return [field.input_value() for field in page.locator(".row [name=value]").all()]


def test_conditions_are_chosen_typed_and_written_as_json(visit: Visits) -> None:
    page = visit("/playground?q=leave").page
    expect(page.locator(".hit")).to_have_count(3)
    page.get_by_text("Conditions", exact=True).click()
    page.get_by_role("button", name="team 3").click()
    expect(page.locator(".row [name=value]").first).to_be_focused()
    page.get_by_role("button", name="legal 1").click()
    expect(page.locator("#filters")).to_have_value(re.compile("legal"))
    expect(page.locator(".row.spare [name=key]")).to_be_focused()
    page.keyboard.type("year")
    page.keyboard.press("Tab")
    page.keyboard.type("is at least")
    page.keyboard.press("Tab")
    page.keyboard.type("2021")
    expect(page.locator("#filters")).to_have_value(re.compile("2021"))
    assert conditions(page) == {"team": "legal", "year": {"gte": 2021}}
    page.keyboard.type("5")  # whoever types goes on typing
    expect(page.locator("#filters")).to_have_value(re.compile("20215"))
    page.get_by_text("The same as JSON").click()
    page.get_by_label("Conditions as JSON").fill('{"draft": false, "team": {"in": ["audit", "legal"]}}')
    expect(page.locator(".row [name=key]").first).to_have_value("draft")
    assert row_values(page) == ["false", "audit, legal", ""]
    page.get_by_label("Conditions as JSON").press("End")
    page.get_by_label("Conditions as JSON").fill('{"draft": ')
    expect(page.get_by_text("The conditions are not valid JSON.")).to_be_visible()
    page.get_by_label("Conditions as JSON").fill('{"draft": false}')
    expect(page.get_by_text("The conditions are not valid JSON.")).to_be_hidden()
    page.get_by_role("button", name="Use these conditions").click()
    expect(page).to_have_url(re.compile(r"/playground\?q=leave&filters=%7B%22draft%22%3Afalse%7D$"))
    expect(page.locator(".hit")).to_have_count(2)
    expect(page.locator("#fold-conditions")).to_have_attribute("open", "")  # what was unfolded stays so
    page.get_by_role("link", name="draft is false. Do without it").click()
    expect(page.locator(".hit")).to_have_count(3)
    page.go_back()
    expect(page.locator(".hit")).to_have_count(2)


def test_documents_are_found_while_typing_and_searched_alone(visit: Visits) -> None:
    page = visit("/playground?q=leave").page
    page.get_by_text("Where", exact=True).click()
    page.get_by_label("Find documents by title or file name").fill("paren")
    page.get_by_role("checkbox", name="Parental leave").check()
    page.get_by_label("Find documents by title or file name").fill("trav")
    expect(page.get_by_role("checkbox", name="Travel")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Parental leave")).to_be_checked()
    page.get_by_role("button", name="Search here").click()
    expect(page.locator(".hit")).to_have_count(1)
    page.get_by_role("link", name="Only: Parental leave. Do without it").click()
    page.get_by_text("Where", exact=True).click()
    page.get_by_role("checkbox", name="Handbook").check()
    page.get_by_role("button", name="Search here").click()
    expect(page.locator(".hit")).to_have_count(2)
    expect(page.get_by_role("link", name="In: Handbook. Do without it")).to_be_visible()
    page.get_by_text("How", exact=True).click()
    page.get_by_label("Text").select_option("With its neighbours")
    expect(page).to_have_url(re.compile(r"expand=neighbors$"))
    expect(page.get_by_label("Passages before")).to_be_visible()


def test_settings_side_by_side_show_where_a_passage_went(visit: Visits) -> None:
    person = visit("/playground?q=annual+leave")
    page = person.page
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url(re.compile("b.mode=vector"))  # and for its scripts, which follow what is chosen
    page.get_by_label("Search by, column B").select_option("Words")
    expect(page).to_have_url(re.compile(r"\?q=annual\+leave&a.mode=hybrid&b.mode=lexical$"))
    first = page.locator(".side-a .placed").first
    first.hover()
    expect(page.locator(".placed.followed")).to_have_count(2)
    expect(page.locator("path.followed")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("j")
    subject = page.locator(".side-a .placed").nth(1).get_attribute("data-subject")
    expect(page.locator(".side-a .placed").nth(1).get_by_role("link")).to_be_focused()
    expect(page.locator(f'.side-a .followed[data-subject="{subject}"]')).to_have_count(1)
    page.get_by_role("link", name="Add a column").click()
    expect(page.get_by_role("group", name="Column C")).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 800})
    assert person.content_width() <= 360
    expect(page.locator(".side-b")).to_be_hidden()
    page.get_by_text("B: Words").click()
    expect(page.locator(".side-b")).to_be_visible()
    expect(page.locator(".side-a")).to_be_hidden()


def test_the_request_can_be_copied_and_keys_go_through_the_hits(visit: Visits) -> None:
    visitor = visit("/playground?q=leave")
    page = visitor.page
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_text("Python", exact=True).click()
    page.locator(".code-python button.copy").click()
    expect(page.locator(".code-python button.copy")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator(".code-python code").text_content() and "urlopen" in copied
    page.locator("main").focus()
    titles = page.locator(".hit h3 a")
    for key, place in (("j", 0), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        expect(titles.nth(place)).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("train j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"\?q=train\+j$"))


def test_conditions_and_places_need_no_scripts(visit: Visits) -> None:
    page = visit("/playground?q=leave", java_script_enabled=False).page
    page.get_by_text("Conditions", exact=True).click()
    page.get_by_role("button", name="team").click()
    page.get_by_role("button", name="legal 1").click()
    expect(page).to_have_url(re.compile(r"\?q=leave&filters=%7B%22team%22%3A%22legal%22%7D$"))
    page.get_by_text("Conditions", exact=True).click()
    page.get_by_label("Key of one more condition").fill("draft")
    page.locator(".row.spare [name=operator]").select_option("is missing")
    page.get_by_role("button", name="Use these conditions").click()
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    page.get_by_role("link", name="Search without conditions").click()
    page.get_by_text("Where", exact=True).click()
    page.get_by_label("Find documents by title or file name").fill("travel")
    page.get_by_role("button", name="Find", exact=True).click()
    page.get_by_role("checkbox", name="Travel").check()
    page.get_by_role("button", name="Search here").click()
    expect(page.locator(".hit")).to_have_count(1)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("group", name="Column B")).to_be_visible()
    page.get_by_label("Results, column B").select_option("One per document")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_role("heading", name="1 of 1 document in both")).to_be_visible()
