import pytest
from epub_files import CONTAINER, make_epub, nav, opf, page, simple_epub
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parser_support import LIMITS, blocks_of, code_of, read

from mcp_knowledge.adapters.parsers.epub import parse
from mcp_knowledge.adapters.parsers.source import Limits, Source
from mcp_knowledge.domain.blocks import Block, Code, Heading, Image, ListBlock, Paragraph, SourceLocation, Table
from mcp_knowledge.errors import KnowledgeError


def told(blocks: list[Block]) -> list[tuple[str | None, str]]:
    return [(block.location.section, getattr(block, "text", "")) for block in blocks]


def test_chapters_come_in_the_order_of_the_spine_and_carry_their_title_from_the_navigation() -> None:
    data = make_epub(
        {
            "book.opf": opf(["nav.xhtml", "b.xhtml", "a.xhtml"], "<dc:title>The Whole Book</dc:title>"),
            "nav.xhtml": nav({"b.xhtml": "Beginning", "a.xhtml#top": "The End"}),
            "a.xhtml": page("<h2>End</h2><p>Last words.</p>"),
            "b.xhtml": page("<p>First words.</p><pre>x = 1\n  y</pre>"),
        }
    )
    document = read(data, "book.epub")
    assert document.title == "The Whole Book"
    assert told(list(document.blocks)) == [
        ("Beginning", "Beginning"),
        ("Beginning", "First words."),
        ("Beginning", "x = 1\n  y"),
        ("The End", "End"),
        ("The End", "Last words."),
    ]
    assert isinstance(document.blocks[0], Heading) and isinstance(document.blocks[2], Code)


def test_the_older_table_of_contents_gives_titles_too() -> None:
    ncx = (
        '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
        "<ncx><navMap><navPoint><navLabel><text>I. Down</text></navLabel><content src='text/c%201.html'/></navPoint>"
        "</navMap></ncx>"
    )
    item = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    data = make_epub(
        {
            "book.opf": opf(["text/c%201.html"], items=item),
            "toc.ncx": ncx,
            "text/c 1.html": page("<p>I. Down</p><p>Text.</p>"),
        }
    )
    blocks = blocks_of(data, "a.epub")
    assert told(blocks) == [("I. Down", "I. Down"), ("I. Down", "Text.")]
    assert isinstance(blocks[0], Heading)


def test_several_chapters_in_one_file_are_told_apart_by_their_headings() -> None:
    data = make_epub(
        {
            "book.opf": opf(["nav.xhtml", "all.xhtml", "rest.xhtml"]),
            "nav.xhtml": nav({"all.xhtml": "Front", "all.xhtml#c1": "Chapter 1", "all.xhtml#c2": "Chapter 2"}),
            "all.xhtml": page(
                "<p>Colophon.</p><h2>Chapter 1: Rain</h2><p>Wet.</p><h3>Aside</h3><h2>Chapter 2</h2><p>Dry.</p>"
            ),
            "rest.xhtml": page("<p>Still dry.</p>"),
        }
    )
    assert told(blocks_of(data, "a.epub")) == [
        ("Front", "Colophon."),
        ("Chapter 1", "Chapter 1: Rain"),
        ("Chapter 1", "Wet."),
        ("Chapter 1", "Aside"),
        ("Chapter 2", "Chapter 2"),
        ("Chapter 2", "Dry."),
        ("Chapter 2", "Still dry."),
    ]


def test_without_a_table_of_contents_headings_and_then_the_books_title_name_the_sections() -> None:
    data = make_epub(
        {
            "book.opf": opf(["p.xhtml", "a.xhtml", "b.xhtml"], "<dc:title>My Book</dc:title>"),
            "p.xhtml": page("<p>Preface.</p>"),
            "a.xhtml": page("<h1>Alpha</h1><p>A.</p>"),
            "b.xhtml": page("<p>More A.</p>"),
        }
    )
    assert told(blocks_of(data, "a.epub")) == [
        ("My Book", "Preface."),
        ("Alpha", "Alpha"),
        ("Alpha", "A."),
        ("Alpha", "More A."),
    ]


