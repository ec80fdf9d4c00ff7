"""Judging and the Evaluate pages as a browser without scripts gets them."""

import asyncio
import json
import re
from html import unescape
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from front_door import POLL_S, add
from page_kit import HTML, page, text_of
from rest_kit import app_of

HOSTILE = "<script>alert(1)</script>\"'{{7*7}}"
LEAVE = b"# Leave policy\n\nFive unused days of annual leave may be carried over.\n"
TRAVEL = b"# Travel\n\nThe train is booked in second class, and hotels up to 120 euros.\n"


async def sent(client: httpx2.AsyncClient, path: str, status: int = 303, **fields: str | list[str]) -> httpx2.Response:
    answer = await client.post(path, data=fields, headers=HTML)
    assert answer.status_code == status, answer.text
    return answer


async def new_set(client: httpx2.AsyncClient, name: str) -> str:
    location: str = (await sent(client, "/evaluate", name=name)).headers["location"]
    return location.removeprefix("/evaluate/")


async def pasted(client: httpx2.AsyncClient, path: str, lines: str, name: str = "") -> httpx2.Response:
    """The form of an import as browsers send it: the file field is there, and empty."""
    name_part, file_part, lines_part = ("name", (None, name)), ("file", ("", b"")), ("lines", (None, lines))
    return await client.post(path, files=[name_part, file_part, lines_part], headers=HTML)


async def runs_ended(client: httpx2.AsyncClient, set_id: str) -> str:
    """The page of a set, once nothing runs any more."""
    async with asyncio.timeout(60):
        while True:
            html = await page(client, f"/evaluate/{set_id}")
            if 'data-active="0"' in html:
                return html
            await asyncio.sleep(POLL_S)  # a condition is polled


def buttons(html: str, document_id: str) -> dict[str, str]:
    """What each of a document's buttons would send, by whether it is pressed: `right` → `pressed none doc_…`."""
    found = re.findall(
        rf'value="(\w+) {document_id}" data-word="(\w+)" aria-pressed="(true|false)"', html.replace("\n", " ")
    )
    return {word: ("pressed " if pressed == "true" else "") + value for value, word, pressed in found}


async def test_a_judgement_leads_back_to_the_search_and_is_kept_in_my_questions(client: httpx2.AsyncClient) -> None:
    leave = (await add(client, "leave.md", LEAVE))["id"]
    search = "/playground?q=unused%20days"
    html = await page(client, search)
    assert buttons(html, leave) == {"right": "right", "wrong": "wrong"}
    assert "Kept in" not in text_of(html)

    async def judge(verdict: str) -> httpx2.Response:
        return await sent(client, "/evaluate/judge", query="unused days", set="", back=search, verdict=verdict)

    answer = await judge(f"right {leave}")
    assert answer.headers["location"] == search
    html = await page(client, search)
    assert buttons(html, leave) == {"right": "pressed none", "wrong": "wrong"}
    assert "Kept in My questions" in text_of(html)
    assert buttons(await page(client, "/playground?q=UNUSED  Days"), leave)["right"] == "pressed none"
    assert buttons(await page(client, "/playground?q=days"), leave)["right"] == "right"

    await judge(f"wrong {leave}")
    assert buttons(await page(client, search), leave) == {"right": "right", "wrong": "pressed none"}
    await judge("nothing")
    assert 'value="answered" aria-pressed="true"' in await page(client, search)
    part = await page(client, "/evaluate/judging?q=unused days")
    assert f'data-wrong="{leave}"' in part and "<html" not in part
    assert text_of(await page(client, "/evaluate")).count("My questions 1 question ") == 1


async def test_the_set_in_use_is_chosen_and_remembered(client: httpx2.AsyncClient) -> None:
    leave = (await add(client, "leave.md", LEAVE))["id"]
    first, second = await new_set(client, "First"), await new_set(client, "Second")
    html = await page(client, "/playground?q=leave")
    assert f'<option value="{second}" selected>Second</option>' in html  # the newest, until one is chosen
    answer = await sent(client, "/evaluate/use", set=first, back="/playground?q=leave")
    assert answer.headers["location"] == "/playground?q=leave"
    assert f'<option value="{first}" selected>First</option>' in await page(client, "/playground?q=leave")
    await sent(client, "/evaluate/judge", query="leave", set=second, verdict=f"right {leave}", back="/")
    assert f'<option value="{second}" selected>' in await page(client, "/playground?q=leave")
    await sent(client, f"/evaluate/{second}/delete")
    assert "Kept in First" in text_of(await page(client, "/playground?q=leave"))


