"""How soon every page of the dashboard is drawn over a large corpus, in a real browser.

    python benchmarks/pages.py [--chunks 100000] [--folder DIR] [--rounds 9]

Prints, for each page, milliseconds until its first byte and until something is drawn (first contentful paint), the
median and the slowest round, the kilobytes of its HTML, and how far things moved afterwards (cumulative layout shift).
Each round asks for the page anew, its scripts and styles being in the browser's cache as they are for anybody who was
there before; the column `first visit` is without a cache. With --folder the generated corpus is kept there and used
again.
"""

import argparse
import asyncio
import http.client
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from generated import CHUNKS_A_DOCUMENT, Language, data_dir, fill
from ingest import call, server
from playwright.sync_api import Browser, Page, sync_playwright

from mcp_knowledge.settings import load_settings

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
WINDOW = {"width": 1280, "height": 800}
# What the browser itself measured, once the page has been drawn and has come to rest.
MEASURED = """() => new Promise((resolve) => {
  let shift = 0;
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) shift += entry.value; })
    .observe({type: "layout-shift", buffered: true});
  const look = () => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    if (!paint) return requestAnimationFrame(look);
    const [page] = performance.getEntriesByType("navigation");
    requestAnimationFrame(() => resolve(
      {first: page.responseStart - page.requestStart, painted: paint.startTime, bytes: page.decodedBodySize, shift}));
  };
  look();
})"""


@dataclass(frozen=True, slots=True)
class Draw:
    """One page drawn once: milliseconds until its first byte and first paint, bytes of HTML, layout shift."""

    first: float
    painted: float
    bytes: float
    shift: float


def addresses(host: str, port: int, questions: Iterator[str]) -> Iterator[tuple[str, Iterator[str]]]:
    """Every page by name, with an address for each time it is asked for."""
    connection = http.client.HTTPConnection(host, port)

    def items(path: str) -> list[dict[str, Any]]:
        found: Any = call(connection, "GET", f"/api/v1/{path}")["items"]
        return list(found)

    document, collection = items("documents?limit=1")[0]["id"], items("collections?limit=1")[0]["id"]
    passage = items(f"documents/{document}/chunks?limit=1")[0]["id"]
    last = f"{document}~0"
    plain = {
        "Documents": "/",
        "Documents by title": "/?sort=title",
        "Documents, largest first": "/?sort=largest",
        "Documents, failed": "/?status=failed",
        "Documents of a collection": f"/?collection={collection}",
        "Documents, a title": "/?search=report+77",
        "Documents, a title that none has": "/?search=walrus",
        "Documents, the last page": f"/?after={last}",
        "Document": f"/documents/{document}",
        "Document, its text": f"/documents/{document}?view=text",
        "Document, its details": f"/documents/{document}?view=details",
        "Similar passages": f"/similar?passage={passage}",
        "Collections": "/collections",
        "Imports": "/imports",
        "Folder": "/folder",
        "Jobs": "/jobs",
        "System": "/system",
        "System, out of date": "/system/stale",
        "Connect": "/connect",
        "Evaluate": "/evaluate",
        "Playground": "/playground",
    }
    for name, path in plain.items():
        yield name, repeat(path)
    yield "Playground, a search", (f"/playground?q={quote(question)}" for question in questions)
    yield "Playground, by words", (f"/playground?mode=lexical&q={quote(question)}" for question in questions)
    yield "Playground, side by side", (f"/playground?a.mode=hybrid&b.mode=vector&q={quote(item)}" for item in questions)
    yield "Playground, why not", (f"/playground?missing={document}&q={quote(question)}" for question in questions)


def draw(page: Page, address: str) -> Draw:
    """Open an address and wait until it is drawn."""
    answer = page.goto(address)
    if answer is None or answer.status != 200:
        sys.exit(f"{address}: {answer and answer.status}")
    return Draw(**page.evaluate(MEASURED))


def row(browser: Browser, url: str, name: str, paths: Iterator[str], rounds: int) -> str:
    """The row of one page."""
    context = browser.new_context(base_url=url, viewport=WINDOW)  # type: ignore[arg-type]  # a plain dict of ints
    page = context.new_page()
    unknown = draw(page, next(paths))
    draws = [draw(page, next(paths)) for _ in range(rounds)]
    context.close()
    painted = [item.painted for item in draws]
    figures = (
        f"{median(item.first for item in draws):.0f}",
        f"{median(painted):.0f}",
        f"{max(painted):.0f}",
        f"{unknown.painted:.0f}",
        f"{median(item.bytes for item in draws) / 1000:.0f}",
        f"{max(item.shift for item in draws):.3f}",
    )
    return f"| {name} | {' | '.join(figures)} |"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("Chromium is not installed.")
    with tempfile.TemporaryDirectory() as temporary:
        place = data_dir(arguments.folder or Path(temporary), arguments.chunks)
        if not (place / "app.db").exists():
            asyncio.run(fill(load_settings(data_dir=place), arguments.chunks))
        print(f"{arguments.chunks // CHUNKS_A_DOCUMENT:,} documents, {arguments.chunks:,} passages\n")
        print("| page | first byte ms | drawn ms | slowest ms | first visit ms | HTML kB | shift |")
        print("|---|---|---|---|---|---|---|")
        with server(place) as (_, host, port), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            questions = iter(Language(seed=11).queries(1000))
            for name, paths in addresses(host, port, questions):
                print(row(browser, f"http://{host}:{port}", name, paths, arguments.rounds), flush=True)
            browser.close()


if __name__ == "__main__":
    main()
