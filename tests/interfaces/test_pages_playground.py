"""The question side of the playground as a browser gets it, without a browser."""

import json
import re
from html import unescape
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
import pytest
from front_door import add, running_client
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st
from page_kit import page, text_of
from rest_kit import API
from starlette.datastructures import URL
from starlette.requests import Request

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.playground.question import question_of
from mcp_knowledge.settings import Settings, load_settings

LEAVE = b"# Leave policy\n\n## Carrying over\n\nFive unused days of annual leave may be carried over.\n"
TRAVEL = b"# Travel\n\n## Leave by train\n\nTrains are booked in second class. Ask before annual trips.\n"
FIELDS = ("q", "mode", "limit", "fusion", "collapse", "collection", "document", "filters", "expand", "before", "after")


def address(**values: object) -> str:
    names = {name: name.replace("_", ".") if name[1:2] == "_" else name for name in values}
    return "/playground?" + urlencode({names[name]: value for name, value in values.items()}, doseq=True)


def hits(html: str) -> list[str]:
    return re.findall(r"passage=(chk_[0-9a-f]+)#", "".join(re.findall(r"<h3><a href=\"[^\"]+\"", html)))


async def led_to(client: httpx2.AsyncClient, path: str) -> dict[str, list[str]]:
    """The values of the address to which a form's own address leads."""
    answer = await client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 303, answer.text
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(urlsplit(answer.headers["location"]).query, keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


@pytest.fixture
async def corpus(client: httpx2.AsyncClient) -> dict[str, str]:
    """Two documents with metadata, one of them in a collection."""
    team = (await client.post(f"{API}/collections", json={"name": "Team <b>"})).json()["id"]
    leave = await add(client, "leave.md", LEAVE, metadata='{"year": 2024, "team": "audit", "by": {"name": "Ada"}}')
    travel = await add(client, "travel.md", TRAVEL, metadata='{"year": "2024", "draft": true}', collectionId=team)
    return {"team": team, "leave": leave["id"], "travel": travel["id"]}


async def test_the_address_narrows_the_search_down_and_chips_lead_out_again(
    client: httpx2.AsyncClient, corpus: dict[str, str]
) -> None:
    everything = hits(await page(client, address(q="annual leave")))
    assert len(everything) == 2
    in_team = await page(client, address(q="annual leave", collection=corpus["team"]))
    assert len(hits(in_team)) == 1 and "In: Team <b>" in text_of(in_team) and "Team <b>" not in in_team
    both = await page(client, address(q="annual leave", document=[corpus["leave"], corpus["travel"]]))
    assert sorted(hits(both)) == sorted(everything) and "Only: Leave policy" in text_of(both)
    numeric = await page(client, address(q="annual leave", filters='{"year": 2024}'))
    assert len(hits(numeric)) == 1 and "year is 2024" in text_of(numeric)
    as_text = text_of(await page(client, address(q="annual leave", filters='{"year": "2024", "a": ""}')))
    assert "year is “2024”" in as_text and "a is “”" in as_text
    chips = [unescape(link) for link in re.findall(r'class="chip" href="([^"]+)"', both)]
    assert [dict(parse_qsl(urlsplit(link).query))["document"] for link in chips] == [corpus["travel"], corpus["leave"]]
    assert re.findall(r'class="chip" href="([^"]+)"', numeric) == ["/playground?q=annual+leave"]
    gone = text_of(await page(client, address(q="leave", document="doc_none", collection="col_none")))
    assert "a document that is gone" in gone and "In: a collection that is gone" in gone
    assert "Search in all documents" in gone and "Search in all collections" in gone


async def test_text_around_a_passage_is_part_of_the_address(client: httpx2.AsyncClient, corpus: dict[str, str]) -> None:
    for expand in ("neighbors", "section", "document"):
        html = await page(client, address(q="annual", expand=expand, before=1, after=0))
        assert re.search(rf'<option value="{expand}" selected', html) and hits(html)
    assert "from 0 to 5" in text_of(await page(client, address(q="a", expand="neighbors", before=9), 400))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"mode": "guess"}, "The search mode must be"),
        ({"limit": "ten"}, "must be a whole number"),
        ({"fusion": "x"}, "no such way to merge"),
        ({"collapse": "x"}, "each document comes once"),
        ({"expand": "x"}, "how much text"),
        ({"expand": "neighbors", "after": "-1"}, "after must be from 0 to 5"),
        ({"filters": "{"}, "not valid JSON"),
        ({"filters": "[]"}, "must be a JSON object"),
        ({"filters": '{"year": {"near": 1}}'}, "unknown operator"),
        ({"filters": '{"a":"' + "y" * 20_000 + '"}'}, "too long"),
        ({"document": [f"doc_{number}" for number in range(201)]}, "At most 200 documents"),
        ({"a_mode": "guess", "b_mode": "vector"}, "Column A: The search mode"),
        ({"a_mode": "hybrid", "b_filters": "{"}, "Column B: The conditions are not valid JSON"),
    ],
)
async def test_what_does_not_fit_is_told_at_its_field(
    client: httpx2.AsyncClient, wrong: dict[str, object], sentence: str
) -> None:
    html = await page(client, address(q="leave", **wrong), 400)
    assert sentence in text_of(html) and "Not searched yet" in html
    assert await page(client, address(**wrong), 400)