async def test_a_judgement_that_makes_no_sense_is_refused(client: httpx2.AsyncClient) -> None:
    for query, verdict, set_id, status in (
        ("a", "perhaps doc_1", "", 400),
        ("a", "", "", 400),
        ("a", "right doc_none", "", 404),
        ("", "nothing", "", 400),
        ("y" * 2001, "nothing", "", 400),
        ("a", "nothing", "evs_none", 404),
    ):
        await sent(client, "/evaluate/judge", status, query=query, verdict=verdict, set=set_id, back="/playground")


async def test_a_judgement_leads_to_pages_of_this_site_only(client: httpx2.AsyncClient) -> None:
    for back in ("//evil.example", "https://evil.example/", "/\\evil.example", ""):
        answer = await sent(client, "/evaluate/judge", query="a", verdict="nothing", back=back)
        assert answer.headers["location"] == "/"


async def test_a_judgement_of_the_longest_question_arrives(client: httpx2.AsyncClient) -> None:
    query = "漢" * 2000
    back = f"/playground?q={quote(query)}"
    answer = await sent(client, "/evaluate/judge", query=query, verdict="nothing", back=back)
    assert answer.headers["location"] == back


async def test_the_empty_page_says_why_and_how_and_makes_sets(client: httpx2.AsyncClient) -> None:
    told = text_of(await page(client, "/evaluate"))
    assert "Does search find what you need?" in told and "Open the playground" in told
    set_id = await new_set(client, "  Support  ")
    html = await page(client, f"/evaluate/{set_id}")
    assert "<bdi>Support</bdi>" in html and "No questions yet" in html and 'action="/evaluate/use"' in html
    other = await new_set(client, "Other")
    for name, status, sentence in (
        ("", 400, "A set needs a name."),
        ("n" * 201, 400, "A name may have 200 characters."),
        ("a\x00b", 400, "characters in the name that cannot be kept"),
        ("SUPPORT", 409, "with this name exists already"),
    ):
        answer = await sent(client, "/evaluate", status, name=name)
        assert sentence in text_of(answer.text)
        renamed = await sent(client, f"/evaluate/{other}", status, name=name)
        assert sentence in text_of(renamed.text)
    assert 'value="SUPPORT"' in answer.text  # what was filled in is still there
    await sent(client, f"/evaluate/{set_id}", name="Sales")
    assert "<bdi>Sales</bdi>" in await page(client, f"/evaluate/{set_id}")
    await page(client, "/evaluate/evs_none", 404)


async def test_lines_become_a_set_or_nothing_does(client: httpx2.AsyncClient) -> None:
    await add(client, "leave.md", LEAVE)
    lines = "\n".join(
        json.dumps(line)
        for line in (
            {"query": "carry over days", "relevant": ["leave.md"], "kind": "question"},
            {"query": "quantum chromodynamics", "relevant": []},
            {"query": "lost", "relevant": ["nowhere.md"]},
        )
    )
    answer = await pasted(client, "/evaluate/import", lines, "Mine")
    assert answer.status_code == 303
    html = await page(client, answer.headers["location"])
    told = text_of(html)
    assert "3 questions were added." in told and "1 document that they name was not found" in told
    assert "carry over days 1 right question" in told and "quantum chromodynamics No answer" in told
    assert "lost 1 not found" in told
    exported = await client.get(re.findall(r'href="(/api/v1/evaluations/[^"]+/export\?documents=names)"', html)[0])
    assert [json.loads(line)["query"] for line in exported.text.splitlines()] == [
        "carry over days",
        "quantum chromodynamics",
        "lost",
    ]

    torn = await pasted(client, "/evaluate/import", lines + "\n{", "Torn")
    assert torn.status_code == 400 and "line 4" in torn.text and 'value="Torn"' in torn.text
    assert "carry over days" in torn.text  # what was pasted is still there
    for text, name, sentence in (
        ("", "None", "Choose a file"),
        (lines, "", "A set needs a name."),
        ("\n", "x", "Choose"),
    ):
        refused = await pasted(client, "/evaluate/import", text, name)
        assert refused.status_code == 400 and sentence in refused.text
    plain = await sent(client, "/evaluate/import", 400, name="x", lines=lines)
    assert "did not arrive as the page sends it" in text_of(plain.text)
    assert text_of(await page(client, "/evaluate")).count("questions") >= 1
    assert "Torn" not in await page(client, "/evaluate")


