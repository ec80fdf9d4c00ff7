from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.query import (
    STOP_WORDS,
    LexicalQuery,
    Phrase,
    describe,
    find_matches,
    match_spans,
    matched_terms,
    parse_query,
)
from mcp_knowledge.domain.search import MatchMode


def phrases(*texts: str) -> tuple[Phrase, ...]:
    """`inv 004*` is the phrase of two tokens of which the last is a prefix."""
    return tuple(Phrase(tuple(text.rstrip("*").split()), text.endswith("*")) for text in texts)


def marked(query: str, text: str, mode: MatchMode | None = None) -> list[str]:
    return [text[start:end] for start, end in match_spans(parse_query(query), text, mode)]


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("Invoice INV-0042", ["invoice", "inv 0042"]),
        ("INV-004* conf*", ["inv 004*", "conf*"]),
        ('"Quality of service" now', ["quality of service", "now"]),
        ("\u201cQuality of service\u201d", ["quality of service"]),
        ('say "unbalanced', ["say", "unbalanced"]),
        ('one "two three" four "five', ["one", "two three", "four", "five"]),
        ('"" "!!" word', ["word"]),
        ("Café CAFE cafe\u0301", ["cafe"]),
        ("src/main.py a@b.c", ["src main py", "a b c"]),
        ("title:flow OR (NOT) {x} ^y NEAR(z)", ["title flow", "or", "not", "x", "y", "near z"]),
        ("*", []),
        ("foo-*", ["foo"]),
        ("**bold**", ["bold"]),
        ("\0", []),
        ("🙂 — …", []),
        ("重跑任务", ["重跑 跑任 任务"]),
        ("后", ["后*"]),
        ("重跑gen-itgc后", ["重跑 跑 gen itgc 后*"]),
    ],
)
def test_every_word_is_a_phrase_that_must_match(text: str, exact: list[str]) -> None:
    assert parse_query(text).exact == phrases(*exact)


@pytest.mark.parametrize(
    ("text", "fallback", "least"),
    [
        ("panthers defense points", ["panthers", "defense", "points"], 2),
        ("How many points did the Panthers give up", ["many", "points", "did", "panthers", "give", "up"], 2),
        ("the panthers defense", ["panthers", "defense"], 1),
        ("panthers", [], 1),
        ("the Panthers of", [], 1),
        ("INV-0099", [], 1),
        ("where is INV-0099", ["where", "inv 0099"], 1),
        ("gen-itgc", [], 1),
        ("state-of-the-art", [], 1),
        ("real-time systems fail", ["real", "time", "systems", "fail"], 2),
        ("what's l'heure du thé", ["heure", "du", "the"], 2),
        ("flow flow FLOW ﬂow layer", ["flow", "layer"], 1),
        ('"boundary layer" flow', ["boundary layer", "flow"], 1),
        ("conf* server log", ["conf*", "server", "log"], 2),
        ("a* server log", ["server", "log"], 1),
        ("黑豹队", [], 1),
        ("机器学习", ["机器", "器学", "学习"], 2),
        ("黑豹队 防守", ["黑豹", "豹队", "防守"], 1),
        ("重跑gen-itgc后", ["重跑", "gen", "itgc", "后*"], 2),
        ("人 口", ["人*", "口*"], 1),
        ("how to be", [], 1),
        ("", [], 1),
    ],
)
def test_the_fallback_has_the_terms_without_stop_words(text: str, fallback: list[str], least: int) -> None:
    query = parse_query(text)
    assert query.fallback == phrases(*fallback)
    assert query.fallback_min_match == least


def test_a_word_with_an_accent_is_no_stop_word() -> None:
    assert parse_query("The thé vert").dropped == ()
    assert parse_query("thé vert").fallback == phrases("the", "vert")


def test_dropped_words_are_told_as_typed_and_once() -> None:
    assert parse_query("What is THE flow of the layer").dropped == ("What", "is", "THE", "of")


def test_there_are_no_stop_words_in_the_exact_pass() -> None:
    assert parse_query("to be or not").exact == phrases("to", "be", "or", "not")
    assert all(parse_query(word).exact == phrases(word) for word in STOP_WORDS)


def test_only_the_first_few_stars_count() -> None:
    query = parse_query("aa* bb* cc* dd* ee* 后 ff")
    assert [phrase.prefix for phrase in query.exact] == [True, True, True, True, False, True, False]
    assert query.exact[4].text == "ee"