async def test_the_form_leads_to_a_short_address(client: httpx2.AsyncClient, corpus: dict[str, str]) -> None:
    def form(**more: object) -> str:
        values: dict[str, object] = {"q": "leave", "mode": "hybrid", "fusion": "rrf", "limit": "8", "find": ""}
        values |= {"expand": "none", "before": "2", "after": "2", "filters": "", "filters_before": ""}
        return address(**values, **more)

    blank = {"key": "", "operator": "eq", "value": "", "kind": ""}
    assert await led_to(client, form(**blank)) == {"q": ["leave"]}
    row = {"key": ["year", "by.name", ""], "operator": ["eq", "in", "eq"], "value": [" 2024", "Ada, Eve", ""]}
    filters = (await led_to(client, form(**row, kind=["string", "", ""])))["filters"]
    assert [json.loads(text) for text in filters] == [{"year": " 2024", "by.name": {"in": ["Ada", "Eve"]}}]
    assert await led_to(client, form(**blank, also=corpus["leave"])) == {"q": ["leave"], "document": [corpus["leave"]]}
    opened = await led_to(client, form(**blank, open=["where", "nowhere"]))
    assert opened == {"q": ["leave"], "open": ["where"]}
    started = await led_to(client, form(**blank, compare="start"))
    assert started == {"q": ["leave"], "a.mode": ["hybrid"], "b.mode": ["vector"]}


async def test_conditions_are_built_from_what_the_documents_have(
    client: httpx2.AsyncClient, corpus: dict[str, str]
) -> None:
    html = await page(client, "/playground/conditions?filters=&filters_before=&add=year")
    assert "Choose a value" in html
    assert re.findall(r'name="choose" value="([^"]*)"', unescape(html)) == ["0:2024", "0:"]  # the second is quoted
    assert re.findall(r'class="offer" name="choose"[^>]*><span>([^<]*)<', html) == ["2024", "“2024”"]
    assert '<option value="by.name" label="1 document">' in html
    chosen = {"key": "year", "operator": "eq", "value": "", "kind": "", "filters": "", "filters_before": ""}
    for spelled, expected in (("0:2024", {"year": 2024}), ('0:"2024"', {"year": "2024"})):
        led = await led_to(client, address(q="leave", choose=spelled, **chosen))
        assert json.loads(led["filters"][0]) == expected
    for strange in ("1:5", "x", "0:{", "0:[1]", "٣:5", "-1:5", "0:"):
        assert "Choose a value" in await page(client, address(choose=strange, **chosen))
    typed = {"key": ["team", "by.name"], "operator": ["eq", "in"], "value": ["AUD", "x, Ad"], "kind": ["", ""]}
    completed = await page(client, address(filters="", filters_before="", **typed).replace("?", "/conditions?"))
    assert re.findall(r'<option value="(\w+)" label="1 document">', completed)[-2:] == ["audit", "Ada"]
    two = {"key": ["year", "draft"], "operator": "eq", "value": ["2024", "yes"], "kind": ["number", ""]}
    led = await led_to(client, address(q="leave", drop="0", filters="", filters_before="", **two))
    assert json.loads(led["filters"][0]) == {"draft": True}