async def test_a_file_adds_to_a_set_and_judges_anew_what_is_there(client: httpx2.AsyncClient) -> None:
    leave = (await add(client, "leave.md", LEAVE))["id"]
    set_id = await new_set(client, "Mine")
    await sent(client, "/evaluate/judge", set=set_id, query="days", verdict="nothing", back="/")
    lines = f'{{"query": "days", "relevant": ["{leave}"]}}\n{{"query": "more", "relevant": []}}\n'
    answer = await client.post(f"/evaluate/{set_id}/import", files={"file": ("q.jsonl", lines.encode())}, headers=HTML)
    told = text_of(await page(client, answer.headers["location"]))
    assert "1 question was added. 1 question was there already and judged anew." in told
    torn = await client.post(f"/evaluate/{set_id}/import", files={"file": ("q.jsonl", b"\xff")}, headers=HTML)
    assert torn.status_code == 400 and "line 1" in torn.text
    missing = await client.post("/evaluate/evs_none/import", files={"file": ("q.jsonl", b"{}")}, headers=HTML)
    assert missing.status_code == 404


async def test_runs_are_compared_with_the_baseline_question_by_question(client: httpx2.AsyncClient) -> None:
    leave = (await add(client, "leave.md", LEAVE))["id"]
    await add(client, "travel.md", TRAVEL)
    set_id = await new_set(client, "Mine")
    for query in ("unused days", "vacation I did not take"):
        await sent(client, "/evaluate/judge", set=set_id, query=query, verdict=f"right {leave}", back="/")
    await sent(client, "/evaluate/judge", set=set_id, query="xylophone", verdict="nothing", back="/")
    assert "No run yet." in await page(client, f"/evaluate/{set_id}")
    await sent(client, f"/evaluate/{set_id}/runs", way=["meaning", "words"])
    html = await runs_ended(client, set_id)
    meaning, words = re.findall(r'<tr id="(run_\w+)"', html)
    assert "Meaning just now 1.000 1.000 1.000 1.000 1 of 1" in text_of(html)
    assert "Words just now 0.500 0.500 0.500 0.500 0 of 1" in text_of(html)
    assert "<polyline" not in html  # one occasion makes no line

    await sent(client, f"/evaluate/{set_id}/baseline", run=meaning)
    html = await page(client, f"/evaluate/{set_id}")
    assert "0.500 −0.500" in text_of(html) and "0 of 1 −100%" in text_of(html)
    assert "0.500" not in text_of(await page(client, "/evaluate"))  # the first of those started together is shown

    html = await page(client, f"/evaluate/runs/{words}")
    told = text_of(html)
    assert "All 3 Worse 1 Better 1 New or gone 0 Same 1" in told
    assert told.index("vacation I did not take") < told.index("xylophone") < told.index("unused days")
    assert "#1 → then, now not found" in told and "found something → then, now found nothing" in told
    assert "/playground?q=vacation+I+did+not+take&amp;mode=lexical&amp;limit=10&amp;collapse=document" in html
    worse = text_of(await page(client, f"/evaluate/runs/{words}?show=worse"))
    assert "vacation I did not take" in worse and "xylophone" not in worse
    alone = text_of(await page(client, f"/evaluate/runs/{words}?baseline=none"))
    assert "All 3 Missed 1 Found 2" in alone and "−0.500" not in alone
    other_way = text_of(await page(client, f"/evaluate/runs/{meaning}?baseline={words}"))
    assert "+0.500" in other_way and "Better 1" in other_way
    assert "Missed 1" in text_of(await page(client, f"/evaluate/runs/{meaning}"))  # the baseline itself

    await sent(client, f"/evaluate/{set_id}/runs", way="words")
    html = await runs_ended(client, set_id)
    assert html.count("<polyline") == 4 * 2 + 2  # a line for each way in each panel, and the legend
    assert "Other questions" not in text_of(html)
    await sent(client, "/evaluate/judge", set=set_id, query="zither", verdict="nothing", back="/")
    await sent(client, "/evaluate/judge", set=set_id, query="xylophone", verdict=f"right {leave}", back="/")
    await sent(client, f"/evaluate/{set_id}/runs", way="meaning")
    html = await runs_ended(client, set_id)
    assert "Other questions from here on. 4 , before 3" in text_of(html) and 'class="mark"' in html
    newest = re.findall(r'<tr id="(run_\w+)"', html)[0]
    told = text_of(await page(client, f"/evaluate/runs/{newest}"))
    assert "1 question was asked in one of the two runs only" in told
    assert "For 1 question, other documents were right then." in told
    await sent(client, f"/evaluate/{set_id}/baseline", run="")
    assert "−0.500" not in text_of(await page(client, f"/evaluate/{set_id}"))
    await sent(client, f"/evaluate/{set_id}/baseline", run=meaning)
    asked = await page(client, f"/evaluate/runs/{meaning}/delete")
    assert "Delete the run “ Meaning ” of" in text_of(asked)
    gone = await sent(client, f"/evaluate/runs/{meaning}/delete")
    assert "The run was deleted." in await page(client, gone.headers["location"])
    await page(client, f"/evaluate/runs/{meaning}", 404)
    assert "Missed" in text_of(await page(client, f"/evaluate/runs/{words}"))  # there is no baseline any more