def test_the_query_is_described_in_words() -> None:
    reading = describe(parse_query('What is the "boundary layer" of INV-0042 conf*'))
    assert reading.tokens == ("what", "is", "the", "boundary", "layer", "of", "inv", "0042", "conf")
    assert reading.exact == 'all of: What, is, the, "boundary layer", of, INV-0042, conf*'
    assert reading.fallback == 'at least 2 of: "boundary layer", INV-0042, conf*'
    assert reading.dropped == ("What", "is", "the", "of")
    assert describe(parse_query("flow layer")).fallback == "any of: flow, layer"
    assert describe(parse_query("flow")).fallback is None
    assert describe(parse_query("?!")).exact == "nothing: the query holds no letter or digit"


def test_matches_are_marked_whole_and_in_the_text_as_given() -> None:
    text = "The INV\u20110042 configuration; INV-00421, cafe\u0301 — the end."
    assert marked("INV-0042 conf* café", text, "exact") == ["INV\u20110042", "configuration", "cafe\u0301"]
    assert marked("INV-004* café", text, "exact") == ["INV\u20110042", "INV-00421", "cafe\u0301"]


def test_stop_words_are_marked_only_where_they_had_to_match() -> None:
    assert marked("the flow of air", "the flow of air", "exact") == ["the", "flow", "of", "air"]
    assert marked("the flow of air", "the flow of air", "fallback") == ["flow", "air"]
    assert marked("the flow of air", "the flow of air") == ["flow", "air"]
    assert marked("the air", "the air", "exact") == ["the", "air"]


def test_pairs_of_characters_read_and_mark_as_words() -> None:
    query, text = parse_query("黑豹队的防守丢了多少分？"), "黑豹队的防守只丢了 308分"
    assert find_matches(query, text, (), "fallback") == (("黑豹队的防守", "丢了"), [(0, 6), (7, 9)])
    assert marked("队", "黑豹队的豹队", "exact") == ["队", "队"]
    assert marked("豹队", "黑豹队的豹队", "exact") == ["豹队", "豹队"]


def test_matched_terms_come_as_typed_from_title_and_headings_too() -> None:
    query = parse_query("Pump INV-0042 conf* missing")
    assert matched_terms(query, ["the pump", "INV 0042", "Configuration"], "fallback") == ("Pump", "INV-0042", "conf*")
    terms, spans = find_matches(query, "Configuration", ["the pump"], "fallback")
    assert (terms, spans) == (("Pump", "conf*"), [(0, 13)])


def test_common_words_tell_nothing_of_a_passage_that_only_its_meaning_found() -> None:
    for query, words in (("the zebra", ["zebra"]), ("of the", []), ("INV-0042", ["INV-0042"])):
        assert marked(query, "Of the zebra INV-0042") == words
    assert marked("the zebra", "Of the zebra", "exact") == ["the", "zebra"]


def test_neighbouring_tokens_of_different_words_can_be_a_phrase_but_distant_ones_cannot() -> None:
    assert marked("INV-0042", "INV 0042", "exact") == ["INV 0042"]
    assert marked("INV-0042", "INV and 0042; 0042 INV", "exact") == []


@given(st.text(max_size=200))
def test_any_text_is_a_query(text: str) -> None:
    query = parse_query(text)
    assert all(phrase.tokens and all(phrase.tokens) for phrase in (*query.exact, *query.fallback))
    assert len(set(query.exact)) == len(query.exact) and len(set(query.fallback)) == len(query.fallback)
    assert len(query.fallback) != 1 and query.fallback_min_match in (1, 2)
    describe(query)


@given(st.text(st.sampled_from('ab é-"*重跑后INV0042 \n'), max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_a_text_that_holds_the_query_matches_it(text: str, before: str, after: str) -> None:
    text = text.replace("*", "").replace('"', "")
    query = parse_query(text)
    content = f"{before}\n\n{text}\n\n{after}"
    found, spans = find_matches(query, content, (), "exact")
    assert bool(found) == bool(spans) == bool(query.exact)
    assert all(0 <= start < end <= len(content) for start, end in spans)
    assert all(one[1] < two[0] for one, two in pairwise(spans))


_FEW_WORDS = st.lists(st.sampled_from(["a", "b", "ab", "a-b", "a b", "0042", "a*", "b_a"]), max_size=4).map(" ".join)


@given(_FEW_WORDS, st.text(st.sampled_from("aAb0-_. \n"), max_size=40))
def test_a_text_of_plain_letters_is_marked_as_one_with_an_accent_somewhere_is(query: str, text: str) -> None:
    for mode in ("exact", "fallback"):
        assert marked(query, text, mode) == marked(query, f"{text} é", mode)


def test_an_unreadable_query_matches_nothing() -> None:
    assert find_matches(LexicalQuery((), (), 1, (), ()), "some text") == ((), [])