async def test_the_side_that_was_changed_counts_rows_or_json(
    client: httpx2.AsyncClient, corpus: dict[str, str]
) -> None:
    row = {"key": "year", "operator": "gte", "value": "2000", "kind": "number"}
    before = '{"year":{"gte":1999}}'
    rows = await led_to(
        client, address(q="x", filters='{\r\n "year": {"gte": 1999}\r\n}', filters_before=before, **row)
    )
    assert json.loads(rows["filters"][0]) == {"year": {"gte": 2000}}
    edited = await led_to(client, address(q="x", filters='{"team": "audit"}', filters_before=before, **row))
    assert json.loads(edited["filters"][0]) == {"team": "audit"}
    broken = await page(client, address(q="leave", filters='{"team"', filters_before=before, **row), 400)
    assert "not valid JSON" in broken and "{&#34;team&#34;</textarea>" in broken
    still = await page(client, address(q="leave", filters='{"team"', filters_before='{"team"', **row), 400)
    assert "not valid JSON" in still
    wrong = {"key": "year", "operator": "gte", "value": "soon", "kind": "number"}
    html = await page(client, address(q="leave", filters="", filters_before="", **wrong), 400)
    assert "“soon” is not a number" in html and "Not searched yet" in html
    unfinished = {"key": "year", "operator": "eq", "value": "", "kind": ""}
    assert len(hits(await page(client, address(q="annual leave", filters="", filters_before="", **unfinished)))) == 2


async def test_documents_are_found_by_a_part_of_their_title_and_never_all_listed(
    client: httpx2.AsyncClient, corpus: dict[str, str]
) -> None:
    assert corpus["travel"] not in await page(client, "/playground")
    for path in (address(find="TRAV", q="leave"), address(find="travel.md"), "/playground/documents?find=rave"):
        html = await page(client, path)
        assert re.findall(r'name="also" value="([^"]+)"', html) == [corpus["travel"]]
    assert "No other document has" in await page(client, address(find="walrus%_"))
    picked = await page(client, f"/playground/documents?pick=documents&document={corpus['leave']}")
    assert corpus["travel"] in picked and corpus["leave"] not in picked


async def test_settings_side_by_side_tell_how_each_hit_moved(
    client: httpx2.AsyncClient, corpus: dict[str, str]
) -> None:
    html = await page(client, address(q="annual leave carried", a_mode="vector", b_mode="lexical", limit=1))
    told = text_of(html)
    assert "1 of 1 passage in both" in told and "Also number 1 in the column before" in told
    assert html.count('data-subject="chk_') == 3 and 'class="same" d="M0 5' in html
    three = await page(client, address(q="second class", a_mode="hybrid", b_mode="vector", c_mode="lexical"))
    assert "in all three" in three and "Not found in the next column" not in text_of(three)
    only_words = text_of(await page(client, address(q="trains booked", a_mode="lexical", b_mode="vector")))
    assert "Not found in the column before" in only_words and "1 of 2 passages in both" in only_words
    documents = await page(client, address(q="annual leave", a_mode="hybrid", b_mode="hybrid", b_collapse="document"))
    assert "documents in both" in text_of(documents)
    conditions = await page(
        client,
        address(q="annual leave", filters='{"team":"audit"}', a_mode="hybrid", b_mode="hybrid", b_filters="none"),
    )
    assert "1 of 2 passages in both" in text_of(conditions)
    assert '<option value="none" selected>No conditions' in conditions
    alone = await page(client, address(q="annual leave", b_fusion="relative"))
    assert "Column B" in alone and 'name="a.fusion"' in alone
    assert "Nothing found this way" in await page(client, address(q="walrus", a_mode="lexical", b_mode="lexical"))