def test_cover_and_contents_are_left_out_and_notes_are_kept() -> None:
    guide = '<reference type="toc" href="contents.xhtml"/><reference type="cover" href="cover.xhtml"/>'
    data = make_epub(
        {
            "book.opf": opf(["cover.xhtml", "contents.xhtml", "c.xhtml"], guide=guide),
            "cover.xhtml": page('<img src="cover.jpg" alt="Cover"/>'),
            "contents.xhtml": page("<p>Contents</p><p><a href='c.xhtml'>Chapter</a></p>"),
            "c.xhtml": page(
                '<p>Text<a epub:type="noteref" href="#n">1</a>.</p><img alt="A map" src="m.png"/>'
                '<aside epub:type="footnote" id="n"><p>The note.</p></aside>'
            ),
        }
    )
    blocks = blocks_of(data, "a.epub")
    assert [getattr(block, "text", None) or getattr(block, "alt", "") for block in blocks] == [
        "Text[1].",
        "A map",
        "The note.",
    ]
    assert isinstance(blocks[1], Image)


def test_the_books_properties_become_metadata() -> None:
    stated = (
        "<dc:title>T. W.</dc:title><dc:creator>Ann A.</dc:creator><dc:creator>Bob B.</dc:creator>"
        "<dc:language>en</dc:language><dc:publisher>Press</dc:publisher><dc:date>2001-02-03</dc:date>"
    )
    data = make_epub({"book.opf": opf(["a.xhtml"], stated), "a.xhtml": page("<p>x</p>")})
    document = read(data, "a.epub")
    assert document.title == "T. W."
    assert document.metadata == {
        "author": "Ann A.; Bob B.",
        "language": "en",
        "publisher": "Press",
        "published": "2001-02-03",
    }


def test_what_programs_write_where_nothing_was_stated_is_left_out() -> None:
    stated = "<dc:title>Unknown Title</dc:title><dc:creator>Unknown Author</dc:creator>"
    body = '<h1>The Real One</h1><img alt="OEBPS/images/image0001.png" src="x"/><p>x</p>'
    document = read(make_epub({"book.opf": opf(["a.xhtml"], stated), "a.xhtml": page(body)}), "a.epub")
    assert (document.title, document.metadata) == ("The Real One", {})
    assert len(document.blocks) == 2


def test_empty_xhtml_elements_do_not_swallow_the_page() -> None:
    markup = (
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x.js"/></head>'
        "<body><a id='p1'/><p>All <b/>of <br/>it.</p><table><tr><td/><td>2</td></tr><tr><td>3</td><td>4</td></tr>"
        "</table></body></html>"
    )
    first, second = blocks_of(make_epub({"book.opf": opf(["a.xhtml"]), "a.xhtml": markup}), "a.epub")
    assert isinstance(first, Paragraph) and first.text == "All of\nit."
    assert isinstance(second, Table) and second.rows == (("", "2"), ("3", "4"))


@pytest.mark.parametrize(
    "parts",
    [
        {"book.opf": "<package><manifest>"},
        {"other.txt": "no package at all"},
        {"book.opf": opf(["missing.xhtml"])},
    ],
)
def test_without_a_usable_package_the_pages_come_by_name(parts: dict[str, str]) -> None:
    pages = {f"ch{n}.xhtml": page(f"<p>Text {n}.</p>") for n in (10, 9, 1)}
    data = make_epub({**parts, **pages})
    assert [text for _, text in told(blocks_of(data, "a.epub"))] == ["Text 1.", "Text 9.", "Text 10."]


def test_a_package_without_a_container_is_found() -> None:
    data = make_epub({"book.opf": opf(["a.xhtml"]), "a.xhtml": page("<ul><li>One</li></ul>")}, container="broken <")
    (block,) = blocks_of(data, "a.epub")
    assert isinstance(block, ListBlock)


