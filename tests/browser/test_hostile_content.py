"""Names, text and metadata full of markup show as text on every page: nothing in them runs, loads or breaks a page."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from page_addresses import API, filled, page_routes, things
from playwright.sync_api import Browser, Request
from visitors import PHONE, UNFOLD, RunningService, Visitor

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser-pages")]

BURGLAR = "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=1>"
TEMPLATE = "{{7*7}}${7*7}<%=7*7%>"
ADDRESS = "javascript:window.hacked=1"
BACKWARDS = "\u202egnp.exe\u202c\u2066\u200f"  # shows what stands before it in another order, unless it is kept apart
WORD = "W" * 10_000
NAME = f"{BURGLAR} {TEMPLATE} {BACKWARDS}"[:190]
FILE_NAME = NAME.replace("/", "").replace("\\", "")
CONTROLS = "\x1b[31m\x07\x08\x7f\ufffe"
TEXT = f"""# `{BURGLAR}` {TEMPLATE}

## `{BURGLAR}` {BACKWARDS}

The otter `{BURGLAR}` {TEMPLATE} [a link]({ADDRESS}) {CONTROLS} swims.

- {WORD}
- `</textarea></title></script></svg></template><base href=//elsewhere.example><style>*{{display:none}}</style>`

| `{BURGLAR}` | {WORD} |
| --- | --- |
| {ADDRESS} | {BACKWARDS} |
"""
METADATA = {
    BURGLAR: BURGLAR,
    TEMPLATE: TEMPLATE,
    "link": ADDRESS,
    "word": WORD,
    "nested": {BURGLAR: [BURGLAR, WORD, BACKWARDS, {"deep": TEMPLATE}]},
    BACKWARDS: BACKWARDS,
}
ASKED = (  # in addresses, as a link from elsewhere may bring it
    f"/?search={quote(BURGLAR)}&status={quote(BURGLAR)}&collection={quote(BURGLAR)}",
    f"/playground?q={quote('otter ' + BURGLAR + TEMPLATE)}",
    f"/playground?q=otter&mode={quote(BURGLAR)}&fusion={quote(BURGLAR)}&limit={quote(BURGLAR)}&document={quote(BURGLAR)}",
    f"/?notice={quote(BURGLAR)}&about={quote(ADDRESS)}&code={quote(BURGLAR)}",
    f"/{quote(BURGLAR)}",
)
# Everything that only markup from outside could have made: scripts and styles but those of the page's own files, links
# and forms that lead elsewhere or run something, handlers, pictures that are not ours.
INTRUDERS = """() => [...document.querySelectorAll("*")].filter((item) =>
    (item.localName === "script" && !item.src.startsWith(location.origin + "/static/"))
    || ["style", "base", "iframe", "object", "embed"].includes(item.localName)
    || (item.localName === "img" && !["/static/", "/api/v1/"].some((own) => item.src.startsWith(location.origin + own)))
    || [...item.attributes].some(({name, value}) => name.startsWith("on") || name === "style"
      || (["href", "src", "action", "formaction"].includes(name) && /^\\s*(javascript|data|vbscript):/i.test(value)))
  ).map((item) => item.outerHTML.slice(0, 200))"""
ROUTES = sorted({*page_routes(), *ASKED} - {"/login"})


@pytest.fixture(scope="module")
def ids(server: RunningService) -> dict[str, str]:
    made = things(server, NAME, FILE_NAME, TEXT, METADATA)
    document = server.request("GET", f"{API}/documents/{made['document_id']}").json()
    assert document["status"] == "ready" and "<script>" in document["title"]
    return made


@pytest.fixture(scope="module")
def reader(browser: Browser, server: RunningService) -> Iterator[Visitor]:
    """A window that also notes dialogs, and requests to anywhere else."""
    visitor = Visitor(browser, server.url, viewport=PHONE)

    def note(request: Request) -> None:
        if not request.url.startswith(server.url):
            visitor.faults.append(f"asked {request.url}")

    visitor.page.on("dialog", lambda dialog: visitor.faults.append(dialog.message))
    visitor.page.on("request", note)
    yield visitor
    visitor.context.close()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route[:40])
def test_a_page_shows_markup_as_text(reader: Visitor, ids: dict[str, str], route: str) -> None:
    page = reader.page
    reader.faults.clear()
    page.goto(filled(route, ids))
    page.evaluate(UNFOLD)
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert page.evaluate(INTRUDERS) == []
    assert page.evaluate("window.hacked") is None
    assert "49" not in page.title()
    assert reader.content_width() <= PHONE["width"]
    assert reader.faults == []


def test_the_text_itself_is_there_to_read(reader: Visitor, ids: dict[str, str]) -> None:
    page = reader.page
    for path, told in (
        ("/", BURGLAR),
        ("/collections", BURGLAR),
        (f"/documents/{ids['document_id']}", BURGLAR),
        (f"/documents/{ids['document_id']}", TEMPLATE),
        (f"/documents/{ids['document_id']}", ADDRESS),
        ("/playground?q=otter", BURGLAR),
        (f"/imports/{ids['archive_id']}", TEMPLATE.partition("/")[0]),
    ):
        page.goto(path)
        assert told in page.locator("main").inner_text(), path
