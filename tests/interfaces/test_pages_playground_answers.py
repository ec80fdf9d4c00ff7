"""What the playground answers, as a browser gets it, without a browser: reasons, surroundings, and what is missing."""

import re
from decimal import Decimal
from html import unescape
from urllib.parse import quote

import httpx2
import pytest
from front_door import add
from page_kit import page, text_of

HOSTILE = '"><script>alert(1)</script>'
PUMPS = b"""# Pumps

## Cleaning

The strainer of the pump is cleaned every month.

## Parts

The valve INV-0042 is of steel.

""" + b"\n\n".join(b"Part %d of the pump is described here in its own words. " % number * 12 for number in range(9))


def part(html: str, beginning: str, end: str) -> str:
    return html[(start := html.index(beginning)) : html.index(end, start)]


@pytest.fixture
async def pumps(client: httpx2.AsyncClient) -> str:
    return str((await add(client, "pumps.md", PUMPS, metadata='{"year": 2024}'))["id"])


async def test_marks_tell_the_passes_apart_in_the_text_and_in_words(client: httpx2.AsyncClient, pumps: str) -> None:
    exact = await page(client, "/playground?q=strainer+cleaned&mode=lexical")
    assert '<mark class="exact">strainer</mark>' in exact and "all words" in exact
    assert "like this where every word was found" in text_of(exact)
    some = await page(client, "/playground?q=strainer+cleaned+zebra&mode=lexical")
    assert '<mark class="fallback">strainer</mark>' in some and "some words" in some
    assert "like this where some were" in text_of(some) and "Not in it zebra" in text_of(some)
    aside = await page(client, "/playground?q=strainer&mode=vector")
    assert '<mark class="aside">strainer</mark>' in aside and 'mark class="exact"' not in aside


async def test_the_score_is_shown_as_the_sum_that_it_is(client: httpx2.AsyncClient, pumps: str) -> None:
    told = text_of(await page(client, "/playground?q=strainer+cleaned&limit=1"))
    assert "Meaning 1 ÷ (60 + 1) 0.0164 Words 1 ÷ (60 + 1) 0.0164 Score 0.0328" in told
    for terms in ("pump", "part 3 pump", "words described"):  # the parts that are shown add up, whatever was rounded
        html = await page(client, f"/playground?q={terms}&limit=20".replace(" ", "+"))
        sums = [re.findall(r'<td class="num">(\d\.\d+)', table) for table in html.split('<table class="sum">')[1:]]
        assert len(sums) > 5 and all(Decimal(one) + Decimal(other) == Decimal(both) for one, other, both in sums)
    told = text_of(await page(client, "/playground?q=strainer+cleaned&limit=1&fusion=relative"))
    assert re.search(r"Meaning ½ × \(\d[\d.]* − \d[\d.]*\) ÷ \(\d[\d.]* − \d[\d.]*\) 0\.500", told)


async def test_a_question_is_told_in_words_with_how_common_each_is(client: httpx2.AsyncClient, pumps: str) -> None:
    told = text_of(
        part(await page(client, "/playground?q=the+strainer+INV-0042+pum*+zebra"), 'class="reading"', "</section>")
    )
    assert re.search(r"the \d+ strainer 1 INV-0042 as it stands, in this order 1 pum\* and whatever begins so", told)
    assert "zebra in no passage" in told
    assert "Passages with all 5 words come first. 0 candidates" in told
    assert "No passage has “zebra”, so none can have every word." in told
    assert "Then come those with at least 2 of “strainer”, “INV-0042”, “pum*”, “zebra”." in told
    assert "the: so common that it tells nothing. The second pass goes without it." in told
    assert "Tokens the · strainer · inv · 0042 · pum · zebra" in told
    assert "There is no second pass for a single word" in await page(client, "/playground?q=zebra&mode=lexical")
    common = await page(client, "/playground?q=of+the&mode=lexical")
    assert "There is no second pass, as common words alone tell nothing." in common and "goes without" not in common
    assert "for a single word or phrase, common words aside" in await page(
        client, "/playground?q=the+zebra&mode=lexical"
    )
    assert "As a whole: it is compared by meaning" in await page(client, "/playground?q=zebra&mode=vector")
    assert "no letters or digits in it" in await page(client, "/playground?q=%3F%3F&mode=lexical")


async def test_a_passage_within_its_section_stands_apart_from_what_surrounds_it(
    client: httpx2.AsyncClient, pumps: str
) -> None:
    html = await page(client, "/playground?q=%22Part+4+of%22&mode=lexical&limit=1&expand=neighbors")
    own = part(html, 'class="own"', "</div>")
    assert "The passage found" in own and "<mark" in own
    assert html.count('class="text beside"') == 2
    link = re.search(r'href="(/playground/context\?[^"]+around=section)"', html)
    assert link is not None
    around = await page(client, unescape(link[1]))
    assert '<div id="around"' in around and '<mark class="exact">' in around
    assert "more characters after" in around and "Part 8 of the pump" in around


