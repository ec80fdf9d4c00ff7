from collections.abc import Sequence
from itertools import product

import pytest
from parser_support import blocks_of, code_of, read
from pdf_files import Page, make_pdf, text_page

from mcp_knowledge.adapters.parsers.pdf import reader
from mcp_knowledge.adapters.parsers.pdf.fidelity import is_faithful
from mcp_knowledge.adapters.parsers.pdf.layout import LayoutPage, Piece
from mcp_knowledge.adapters.parsers.pdf.math import without_latex
from mcp_knowledge.adapters.parsers.pdf.text import LineEnds, joined_lines, joined_word, mended, plain
from mcp_knowledge.domain.blocks import Block, Code, Heading, ListBlock, PageBreak, Paragraph

PROSE = "The quick brown fox jumps over the lazy dog near the river bank.\nIt does so every single day of the year."


def texts(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Heading | Paragraph)]


def test_headings_paragraphs_and_lists_are_found_with_their_pages() -> None:
    data = make_pdf(
        [
            text_page(PROSE, "- first point\n- second point", heading="Introduction"),
            text_page("Another page has other text in it, long enough to read.", heading="Conclusion"),
        ]
    )
    blocks = blocks_of(data, "a.pdf")
    assert [type(block) for block in blocks] == [Heading, Paragraph, ListBlock, PageBreak, Heading, Paragraph]
    assert texts(blocks) == [
        "Introduction",
        PROSE.replace("\n", " "),
        "Conclusion",
        "Another page has other text in it, long enough to read.",
    ]
    assert isinstance(blocks[2], ListBlock) and blocks[2].items == ("first point", "second point")
    assert [(block.location.page_start, block.location.page_end) for block in blocks] == [(1, 1)] * 4 + [(2, 2)] * 2


def test_properties_become_metadata_and_the_title() -> None:
    info = {"Title": "Annual Report", "Author": "Ann", "CreationDate": "D:20240131120000+01'00'", "ModDate": "D:2024"}
    document = read(make_pdf([text_page(PROSE, heading="Intro")], info), "scan7.pdf")
    assert document.title == "Annual Report"
    assert document.metadata == {
        "pages": 1,
        "author": "Ann",
        "created": "2024-01-31T12:00:00+01:00",
        "modified": "2024-01-01",
    }


@pytest.mark.parametrize(
    "title", ["Microsoft Word - draft3.docx", "untitled", "report.pdf", "C:\\tmp\\x", "scan7", "()"]
)
def test_a_title_that_a_tool_made_up_gives_way_to_the_first_heading(title: str) -> None:
    assert read(make_pdf([text_page(PROSE, heading="Intro")], {"Title": title}), "scan7.pdf").title == "Intro"


def test_running_headers_footers_and_page_numbers_stay_once_or_not_at_all() -> None:
    pages = [
        text_page(
            f"Body text of sheet {n} with enough words to count as a paragraph.",
            top="ACME Manual",
            bottom=f"Page {n} of 5",
        )
        for n in range(1, 6)
    ]
    found = texts(blocks_of(make_pdf(pages), "a.pdf"))
    assert found.count("ACME Manual") == 1
    assert not any("Page" in text for text in found)
    assert sum("Body text of sheet" in text for text in found) == 5


def test_numbered_headings_at_the_same_height_are_no_running_header() -> None:
    pages = [text_page(PROSE, heading="", top=f"Chapter {number}") for number in (1, 2, 4, 8)]
    found = texts(blocks_of(make_pdf(pages), "a.pdf"))
    assert [text for text in found if text.startswith("Chapter")] == [
        "Chapter 1",
        "Chapter 2",
        "Chapter 4",
        "Chapter 8",
    ]


def test_a_page_number_alone_is_kept_when_nothing_else_is_there() -> None:
    data = make_pdf([Page([(300, 30, 9, "1984", "F1")])])
    assert texts(blocks_of(data, "a.pdf")) == ["1984"]


def test_words_split_at_line_ends_are_mended() -> None:
    lines = (
        "The inter-",
        "national agency made a well-",
        "known e-",
        "mail about it.",
        "A well-known fact in international law.",
    )
    data = make_pdf([text_page("\n".join(lines))])
    (text,) = texts(blocks_of(data, "a.pdf"))
    assert text == (
        "The international agency made a well-known e-mail about it. A well-known fact in international law."
    )


def test_words_split_at_line_ends_are_mended_where_the_layout_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "layout_pages", lambda data, numbers: {})
    data = make_pdf([text_page("The adminis-\ntration is a well-\nknown one.")])
    assert texts(blocks_of(data, "a.pdf")) == ["The administration is a well-known one."]


