"""Bodies and cursors as nobody sends them: each is taken whole or refused with a code, and nothing is left behind."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from front_door import add
from fuzz_budget import tries
from hypothesis import given
from hypothesis import strategies as st
from leaks import LEAKS
from mcp_values import JSON
from rest_kit import API, assert_error, field, file_part, multipart

from mcp_knowledge.settings import Settings

pytestmark = pytest.mark.fuzz

DOCUMENTS = f"{API}/documents"
REFUSALS = {
    *("INVALID_UPLOAD", "INVALID_METADATA", "DOCUMENT_UNSUPPORTED_FORMAT", "COLLECTION_NOT_FOUND"),
    *("INVALID_ARGUMENT", "INVALID_QUERY", "INVALID_JSON", "INVALID_REQUEST", "EVALUATION_FULL", "PAYLOAD_TOO_LARGE"),
}
GUIDE = b"# Guide\n\n" + b"The harbour has motors and otters. " * 400
BOUNDARIES = ("b", "b b", "--", "'()+_,-./:=?", "b" * 70, "-" * 70)
CONTENT_TYPES = (
    *("multipart/form-data; boundary={}", 'multipart/form-data; boundary="{}"', "multipart/form-data;boundary={};x=y"),
    *("Multipart/Form-Data; charset=utf-16; boundary={}", "multipart/form-data; boundary={}; boundary=other"),
)
PART_HEADERS = (
    *('Content-Disposition: form-data; name="file"; filename="a.txt"', 'content-disposition:form-data;name="metadata"'),
    *('Content-Disposition: form-data; name="file"', 'Content-Disposition: attachment; name="file"; filename="a.md"'),
    *(
        'Content-Disposition: form-data; name="collectionId"',
        'Content-Disposition: form-data; name="\0"; filename="\0"',
    ),
    *("Content-Disposition: form-data; name*=UTF-8''file; filename*=UTF-8''%00%ff.txt", "Content-Disposition:"),
    *('Content-Disposition: form-data;\r\n name="file"; filename="a.txt"', "Content-Transfer-Encoding: base64"),
    *("Content-Transfer-Encoding: quoted-printable", "Content-Type: multipart/mixed; boundary=b", "Content-Length: -1"),
    *("no colon at all", ": nameless", "X: " + "y" * 70_000, 'Content-Type: text/plain; charset="', "É: é"),
    *(
        f'Content-Disposition: form-data; name="file"; filename="{name}"'
        for name in ("..", "/", "a" * 5000 + ".txt", 'a."')
    ),
)


def told(answer: httpx2.Response) -> str:
    """The code of a refusal; empty when it was taken."""
    if answer.status_code < 400:
        return ""
    assert answer.status_code < 500, answer.text
    assert not LEAKS.search(answer.content), answer.text
    return str(answer.json()["error"]["code"])


def left_behind(settings: Settings) -> list[Path]:
    return list(settings.data_dir.rglob("*.upload"))


async def test_an_upload_that_is_cut_off_at_any_byte_leaves_nothing(
    client: httpx2.AsyncClient, settings: Settings
) -> None:
    body, headers = multipart(field("metadata", b'{"a": 1}'), file_part("a.txt", b"some text"), field("x", b"y"))
    for cut in range(len(body) - len("\r\n")):  # the last line break may be missing
        assert_error(await client.post(DOCUMENTS, content=body[:cut], headers=headers), 400, "INVALID_UPLOAD")
    assert left_behind(settings) == []
    assert (await client.get(DOCUMENTS)).json()["items"] == []


@st.composite
def forms(draw: st.DrawFn) -> tuple[bytes, str]:
    """A multipart body that is odd in some ways, and its content type."""
    boundary = draw(st.sampled_from(BOUNDARIES))
    part_headers = st.lists(st.sampled_from(PART_HEADERS), max_size=4)
    content = st.binary(max_size=40) | st.sampled_from((b"{}", b"\r\n--b", b"\r\n--b--", b'{"a":1}', b"text"))
    parts = draw(st.lists(st.tuples(part_headers, content), max_size=5))
    breaks = draw(st.sampled_from((b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r")))
    mark = b"--" + boundary.encode()
    body = draw(st.sampled_from((b"", b"", b"preamble\r\n", b"\r\n", b" ")))
    for headers, inner in parts:
        head = breaks.join(line.encode("utf-8", "replace") for line in headers)
        body += mark + draw(st.sampled_from((b"", b"", b" ", b"x"))) + breaks + head + breaks * 2 + inner + breaks
    body += mark + draw(st.sampled_from((b"--\r\n", b"--", b"", b"--epilogue", b"-- \r\n\r\n")))
    return body, draw(st.sampled_from(CONTENT_TYPES)).format(boundary)


@given(form=forms())
@tries(60)
async def test_any_form_is_taken_or_refused_and_leaves_nothing(
    client: httpx2.AsyncClient, settings: Settings, form: tuple[bytes, str]
) -> None:
    body, content_type = form
    answer = await client.post(DOCUMENTS, content=body, headers={"Content-Type": content_type})
    assert told(answer) in {"", *REFUSALS}
    assert left_behind(settings) == []


@pytest.mark.parametrize(
    "flood",
    [
        [field(f"field{number}", b"x") for number in range(5000)],
        [("\r\n".join(f"X-{number}: y" for number in range(5000)), b"x")],
        [file_part("a.txt", b"x", name=f"file{number}") for number in range(2000)],
        [("Content-Disposition: form-data; name=x" + ("; a=b" * 5000), b"x")],
    ],
    ids=["fields", "headers", "files", "parameters"],
)
async def test_a_flood_of_parts_is_no_upload(client: httpx2.AsyncClient, flood: list[tuple[str, bytes]]) -> None:
    body, headers = multipart(*flood)
    assert_error(await client.post(DOCUMENTS, content=body, headers=headers), 400, "INVALID_UPLOAD")


ODD_TEXT = st.text(max_size=12) | st.sampled_from(("a\0b", "\ud800", "x" * 3000, "harbour", "guide.md", ""))
ROWS = st.fixed_dictionaries(
    {},
    optional={
        "id": ODD_TEXT | JSON,
        "query": ODD_TEXT | JSON,
        "relevant": st.lists(ODD_TEXT, max_size=3) | JSON,
        "wrong": st.lists(ODD_TEXT, max_size=3) | JSON,
        "noAnswer": st.booleans() | JSON,
        "kind": ODD_TEXT | JSON,
        "more": JSON,
    },
)
GOOD_ROWS = st.fixed_dictionaries({"query": st.text(min_size=1, max_size=12), "relevant": st.just([])})


@pytest.mark.both_databases
@given(data=st.data())
@tries(30)
async def test_any_judged_queries_are_imported_or_refused_as_a_whole(
    client: httpx2.AsyncClient, data: st.DataObject
) -> None:
    made = await client.post(f"{API}/evaluations", json={"name": "Questions"})
    lists = (await client.get(f"{API}/evaluations")).json()["items"]
    address = f"{API}/evaluations/{lists[0]['id']}"
    assert made.status_code in (201, 409)
    before = (await client.get(address)).json()["caseCount"]
    rows = data.draw(st.lists(ROWS | GOOD_ROWS, min_size=1, max_size=4))
    lines = [json.dumps(row).encode() for row in rows] + data.draw(st.lists(st.binary(max_size=20), max_size=1))
    answer = await client.post(f"{address}/import", content=b"\n".join(lines))
    code = told(answer)
    assert code in {"", *REFUSALS}
    after = (await client.get(address)).json()["caseCount"]
    assert after == before + (0 if code else answer.json()["added"])


# Each list with something on its second page: name to address and arguments.
LISTS: dict[str, tuple[str, dict[str, str]]] = {
    "documents": ("/documents", {}),
    "documents by title": ("/documents", {"sort": "title"}),
    "documents of a status": ("/documents", {"status": "ready"}),
    "catalog": ("/document-catalog", {}),
    "catalog with other fields": ("/document-catalog", {"fields": "id"}),
    "chunks": ("/documents/{document}/chunks", {}),
    "chunks of another": ("/documents/{other}/chunks", {}),
    "collections": ("/collections", {}),
    "jobs": ("/jobs", {}),
    "keys": ("/api-keys", {}),
    "evaluations": ("/evaluations", {}),
    "cases": ("/evaluations/{set}/cases", {}),
}


@pytest.fixture
async def cursors(client: httpx2.AsyncClient) -> dict[str, str]:
    """A good cursor of every list, by its name; and under `ids` what the addresses name, as JSON."""
    documents = [(await add(client, f"{name}.md", GUIDE + name.encode()))["id"] for name in ("one", "two")]
    sets = []
    for name in ("First", "Second"):
        await client.post(f"{API}/collections", json={"name": name})
        await client.post(f"{API}/api-keys", json={"name": name})
        sets.append((await client.post(f"{API}/evaluations", json={"name": name})).json()["id"])
        await client.post(f"{API}/evaluations/{sets[0]}/judgements", json={"query": name, "noAnswer": True})
    ids = {"document": documents[0], "other": documents[1], "set": sets[0]}
    found = {"ids": json.dumps(ids)}
    for name, (address, arguments) in LISTS.items():
        answer = await client.get(API + address.format(**ids), params={**arguments, "limit": "1"})
        found[name] = answer.json()["nextCursor"]
    return found


def changed(cursor: str) -> st.SearchStrategy[str]:
    """The cursor, or something like it."""
    characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/% \0é"
    places = st.integers(0, len(cursor) - 1)
    return st.one_of(
        st.just(cursor),
        st.builds(lambda at, char: cursor[:at] + char + cursor[at + 1 :], places, st.sampled_from(characters)),
        places.map(lambda at: cursor[:at]),
        st.sampled_from(("", "=", "==", "A", "\n", cursor)).map(lambda end: cursor + end),
        st.text(max_size=30),
    )


@given(data=st.data())
@tries(60)
async def test_a_cursor_serves_its_own_list_and_query_unchanged_and_no_other(
    client: httpx2.AsyncClient, cursors: dict[str, str], data: st.DataObject
) -> None:
    ids: dict[str, Any] = json.loads(cursors["ids"])
    source, target = data.draw(st.sampled_from(sorted(LISTS))), data.draw(st.sampled_from(sorted(LISTS)))
    target = data.draw(st.sampled_from((source, target)))
    cursor = data.draw(changed(cursors[source]))
    address, arguments = LISTS[target]
    answer = await client.get(API + address.format(**ids), params={**arguments, "limit": "1", "cursor": cursor})
    if cursor == cursors[target]:
        assert len(answer.json()["items"]) == 1
    else:
        assert_error(answer, 400, "INVALID_CURSOR")
