import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odt_files import make_odt
from parser_support import blocks_of, code_of, read, read_or_refuse

from mcp_knowledge.domain.blocks import Code, Heading, ListBlock, Paragraph, Table

HIDING = '<style:style style:name="Ghost" style:family="{}"><style:text-properties text:display="none"/></style:style>'


def test_headings_lists_tables_code_and_properties_are_read() -> None:
    body = (
        '<text:p text:style-name="Title">Yearly report</text:p>'
        '<text:h text:outline-level="2">Figures</text:h><text:p>Plain <text:span>text</text:span>.</text:p>'
        "<text:list><text:list-item><text:p>one</text:p></text:list-item>"
        "<text:list-item><text:p>two</text:p></text:list-item></text:list>"
        "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Name</text:p>"
        "</table:table-cell><table:table-cell><text:p>Size</text:p></table:table-cell></table:table-row>"
        '</table:table-header-rows><table:table-row><table:table-cell table:number-rows-spanned="2">'
        "<text:p>duck</text:p></table:table-cell><table:table-cell><text:p>1</text:p></table:table-cell>"
        "</table:table-row><table:table-row><table:covered-table-cell/><table:table-cell><text:p>2</text:p>"
        "</table:table-cell></table:table-row></table:table>"
        '<text:p text:style-name="Preformatted_20_Text">if x:</text:p>'
    )
    meta = (
        "<dc:title>Report 2025</dc:title><meta:initial-creator>Ann</meta:initial-creator><dc:creator>Bob</dc:creator>"
        "<meta:keyword>ducks</meta:keyword><meta:keyword>ponds</meta:keyword><dc:language>en-GB</dc:language>"
        "<meta:creation-date>2025-01-02T03:04:05.678</meta:creation-date><dc:date>2025-02-01T00:00:00</dc:date>"
        '<meta:document-statistic meta:page-count="3"/>'
    )
    styles = (
        '<style:style style:name="Preformatted_20_Text" style:display-name="Preformatted Text" '
        'style:family="paragraph"/>'
    )
    document = read(make_odt(body, styles, meta), "a.odt")
    assert document.title == "Report 2025"
    assert document.metadata == {
        "author": "Ann",
        "keywords": "ducks, ponds",
        "language": "en-GB",
        "created": "2025-01-02T03:04:05",
        "modified": "2025-02-01T00:00:00",
        "pages": 3,
    }
    assert list(document.blocks) == [
        Heading(1, "Yearly report"),
        Heading(2, "Figures"),
        Paragraph("Plain text."),
        ListBlock(False, ("one", "two")),
        Table(("Name", "Size"), (("duck", "1"), ("duck", "2"))),
        Code("if x:"),
    ]


def test_without_a_title_property_the_first_heading_is_the_title() -> None:
    assert read(make_odt('<text:h text:outline-level="1">Ponds</text:h>'), "a.odt").title == "Ponds"


@pytest.mark.parametrize(
    ("hidden", "styles"),
    [
        ('<text:p text:style-name="Ghost">SECRET</text:p>', HIDING.format("paragraph")),
        ('<text:p><text:span text:style-name="Ghost">SECRET</text:span></text:p>', HIDING.format("text")),
        (
            '<text:p text:style-name="Heir">SECRET</text:p>',
            HIDING.format("paragraph")
            + '<style:style style:name="Heir" style:family="paragraph" style:parent-style-name="Ghost"/>',
        ),
        ('<text:section text:display="none"><text:p>SECRET</text:p></text:section>', ""),
        ('<text:section text:display="condition" text:is-hidden="true"><text:p>SECRET</text:p></text:section>', ""),
        ('<text:p><text:hidden-text text:is-hidden="true">SECRET</text:hidden-text></text:p>', ""),
        ('<text:p>SECRET<text:hidden-paragraph text:is-hidden="true"/></text:p>', ""),
        (
            "<text:tracked-changes><text:changed-region><text:deletion><text:p>SECRET</text:p></text:deletion>"
            "</text:changed-region></text:tracked-changes>",
            "",
        ),
    ],
)
def test_hidden_and_deleted_text_is_left_out(hidden: str, styles: str) -> None:
    assert blocks_of(make_odt(hidden + "<text:p>seen</text:p>", styles), "a.odt") == [Paragraph("seen")]