def test_words_split_at_page_ends_are_mended_and_span_both_pages() -> None:
    first = Page([(72, 120, 11, "This sentence is about the inter-", "F1")])
    second = Page([(72, 700, 11, "national law of the sea and its many rules.", "F1")])
    blocks = blocks_of(make_pdf([first, second]), "a.pdf")
    assert texts(blocks) == ["This sentence is about the international law of the sea and its many rules."]
    assert (blocks[0].location.page_start, blocks[0].location.page_end) == (1, 2)


def test_a_scan_needs_ocr_but_a_scanned_page_among_readable_ones_is_only_listed() -> None:
    assert code_of(make_pdf([Page(picture=True), Page(picture=True), Page()]), "a.pdf") == "DOCUMENT_NEEDS_OCR"
    document = read(make_pdf([text_page(PROSE), Page(picture=True), Page(), text_page(PROSE)]), "a.pdf")
    assert document.metadata == {"pages": 4, "pagesNeedingOcr": [2]}
    assert [block.location.page_start for block in document.blocks if isinstance(block, Paragraph)] == [1, 4]


def test_text_drawn_as_outlines_needs_ocr() -> None:
    outlines = "\n".join(f"{n} {n} m {n + 5} {n + 9} l S" for n in range(300))
    assert code_of(make_pdf([Page(extra=outlines)]), "a.pdf") == "DOCUMENT_NEEDS_OCR"


def test_a_running_header_in_large_type_goes_although_it_looks_like_a_heading() -> None:
    pages = [text_page(PROSE, heading=name) for name in ("Amber", "Birch", "Cedar", "Daisy")]
    for number, page in enumerate(pages, 1):
        page.lines = [(72, 770, 12, f"ACME Corp | {number}/4", "F1"), *page.lines]
    found = [block.text for block in blocks_of(make_pdf(pages), "a.pdf") if isinstance(block, Heading)]
    assert found == ["ACME Corp | 1/4", "Amber", "Birch", "Cedar", "Daisy"]
    chapters = [text_page(PROSE, heading=f"Chapter {number}") for number in range(1, 5)]
    for page in chapters:
        page.lines = [(x, y + 60, size, text, font) for x, y, size, text, font in page.lines]
    found = [block.text for block in blocks_of(make_pdf(chapters), "a.pdf") if isinstance(block, Heading)]
    assert found == ["Chapter 1", "Chapter 2", "Chapter 3", "Chapter 4"]


def test_the_dots_and_the_name_of_a_table_of_contents_are_left_out() -> None:
    page = text_page("1 Introduction . . . . . . . . . . . . . . 3\n\nSee page ... 3 and wait", heading="Contents")
    document = read(make_pdf([page, text_page(PROSE, heading="Handbook")]), "a.pdf")
    assert document.title == "Handbook"
    assert mended("1 Introduction . . . . . . . iv", "") == "1 Introduction iv"
    assert mended("2 Methods.......12, and so ... 3", "") == "2 Methods 12, and so ... 3"


def test_code_keeps_its_indentation() -> None:
    code = ["def double(value):", "    if value:", "        return 2 * value", "    return 0"]
    lines = [
        (72 + 6 * (len(line) - len(line.lstrip())), 600 - 12 * n, 10, line.lstrip()) for n, line in enumerate(code)
    ]
    page = text_page(PROSE)
    page.lines = [*page.lines, *((x, y, size, text, "F3") for x, y, size, text in lines)]
    assert [block.text for block in blocks_of(make_pdf([page]), "a.pdf") if isinstance(block, Code)] == [
        "\n".join(code)
    ]


def test_a_scan_cut_into_strips_needs_ocr() -> None:
    strips = "\n".join(f"q 612 0 0 10 0 {y} cm /Im0 Do Q" for y in range(0, 792, 10))
    assert code_of(make_pdf([Page(extra=strips)]), "a.pdf") == "DOCUMENT_NEEDS_OCR"


def test_a_page_of_very_many_lines_gives_its_text_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = text_page(PROSE, heading="Site plan")
    drawing.extra = "\n".join(f"{n % 500} {n % 700} m {n % 300} {n % 800} l S" for n in range(20_000))
    laid_out: list[Sequence[int] | None] = []

    def no_layout(_: bytes, numbers: Sequence[int] | None) -> dict[int, LayoutPage]:
        laid_out.append(numbers)
        return {}

    monkeypatch.setattr(reader, "layout_pages", no_layout)
    blocks = blocks_of(make_pdf([text_page(PROSE), drawing, text_page(PROSE)]), "a.pdf")
    assert laid_out == [[1, 3]]  # what compares lines with each other is not asked about the drawing
    assert {block.location.page_start for block in blocks if isinstance(block, Paragraph)} == {1, 2, 3}
    assert any("Site plan" in text for text in texts(blocks))


