"""Signing in and out in a real browser, over a server with a passphrase."""

import re
from collections.abc import Iterator

import pytest
from front_door import Server
from playwright.sync_api import Browser, expect
from visitors import PLAIN_HOST, Visitor, Visits

pytestmark = pytest.mark.slow
PASSPHRASE = "correct horse battery"
ELSEWHERE = "http://elsewhere.example/"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = {"DASHBOARD_PASSPHRASE": PASSPHRASE, "ALLOWED_HOSTS": PLAIN_HOST}
    running = Server(tmp_path_factory.mktemp("guarded") / "data", environment).start()
    yield running
    running.stop()


@pytest.fixture
def visit_guarded(browser: Browser, guarded: Server) -> Iterator[Visits]:
    visits = Visits(browser, guarded.url)
    yield visits
    visits.close()


def sign_in(visitor: Visitor) -> None:
    visitor.page.get_by_label("Passphrase").fill(PASSPHRASE)
    visitor.page.get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_visitor_signs_in_goes_on_and_signs_out(visit_guarded: Visits, scripts: bool) -> None:
    visitor = visit_guarded("/playground?query=tea", java_script_enabled=scripts)
    page = visitor.page
    expect(page.get_by_label("Passphrase")).to_be_focused()
    page.get_by_label("Passphrase").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text("This is not the passphrase.")
    sign_in(visitor)
    expect(page).to_have_url(re.compile(r"/playground\?query=tea$"))
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile(r"/login$"))
    page.goto("/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_forms_work_over_plain_http_in_a_network(browser: Browser, guarded: Server, scripts: bool) -> None:
    """Browsers send no `Sec-Fetch-Site` there: only the origin tells whose form it is."""
    visits = Visits(browser, guarded.url.replace("127.0.0.1", PLAIN_HOST))
    visitor = visits("/folder", java_script_enabled=scripts)
    sign_in(visitor)
    expect(visitor.page).to_have_url(re.compile(r"/folder$"))
    visitor.page.get_by_role("button", name="Sign out").click()
    expect(visitor.page.get_by_role("heading", name="Sign in")).to_be_visible()
    visits.close()


def test_pages_work_behind_the_passphrase(visit_guarded: Visits) -> None:
    visitor = visit_guarded("/")
    sign_in(visitor)
    visitor.choose(("tea.txt", b"Green tea with honey, served at noon."))
    expect(visitor.row("tea")).to_contain_text("Ready")


def test_a_link_on_another_site_opens_the_page_of_someone_who_is_signed_in(visit_guarded: Visits) -> None:
    visitor = visit_guarded("/")
    sign_in(visitor)
    expect(visitor.page.get_by_role("button", name="Sign out")).to_be_visible()
    link = f'<a href="{visitor.page.url}imports">Look</a>'
    visitor.page.route(f"{ELSEWHERE}**", lambda route: route.fulfill(body=link, content_type="text/html"))
    visitor.page.goto(ELSEWHERE)
    visitor.page.get_by_role("link", name="Look").click()
    expect(visitor.page).to_have_url(re.compile(r"/imports$"))
    expect(visitor.page.get_by_role("button", name="Sign out")).to_be_visible()


def test_the_login_page_fits_a_narrow_window(visit_guarded: Visits) -> None:
    visitor = visit_guarded("/", viewport={"width": 320, "height": 640})
    expect(visitor.page.get_by_label("Passphrase")).to_be_visible()
    assert visitor.content_width() == 320
    expect(visitor.page.get_by_role("link", name="MCP Knowledge")).to_have_count(1)  # its words make room for the icon


def test_an_open_page_leads_to_the_login_page_when_the_session_has_ended(visit_guarded: Visits) -> None:
    visitor = visit_guarded("/")
    sign_in(visitor)
    expect(visitor.page.get_by_role("button", name="Sign out")).to_be_visible()
    visitor.page.wait_for_load_state("load")
    visitor.context.clear_cookies()
    visitor.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(visitor.page.get_by_role("heading", name="Sign in")).to_be_visible()
