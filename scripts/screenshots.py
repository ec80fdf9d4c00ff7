"""Take the pictures of README and docs: a fresh server, a small corpus, and Chromium (`make screenshots`).

    python scripts/screenshots.py [DIR]

DIR holds the documents to show; without it, the product's own documentation is the corpus.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx2
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
QUERY = "how do the ranks of both sides become one score"
START_S, READY_S, POLL_S = 30.0, 300.0, 0.1
WARM_UP = 5  # searches before the one whose timings are shown
WINDOW = {"width": 1120, "height": 760}
TORN = ("Quarterly figures.pdf", b"%PDF-1.7\nthis file broke off while it was copied")


def corpus(arguments: list[str]) -> list[Path]:
    """The files to show."""
    if arguments:
        return sorted(path for path in Path(arguments[0]).rglob("*") if path.is_file())
    return [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]


@contextmanager
def running_server(data_dir: Path) -> Iterator[str]:
    """A server of its own on a free port; gives its address."""
    command = [sys.executable, "-m", "mcp_knowledge", "--data-dir", str(data_dir), "serve", "--port", "0"]
    quiet = {**os.environ, "LOG_LEVEL": "warning"}
    process = subprocess.Popen(command, env=quiet, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        note = data_dir / "server.json"
        deadline = time.monotonic() + START_S
        while not note.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("The server did not start.")
            time.sleep(POLL_S)
        yield json.loads(note.read_text())["url"]
    finally:
        process.terminate()
        process.wait()


def fill(url: str, paths: list[Path]) -> None:
    """Upload the corpus, and one broken file, and wait until everything is done."""
    files = [(path.name, path.read_bytes()) for path in paths]
    with httpx2.Client(base_url=f"{url}/api/v1", timeout=60) as client:
        for name, content in [*files, TORN]:
            client.post("/documents", files={"file": (name, content)}).raise_for_status()
        deadline = time.monotonic() + READY_S
        while any(
            client.get("/documents", params={"status": state}).json()["items"] for state in ("pending", "processing")
        ):
            if time.monotonic() > deadline:
                sys.exit("The documents did not become ready.")
            time.sleep(POLL_S)


def open_page(browser: Browser, url: str) -> Page:
    """A window at an address, settled."""
    page = browser.new_page(viewport=WINDOW, device_scale_factor=1.5)  # type: ignore[arg-type]  # a plain dict of ints
    page.goto(url)
    page.wait_for_load_state("load")
    return page


def take(browser: Browser, url: str) -> None:
    """Every picture."""
    page = open_page(browser, f"{url}/playground?{urlencode({'q': QUERY, 'limit': 5})}")
    for _ in range(WARM_UP):
        page.reload()
    page.locator(".hit summary").first.click()
    page.screenshot(path=IMAGES / "playground.png")
    open_page(browser, url).screenshot(path=IMAGES / "documents.png")


def main() -> None:
    """Start, fill, photograph."""
    if CHROMIUM is None:
        sys.exit("Chromium is not installed.")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder) / "data") as url:
        fill(url, corpus(sys.argv[1:]))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            take(browser, url)
            browser.close()


if __name__ == "__main__":
    main()
