"""How a document is cut into pages, where a passage is found in it, and how metadata becomes a form and comes back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.blocks import Block, Code, Heading, ListBlock, PageBreak, Paragraph, SourceLocation, Table
from mcp_knowledge.domain.documents import Metadata, StoredChunk
from mcp_knowledge.interfaces.web.document.fields import Row, fits_rows, metadata_of, parse_json, rows_of
from mcp_knowledge.interfaces.web.document.matching import PassageWords, block_text
from mcp_knowledge.interfaces.web.document.pieces import Place, before, length, read_place, take, weight

texts = st.text(alphabet="ab \n", max_size=3000)
cells = st.text(alphabet="ab ", max_size=12)
blocks = st.lists(
    st.one_of(
        texts.map(Paragraph),
        texts.map(lambda text: Heading(2, text)),
        texts.map(Code),
        st.lists(cells, max_size=80).map(lambda items: ListBlock(False, tuple(items))),
        st.lists(st.tuples(cells, cells), max_size=80).map(lambda rows: Table(("x", "y"), tuple(rows))),
        st.just(PageBreak()),
    ),
    max_size=12,
)


def contents(block: Block, start: int, end: int) -> list[Any]:
    text = block_text(block)
    if text is not None:
        return list(text[start:end])
    return list((block.items if isinstance(block, ListBlock) else getattr(block, "rows", ()))[start:end])


@given(blocks, st.integers(400, 4000))
def test_pages_one_after_another_hold_every_block_once(document: list[Block], room: int) -> None:
    place, seen = Place(), []
    while place.block < len(document):
        pieces, after = take(place.block, document[place.block :], place.offset, room)
        assert after > place
        for piece in pieces:
            seen += contents(piece.block, piece.start, piece.end)
        place = after
    assert seen == [item for block in document for item in contents(block, 0, length(block))]


@given(blocks, st.integers(400, 4000), st.data())
def test_the_page_before_begins_earlier_and_reaches_the_place(document: list[Block], room: int, data: Any) -> None:
    if not document:
        return
    index = data.draw(st.integers(0, len(document) - 1))
    place = Place(index, data.draw(st.integers(0, length(document[index]))))
    earlier = before(0, document[: index + 1], place, room)
    assert Place() <= earlier <= place
    if place > Place() and any(length(block) for block in document[:index]):
        assert earlier < place


@pytest.mark.parametrize("text", ["", "x", "-1", "1.", ".5", "1.2.3", "9" * 10, "1.9999999999", "٣", "1.-2"])
def test_what_is_no_place_is_the_beginning(text: str) -> None:
    assert read_place(text) == Place()


def test_a_place_reads_as_it_is_written() -> None:
    for place in (Place(), Place(7), Place(7, 300)):
        assert read_place(str(place)) == place
    assert weight(Table(("a",), (("b",),) * 100), 10, 20) < weight(Table(("a",), (("b",),) * 100))


def passage(content: str, **location: Any) -> PassageWords:
    where = SourceLocation(**location)
    return PassageWords(StoredChunk(1, "doc_1", "rev_1", "chk_1", 0, content, (), where, 1, "", {}))


def test_characters_of_the_source_decide_where_both_sides_know_them() -> None:
    words = passage("otters sleep here", char_start=110, char_end=127)
    block = Paragraph("0123456789otters sleep here and there", SourceLocation(char_start=100, char_end=137))
    assert words.span(block) == (10, 27)
    assert words.surely_in(block)
    same_words = Paragraph("otters sleep here", SourceLocation(char_start=300, char_end=317))
    assert not words.may_be_in(same_words)
    assert words.span(same_words) is None


def test_words_decide_elsewhere_and_pages_rule_out() -> None:
    words = passage("The otters sleep on the bank of the river and wake at night", page_start=3, page_end=4)
    assert words.span(Paragraph("The otters sleep on the bank\nof the river")) == (0, 41)
    assert words.surely_in(Paragraph("otters sleep on the BANK", SourceLocation(page_start=4)))
    assert not words.may_be_in(Paragraph("otters sleep on the bank", SourceLocation(page_start=5)))
    assert words.may_be_in(Paragraph("the night")) is False
    assert words.may_be_in(Paragraph("at night"))
    assert not words.surely_in(Paragraph("at night"))
    longer = Paragraph("Before it. The otters sleep on the bank of the river and wake at night. After it.")
    span = words.span(longer)
    assert span is not None
    assert longer.text[slice(*span)] == "The otters sleep on the bank of the river and wake at night"


def test_of_a_text_that_repeats_itself_the_passages_own_words_are_marked() -> None:
    lines = [f"Line {number} tells of the otters and herons by the river in many words." for number in range(9)]
    whole = Paragraph(" ".join(lines))
    for first, last in ((0, 9), (3, 5), (0, 4), (5, 9)):
        span = passage(" ".join(lines[first:last])).span(whole)
        assert span is not None
        assert whole.text[slice(*span)].rstrip(".") == " ".join(lines[first:last]).rstrip(".")
    span = passage("It begins in the block before. " + lines[0]).span(whole)
    assert span is not None and whole.text[slice(*span)] == lines[0].rstrip(".")
    span = passage(f"{lines[8]} And it ends in the next one.").span(whole)
    assert span is not None and whole.text[slice(*span)].rstrip(".") == lines[8].rstrip(".")
    assert passage("It tells of the otters and herons by a lake").span(whole) is None


def test_rows_and_items_are_found_without_their_bars_and_numbers() -> None:
    words = passage("part | machine\nGSK-2210 | Fermenter FV-3 | 14\n2. Close the valve slowly")
    assert words.surely_in(Table(("part",), (("GSK-2210", "Fermenter FV-3", "14"),)))
    assert words.has_unit("GSK-2210 Fermenter FV-3 14")
    assert not words.has_unit("GSK-2211 Fermenter FV-3 14")
    assert words.surely_in(ListBlock(True, ("Open it", "Close the valve slowly")))


def test_short_lines_amount_to_a_passage_together() -> None:
    words = passage("year | ducks\n2019 | 120\n2020 | 135\n\n- one\n- two")
    table = Table(("year", "ducks"), (("2019", "120"), ("2020", "135")))
    assert not words.surely_in(table) and words.may_be_in(table)
    assert words.share(table) + words.share(ListBlock(False, ("one", "two", "three"))) == 1.0
    assert words.share(Table(None, (("2019", "121"),))) == 0.0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20) | st.sampled_from(["2026-03-31", "2026-13-31", " x", "a\r\nb", "\n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def sent(rows: list[Row]) -> list[Row]:
    """The rows as a browser sends them back: line ends are all alike."""
    return [Row(row.key, row.kind, row.value.replace("\r\n", "\n").replace("\r", "\n")) for row in rows]


@given(st.dictionaries(st.text(min_size=1, max_size=8), json_values, max_size=5))
def test_a_form_that_is_sent_back_untouched_changes_nothing(metadata: Metadata) -> None:
    if not fits_rows(metadata):
        return
    saved, rows = metadata_of(sent(rows_of(metadata)), metadata)
    assert [row.fault for row in rows] == [""] * len(metadata)
    assert saved == metadata
    assert [type(value) for value in saved.values()] == [type(value) for value in metadata.values()]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("text", " as it is ", " as it is "),
        ("number", " 12 ", 12),
        ("number", "-3.5", -3.5),
        ("number", "1e3", 1000.0),
        ("boolean", "Yes", True),
        ("boolean", "no", False),
        ("date", "2026-02-28", "2026-02-28"),
        ("list", "one\n\n two \n", ["one", "two"]),
        ("json", '{"a": [1, null]}', {"a": [1, None]}),
    ],
)
def test_a_text_becomes_a_value_of_its_kind(kind: str, text: str, value: Any) -> None:
    saved, (row,) = metadata_of([Row("x", kind, text)], {})
    assert row.fault == ""
    assert saved == {"x": value}
    assert type(saved["x"]) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        *(("number", text, "Write a number") for text in ("", "twelve", "1,5", "1e999", "nan", "0x10", "1_000", "٣")),
        *(("boolean", text, "Write yes or no") for text in ("", "maybe", "1")),
        *(("date", text, "year-month-day") for text in ("", "31.3.2026", "2026-02-30", "2026-3-1")),
        *(("json", text, "not JSON") for text in ("", "{", "'a'")),
        *(("json", text, "too large, or") for text in ("NaN", "1e999", "[" * 100_000)),
    ],
)
def test_what_does_not_fit_its_kind_is_told_in_words(kind: str, text: str, told: str) -> None:
    _, (row,) = metadata_of([Row("x", kind, text)], {})
    assert told in row.fault


def test_names_are_needed_once_and_blank_rows_do_not_count() -> None:
    _, rows = metadata_of([Row(), Row("x", "text", "1"), Row("x", "text", "2"), Row("", "text", "3")], {})
    assert [row.fault for row in rows] == [
        "",
        "This key is used twice.",
        "Give it a key, or empty the value to leave it out.",
    ]
    assert parse_json("[1]") == ([1], "")
    assert not fits_rows({"": 1}) and not fits_rows({"a\nb": 1}) and not fits_rows({str(n): n for n in range(201)})