def test_a_form_whose_only_text_is_what_was_filled_in_is_no_empty_document() -> None:
    field = "<< /Type /Annot /Subtype /Widget /FT /Tx /T (city) /V (Berlin) /Rect [72 500 300 520] >>"
    note = "<< /Type /Annot /Subtype /Text /Rect [10 10 30 30] /Contents (Please check this) /T (Bob) >>"
    blocks = blocks_of(make_pdf([Page(annotations=[field])]), "a.pdf")
    assert [block.items for block in blocks if isinstance(block, ListBlock)] == [("city: Berlin",)]
    assert code_of(make_pdf([Page(annotations=[note])]), "a.pdf") == "DOCUMENT_EMPTY"


def test_filled_form_fields_and_comments_follow_the_page() -> None:
    widget = (
        "<< /Type /Annot /Subtype /Widget /FT /Tx /T ({name}) /TU ({label}) /V ({value}) /Rect [72 {y} 300 {top}] >>"
    )
    page = text_page(PROSE)
    page.annotations = [
        widget.format(name="form[0].city[0]", label="City", value="Berlin", y=500, top=520),
        widget.format(name="form[0].zip_code[0]", label="", value="10115", y=470, top=490),
        widget.format(name="form[0].empty[0]", label="Empty", value="", y=440, top=460),
        "<< /Type /Annot /Subtype /Text /Rect [10 10 30 30] /Contents (Please check this) /T (Bob) >>",
        "<< /Type /Annot /Subtype /Link /Rect [10 10 30 30] /Contents (not a comment) >>",
    ]
    blocks = blocks_of(make_pdf([page]), "a.pdf")
    assert blocks[-2:] == [
        ListBlock(False, ("City: Berlin", "zip code: 10115"), blocks[0].location),
        Paragraph("[Comment by Bob: Please check this]", blocks[0].location),
    ]


def test_pages_without_anything_are_empty() -> None:
    assert code_of(make_pdf([Page(), Page()]), "a.pdf") == "DOCUMENT_EMPTY"


def test_too_many_pages_are_refused() -> None:
    data = make_pdf([text_page(PROSE)] * 4)
    assert code_of(data, "a.pdf", max_document_pages=3) == "DOCUMENT_RESOURCE_LIMIT"
    assert read(data, "a.pdf", max_document_pages=4).metadata["pages"] == 4


def test_too_much_text_is_refused() -> None:
    assert code_of(make_pdf([text_page(PROSE)] * 4), "a.pdf", max_extract_bytes=300) == "DOCUMENT_RESOURCE_LIMIT"


def test_damaged_files_are_malformed_and_locked_ones_encrypted() -> None:
    data = make_pdf([text_page(PROSE)])
    assert code_of(data[:60], "a.pdf") == "DOCUMENT_MALFORMED"
    assert code_of(b"%PDF-1.7\n" + bytes(range(256)) * 10, "a.pdf") == "DOCUMENT_MALFORMED"
    assert code_of(data[:300] + b"trailer << /Encrypt 9 0 R >>", "a.pdf") == "DOCUMENT_ENCRYPTED"


def test_a_password_that_is_needed_to_open_is_told_from_one_that_only_restricts() -> None:
    assert code_of(make_pdf([text_page(PROSE)], owner="boss", user="secret"), "a.pdf") == "DOCUMENT_ENCRYPTED"
    restricted = blocks_of(make_pdf([text_page(PROSE, heading="Intro")], owner="boss", user=""), "a.pdf")
    assert [type(block) for block in restricted] == [Heading, Paragraph]
    assert texts(restricted) == ["Intro", PROSE.replace("\n", " ")]


def test_a_broken_cross_reference_table_is_no_reason_to_fail() -> None:
    data = make_pdf([text_page(PROSE)])
    assert texts(blocks_of(data.replace(b"startxref\n", b"startxref\n9"), "a.pdf")) == [PROSE.replace("\n", " ")]


def test_prices_asterisks_and_markup_stand_as_they_are_printed() -> None:
    line = "It costs $5 or $10 *net* _or_ **gross** [a](b) `c` # d <b>e</b> ~~f~~ a\\b \\alpha"
    assert texts(blocks_of(make_pdf([text_page(line)]), "a.pdf")) == [line]


