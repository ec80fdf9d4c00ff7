"""People at browser windows, for the dashboard's tests."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PLAIN_HOST = "plain.example"  # this machine under a name that browsers trust less: no Sec-Fetch headers over http
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    f"--host-resolver-rules=MAP {PLAIN_HOST} 127.0.0.1",
]
PATIENCE_MS = 20_000
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1200, "height": 800}
UNFOLD = "() => { for (const item of document.querySelectorAll('main details:not([name])')) item.open = true; }"
FAILED_REQUEST = "Failed to load resource"  # how a console tells of an error status, which tests look at themselves


class RunningService(Protocol):
    """What these tests need of the `server` fixture."""

    url: str

    def add(self, name: str, content: bytes, **fields: str) -> dict[str, Any]: ...
    def request(self, method: str, path: str, **arguments: Any) -> Any: ...


@contextmanager
def launched() -> Iterator[Browser]:
    """Headless Chromium; skips the test where there is none, or fails it where all must run."""
    if CHROMIUM is None:
        reason = "Chromium is not installed: the dashboard was not tested in a browser"
        if os.environ.get("REQUIRE_ALL_TESTS"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield running
        finally:
            running.close()


class Visitor:
    """One window; notes everything that its console shows as a fault."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.context: BrowserContext = browser.new_context(base_url=url, **options)
        self.context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and FAILED_REQUEST not in message.text:
            self.faults.append(message.text)

    def row(self, title: str) -> Locator:
        """The list's row of a document."""
        return self.page.locator("table.docs tbody tr").filter(
            has=self.page.get_by_role("link", name=title, exact=True)
        )

    def choose(self, *files: tuple[str, bytes]) -> None:
        """Pick files, as (name, content)."""
        payloads: Any = [
            {"name": name, "mimeType": "application/octet-stream", "buffer": content} for name, content in files
        ]
        self.page.get_by_label("Choose files").set_input_files(payloads)

    def content_width(self) -> int:
        """Pixels that the page needs across; more than the window has means scrolling sideways."""
        width: int = self.page.evaluate("document.documentElement.scrollWidth")
        return width


class Visits:
    """Opens windows, and holds each to a console without faults."""

    def __init__(self, browser: Browser, url: str) -> None:
        self._browser = browser
        self._url = url
        self._opened: list[Visitor] = []

    def __call__(self, path: str = "/", **options: Any) -> Visitor:
        """A new window at an address of the service."""
        visitor = Visitor(self._browser, self._url, **options)
        self._opened.append(visitor)
        visitor.page.goto(path)
        return visitor

    def close(self) -> None:
        """Close all windows; fails when any console showed a fault."""
        for visitor in self._opened:
            visitor.context.close()
        assert [fault for visitor in self._opened for fault in visitor.faults] == []