async def test_a_run_is_narrowed_to_collections_and_metadata_or_refused_with_what_was_filled_in(
    client: httpx2.AsyncClient,
) -> None:
    collection = (await client.post("/api/v1/collections", json={"name": HOSTILE})).json()["id"]
    document = await add(client, "leave.md", LEAVE, collectionId=collection, metadata='{"year": 2026}')
    set_id = await new_set(client, "Mine")
    await sent(client, "/evaluate/judge", set=set_id, query="leave", verdict=f"right {document['id']}", back="/")
    path = f"/evaluate/{set_id}/runs"
    for fields, sentence in (
        ({"collection": collection}, "Choose at least one way to search."),
        ({"way": "rank", "filters": "{"}, "not valid JSON"),
        ({"way": "rank", "filters": '{"year": {"near": 3}}'}, "near"),
    ):
        answer = await sent(client, path, 400, **fields)
        assert sentence in unescape(answer.text)
    assert "checked" in answer.text and "&#34;near&#34;" in answer.text
    await sent(client, path, way="words", collection=collection, filters='{"year": 2026}', name=HOSTILE)
    html = await runs_ended(client, set_id)
    assert f"just now {HOSTILE} in {HOSTILE}" in text_of(html) and 'where {"year": 2026}' in text_of(html)
    assert "1.000" in html and "<script>alert" not in html
    nobody = await sent(client, f"/evaluate/{await new_set(client, 'Empty')}/runs", 409, way="rank")
    assert "<main" in nobody.text
    await sent(client, "/evaluate/evs_none/runs", 404, way="rank")


async def test_what_was_judged_for_a_question_is_changed_in_the_set_and_its_deletion_asked_about(
    client: httpx2.AsyncClient,
) -> None:
    leave, travel = [(await add(client, f"{n}.md", text))["id"] for n, text in enumerate((LEAVE, TRAVEL))]
    set_id = await new_set(client, HOSTILE)
    query = f"trains {HOSTILE}"
    for document_id in (leave, travel):
        await sent(client, "/evaluate/judge", set=set_id, query=query, verdict=f"right {document_id}", back="/")
    html = await page(client, f"/evaluate/{set_id}")
    assert "<script>alert" not in html and HOSTILE in text_of(html) and "2 right" in html
    back = unescape(re.findall(r'name="back" value="([^"]+)"', html)[0])
    answer = await sent(client, "/evaluate/judge", set=set_id, query=query, verdict=f"wrong {leave}", back=back)
    assert answer.headers["location"] == back and "open=" in back
    html = await page(client, back.partition("#")[0])
    assert '<details class="judged" open>' in html and "1 right 1 wrong" in text_of(html)
    await client.delete(f"/api/v1/documents/{travel}")
    assert "A document that is gone" in await page(client, f"/evaluate/{set_id}")

    address = unescape(re.findall(r'href="(/evaluate/[^"]+/delete-question\?[^"]+)"', html)[0])
    asked = await page(client, address)
    assert HOSTILE in text_of(asked) and "<script>alert" not in asked
    gone = await sent(client, address)
    assert "The question was deleted." in await page(client, gone.headers["location"])
    await page(client, address, 404)
    asked = await page(client, f"/evaluate/{set_id}/delete")
    assert HOSTILE in text_of(asked) and "<script>alert" not in asked
    gone = await sent(client, f"/evaluate/{set_id}/delete")
    assert "The set was deleted" in await page(client, gone.headers["location"])
    await page(client, f"/evaluate/{set_id}", 404)


