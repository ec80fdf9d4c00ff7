"""The dashboard in a real browser, over the real service."""

import re

import pytest
from playwright.sync_api import expect
from visitors import PATIENCE_MS, RunningService, Visits

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE_MS)

LEAVE = b"""# Leave policy

## Carrying days over

Employees may carry over up to five unused days of annual leave into the next calendar year. Days that were carried over
must be taken by the end of March, and expire without compensation after that. Whoever could not take them because of a
long illness or parental leave keeps them for fifteen months. The manager confirms the remaining days in writing each
December, and a copy goes to the people team, which keeps the account of every employee.

## Sick leave

Call your manager before ten in the morning of the first day, or write to the team's mailbox when nobody answers. A
doctor's certificate is needed from the fourth calendar day on; it is sent to the people team, never to the manager. Pay
goes on in full for six weeks. After that the health insurance takes over, and the people team helps with the forms that
the insurance asks for.
"""
INVOICES = b"# Invoices\n\nInvoice INV-0042 was paid late. Invoice INV-0043 is still open.\n"
HOSTILE = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
# How a page behaves whose documents are dropped: a transfer with files, as the browser makes one.
DROP = """([name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name));
  const event = (type) => new DragEvent(type, {dataTransfer: transfer, bubbles: true, cancelable: true});
  document.body.dispatchEvent(event("dragenter"));
  const marked = document.body.classList.contains("dropping");
  document.body.dispatchEvent(event("drop"));
  return marked;
}"""


@pytest.mark.usefixtures("empty")
def test_a_new_user_uploads_a_file_finds_a_passage_and_opens_it(visit: Visits) -> None:
    person = visit()
    page = person.page
    expect(page.get_by_role("heading", name="Put your first documents in")).to_be_visible()
    person.choose(("leave-policy.md", LEAVE))
    expect(person.row("Leave policy").get_by_text("Ready")).to_be_visible()  # nothing was reloaded
    expect(page.locator("#tray")).to_contain_text("1 ready")
    expect(page.get_by_role("heading", name="Put your first documents in")).to_be_hidden()

    page.get_by_role("link", name="Playground").click()
    page.get_by_role("searchbox").fill("carry over annual leave")
    page.get_by_role("searchbox").press("Enter")
    first = page.locator(".hit").first
    expect(first.locator("mark", has_text="annual")).to_be_visible()
    expect(first.locator(".where")).to_contain_text("Carrying days over")
    expect(first.locator(".tag")).to_have_text("all words")
    first.locator("summary").click()
    expect(first.locator(".sum")).to_contain_text("1 ÷ (60 + 1)")
    expect(page.locator(".figures")).to_contain_text("Whole search")

    first.get_by_role("link", name="Leave policy").click()
    expect(page.get_by_role("heading", name="Leave policy", level=1)).to_be_visible()
    expect(page.locator(".passage.wanted")).to_contain_text("five unused days")
    expect(page.locator(".passage.wanted")).to_be_in_viewport()


@pytest.mark.usefixtures("empty")
def test_of_several_files_at_once_each_tells_how_it_went(visit: Visits) -> None:
    person = visit()
    page = person.page
    person.choose(
        ("leave.md", LEAVE), ("setup.exe", b"MZ" + b"\0" * 50), ("torn.pdf", b"%PDF-1.7\nnot one"), ("blank.txt", b"")
    )
    upload = page.locator("#tray li")
    expect(person.row("Leave policy").get_by_text("Ready")).to_be_visible()
    expect(upload.filter(has_text="leave.md")).to_contain_text("Ready")
    expect(upload.filter(has_text="setup.exe")).to_contain_text("not supported. Save it as PDF")
    expect(upload.filter(has_text="blank.txt")).to_contain_text("It is empty.")
    expect(upload.filter(has_text="torn.pdf")).to_contain_text("This file could not be read.")
    torn = person.row("torn")
    expect(torn.get_by_text("Failed")).to_be_visible()
    expect(torn).to_contain_text("It may be damaged")
    expect(page.locator("#tray")).to_contain_text("1 ready · 3 failed")
    expect(upload.last).to_contain_text("leave.md")  # what failed comes first
    page.get_by_role("button", name="Clear finished").click()
    expect(page.locator("#tray")).to_be_hidden()

    page.get_by_role("link", name=re.compile("^Failed")).click()
    expect(page.locator("table.docs tbody tr")).to_have_count(1)
    page.get_by_role("link", name="torn", exact=True).click()
    expect(page.locator(".notice")).to_contain_text("This file could not be read.")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    page.get_by_role("link", name="← Documents").click()
    person.choose(("torn.pdf", b"%PDF-1.7\nnot one"))
    expect(upload).to_contain_text("It could not be read. Open it to see why.")


@pytest.mark.usefixtures("empty")
def test_a_dropped_file_is_uploaded_and_a_second_copy_is_told_kindly(visit: Visits) -> None:
    person = visit()
    assert person.page.evaluate(DROP, ["invoices.md", INVOICES.decode()]) is True
    expect(person.row("Invoices").get_by_text("Ready")).to_be_visible()
    person.page.evaluate(DROP, ["copy.md", INVOICES.decode()])
    copy = person.page.locator("#tray li").filter(has_text="copy.md")
    expect(copy).to_contain_text("You have it already")
    expect(person.page.locator("table.docs tbody tr")).to_have_count(1)
    copy.get_by_role("link").click()
    expect(person.page.get_by_role("heading", name="Invoices", level=1)).to_be_visible()


