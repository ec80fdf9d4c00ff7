import zipfile

from hypothesis import given, settings
from hypothesis import strategies as st
from odp_files import SPACES, frame, listed, make_odp, notes, odp_parts, p, page, text_box, title
from parser_support import blocks_of, code_of, flipped, read
from pptx_files import zipped

from mcp_knowledge.domain.blocks import Block, Heading, Image, ListBlock, Paragraph, SourceLocation, Table
from mcp_knowledge.errors import KnowledgeError


def on(slide: int) -> SourceLocation:
    return SourceLocation(slide=slide)


def shown(*pages: str, parts: dict[str, str | bytes | None] | None = None) -> list[Block]:
    return blocks_of(make_odp(*pages, parts=parts), "deck.odp")


def texts(*pages: str) -> list[str]:
    return [block.text for block in shown(*pages) if isinstance(block, Heading | Paragraph)]


def test_slides_have_titles_lists_and_their_numbers() -> None:
    nested = p("grow") + listed("by ten percent")
    first = title("Goals") + text_box(listed(nested, "earn"), kind="outline")
    second = title("Plan") + text_box(
        p("A sentence."), listed("one", "two", style="numbers"), listed("x", style="plain")
    )
    assert shown(first, second) == [
        Heading(1, "Goals", on(1)),
        ListBlock(False, ("grow", "  by ten percent", "earn"), on(1)),
        Heading(1, "Plan", on(2)),
        Paragraph("A sentence.", on(2)),
        ListBlock(True, ("one", "two"), on(2)),
        Paragraph("x", on(2)),
    ]


def test_blanks_tabs_breaks_links_and_fields_are_text() -> None:
    rich = (
        'a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d <text:a>link</text:a>\n   <text:span>e</text:span>'
        "<text:page-number>7</text:page-number>"
    )
    assert texts(title("T") + text_box(p(rich))) == ["T", "a   b\tc\nd link e"]


def test_prompts_and_furniture_are_left_out() -> None:
    furniture = "".join(text_box("noise", kind=kind) for kind in ("footer", "header", "date-time", "page-number"))
    furniture += text_box("noise", attributes='draw:name="Footer Placeholder 4"')
    prompt = text_box("Click to add text", kind="outline", attributes='presentation:placeholder="true"')
    assert texts(title("T") + furniture + prompt) == ["T"]


def test_notes_comments_and_hidden_slides() -> None:
    comment = "<office:annotation><dc:creator>Bob</dc:creator><dc:date>2024-01-01</dc:date><text:p>Why?</text:p>"
    first = title("First") + notes("Say it.", "Wait.") + comment + "</office:annotation>"
    document = read(make_odp(first, page(title("Secret"), "hidden"), title("Third")), "deck.odp")
    assert list(document.blocks) == [
        Heading(1, "First", on(1)),
        Paragraph("Notes: Say it.\nWait.", on(1)),
        Paragraph("[Comment by Bob: Why?]", on(1)),
        Heading(1, "Third", on(3)),
    ]
    assert document.metadata == {"slides": 3, "hiddenSlides": [2]}


def test_shapes_and_groups_are_read_in_order() -> None:
    low = "<draw:custom-shape svg:x='1cm' svg:y='9cm' svg:width='9cm' svg:height='2cm'><text:p>low</text:p>"
    inside = text_box("high", at=(1, 5, 9, 2)) + "<draw:rect><text:p>loose</text:p></draw:rect>"
    shapes = low + "</draw:custom-shape>" + f"<draw:g>{inside}</draw:g>"
    assert texts(title("T") + shapes) == ["T", "high", "loose", "low"]


def table(*rows: str, attributes: str = "") -> str:
    inner = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return frame(f"<table:table {attributes}>{inner}</table:table>")


def cell(text: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}>{p(text)}</table:table-cell>"


COVERED = "<table:covered-table-cell/>"


def test_tables_keep_their_columns_when_cells_are_merged() -> None:
    merged = table(
        cell("Name") + cell("Size", 'table:number-columns-spanned="2"') + COVERED,
        cell("duck", 'table:number-rows-spanned="2"') + cell("1") + cell("cm"),
        COVERED + cell("2") + cell("cm"),
        attributes='table:use-first-row-styles="true"',
    )
    assert shown(merged) == [Table(("Name", "Size", "Size"), (("duck", "1", "cm"), ("duck", "2", "cm")), on(1))]
    repeated = table(cell("a", 'table:number-columns-repeated="3"'))
    assert shown(repeated) == [Table(None, (("a", "a", "a"),), on(1))]


def test_a_table_that_repeats_itself_without_end_is_refused() -> None:
    wide = table(cell("a", 'table:number-columns-repeated="99999999"'))
    assert code_of(make_odp(wide), "a.odp") == "DOCUMENT_RESOURCE_LIMIT"
    rows = f"<table:table-row table:number-rows-repeated='9999999'>{cell('a')}</table:table-row>"
    assert code_of(make_odp(frame(f"<table:table>{rows}</table:table>")), "a.odp") == "DOCUMENT_RESOURCE_LIMIT"