async def test_the_surroundings_of_something_that_is_not_there_are_a_page_that_says_so(
    client: httpx2.AsyncClient, pumps: str
) -> None:
    for query in ("", "?passage=chk_none&document=" + pumps, "?document=doc_none&passage=%00", "?around=%FF"):
        assert "is gone" in text_of(await page(client, f"/playground/context{query}", 404))


async def test_what_is_missing_can_be_named_by_title_or_id_and_is_followed_through_the_search(
    client: httpx2.AsyncClient, pumps: str
) -> None:
    other = str((await add(client, "travel.md", b"# Travel by train\n\nTickets are booked by the office."))["id"])
    search = "/playground?q=how+is+the+strainer+cleaned&limit=1"
    for name in ("travel by TRAIN", "train", other):
        html = await page(client, f"{search}&missing={quote(name)}")
        told = text_of(part(html, 'id="why-not"', "</section>"))
        assert f'<a href="/documents/{other}">Travel by train</a>' in html
        assert re.search(r"It is number \d+ of what was found; you asked for 1\.", told)
        assert re.search(r"yes Meaning place \d+ of \d+, similarity -?0\.\d+", told) and "no Words" in told
        assert "is not in it 1 passage" in told, "how common a word is that it lacks"
    step = re.search(r'<a href="(/playground\?[^"]*limit=(\d+)[^"]*)">Ask for at least \2 results', html)
    assert step is not None
    assert f"It is here, at place {step[2]}." in text_of(await page(client, unescape(step[1])))
    choices = part(await page(client, f"{search}&missing=md"), 'id="why-not"', "</section>")
    assert "Name more of the title" not in choices
    assert "Which document do you mean?" in choices and f"missing={other}#why-not" in choices
    assert "No title or file name has “nowhere” in it" in text_of(await page(client, f"{search}&missing=nowhere"))
    assert "There is no document with this id" in await page(client, f"{search}&missing=doc_1")


async def test_a_condition_that_leaves_it_out_is_named_with_a_way_to_do_without(
    client: httpx2.AsyncClient, pumps: str
) -> None:
    conditions = quote('{"year":{"gte":2025},"kind":{"neq":"x"}}')
    html = await page(client, f"/playground?q=strainer&filters={conditions}&missing={pumps}")
    told = text_of(part(html, 'id="why-not"', "</section>"))
    assert "✗ no Condition year must be 2025 or more: the document has 2024" in told
    assert "✓ yes Condition kind must not be" in told
    assert "Without that, it is here, at place 1." in told
    step = re.search(r'<a href="([^"]+)">Leave out the condition on year', html)
    assert step is not None
    without = text_of(await page(client, unescape(step[1])))
    assert "It is here, at place 1." in without and "Why is Pumps at place 1?" in without


async def test_a_hit_leads_to_why_it_is_not_higher_and_a_document_to_why_it_is_not_found(
    client: httpx2.AsyncClient, pumps: str
) -> None:
    html = await page(client, "/playground?q=strainer+cleaned&limit=3")
    links = re.findall(r'href="([^"]+missing=chk_[0-9a-f]+)#why-not">Why not higher', html)
    assert len(links) == 2, "the first hit has nothing above it"
    told = text_of(part(await page(client, unescape(links[0])), 'id="why-not"', "</section>"))
    assert "It is here, at place 2." in told and "One place higher: “Pumps”, meaning #1, words #1, score" in told
    chunk = re.findall(r"missing=(chk_[0-9a-f]+)", links[0])[0]
    asked = await page(client, f"/playground?missing={chunk}")
    assert "Ask the question that should lead to “Pumps”" in text_of(asked)
    assert f'<input type="hidden" name="missing" value="{chunk}">' in asked
    await page(client, "/playground?missing=chk_none")


async def test_what_is_missing_shows_as_text_whatever_it_is(client: httpx2.AsyncClient) -> None:
    name = f"{HOSTILE}.md"
    hostile = await add(
        client, name, f"# `{HOSTILE}`\n\nOtters `{HOSTILE}` swim.".encode(), metadata=f'{{"a": {quote("1")}}}'
    )
    for missing in (HOSTILE, hostile["id"], "\0", "x" * 5000, "doc_\0", "é\u202e", "alert"):
        html = await page(client, f"/playground?q=otters&missing={quote(missing)}")
        assert "<script>alert" not in html
    chunk = (await client.get(f"/api/v1/documents/{hostile['id']}/chunks")).json()["items"][0]["id"]
    around = await page(client, f"/playground/context?document={hostile['id']}&passage={chunk}&q={quote(HOSTILE)}")
    assert "<script>alert" not in around and "&lt;script&gt;" in around