@pytest.mark.usefixtures("empty")
def test_another_window_shows_what_happens_without_being_reloaded(visit: Visits, server: RunningService) -> None:
    person = visit()
    document = server.add("leave.md", LEAVE)
    expect(person.row("Leave policy").get_by_text("Ready")).to_be_visible()
    server.request("DELETE", f"/api/v1/documents/{document['id']}")
    expect(person.page.get_by_role("heading", name="Put your first documents in")).to_be_visible()


@pytest.mark.usefixtures("empty")
def test_markup_in_a_document_shows_as_text_wherever_it_appears(visit: Visits, server: RunningService) -> None:
    text = f"# `{HOSTILE}`\n\n## Part `{HOSTILE}`\n\nThe paragraph `{HOSTILE}` tells of otters.\n"
    document = server.add(
        f"{HOSTILE.replace('/', '')}.md", text.encode(), metadata='{"<b>key</b>": "<script>window.hacked=1</script>"}'
    )
    assert "<script>" in document["title"]
    person = visit()
    page = person.page
    for path in (
        "/",
        "/?search=%3Cscript%3Ewindow.hacked%3D1%3C%2Fscript%3E",
        f"/documents/{document['id']}",
        f"/documents/{document['id']}?view=details",
        f"/playground?q=otters+%3Cscript%3Ewindow.hacked%3D1%3C%2Fscript%3E&document={document['id']}",
        "/playground?q=otters&mode=%3Cscript%3E&fusion=%22%3E%3Cscript%3E",
    ):
        page.goto(path)
        expect(page.locator("main script, main img[src=x], main b[onerror]")).to_have_count(0)
        assert page.evaluate("window.hacked") is None
    page.goto(f"/documents/{document['id']}")
    expect(page.locator("main")).to_contain_text("<script>window.hacked=1</script>")
    expect(page.get_by_text("<b>key</b>")).to_be_visible()


@pytest.mark.usefixtures("empty")
def test_everything_works_without_scripts(visit: Visits) -> None:
    person = visit(java_script_enabled=False)
    page = person.page
    page.locator("input[type=file]").set_input_files({"name": "leave.md", "mimeType": "text/markdown", "buffer": LEAVE})
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("The file was added.")).to_be_visible()
    page.get_by_role("link", name="Open it").click()
    while page.get_by_role("link", name="Search in it").count() == 0:
        page.reload()
    page.get_by_role("link", name="Search in it").click()
    page.get_by_role("searchbox").fill("fourth day certificate")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".hit mark").first).to_be_visible()
    page.locator(".hit").first.get_by_role("link", name="Leave policy").click()

    page.get_by_role("link", name="Documents", exact=True).first.click()
    page.locator("input[type=file]").set_input_files(
        {"name": "setup.exe", "mimeType": "application/octet-stream", "buffer": b"MZ"}
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("This file format is not supported.")).to_be_visible()

    page.get_by_role("button", name="Delete Leave policy").click()
    expect(page.get_by_text("The document was deleted.")).to_be_visible()
    expect(person.row("Leave policy")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(person.row("Leave policy")).to_be_visible()


def test_searches_are_addresses_and_options_ask_again_at_once(visit: Visits, server: RunningService) -> None:
    server.add("leave.md", LEAVE)
    server.add("invoices.md", INVOICES)
    person = visit("/playground?q=INV-0042&mode=lexical")
    page = person.page
    expect(page.locator(".hit")).to_have_count(1)
    expect(page.get_by_role("radio", name="Words")).to_be_checked()
    page.get_by_text("How", exact=True).click()
    page.get_by_role("checkbox", name="One per document").click()
    expect(page).to_have_url(re.compile("collapse=document"))
    expect(page.locator(".hit")).to_have_count(1)
    page.goto("/playground?q=INV-9999&mode=lexical")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    page.get_by_role("link", name="Search by meaning as well").click()
    expect(page.locator(".hit").first).to_be_visible()


def test_keys_reach_everything(visit: Visits, server: RunningService) -> None:
    server.add("leave.md", LEAVE)
    page = visit().page
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Choose files")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("leave")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("search=leave"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_and_follow_the_colour_preference(visit: Visits, server: RunningService, scheme: str) -> None:
    name = "a-rather-long-file-name-without-any-place-to-break-" * 3
    document = server.add(f"{name}.txt", b"x" * 400 + b" and some words about otters " * 30)
    server.add("torn.pdf", b"%PDF-1.7\nnot one")
    person = visit(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = person.page
    paths = ("/", "/?status=failed", "/playground", "/playground?q=otters+" + "y" * 300, f"/documents/{document['id']}")
    for path in (*paths, "/documents/doc_none", "/docs"):
        page.goto(path)
        assert person.content_width() <= 360, path
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shade = sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 3
        assert (shade < 60) if scheme == "dark" else (shade > 200), (path, colour)
