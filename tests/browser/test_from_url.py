"""Adding a document by its address, in a real browser over the real service, which fetches nothing from loopback."""

import pytest
from playwright.sync_api import expect
from visitors import PATIENCE_MS, Visits

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE_MS)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_refused_address_is_explained_and_can_be_corrected(visit: Visits, scripts: bool) -> None:
    person = visit("/", java_script_enabled=scripts)
    page = person.page
    page.get_by_label("Or from the web").fill("http://localhost/report.pdf")
    page.get_by_role("button", name="Fetch").click()
    expect(page.get_by_role("heading", name="Add from the web")).to_be_visible()
    expect(page.locator(".notice.bad")).to_contain_text("local network")
    field = page.get_by_label("Address")
    expect(field).to_have_value("http://localhost/report.pdf")
    field.fill("http://no-such-host.invalid/report.pdf")
    page.get_by_role("button", name="Fetch").click()
    expect(page.locator(".notice.bad")).to_contain_text("could not be looked up")
    page.get_by_role("link", name="← Documents").click()
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_visible()


def test_the_button_says_that_the_file_is_being_fetched(visit: Visits) -> None:
    page = visit("/documents/from-url").page
    page.route("**/documents/from-url", lambda route: route.fulfill(status=204))  # the page stays
    page.get_by_label("Address").fill("https://example.com/")
    page.get_by_role("button", name="Fetch").click(no_wait_after=True)
    expect(page.get_by_role("button", name="Fetching…")).to_be_disabled()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_form_fits_a_narrow_window(visit: Visits, scheme: str) -> None:
    person = visit("/documents/from-url", viewport={"width": 360, "height": 740}, color_scheme=scheme)
    person.page.get_by_label("Address").fill("http://127.0.0.1/" + "a" * 300)
    person.page.get_by_role("button", name="Fetch").click()
    expect(person.page.locator(".notice.bad")).to_be_visible()
    assert person.content_width() <= 360
