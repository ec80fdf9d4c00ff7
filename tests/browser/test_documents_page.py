"""The list of documents in a real browser: samples, undo, many at once, filters, dropping, pasting, retrying."""

import re
from typing import Literal

import pytest
from front_door import wait_until
from playwright.sync_api import Page, Route, expect
from visitors import PATIENCE_MS, RunningService, Visitor, Visits
from zip_files import zip_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser-documents"), pytest.mark.usefixtures("empty")]
expect.set_options(timeout=PATIENCE_MS)

# A folder, as a browser hands it over: entries that are read in parts.
DROP_FOLDER = """() => {
  const file = (path) => ({
    isFile: true, name: path.split("/").pop(), fullPath: path,
    file: (done) => done(new File(["words of " + path], path.split("/").pop())),
  });
  const folder = (path, ...children) => ({
    isFile: false, name: path.split("/").pop(), fullPath: path,
    createReader: () => ({ readEntries: (done) => done(children.splice(0, 2)) }),
  });
  const root = folder("/plans", file("/plans/a.txt"), folder("/plans/old", file("/plans/old/b.txt")),
    file("/plans/.hidden"), file("/plans/c.txt"));
  const event = new DragEvent("drop", {bubbles: true, cancelable: true});
  const transfer = { types: ["Files"], files: [], items: [{ webkitGetAsEntry: () => root }] };
  Object.defineProperty(event, "dataTransfer", { value: transfer });
  document.body.dispatchEvent(event);
}"""
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
}"""


def add_notes(server: RunningService, count: int) -> list[str]:
    """Documents that are ready, in one go: `note 0`, `note 1`, …"""
    packed = zip_of(*((f"note {number}.txt", f"Words of note {number}") for number in range(count)))
    sent = server.request("POST", "/api/v1/documents", files={"file": ("notes.zip", packed)}).json()["archiveId"]

    def imported() -> list[str] | None:
        item = server.request("GET", f"/api/v1/archives/{sent}").json()
        queue = server.request("GET", "/api/v1/system/status").json()["queue"]
        idle = not any(queue[state] for state in ("queued", "running", "retrying"))
        return item["documentIds"] if item["state"] == "completed" and idle else None

    found: list[str] = wait_until(imported, what="the notes")
    return found


def tick(page: Page, title: str, *modifiers: Literal["Shift"]) -> None:
    box = page.get_by_role("checkbox", name=f"Select {title}", exact=True)
    box.click(modifiers=list(modifiers))


def shown(page: Page) -> list[str]:
    return page.locator("table.docs tbody [data-title]").all_text_contents()


def test_a_new_user_tries_the_samples_asks_one_and_removes_them(visit: Visits) -> None:
    page = visit().page
    page.get_by_role("button", name="Try it with sample documents").click()
    expect(page.get_by_text("11 sample documents are here.")).to_be_visible()
    expect(page.locator("table.docs tbody .status.ready")).to_have_count(11)  # nothing was reloaded
    page.get_by_role("link", name="Why did the light fail in 1923?").click()
    expect(page.locator(".hit").first).to_contain_text("redwings")
    page.go_back()
    page.get_by_role("button", name="Remove the samples").click()
    expect(page.get_by_text("The 11 samples were removed.")).to_be_visible()
    expect(page.get_by_role("heading", name="Put your first documents in")).to_be_visible()


def test_a_deleted_document_comes_back_by_the_message_at_the_foot(visit: Visits, server: RunningService) -> None:
    first, _ = add_notes(server, 2)
    person = visit()
    page = person.page
    page.get_by_role("button", name="Delete note 1").press("Enter")
    expect(person.row("note 1")).to_have_count(0)
    expect(page.get_by_role("button", name="Delete note 0")).to_be_focused()
    expect(page.locator("#toast")).to_contain_text("“note 1” was deleted.")
    expect(page.locator(".segments")).to_contain_text("All 1")
    page.locator("#toast").get_by_role("button", name="Undo").click()
    expect(person.row("note 1").get_by_text("Ready")).to_be_visible()
    expect(page.locator("#toast")).to_contain_text("“note 1” is back.")
    assert page.url.endswith("/")

    page.get_by_role("button", name="Delete note 0").press("Enter")
    expect(page.locator("#toast")).to_contain_text("“note 0” was deleted.")
    page.reload()
    page.locator(".notice").get_by_role("button", name="Undo").click()
    expect(page.locator(".notice")).to_contain_text("The document is back.")
    expect(person.row("note 0")).to_be_visible()

    page.goto(f"/documents/{first}")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".notice")).to_contain_text("The document was deleted.")
    expect(person.row("note 0")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".notice")).to_contain_text("The document is back.")
    expect(person.row("note 0")).to_be_visible()


def test_ranges_are_ticked_with_shift_and_changed_together(visit: Visits, server: RunningService) -> None:
    notes = add_notes(server, 6)
    person = visit("/?sort=oldest")
    page, bar = person.page, person.page.locator("#bulk")
    expect(bar).to_be_hidden()
    tick(page, "note 1")
    tick(page, "note 3", "Shift")
    expect(bar.locator("[data-chosen]")).to_have_text("3 selected")
    server.request("PATCH", f"/api/v1/documents/{notes[1]}", json={"title": "Two"})
    expect(person.row("Two")).to_be_visible()  # the list has followed, and what was ticked is
    expect(bar.locator("[data-chosen]")).to_have_text("3 selected")

    bar.get_by_text("Move", exact=True).first.click()
    expect(bar.locator("#into")).to_be_focused()
    bar.locator("#into").select_option("new")
    bar.get_by_label("Name of the new collection").fill("Letters")
    bar.get_by_label("Name of the new collection").press("Enter")
    expect(page.locator(".notice")).to_have_text("3 documents were moved.")
    page.wait_for_load_state()  # a choice shows at once by a script
    assert page.url.endswith("/?sort=oldest&notice=moved&count=3")
    page.locator("#collection").select_option(label="Letters (3)")
    expect(page.get_by_role("heading", name="Documents in Letters")).to_be_visible()
    assert shown(page) == ["Two", "note 2", "note 3"]
    page.go_back()
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_visible()

    page.get_by_role("checkbox", name="Select all on this page").click()
    expect(bar.locator("[data-chosen]")).to_have_text("6 selected")
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    page.get_by_role("checkbox", name="Select all on this page").click()
    bar.get_by_role("button", name="Delete").click()
    expect(page.locator(".notice")).to_contain_text("6 documents were deleted.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".notice")).to_have_text("6 documents are back.")
    expect(page.locator("table.docs tbody tr")).to_have_count(6)


def test_long_lists_are_paged_without_gaps_and_all_that_fit_are_changed_without_scripts(
    visit: Visits, server: RunningService
) -> None:
    first, *_ = add_notes(server, 52)
    page = visit("/?format=txt&sort=title", java_script_enabled=False).page
    bar = page.locator("#bulk")
    expect(page.locator("table.docs tbody tr")).to_have_count(50)
    found = shown(page)
    page.get_by_role("link", name="Next page").click()
    expect(page.get_by_role("link", name="Back to the start")).to_be_visible()
    assert sorted(found + shown(page)) == sorted(f"note {number}" for number in range(52))

    expect(bar).to_be_hidden()
    tick(page, "note 9")
    bar.get_by_label("All 52 that fit").check()
    bar.get_by_text("Tag", exact=True).click()
    bar.get_by_label("Key").fill("year")
    bar.get_by_label("Value").fill("2024")
    bar.get_by_role("button", name="Set").click()
    expect(page.locator(".notice")).to_have_text("52 documents were tagged.")
    assert server.request("GET", f"/api/v1/documents/{first}").json()["metadata"] == {"year": 2024}
    tick(page, "note 1")
    bar.get_by_role("button", name="Delete").click()
    expect(page.locator(".notice")).to_contain_text("The document was deleted.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".notice")).to_have_text("The document is back.")


def test_dropped_folders_show_their_paths_and_a_broken_upload_is_tried_again(visit: Visits) -> None:
    person = visit()
    page, tray = person.page, person.page.locator("#tray li")
    failing = {"left": 1}

    def break_once(route: Route) -> None:
        failing["left"] -= 1
        if failing["left"] == 0:
            route.abort()
        else:
            route.continue_()

    page.route("**/api/v1/documents", break_once)
    page.evaluate(DROP_FOLDER)
    expect(tray).to_have_count(3)
    expect(tray.filter(has_text="plans/old/b.txt")).to_contain_text("Ready")
    broken = tray.filter(has_text="The connection broke")
    expect(broken).to_have_count(1)
    person.faults.clear()
    broken.get_by_role("button", name="Try again").click()
    expect(page.locator("#tray")).to_contain_text("3 ready")
    expect(tray.filter(has_text="The connection broke")).to_have_count(0)
    expect(page.locator("table.docs tbody tr")).to_have_count(3)
    assert sorted(shown(page)) == ["a", "b", "c"]


def test_a_pasted_address_is_offered_and_what_is_added_goes_into_the_collection_shown(
    visit: Visits, server: RunningService
) -> None:
    collection = server.request("POST", "/api/v1/collections", json={"name": "Inbox"}).json()["id"]
    try:
        add_notes(server, 1)
        person = visit(f"/?collection={collection}")
        page = person.page
        page.evaluate(PASTE, "just words")
        expect(page.locator("#url")).to_have_value("")
        page.evaluate(PASTE, " http://127.0.0.1/report.pdf ")
        expect(page.locator("#url")).to_have_value("http://127.0.0.1/report.pdf")
        expect(page.get_by_role("button", name="Fetch")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".notice")).to_contain_text("This address is not on the public internet")
        expect(page.locator("input[name=collection]")).to_have_value(collection)
        page.goto(f"/?collection={collection}")
        person.choose(("mine.txt", b"my own words"))
        expect(person.row("mine").get_by_text("Ready")).to_be_visible()
        assert shown(page) == ["mine"]
    finally:
        server.request("POST", "/api/v1/documents/purge", json={"confirm": "purge"})
        server.request("DELETE", f"/api/v1/collections/{collection}")


def test_filters_are_addresses_and_keys_reach_them(visit: Visits, server: RunningService) -> None:
    add_notes(server, 2)
    server.add("torn.pdf", b"%PDF-1.7\nnot one")
    person: Visitor = visit()
    page = person.page
    page.locator("#format").select_option("pdf")
    expect(page).to_have_url(re.compile(r"/\?format=pdf$"))
    torn = person.row("torn")
    expect(torn).to_contain_text("It may be damaged")
    expect(torn.get_by_role("link", name="Download original")).to_be_visible()
    torn.get_by_role("link", name="Upload a better copy").click()
    expect(page.locator("#file")).to_be_visible()
    page.go_back()
    page.keyboard.press("/")
    page.keyboard.type("note")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/\?search=note&format=pdf$"))
    expect(page.get_by_role("heading", name="No document fits")).to_be_visible()
    page.get_by_role("link", name="Clear").click()
    expect(page.locator("table.docs tbody tr")).to_have_count(3)