async def test_long_lists_go_on_over_pages(client: httpx2.AsyncClient) -> None:
    lines = "\n".join(json.dumps({"query": f"question {number:02}", "relevant": []}) for number in range(60))
    answer = await pasted(client, "/evaluate/import", lines, "Many")
    set_id = answer.headers["location"].removeprefix("/evaluate/").partition("?")[0]
    seen: list[str] = []
    path: str | None = f"/evaluate/{set_id}"
    while path is not None:
        html = await page(client, path)
        seen += re.findall(r"question \d\d(?=</bdi>)", html)
        following = re.findall(r'href="([^"]+)#questions-title">More questions', html)
        path = unescape(following[0]) if following else None
    assert seen == [f"question {number:02}" for number in range(60)]

    await sent(client, f"/evaluate/{set_id}/runs", way="words")
    run_id = re.findall(r'<tr id="(run_\w+)"', await runs_ended(client, set_id))[0]
    first, second = (
        await page(client, f"/evaluate/runs/{run_id}"),
        await page(client, f"/evaluate/runs/{run_id}?from=31"),
    )
    assert (first.count('class="query"'), second.count('class="query"')) == (30, 30)
    assert "More questions" in first and "More questions" not in second
    assert "Found 60" in text_of(first)  # nothing answers them, and nothing was found


async def test_a_strange_address_gives_a_page_and_a_made_up_position_or_baseline_is_refused(
    client: httpx2.AsyncClient,
) -> None:
    set_id = await new_set(client, "Mine")
    for query in ("cases=x", "cases=99999999999", "cases=-1", "open=%00", "added=x&changed=-1", "notice=%3Cb%3E"):
        assert "<b>" not in await page(client, f"/evaluate/{set_id}?{query}")
    await sent(client, "/evaluate/judge", set=set_id, query="a", verdict="nothing", back="/")
    await sent(client, f"/evaluate/{set_id}/runs", way="words")
    run_id = re.findall(r'<tr id="(run_\w+)"', await runs_ended(client, set_id))[0]
    for path in ("/evaluate?after=x", f"/evaluate/{set_id}?runs=doc_1~5", f"/evaluate/{set_id}?runs=run_1~x"):
        assert "INVALID_CURSOR" in await page(client, path, 400)
    await page(client, f"/evaluate/runs/{run_id}?baseline=run_none", 404)
    await page(client, f"/evaluate/runs/{run_id}?baseline=%00", 404)
    for query in ("show=%3Cb%3E", "from=0", "from=999999999999", "from=x"):
        assert "<b>" not in await page(client, f"/evaluate/runs/{run_id}?{query}")
    await sent(client, f"/evaluate/{set_id}/baseline", 404, run="run_none")


async def test_what_is_deleted_while_the_page_is_made_is_left_out_of_it(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone = await new_set(client, "Kept"), await new_set(client, "Gone")
    await pasted(client, f"/evaluate/{kept}/import", '{"query": "days", "relevant": []}')
    for _ in range(2):
        await sent(client, f"/evaluate/{kept}/runs", way="words")
        await runs_ended(client, kept)
    evaluations = app_of(client).state.services.evaluations
    runs, _ = await evaluations.runs(kept, 2)
    await evaluations.update_set(kept, baseline_run_id=runs[1].id)
    list_sets = evaluations.sets

    async def list_in_bad_time(*arguments: Any) -> Any:
        listed = await list_sets(*arguments)
        await evaluations.delete_set(gone)
        await evaluations.delete_run(runs[1].id)
        return listed

    monkeypatch.setattr(evaluations, "sets", list_in_bad_time)
    html = await page(client, "/evaluate")
    assert kept in html and gone not in html
