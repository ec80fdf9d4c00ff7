"""Jobs, System, Connect and API keys in a real browser."""

import asyncio
import json
import re
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx2
import pytest
from front_door import Server, add, running_client
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import Browser, Locator, expect
from visitors import PATIENCE_MS, Visitor, Visits

from mcp_knowledge.settings import load_settings

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser-operator")]
expect.set_options(timeout=PATIENCE_MS)

PASSPHRASE = "correct horse battery"
T = TypeVar("T")


def elsewhere(work: Coroutine[Any, Any, T]) -> T:
    """What the work gives, done in another thread: the browser's own loop has this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@pytest.fixture(scope="module")
def aged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose one document was made while passages were cut to another size."""
    folder = tmp_path_factory.mktemp("aged") / "data"

    async def fill() -> None:
        async with running_client(load_settings(data_dir=folder, chunk_target_tokens=150)) as client:
            await add(client, "almanac.txt", b"The almanac of teas.")

    elsewhere(fill())
    running = Server(folder).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("guarded") / "data", {"DASHBOARD_PASSPHRASE": PASSPHRASE}).start()
    yield running
    running.stop()


@pytest.fixture
def visit_aged(browser: Browser, aged: Server) -> Iterator[Visits]:
    visits = Visits(browser, aged.url)
    yield visits
    visits.close()


@pytest.fixture
def visit_guarded(browser: Browser, guarded: Server) -> Iterator[Visits]:
    visits = Visits(browser, guarded.url)
    yield visits
    visits.close()


def job(visitor: Visitor, title: str) -> Locator:
    return visitor.page.locator("table.jobs tbody tr").filter(has_text=title)


def tools_of(server: dict[str, Any]) -> int:
    """How many tools the official client sees with this configuration."""

    async def connect() -> int:
        async with (
            httpx2.AsyncClient(headers=server["headers"]) as http,
            Client(streamable_http_client(server["url"], http_client=http)) as client,
        ):
            return len((await client.list_tools()).tools)

    return elsewhere(connect())


def test_documents_that_are_out_of_date_are_read_again_while_the_page_follows(visit_aged: Visits) -> None:
    visitor = visit_aged("/system")
    page = visitor.page
    page.get_by_role("link", name="1 document", exact=True).click()
    expect(page.get_by_role("row", name="almanac")).to_contain_text("Passages are cut differently now")
    page.go_back()
    page.get_by_role("button", name="Read them again").click()
    expect(page.get_by_text("Every document was read and cut as a new one would be.")).to_be_visible()
    page.get_by_role("button", name="Changes so far").focus()
    expect(page.get_by_text("Counts every change that a reader could see.")).to_be_visible()


def test_the_queue_moves_by_itself_and_failed_jobs_are_tried_again(visit_aged: Visits, aged: Server) -> None:
    visitor = visit_aged("/jobs")
    page = visitor.page
    expect(job(visitor, "almanac").first).to_contain_text("Done")
    aged.add("honey.txt", b"Honey from the lime tree.")
    expect(job(visitor, "honey")).to_contain_text("Done")
    aged.add("broken.pdf", b"no PDF")
    expect(job(visitor, "broken")).to_contain_text("This file could not be read.")
    expect(page.get_by_role("link", name="1 failed")).to_be_visible()
    page.get_by_role("link", name=re.compile("^Failed")).click()
    page.get_by_role("button", name="Try again: broken").press("Enter")
    expect(page.get_by_text("The job is queued again.")).to_be_visible()
    expect(page).to_have_url(re.compile(r"status=failed"))
    expect(job(visitor, "broken")).to_contain_text("Failed")
    page.get_by_role("button", name="Try all failed again").click()
    expect(page.get_by_text("1 job queued again.")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile(r"status=failed"))


def test_everything_is_removed_once_the_word_is_typed_without_scripts_too(visit_aged: Visits, aged: Server) -> None:
    aged.add("last.txt", b"The last one.")
    page = visit_aged("/system", java_script_enabled=False).page
    page.get_by_text("Remove all documents").click()
    field = page.get_by_label("Type purge to confirm")
    field.fill("purr")
    page.get_by_role("button", name="Remove everything").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was removed")
    field.fill("purge")
    field.press("Enter")
    expect(page.get_by_text("Every document is gone.")).to_be_visible()
    assert aged.request("GET", "/api/v1/documents").json()["items"] == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_client_is_connected_with_a_key_made_on_the_spot(visit_guarded: Visits, scripts: bool) -> None:
    visitor = visit_guarded("/connect", java_script_enabled=scripts)
    page = visitor.page
    page.get_by_label("Passphrase").fill(PASSPHRASE)
    page.get_by_role("button", name="Sign in").click()
    page.locator("#cursor summary").press("Enter")
    expect(page.locator("#claude-desktop pre")).to_be_hidden()
    if scripts:
        expect(page).to_have_url(re.compile(r"/connect\?client=cursor$"))
    cursor = page.locator("#cursor")
    expect(cursor.get_by_label("Name of its key")).to_have_value("Cursor")
    cursor.get_by_role("button", name="Make a key").click()
    expect(page.get_by_text("It is shown this one time only")).to_be_visible()
    server = json.loads(cursor.locator("pre").inner_text())["mcpServers"]["knowledge"]
    assert server["url"] == visitor.page.url.partition("/connect")[0] + "/mcp"
    assert tools_of(server) == 6
    page.get_by_role("button", name="Test the connection").click()
    expect(page.locator("#result")).to_contain_text("It works")
    expect(page.locator("#result")).to_contain_text(f"the key {server['headers']['Authorization'][7:19]}")
    if scripts:
        visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
        cursor.get_by_role("button", name="Copy").click()
        expect(cursor.get_by_role("button", name="Copied")).to_be_visible()
        assert json.loads(page.evaluate("navigator.clipboard.readText()"))["mcpServers"]["knowledge"] == server
    page.goto("/keys")
    page.get_by_label("Revoke Cursor", exact=True).click()
    page.get_by_role("button", name="Revoke it: Cursor").click()
    expect(page.get_by_text("The key was revoked.")).to_be_visible()
    page.goto("/connect")
    page.get_by_label("Key", exact=True).fill(server["headers"]["Authorization"].removeprefix("Bearer "))
    page.get_by_role("button", name="Test the connection").click()
    expect(page.locator("#result")).to_contain_text("The key is not known here.")
