import unicodedata

import apsw
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.tokens import Token, fold, index_text, is_unspaced, tokenize

LETTER_DIGIT_OR_MARK = regex.compile(r"[\p{L}\p{N}\p{M}]+")
# Where normalization, folding and pairs meet: marks, ligatures, Hangul in parts, half widths, joiners, line breaks.
TANGLED = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            'aZ09 é\u0301\u0306\u00adßİıςΣйё重跑后ガｶﾞกิำ한ᄒ\u1161\u11abㅏㅎﾡￂﬁ½Ⅷ①\u200b\u200d\ufe0f\u093f\u3099\n\r "*-'
        ),
    ),
    max_size=40,
)


def terms(text: str) -> list[str]:
    return [token.term for token in tokenize(text)]


def marked(text: str) -> list[str]:
    return [text[token.start : token.end] for token in tokenize(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Invoice INV-0042, paid.", ["invoice", "inv", "0042", "paid"]),
        ("snake_case src/main.py a@b.com", ["snake", "case", "src", "main", "py", "a", "b", "com"]),
        ("Café CRÈME Žluťoučký Việt Nam", ["cafe", "creme", "zlutoucky", "viet", "nam"]),
        ("Straße STRASSE İstanbul", ["strasse", "strasse", "istanbul"]),
        ("ΣΊΣΥΦΟΣ σίσυφος", ["σίσυφοσ", "σίσυφοσ"]),
        ("Й й и ё \u0430\u0301", ["й", "й", "и", "ё", "а"]),
        ("øre đồng łódź", ["øre", "đong", "łodz"]),
        ("Ｆｕｌｌ ﬁre ①", ["full", "fire", "1"]),
        ("6½ sacks CO₂ x²", ["6", "1", "2", "sacks", "co2", "x2"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("co\u00adoperate zero\u200bwidth 1\ufe0f\u20e3", ["cooperate", "zerowidth", "1"]),
        ("重跑gen-itgc后", ["重跑", "跑", "gen", "itgc", "后"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー", "ー"]),
        ("한국어 글", ["한국", "국어", "어", "글"]),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", ["한국", "국"]),
        ("ｶﾞｽ", ["ガス", "ス"]),
        ("สวย", ["สว", "วย", "ย"]),
        ("", []),
        ("\0 … — 🙂 \ud800", []),
    ],
)
def test_a_text_is_cut_into_folded_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ein Café.", ["Ein", "Café"]),
        ("cafe\u0301 bar", ["cafe\u0301", "bar"]),
        ("ﬁnd ﬂow", ["ﬁnd", "ﬂow"]),
        ("Straße ①②", ["Straße", "①②"]),
        ("6½", ["6", "½", "½"]),
        ("重跑gen", ["重跑", "跑", "gen"]),
        ("\u1112\u1161\u11ab글", ["\u1112\u1161\u11ab글", "글"]),
        ("x co\u00adop", ["x", "co\u00adop"]),
        ("Ａ１ bc", ["Ａ１", "bc"]),
    ],
)
def test_offsets_point_into_the_text_as_given(text: str, expected: list[str]) -> None:
    assert marked(text) == expected


def test_a_line_break_inside_an_unspaced_word_does_not_part_it() -> None:
    assert terms("我们重\n 跑任务")[2:4] == ["重跑", "跑任"]
    assert terms("重\n\n跑") == ["重", "跑"]
    assert terms("사과\n배") == ["사과", "과", "배"]


@given(TANGLED)
def test_the_index_holds_what_tokenize_says_and_nothing_that_needs_quoting(text: str) -> None:
    found = tokenize(text)
    assert index_text(text) == " ".join(token.term for token in found)
    assert all(LETTER_DIGIT_OR_MARK.fullmatch(token.term) for token in found)
    assert index_text(text).encode("utf-8").decode() == index_text(text)


@given(TANGLED)
def test_offsets_are_in_order_and_each_span_holds_its_own_term(text: str) -> None:
    found = tokenize(text)
    assert all(0 <= token.start < token.end <= len(text) for token in found)
    assert [token.start for token in found] == sorted(token.start for token in found)
    for token in found:
        assert token.term in "".join(fold(text[token.start : token.end]).split())


@given(TANGLED)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    for token in tokenize(text):
        assert fold(token.term) == token.term


@given(st.text(st.sampled_from("重跑后任务東京タワーสวย한국"), min_size=2, max_size=12), st.data())
def test_any_part_of_an_unspaced_word_is_a_run_of_its_neighbouring_terms(word: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(word) - 1))
    end = data.draw(st.integers(start + 1, len(word)))
    part, whole = terms(word[start:end]), terms(word)
    if end - start == 1:
        assert any(term.startswith(part[0]) for term in whole)
    else:
        pairs = part[:-1]
        assert any(whole[at : at + len(pairs)] == pairs for at in range(len(whole)))


def test_latin_letters_fold_as_sqlite_does() -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'unicode61 remove_diacritics 2')")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)")
    chars = [chr(code) for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)) if chr(code).isalpha()]
    for char in chars:
        connection.execute("INSERT INTO t (rowid, x) VALUES (?, ?)", (ord(char), f"a{char}"))
    by_sqlite = {chr(row[1]): row[0] for row in connection.execute("SELECT term, doc FROM v")}

    # Compatibility characters are NFKC's; sharp s and the accented æ, ø, ʒ are folded further than SQLite does.
    further = {char for char in chars if unicodedata.normalize("NFKC", char) != char} | set("ßẞǠǡǢǣǮǯǼǽǾǿ")
    different = {char for char in chars if terms(f"a{char}") != [by_sqlite[char]]}
    assert different - further == set()


def test_a_script_is_unspaced_or_not_by_its_letters() -> None:
    assert all(is_unspaced(term) for term in ("重跑", "后", "タ", "ー", "กิ", "ខ្មែរ", "ລາວ", "မြန်", "한국"))
    assert not any(is_unspaced(term) for term in ("gen", "0042", "й", "हिन्दी", "é"))


def test_tokens_are_plain_tuples_of_term_and_place() -> None:
    assert tokenize("Go on") == [Token("go", 0, 2), Token("on", 3, 5)]
