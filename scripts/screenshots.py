"""Take the pictures of README and docs: a fresh server, a small corpus, and Chromium (`make screenshots`).

    python scripts/screenshots.py [NAME …]

NAMEs are those of pictures to take, without `.png`; without any, all are taken. The corpus is that of the tests of
retrieval: the files of a small brewery, and questions whose answers are known.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
CORPUS = ROOT / "tests" / "retrieval" / "corpus"
QUESTIONS = ROOT / "tests" / "retrieval" / "queries.jsonl"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
START_S, READY_S, POLL_S = 30.0, 300.0, 0.1
IMAGES_IN_VIEW = """() => Promise.all([...document.images]
  .filter((image) => image.getBoundingClientRect().top < innerHeight).map((image) => image.decode()))"""
WARM_UP = 5  # searches before the one whose timings are shown
DESK: ViewportSize = {"width": 1120, "height": 740}
PHONE: ViewportSize = {"width": 360, "height": 720}
DOTS = 1.5  # of the picture for each of the page's
TORN = ("quarterly-figures.pdf", b"%PDF-1.7\nthis file broke off while it was copied")
SHELVES = (  # collections: name, description, and how the names of their files begin
    ("People", "Handbooks and policies for everybody who works here.", ("employee", "travel", "first", "it-")),
    ("Brewhouse", "How the plant is run and kept in order.", ("boiler", "brewhouse", "cleaning", "pump", "spare")),
    ("Correspondence", "What goes out to customers and suppliers, and what comes in.", ("invoice", "lease", "carta")),
)


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


@dataclass(frozen=True)
class Sample:
    """What the pictures show: the ids of a document, of the set of questions and of one of its runs."""

    document_id: str
    set_id: str
    run_id: str


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Until it holds; ends the program when that takes too long."""
    deadline = time.monotonic() + READY_S
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what} did not become ready.")
        time.sleep(POLL_S)


def fill(client: httpx2.Client) -> Sample:
    """Upload the corpus in two parts, measuring after each, and one broken file; wait until everything is done."""
    shelves: dict[tuple[str, ...], str] = {
        begins: _post(client, "/collections", {"name": name, "description": description})["id"]
        for name, description, begins in SHELVES
    }
    made = _post(client, "/evaluations", {"name": "Everyday questions"})
    path = f"/evaluations/{made['id']}"
    client.post(f"{path}/import", content=QUESTIONS.read_bytes()).raise_for_status()
    files = [(file.name, file.read_bytes()) for file in sorted(CORPUS.iterdir())]
    runs = []
    for part in (files[::2], [*files[1::2], TORN]):
        _upload(client, part, shelves)
        runs += [_measure(client, path, mode) for mode in ("vector", "lexical", "hybrid")]
    client.patch(path, json={"baselineRunId": runs[3]}).raise_for_status()
    pdf = next(item for item in _documents(client) if item["originalFilename"] == "cleaning-agent-sheet.pdf")
    return Sample(pdf["id"], made["id"], runs[-1])


def _upload(client: httpx2.Client, files: list[tuple[str, bytes]], shelves: dict[tuple[str, ...], str]) -> None:
    for name, content in files:
        shelf = next((shelf for begins, shelf in shelves.items() if name.startswith(begins)), None)
        fields = {"collectionId": shelf} if shelf else {}
        client.post("/documents", files={"file": (name, content)}, data=fields).raise_for_status()
    wait_for(lambda: not any(_documents(client, status=state) for state in ("pending", "processing")), "The documents")


def _measure(client: httpx2.Client, path: str, mode: str) -> str:
    run: str = _post(client, f"{path}/runs", {"settings": [{"mode": mode}]})["items"][0]["id"]
    wait_for(lambda: bool(client.get(f"{path}/runs/{run}").json()["state"] == "completed"), "A run")
    return run


def _post(client: httpx2.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = client.post(path, json=body).raise_for_status().json()
    return answer


def _documents(client: httpx2.Client, **query: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get("/documents", params={"limit": "100", **query}).json()["items"]
    return items


@dataclass(frozen=True)
class Picture:
    """One picture: the address, and what is done on the page before."""

    path: str
    before: Callable[[Page], None] = lambda page: None
    dark: bool = False
    window: ViewportSize | None = None


def ask(text: str, **more: str) -> str:
    """The address of a search."""
    return f"/playground?{urlencode({'q': text, 'limit': '5', **more})}"


def warm(page: Page) -> None:
    """Search again, so that the times shown are not those of a first search; then open the first hit's reasons."""
    for _ in range(WARM_UP):
        page.reload()
    page.get_by_text("Why here?").first.click()


def show_address(page: Page) -> None:
    """Unfold a client that is given an address, instead of one with the folders of this machine."""
    page.locator("summary", has_text="Claude Desktop").click()
    page.locator("summary", has_text="Cursor").click()


def pictures(sample: Sample) -> dict[str, Picture]:
    """All of them, by name."""
    document, question = f"/documents/{quote(sample.document_id)}", "how many vacation days can I carry over"
    return {
        "documents": Picture("/"),
        "document": Picture(document),
        "collections": Picture("/collections"),
        "playground": Picture(ask(question), warm),
        "compare": Picture(ask(question, **{"a.mode": "hybrid", "b.mode": "vector", "c.mode": "lexical"}), dark=True),
        "why-not": Picture(ask(question, missing="travel policy 2024")),
        "evaluate": Picture(f"/evaluate/{quote(sample.set_id)}"),
        "run": Picture(f"/evaluate/runs/{quote(sample.run_id)}", dark=True),
        "jobs": Picture("/jobs"),
        "system": Picture("/system"),
        "connect": Picture("/connect", show_address),
        "phone": Picture(ask(question), window=PHONE),
        "phone-dark": Picture("/", dark=True, window=PHONE),
    }


def take(browser: Browser, url: str, name: str, picture: Picture) -> None:
    """One picture."""
    page = browser.new_page(
        viewport=picture.window or DESK,
        device_scale_factor=DOTS,
        color_scheme="dark" if picture.dark else "light",
        base_url=url,
        reduced_motion="reduce",
    )
    page.goto(picture.path)
    page.evaluate(IMAGES_IN_VIEW)
    picture.before(page)
    page.mouse.move(0, 0)
    page.screenshot(path=IMAGES / f"{name}.png")
    page.close()


def main() -> None:
    """Start, fill, photograph."""
    if CHROMIUM is None:
        sys.exit("Chromium is not installed.")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder) / "data") as url:
        with httpx2.Client(base_url=f"{url}/api/v1", timeout=60) as client:
            wanted = pictures(fill(client))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            for name in sys.argv[1:] or wanted:
                take(browser, url, name, wanted[name])
            browser.close()


if __name__ == "__main__":
    main()