def test_charts_are_their_title_and_values() -> None:
    rows = f"<table:table-row>{cell('')}{cell('Wild')}{cell('Tame')}</table:table-row>"
    values = f"<table:table-row>{cell('May')}{cell('3')}{cell('NaN')}</table:table-row>"
    inner = f"<table:table><table:table-header-rows>{rows}</table:table-header-rows>{values}</table:table>"
    chart = (
        f"<office:document-content {SPACES}><office:body><office:chart><chart:chart><chart:title>{p('Ducks')}"
        f"</chart:title>{inner}</chart:chart></office:chart></office:body></office:document-content>"
    )
    slide = frame('<draw:object xlink:href="./Object 1"><text:p/></draw:object>')
    assert shown(slide, parts={"Object 1/content.xml": chart}) == [
        Paragraph("Ducks", on(1)),
        Table(("", "Wild", "Tame"), (("May", "3", ""),), on(1)),
    ]
    assert shown(title("T") + slide, parts={"Object 1/content.xml": "<broken"}) == [Heading(1, "T", on(1))]


def test_pictures_are_known_by_their_description() -> None:
    image = frame('<draw:image xlink:href="Pictures/1.png"/><svg:desc>A duck on a pond</svg:desc>')
    assert shown(title("T") + image) == [Heading(1, "T", on(1)), Image("A duck on a pond", on(1))]


def test_slides_that_are_pictures_need_ocr() -> None:
    layout = (
        "<style:page-layout style:name='L'><style:page-layout-properties fo:page-width='28cm' fo:page-height='21cm'/>"
        "</style:page-layout>"
    )
    masters = "<office:master-styles><style:master-page style:name='Main' style:page-layout-name='L'/>"
    styles = f"<office:document-styles {SPACES}>{layout}{masters}</office:master-styles></office:document-styles>"
    scan = frame('<draw:image xlink:href="Pictures/1.png"/>', at=(0, 0, 28, 21))
    assert code_of(make_odp(scan, parts={"styles.xml": styles}), "a.odp") == "DOCUMENT_NEEDS_OCR"
    document = read(make_odp(title("Read"), scan, parts={"styles.xml": styles}), "a.odp")
    assert document.metadata == {"slides": 2, "slidesNeedingOcr": [2]}


def test_encrypted_presentations_say_so() -> None:
    manifest = "<manifest:encryption-data xmlns:manifest='urn:x'/>"
    data = make_odp(title("T"), parts={"META-INF/manifest.xml": manifest, "content.xml": b"\x8a\x00"})
    assert code_of(data, "a.odp") == "DOCUMENT_ENCRYPTED"


def test_damaged_presentations_are_malformed_or_lose_only_what_is_damaged() -> None:
    assert code_of(make_odp(title("T"), parts={"content.xml": None}), "a.odp") == "DOCUMENT_MALFORMED"
    assert code_of(make_odp(title("T"), parts={"content.xml": "<office"}), "a.odp") == "DOCUMENT_MALFORMED"
    whole = odp_parts(title("One"), title("Two") + text_box("lost"))["content.xml"]
    assert isinstance(whole, str)
    cut = read(make_odp(parts={"content.xml": whole[: whole.index("lost")]}), "a.odp")
    assert list(cut.blocks) == [Heading(1, "One", on(1)), Heading(1, "Two", on(2))]
    assert cut.metadata["damagedSlides"] == [2]
    broken = whole.replace("lost", "kept</text:x>lost")
    three = broken.replace("</office:presentation>", page(title("Three")) + "</office:presentation>")
    rest = read(make_odp(parts={"content.xml": three}), "a.odp")
    assert [(block.location.slide, block.text) for block in rest.blocks if isinstance(block, Heading)] == [
        (1, "One"),
        (2, "Two"),
        (3, "Three"),
    ]
    assert rest.metadata["damagedSlides"] == [2]
    assert shown(title("T"), parts={"styles.xml": "<office"}) == [Heading(1, "T", on(1))]
    assert code_of(make_odp(""), "a.odp") == "DOCUMENT_EMPTY"


def test_more_slides_than_pages_allowed_are_refused() -> None:
    assert code_of(make_odp(*[title("T")] * 501), "a.odp") == "DOCUMENT_RESOURCE_LIMIT"


def test_deep_lists_groups_and_spans_do_no_harm() -> None:
    spans = "<text:span>" * 5_000 + "deep" + "</text:span>" * 5_000
    items = "<text:list><text:list-item>" * 5_000 + p("item") + "</text:list-item></text:list>" * 5_000
    groups = "<draw:g>" * 5_000 + text_box("group") + "</draw:g>" * 5_000
    assert texts(title("T") + text_box(p(spans)) + groups) == ["T", "deep", "group"]
    (deep,) = shown(text_box(items))
    assert isinstance(deep, ListBlock) and "item" in deep.items[0]


SAMPLE = odp_parts(title("T") + table(cell("a") + COVERED) + notes("n"), text_box(listed("x")))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["content.xml", "styles.xml"]),
    st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 255)), max_size=12),
)
def test_damaged_parts_end_in_a_document_or_a_code(name: str, flips: list[tuple[int, int]]) -> None:
    part = SAMPLE[name]
    assert isinstance(part, str)
    data = flipped(part.encode(), flips)
    try:
        blocks = blocks_of(zipped({**SAMPLE, name: data}, zipfile.ZIP_STORED), "a.odp")
    except KnowledgeError as error:
        assert error.code in {"DOCUMENT_MALFORMED", "DOCUMENT_EMPTY"}
    else:
        assert {block.location.slide for block in blocks} <= {1, 2}