def test_formulas_are_characters_again() -> None:
    assert without_latex(r"$L=\langle q_{1},q_{2}\rangle$ and $x\in S_{i_{j}}$") == "L=⟨q1,q2⟩ and x∈Sij"
    assert without_latex(r"$\{m\in S|f(m)>0\}$ costs $5 and $6") == "{m∈S|f(m)>0} costs $5 and $6"
    assert without_latex("C:\\$dir and $HOME") == "C:\\$dir and $HOME"


def test_emphasis_ligatures_and_soft_hyphens_leave_no_trace() -> None:
    assert (
        plain(r"**bold** and *italic* with \*stars\* and \_lines\_, `ls` `cp` and C:\\x", "and `cp` and")
        == r"bold and italic with *stars* and _lines_, ls `cp` and C:\x"
    )
    printed = "e\ufb03cient \ufb01sh co\xad\noperation op\xadtional"
    assert mended(printed, printed) == "efficient fish cooperation optional"


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("Universit¨at f¨ur Schr¨odinger", "Universität für Schrödinger"),
        ("J´erˆome, br`eve, Mikul´ık, Franc¸ois, ˚Angstr¨om", "Jérôme, brève, Mikulík, François, Ångström"),
        ("That´s l´avion d´été", "That´s l´avion d´été"),  # accents for apostrophes
        ("It´s the vector ˆr of `all`", "It´s the vector ˆr of `all`"),
        ("FROM`users`", "FROM`users`"),
    ],
)
def test_accents_that_stand_apart_come_back_onto_their_letters(printed: str, text: str) -> None:
    assert mended(printed, printed) == text


@pytest.mark.parametrize(
    ("head", "tail", "word"),
    [
        ("inter", "national", "international"),
        ("well", "known", "well-known"),
        ("e", "mail", "e-mail"),
        ("Anglo", "Saxon", "Anglo-Saxon"),
        ("COVID", "19", "COVID-19"),
        ("state", "owned", "state-owned"),
        ("data", "base", "database"),
    ],
)
def test_a_hyphen_at_a_line_end_stays_where_it_is_the_words_own(head: str, tail: str, word: str) -> None:
    assert joined_word(head, tail, frozenset({"state-owned", "database", "data-base"})) == word


def test_ideographs_have_no_blank_where_a_line_ended() -> None:
    lines = ["这是第一行的文字", "接着是第二行 和空格", "plain"]
    ends = LineEnds(lines, (), frozenset())
    assert ends.mend("这是第一行的文字 接着是第二行 和空格 plain") == "这是第一行的文字接着是第二行 和空格 plain"
    assert joined_lines("日本語の\n文章です。\nEnglish\n日本", frozenset()) == "日本語の文章です。\nEnglish\n日本"


def layout(*pieces: Piece) -> LayoutPage:
    return LayoutPage(1, 600, 800, pieces, (), sum(sum(map(str.isalnum, piece.text)) for piece in pieces))


def table(*rows: tuple[str, ...]) -> Piece:
    return Piece("table", " ".join(cell for row in rows for cell in row), None, rows=rows)


def test_a_layout_that_lost_or_scrambled_text_is_not_trusted() -> None:
    text = "Alpha beta gamma delta.\nOne two three four five six.\nRed green blue white black grey pink brown orange."
    assert is_faithful(layout(Piece("paragraph", text, None)), text)
    assert not is_faithful(layout(Piece("paragraph", text[:60], None)), text)
    cut = table(
        ("Alpha One Red gamma three blue delta five pink", "beta two green four white black six grey brown orange")
    )
    assert not is_faithful(layout(cut), text)
    assert is_faithful(layout(table(("Alpha beta gamma delta", "One two three four five six"), (text[53:], ""))), text)


def test_a_layout_that_reads_prose_across_columns_is_not_trusted() -> None:
    words = ["".join(letters) for letters in product("abcdef", "ghijkl", "mnopqr")][:200]
    lines = [" ".join(words[at : at + 5]) for at in range(0, 200, 5)]
    across = " ".join(f"{left} {right}" for left, right in zip(lines[:20], lines[20:], strict=True))
    assert is_faithful(layout(Piece("paragraph", " ".join(lines), None)), "\n".join(lines))
    assert not is_faithful(layout(Piece("paragraph", across, None)), "\n".join(lines))
    labels = "\n".join(line.upper() for line in lines)  # a form: its values stand after all of its labels
    assert is_faithful(layout(Piece("paragraph", across.upper(), None)), labels)


def test_right_to_left_pages_are_read_by_pdfium() -> None:
    text = "تعتبر البرمجة بلغة R و Python من الأدوات القوية"
    assert not is_faithful(layout(Piece("paragraph", text, None)), text)
