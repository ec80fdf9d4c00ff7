"""Imports of archives in a real browser, over the real service."""

import pytest
from playwright.sync_api import expect
from visitors import PATIENCE_MS, RunningService, Visits
from zip_files import zip_of

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE_MS)

LETTERS = zip_of(("a.txt", "The first letter."), ("b/c.txt", "The second letter."), ("setup.exe", "MZ"))
LONG = "a very long name of a folder that somebody has made/" * 3 + "file with-no-good-place-to-break-" * 4 + ".exe"


@pytest.mark.usefixtures("empty")
def test_a_chosen_zip_is_unpacked_before_ones_eyes_and_leads_to_its_files(visit: Visits) -> None:
    person = visit()
    page = person.page
    person.choose(("letters.zip", LETTERS))
    upload = page.locator("#tray li").filter(has_text="letters.zip")
    expect(upload).to_contain_text("Unpacked: 2 added, 1 passed over")
    expect(person.row("a").get_by_text("Ready")).to_be_visible()  # nothing was reloaded
    expect(page.locator("table.docs tbody tr")).to_have_count(2)

    upload.get_by_role("link", name="letters.zip").click()
    expect(page.get_by_role("heading", name="letters.zip", level=1)).to_be_visible()
    expect(page.locator("table.files tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Passed over 1").click()
    expect(page.locator("table.files tbody tr")).to_have_count(1)
    expect(page.locator("table.files")).to_contain_text("This file format is not supported.")
    page.get_by_role("link", name="← Imports").click()
    expect(person.row("letters.zip").get_by_text("Imported")).to_be_visible()


@pytest.mark.usefixtures("empty")
def test_a_zip_that_cannot_be_read_is_told_kindly(visit: Visits) -> None:
    person = visit()
    person.choose(("torn.zip", LETTERS[:-10]))
    upload = person.page.locator("#tray li").filter(has_text="torn.zip")
    expect(upload).to_contain_text("This archive could not be read.")
    upload.get_by_role("link", name="torn.zip").click()
    expect(person.page.locator(".notice")).to_contain_text("Nothing of this archive was imported.")


@pytest.mark.usefixtures("empty")
def test_the_page_follows_imports_and_keeps_open_what_was_opened(visit: Visits, server: RunningService) -> None:
    person = visit("/imports")
    page = person.page
    expect(page.get_by_role("heading", name="No archive was imported yet")).to_be_visible()
    send(server, "letters.zip", LETTERS)
    expect(person.row("letters.zip").get_by_text("Imported")).to_be_visible()  # nothing was reloaded
    person.row("letters.zip").get_by_text("1 file passed over").click()
    expect(page.get_by_text("setup.exe")).to_be_visible()
    send(server, "more.zip", zip_of(("d.txt", "A third letter.")))
    expect(person.row("more.zip").get_by_text("Imported")).to_be_visible()
    expect(page.get_by_text("setup.exe")).to_be_visible()


@pytest.mark.usefixtures("empty")
def test_the_page_of_one_import_follows_it(visit: Visits, server: RunningService) -> None:
    files = [(f"{number}.txt", f"Letter number {number}.") for number in range(120)]
    person = visit(f"/imports/{send(server, 'many.zip', zip_of(*files))}")
    expect(person.page.locator(".doc-line").get_by_text("Imported")).to_be_visible()
    expect(person.page.locator("table.files tbody tr")).to_have_count(120)


@pytest.mark.usefixtures("empty")
def test_without_scripts_everything_is_there(visit: Visits, server: RunningService) -> None:
    page = visit(java_script_enabled=False).page
    page.get_by_label("Choose files").set_input_files(
        {"name": "letters.zip", "mimeType": "application/zip", "buffer": LETTERS}
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("heading", name="letters.zip", level=1)).to_be_visible()
    page.goto("/imports")
    expect(page.get_by_role("link", name="letters.zip")).to_be_visible()


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_imports_scrolls_sideways(visit: Visits, server: RunningService, width: int, scheme: str) -> None:
    archive_id = send(server, f"{'long name ' * 12}.zip", zip_of((LONG, "MZ"), ("a.txt", "text")))
    for path in ("/imports", f"/imports/{archive_id}"):
        person = visit(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
        for summary in person.page.locator("summary").all():
            summary.click()
        assert person.content_width() <= width


def send(server: RunningService, name: str, data: bytes) -> str:
    answer = server.request("POST", "/api/v1/documents", files={"file": (name, data)})
    assert answer.status_code == 202, answer.text
    archive_id: str = answer.json()["archiveId"]
    return archive_id
