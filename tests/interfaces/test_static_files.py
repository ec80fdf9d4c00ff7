"""Stylesheets and scripts as a browser fetches them."""

import re

import httpx2
import pytest

from mcp_knowledge.interfaces.web.templating import HERE

CLASSES_IN_MARKUP = re.compile(r'class="((?:{{.*?}}|{%.*?%}|[^"])*)"|block body_class %}(.*?){% endblock')
METHODS = {"get", "post", "put", "patch", "delete"}  # each is a class of its own in the reference


async def test_a_file_that_a_browser_has_is_not_sent_again(client: httpx2.AsyncClient) -> None:
    plain = await client.get("/static/live.js")
    known = await client.get("/static/live.js", headers={"If-None-Match": plain.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    other = await client.get("/static/live.js", headers={"If-None-Match": '"another"'})
    assert other.content == plain.content


async def test_files_travel_compressed_to_whoever_takes_that(client: httpx2.AsyncClient) -> None:
    sizes = {}
    for encoding in ("gzip, br", "identity"):
        async with client.stream("GET", "/static/app.css", headers={"Accept-Encoding": encoding}) as answer:
            assert answer.headers.get("content-encoding", "identity") in encoding
            assert answer.headers["vary"] == "Accept-Encoding"
            assert answer.headers["content-type"] == "text/css; charset=utf-8"
            sizes[encoding] = int(answer.headers["content-length"])
            assert b"--page" in await answer.aread()
    assert sizes["gzip, br"] < sizes["identity"] / 3
    head = await client.head("/static/app.css", headers={"Accept-Encoding": "identity"})
    assert (head.headers["content-length"], head.content) == (str(sizes["identity"]), b"")


@pytest.mark.parametrize(
    "path",
    ["nothing.js", "..%2fpages.py", "%2e%2e%2fpages.py", "pages.py", "", "%00.js", "x" * 300 + ".js", "a%2fb.js"],
)
async def test_nothing_but_the_files_is_there(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(f"/static/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_no_rule_is_for_a_class_that_nothing_has() -> None:
    rules = re.sub(r'{[^{}]*}|/\*.*?\*/|url\("[^"]*"\)', " ", _all("*.css"), flags=re.DOTALL)
    markup = " ".join(" ".join(found) for found in CLASSES_IN_MARKUP.findall(_all("*.html")))
    scripts = " ".join(re.findall(r'["`]([^"`\n]*)["`]', _all("*.js")))
    named = set(re.findall(r"[\w-]+", f"{markup} {scripts}"))
    ends = (
        set(re.findall(r'"([a-z]+)"', _all("*.py"))) | METHODS
    )  # what templates take from values: status {{ state.kind }}

    def is_used(name: str) -> bool:
        begins, dash, end = name.rpartition("-")
        return name in named | ends or (begins + dash in named and (end in ends or end.isdecimal()))

    assert [name for name in sorted(set(re.findall(r"\.([a-z][\w-]*)", rules))) if not is_used(name)] == []


def _all(pattern: str) -> str:
    return "\n".join(file.read_text() for file in HERE.rglob(pattern))