def encryption(algorithm: str, uri: str) -> str:
    return (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc="http://www.w3.org/2001/04/xmlenc#">'
        f'<enc:EncryptedData><enc:EncryptionMethod Algorithm="{algorithm}"/><enc:CipherData>'
        f'<enc:CipherReference URI="{uri}"/></enc:CipherData></enc:EncryptedData></encryption>'
    )


def test_scrambled_fonts_do_not_make_a_book_encrypted_but_encrypted_pages_do() -> None:
    parts: dict[str, str | bytes] = {"book.opf": opf(["a.xhtml"]), "a.xhtml": page("<p>x</p>"), "f.otf": b"font"}
    fonts = encryption("http://www.idpf.org/2008/embedding", "OEBPS/f.otf")
    assert len(blocks_of(make_epub({**parts, "/META-INF/encryption.xml": fonts}), "a.epub")) == 1
    pages = encryption("http://www.w3.org/2001/04/xmlenc#aes256-cbc", "OEBPS/a.xhtml")
    assert code_of(make_epub({**parts, "/META-INF/encryption.xml": pages}), "a.epub") == "DOCUMENT_ENCRYPTED"


def test_a_book_without_text_is_empty() -> None:
    assert code_of(make_epub({"book.opf": opf(["a.xhtml"]), "a.xhtml": page("")}), "a.epub") == "DOCUMENT_EMPTY"


def test_a_page_that_inflates_beyond_the_ratio_is_refused() -> None:
    bomb = make_epub({"book.opf": opf(["a.xhtml"]), "a.xhtml": page("<p>" + " " * 8_000_000 + "</p>")})
    assert code_of(bomb, "a.epub") == "DOCUMENT_RESOURCE_LIMIT"


def test_a_package_of_bytes_that_are_no_zip_is_malformed() -> None:
    assert code_of(b"PK\x03\x04 nothing more", "a.epub") == "DOCUMENT_MALFORMED"
    assert code_of(b"plain text", "a.epub") == "DOCUMENT_MALFORMED"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_books_give_coded_errors_only(data: st.DataObject) -> None:
    whole = bytearray(simple_epub())
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(whole[: data.draw(st.integers(0, len(whole)))]) if data.draw(st.booleans()) else bytes(whole)
    try:
        parse(Source(damaged, "a.epub", Limits(**LIMITS)))
    except KnowledgeError as error:
        assert error.code in ("DOCUMENT_MALFORMED", "DOCUMENT_ENCRYPTED", "DOCUMENT_RESOURCE_LIMIT")


@settings(max_examples=100, deadline=None)
@given(
    st.text("<>/&;!abc \"'=-[]", max_size=80),
    st.sampled_from(["book.opf", "nav.xhtml", "a.xhtml", "/META-INF/encryption.xml", "container"]),
)
def test_books_with_any_markup_inside_give_coded_errors_only(markup: str, where: str) -> None:
    parts = {"book.opf": opf(["nav.xhtml", "a.xhtml"]), "nav.xhtml": nav({"a.xhtml": "A"}), "a.xhtml": page("<p>x</p>")}
    container = markup if where == "container" else CONTAINER
    try:
        parse(Source(make_epub({**parts, where: markup}, container), "a.epub", Limits(**LIMITS)))
    except KnowledgeError as error:
        assert error.code.startswith("DOCUMENT_")


def test_entries_that_a_program_counted_are_sections_but_no_headings_or_titles() -> None:
    data = make_epub(
        {
            "book.opf": opf(["nav.xhtml", "c.xhtml"]),
            "nav.xhtml": nav({"c.xhtml": "Section 1"}),
            "c.xhtml": page("<p>Text.</p>"),
        }
    )
    document = read(data, "a.epub")
    assert document.title is None
    assert document.blocks == (Paragraph("Text.", SourceLocation(section="Section 1")),)