def test_a_document_of_which_all_is_hidden_is_read_all_the_same() -> None:
    hidden = '<text:p text:style-name="Ghost">Nothing else</text:p>'
    assert blocks_of(make_odt(hidden, HIDING.format("paragraph")), "a.odt") == [Paragraph("Nothing else")]


def test_notes_and_comments_come_after_their_paragraph() -> None:
    body = (
        "<text:p>A claim<office:annotation><dc:creator>Bob</dc:creator><dc:date>2025-01-01T00:00:00</dc:date>"
        "<text:p>Is this &lt;true&gt;?</text:p><text:p>Ask.</text:p></office:annotation> of mine"
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body>'
        "<text:p>A note.</text:p></text:note-body></text:note>.</text:p><text:p>Next.</text:p>"
    )
    assert blocks_of(make_odt(body), "a.odt") == [
        Paragraph("A claim of mine[1]."),
        Paragraph("[Comment by Bob: Is this <true>? Ask.]"),
        Paragraph("[1] A note."),
        Paragraph("Next."),
    ]


def test_text_in_shapes_frames_and_indexes_is_kept_in_paragraphs_of_its_own() -> None:
    body = (
        "<draw:frame><draw:text-box><text:p>page box</text:p></draw:text-box></draw:frame>"
        "<text:p>before<draw:custom-shape><text:p>shape one</text:p><text:p>shape two</text:p>"
        '<draw:enhanced-geometry draw:type="a&gt;b"/></draw:custom-shape></text:p>'
        "<text:user-index><text:index-body><text:p>entry 7</text:p></text:index-body></text:user-index>"
        "<text:numbered-paragraph><text:p>numbered</text:p></text:numbered-paragraph>"
    )
    texts = ["page box", "before", "shape one", "shape two", "entry 7", "numbered"]
    assert blocks_of(make_odt(body), "a.odt") == [Paragraph(text) for text in texts]


def test_what_is_filled_into_a_form_is_found() -> None:
    body = (
        '<office:forms><form:form><form:text form:id="c1" form:current-value="Ann"/>'
        '<form:checkbox form:id="c2" form:label="Agreed" form:current-state="checked"/></form:form></office:forms>'
        '<text:p>Name:<draw:control draw:control="c1"/><draw:control draw:control="c2"/></text:p>'
    )
    (paragraph,) = blocks_of(make_odt(body), "a.odt")
    assert isinstance(paragraph, Paragraph)
    assert paragraph.text.split() == ["Name:", "Ann", "[x]", "Agreed"]


def test_headings_that_are_numbered_as_a_list_are_headings() -> None:
    body = (
        '<text:list><text:list-item><text:h text:outline-level="1">Water</text:h></text:list-item></text:list>'
        "<text:p>Text</text:p><text:list><text:list-item><text:list><text:list-item>"
        '<text:h text:outline-level="2">Depth</text:h></text:list-item></text:list></text:list-item></text:list>'
    )
    assert blocks_of(make_odt(body), "a.odt") == [Heading(1, "Water"), Paragraph("Text"), Heading(2, "Depth")]


