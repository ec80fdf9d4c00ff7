"""The ways through several pages: with the keyboard alone, and without scripts."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from visitors import PATIENCE_MS, RunningService, Visits

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser-pages")]
expect.set_options(timeout=PATIENCE_MS)

LEAVE = b"# Leave policy\n\n## Carrying over\n\nFive unused days of annual leave may be carried over into March.\n"
STOPS = 120  # of the Tab key before a test gives up
# Whether the element that has the focus shows it: by an outline of its own or, for what is drawn by its label, by that.
VISIBLE_FOCUS = """() => {
  const shown = (item) => item && getComputedStyle(item).outlineStyle !== "none";
  const item = document.activeElement;
  return item === document.body || shown(item) || shown(item.closest("label")) || shown(item.parentElement);
}"""


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until the target has the focus; everything on the way must show that it has it."""
    for _ in range(STOPS):
        page.keyboard.press("Tab")
        assert page.evaluate(VISIBLE_FOCUS), page.evaluate("document.activeElement.outerHTML")
        if target.count() and target.first.evaluate("item => item === document.activeElement"):
            return
    pytest.fail(f"{target} was not reached with the Tab key")


def test_a_document_is_added_found_opened_and_judged_with_the_keyboard_alone(visit: Visits) -> None:
    page = visit().page
    page.on("filechooser", lambda _: None)  # known to the browser long before the key is pressed
    tab_to(page, page.get_by_label("Choose files"))
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files({"name": "leave.md", "mimeType": "text/markdown", "buffer": LEAVE})
    row = page.locator("table.docs tbody tr").filter(has_text="Leave policy")
    expect(row.get_by_text("Ready")).to_be_visible()

    page.goto("/")
    tab_to(page, page.get_by_role("link", name="Playground"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("carry over annual leave")
    page.keyboard.press("Enter")
    hit = page.locator(".hit").first
    expect(hit).to_contain_text("Five unused days")
    tab_to(page, hit.get_by_role("button", name="Right"))
    page.keyboard.press("Enter")
    expect(hit.get_by_role("button", name="Right")).to_have_attribute("aria-pressed", "true")

    page.reload()
    tab_to(page, hit.get_by_role("link", name="Leave policy"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Leave policy", level=1)).to_be_visible()
    tab_to(page, page.get_by_role("link", name="Evaluate"))
    page.keyboard.press("Enter")
    expect(page.locator("table.sets tbody tr")).to_contain_text("1 question")
    tab_to(page, page.get_by_role("button", name=re.compile("^Colours")))
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_an_explanation_shows_on_hover_and_on_focus_and_goes_with_escape(visit: Visits) -> None:
    page = visit("/system").page
    term = page.locator(".explain").first
    told = term.locator("xpath=following-sibling::*[@role='tooltip']")
    expect(told).to_be_hidden()
    term.hover()
    expect(told).to_be_visible()
    expect(told).to_be_in_viewport(ratio=1)
    page.mouse.move(0, 0)
    expect(told).to_be_hidden()
    term.focus()
    expect(told).to_be_visible()
    page.keyboard.press("Escape")
    expect(told).to_be_hidden()
    page.keyboard.press("Enter")
    expect(told).to_be_visible()  # and stays, until Escape or a click elsewhere
    page.mouse.click(2, 2)
    expect(told).to_be_hidden()


@pytest.mark.usefixtures("empty")
def test_collections_judging_and_measuring_need_no_scripts(visit: Visits, server: RunningService) -> None:
    person = visit("/collections", java_script_enabled=False)
    page = person.page
    page.get_by_label("Name", exact=True).fill("Policies")
    page.get_by_label("What is in it").fill("In force")
    page.get_by_role("button", name="Create").click()
    made = page.locator(".collections > li").filter(has_text="Policies")
    expect(made).to_contain_text("empty")
    collection_id = made.get_attribute("id")
    assert collection_id is not None
    server.add("leave.md", LEAVE, collectionId=collection_id)
    made.get_by_text("Edit").click()
    made.get_by_label("Name", exact=True).fill("Rules")
    made.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The collection was changed.")).to_be_visible()
    expect(page.locator(".collections > li").filter(has_text="Rules")).to_contain_text("1 document")
    page.get_by_role("link", name="Delete Rules").click()
    expect(page.get_by_role("heading", name="Delete the collection “Rules”?")).to_be_visible()
    page.get_by_role("button", name="Move, then delete the collection").click()
    expect(page.get_by_text("The documents were moved and the collection was deleted.")).to_be_visible()

    page.get_by_role("link", name="Playground").click()
    page.get_by_role("searchbox").fill("carry over annual leave")
    page.get_by_role("searchbox").press("Enter")
    page.locator(".hit").first.get_by_role("button", name="Right").click()
    expect(page.locator(".hit").first.get_by_role("button", name="Right")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="Evaluate").click()
    page.locator("table.sets tbody").get_by_role("link").first.click()
    page.get_by_role("button", name=re.compile("^Run")).first.click()
    expect(page.locator("main")).to_contain_text(re.compile("nDCG|recall", re.IGNORECASE))