async def test_a_column_shows_what_its_settings_show_alone_and_how_words_were_found(settings: Settings) -> None:
    """Few candidates, so that whatever asks for more hits than are shown comes to another order."""
    few = {"vector_candidates": 3, "lexical_candidates": 3}
    async with running_client(settings.model_copy(update=few)) as client:
        for number, name in enumerate(
            ("annual leave", "leave by train", "trains", "annual trips", "leave", "second class")
        ):
            text = f"# {name.title()}\n\nOf {name} we know: {number} times.\n\n## {name} again\n\nAnnual {name}.\n"
            await add(client, f"{number}.md", text.encode())
        for q in ("annual leave", "leave the train", "second class trips to the sea", "trains", "zebra annual"):
            columns = {"a_mode": "hybrid", "a_collapse": "document", "b_mode": "hybrid", "c_mode": "lexical"}
            html = await page(client, address(q=q, limit=3, **columns))
            shown = [re.findall(r"passage=(chk_[0-9a-f]+)#", part) for part in html.split('class="side-column')[1:]]
            alone = [{"collapse": "document"}, {}, {"mode": "lexical"}]
            assert shown == [hits(await page(client, address(q=q, limit=3, **one))) for one in alone]
        sides = html.split('class="side-column')
        assert '<mark class="fallback">Annual</mark>' in sides[3] and "<mark>" not in html
        assert "like this where some were" in text_of(html)


async def test_the_page_is_as_strict_about_markup_as_any_other(
    client: httpx2.AsyncClient, corpus: dict[str, str]
) -> None:
    hostile = '"><script>alert(1)</script>'
    await add(client, "x.md", b"# X\n\nannual otters\n", metadata=json.dumps({"team": hostile, "k": [hostile]}))
    await client.post(f"{API}/collections", json={"name": hostile})
    for path in (
        address(q=hostile, mode=hostile, fusion=hostile, limit=hostile, expand=hostile, collapse=hostile),
        address(q=hostile, collection=hostile, document=hostile, find=hostile),
        address(q="otters", filters=json.dumps({"team": hostile})),
        address(q="otters", filters=hostile, filters_before=hostile, key=hostile, operator=hostile, value=hostile),
        address(q="otters", a_mode=hostile, b_mode="hybrid", b_filters=hostile, b_collapse=hostile),
        address(q="otters", a_mode="hybrid", b_mode="vector"),
        "/playground/conditions?" + urlencode({"add": "team", "filters": "", "filters_before": ""}),
        "/playground/documents?" + urlencode({"find": hostile}),
    ):
        answer = await client.get(path, headers={"Accept": "text/html"})
        assert answer.status_code in (200, 400), path
        assert "<script>alert" not in answer.text, path
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", answer.text), path


ROWS = ("key", "operator", "value", "kind", "filters_before", "add", "drop", "choose")
NAMES = st.sampled_from(
    [*FIELDS, *ROWS, "a.mode", "b.mode", "c.filters", "find", "pick", "also", "compare", "open", "x"]
)
VALUES = st.text(max_size=12) | st.sampled_from(
    ["hybrid", "none", "neighbors", "3", "{}", '{"a":1}', '{"a":{"gte":"x"}}', "a", "eq", "in", "json", "0:1", "start"]
)


@how(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(NAMES, VALUES), max_size=14))
async def test_any_address_gives_a_page(client: httpx2.AsyncClient, pairs: list[tuple[str, str]]) -> None:
    for path in ("/playground", "/playground/conditions", "/playground/documents"):
        answer = await client.get(f"{path}?{urlencode(pairs, errors='replace')}", headers={"Accept": "text/html"})
        assert answer.status_code in (200, 303, 400), answer.text
        if answer.status_code == 303:
            again = await client.get(answer.headers["location"], headers={"Accept": "text/html"})
            assert again.status_code in (200, 400), "a clean address leads nowhere else"


@how(deadline=None)
@given(st.lists(st.tuples(NAMES, VALUES), max_size=14))
def test_an_address_says_the_same_question_again(pairs: list[tuple[str, str]]) -> None:
    settings = load_settings()

    def read(query: str) -> Request:
        return Request({"type": "http", "query_string": query.encode(), "headers": [], "path": "/playground"})

    question = question_of(read(urlencode(pairs, errors="replace")), settings)
    again = question_of(read(URL(question.address()).query), settings)
    assert again.address() == question.address()
    faults = question.faults(settings)
    assert faults.keys() == again.faults(settings).keys()
    if question.text.strip() and not faults and not question.columns:
        assert again.request(settings) == question.request(settings)
    elif faults and not question.columns:
        with pytest.raises(KnowledgeError):
            question.request(settings)