def test_a_list_that_goes_on_after_a_paragraph_inside_an_item_keeps_its_numbers() -> None:
    levels = "".join(
        f'<text:list-level-style-number text:level="{level}" style:num-format="1" text:display-levels="{level}"/>'
        for level in (1, 2)
    )
    item = "<text:list-item><text:p>{}</text:p>{}</text:list-item>".format
    inner = "<text:list>{}</text:list>".format
    outer = '<text:list text:style-name="L"{}>{}</text:list>'.format
    goes_on = ' text:continue-numbering="true"'
    body = (
        outer("", item("Ponds", inner(item("Water", ""))))
        + "<text:p>Between.</text:p>"
        + outer(goes_on, f"<text:list-item>{inner(item('Reed', ''))}</text:list-item>")
        + "<text:p>Between.</text:p>"
        + outer(goes_on, item("Ducks", inner(item("Food", ""))))
    )
    styles = f'<text:list-style style:name="L">{levels}</text:list-style>'
    lists = [block.items for block in blocks_of(make_odt(body, styles), "a.odt") if isinstance(block, ListBlock)]
    numbers = [[item.split()[0] for item in items if item.split()[0][0].isdigit()] for items in lists]
    assert numbers == [["1", "1.1"], ["1.2"], ["2", "2.1"]]


def test_an_encrypted_package_says_so() -> None:
    manifest = (
        b'<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
        b'manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry></manifest:manifest>'
    )
    data = make_odt("<text:p>x</text:p>", extra={"META-INF/manifest.xml": manifest, "content.xml": b"\x00\xff"})
    assert code_of(data, "a.odt") == "DOCUMENT_ENCRYPTED"


def test_a_zip_bomb_inside_is_refused_while_it_inflates() -> None:
    bomb = make_odt("<text:p>x</text:p>", extra={"styles.xml": b" " * 20_000_000})
    assert len(bomb) < 100_000
    assert code_of(bomb, "a.odt") == "DOCUMENT_RESOURCE_LIMIT"


def test_damaged_packages_are_malformed_and_empty_ones_empty() -> None:
    data = make_odt("<text:p>x</text:p>")
    assert code_of(data[: len(data) // 2], "a.odt") == "DOCUMENT_MALFORMED"
    assert code_of(make_odt("", extra={"content.xml": b"<office:document-content"}), "a.odt") == "DOCUMENT_MALFORMED"
    assert code_of(make_odt("<text:p/>"), "a.odt") == "DOCUMENT_EMPTY"


SAMPLE = make_odt(
    "<text:p>A<office:annotation><text:p>b</text:p></office:annotation></text:p><text:list><text:list-item><text:p>c"
    "</text:p></text:list-item></text:list>"
)


@given(st.integers(0, len(SAMPLE) - 1), st.binary(min_size=1, max_size=8))
@settings(deadline=None)
def test_flipped_bytes_never_raise_anything_but_a_coded_error(start: int, damage: bytes) -> None:
    read_or_refuse(SAMPLE[:start] + damage + SAMPLE[start + len(damage) :], "a.odt")


def test_paragraphs_in_a_typewriter_face_are_code_with_its_lines_and_indentation() -> None:
    styles = (
        '<style:style style:name="mono" style:family="text"><style:text-properties style:font-name="Courier New"/>'
        '</style:style><style:style style:name="block" style:family="paragraph">'
        "<style:text-properties style:font-name=\"'DejaVu Sans Mono'\"/></style:style>"
        '<style:style style:name="heir" style:family="paragraph" style:parent-style-name="block"/>'
        '<style:style style:name="serif" style:family="text"><style:text-properties style:font-name="Times"/>'
        "</style:style>"
    )
    body = (
        '<text:p>Call <text:span text:style-name="mono">f()</text:span> now.</text:p>'
        '<text:p><text:span text:style-name="mono">def f():</text:span></text:p>'
        '<text:p text:style-name="heir"><text:s text:c="4"/>return 1</text:p>'
        '<text:p text:style-name="block"><text:span text:style-name="serif">x = {1};</text:span></text:p>'
    )
    assert blocks_of(make_odt(body, styles), "a.odt") == [
        Paragraph("Call f() now."), Code("def f():\n    return 1"), Paragraph("x = {1};"),
    ]  # fmt: skip
