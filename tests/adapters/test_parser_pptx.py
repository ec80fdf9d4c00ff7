import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parser_support import blocks_of, code_of, flipped, read
from pptx_files import (
    LAYOUT,
    MASTER,
    SPACES,
    Page,
    body,
    cell,
    graphic,
    group,
    line,
    make_pptx,
    page_xml,
    picture,
    pptx_parts,
    shape,
    slide_name,
    table,
    title,
    zipped,
)

from mcp_knowledge.domain.blocks import Block, Heading, Image, ListBlock, Paragraph, SourceLocation, Table
from mcp_knowledge.errors import KnowledgeError


def on(slide: int) -> SourceLocation:
    return SourceLocation(slide=slide)


def shown(*slides: str | Page, parts: dict[str, str | bytes | None] | None = None) -> list[Block]:
    return blocks_of(make_pptx(*slides, parts=parts), "deck.pptx")


def texts(*slides: str | Page, parts: dict[str, str | bytes | None] | None = None) -> list[str]:
    return [block.text for block in shown(*slides, parts=parts) if isinstance(block, Heading | Paragraph)]


def test_slides_come_in_the_order_of_presentation_with_titles_bullets_and_their_numbers() -> None:
    first = title("Goals") + body(line("grow"), line("by ten percent", 1), line("earn"))
    second = title("Plan") + body(line("A sentence.", bullet="<a:buNone/>"), line("one", bullet="<a:buAutoNum/>"))
    assert shown(first, second) == [
        Heading(1, "Goals", on(1)),
        ListBlock(False, ("grow", "  by ten percent", "earn"), on(1)),
        Heading(1, "Plan", on(2)),
        Paragraph("A sentence.", on(2)),
        ListBlock(True, ("one",), on(2)),
    ]


def test_prompts_footers_dates_and_slide_numbers_are_left_out() -> None:
    number = '<a:p><a:r><a:t>Page </a:t></a:r><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p>'
    furniture = "".join(shape("noise", place=f'type="{kind}"') for kind in ("dt", "ftr", "sldNum"))
    assert texts(title("Goals") + furniture + shape(number) + shape("hidden", attributes='hidden="1"')) == [
        "Goals",
        "Page",
    ]


def test_the_title_is_the_property_else_the_first_slides_title() -> None:
    def core(text: str) -> dict[str, str | bytes | None]:
        names = (
            'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
            'xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
        )
        return {
            "docProps/core.xml": f"<cp:coreProperties {names}><dc:title>{text}</dc:title><dc:creator>Ann</dc:creator>"
            "<dcterms:created>2024-05-01T10:00:00Z</dcterms:created></cp:coreProperties>"
        }

    stated = read(make_pptx(title("Goals"), parts=core("Year Plan")), "deck.pptx")
    assert stated.title == "Year Plan"
    assert stated.metadata == {"author": "Ann", "created": "2024-05-01T10:00:00Z", "slides": 1}
    assert read(make_pptx(title("Goals"), parts=core("PowerPoint Presentation")), "deck.pptx").title == "Goals"
    assert read(make_pptx(shape("no title here."), title("Late")), "deck.pptx").title is None


def test_a_line_over_everything_else_is_the_title_of_a_slide_that_states_none() -> None:
    below = shape("A whole text that stands below.", at=(1, 6, 22, 8))
    assert isinstance(shown(below + shape("Our Goals", at=(1, 1, 23, 2)))[0], Heading)
    assert isinstance(shown(below + shape("A sentence ends here.", at=(1, 1, 23, 2)))[0], Paragraph)
    assert isinstance(shown(below + shape("small", at=(1, 1, 3, 1)))[0], Paragraph)


def test_the_line_in_the_largest_letters_is_the_title_of_a_slide_that_states_none() -> None:
    def sized(text: str, points: int, top: float, width: float = 3) -> str:
        run = f'<a:p><a:r><a:rPr sz="{points * 100}"/><a:t>{text}</a:t></a:r></a:p>'
        return shape(run, at=(1, top, width, 1))

    logo, text = sized("ACME", 12, 0), sized("Some words about ducks", 18, 9, width=20)
    assert isinstance(shown(logo + text + sized("Our Goals", 40, 3))[0], Heading)
    assert not any(isinstance(block, Heading) for block in shown(logo + text + sized("Our Goals", 20, 3)))
    assert not any(isinstance(block, Heading) for block in shown(logo + text + sized("42", 40, 15)))
    assert shown(shape("Alone")) == [Heading(1, "Alone", on(1))]


def test_text_boxes_are_read_from_top_to_bottom_and_from_left_to_right() -> None:
    columns = (
        shape("left below", at=(1, 12, 10, 4)),
        shape("right above", at=(13, 5, 10, 4)),
        shape("right below", at=(13, 12, 10, 4)),
        shape("left above", at=(1, 5, 10, 4)),
    )
    assert texts(title("T") + "".join(columns)) == ["T", "left above", "left below", "right above", "right below"]
    in_order = shape("one", at=(1, 5, 10, 4)), shape("two", at=(1, 12, 10, 4)), shape("three", at=(13, 5, 10, 11))
    assert texts("".join(in_order)) == ["one", "two", "three"]
    assert texts("".join(reversed(in_order))) == ["one", "two", "three"]


def test_right_to_left_slides_are_read_from_the_right() -> None:
    def arabic(text: str, left: float) -> str:
        return shape(f'<a:p><a:pPr rtl="1"/><a:r><a:t>{text}</a:t></a:r></a:p>', at=(left, 5, 10, 4))

    assert texts(arabic("ثانيا", 1) + arabic("أولا", 13)) == ["أولا", "ثانيا"]


def test_groups_in_groups_are_read() -> None:
    assert texts(group(shape("outer"), group(shape("inner")))) == ["outer", "inner"]
    deep = shape("deepest")
    for _ in range(200):
        deep = group(deep)
    assert texts(deep) == ["deepest"]


def test_tables_keep_their_columns_when_cells_are_merged() -> None:
    rows = (
        ["Name", cell("Size", 'gridSpan="2"'), cell("", 'hMerge="1"')],
        [cell("duck", 'rowSpan="2"'), "1", "cm"],
        [cell("", 'vMerge="1"'), "2", "cm"],
    )
    assert shown(table(*rows)) == [
        Table(("Name", "Size", "Size"), (("duck", "1", "cm"), ("duck", "2", "cm")), on(1)),
    ]
    assert shown(table(["a", "b"], ["c", "d"], first_row=False)) == [Table(None, (("a", "b"), ("c", "d")), on(1))]


def points(kind: str, *values: str, code: str = "") -> str:
    """Cached values of a chart; an empty one is left out."""
    inner = "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values) if value)
    return f"<c:{kind}Ref><c:{kind}Cache><c:formatCode>{code}</c:formatCode>{inner}</c:{kind}Cache></c:{kind}Ref>"


def rich_title(text: str) -> str:
    return f"<c:title><c:tx><c:rich>{line(text)}</c:rich></c:tx></c:title>"


def chart_space(head: str, series: str, axes: str = "") -> str:
    plot = f"<c:plotArea><c:barChart>{series}</c:barChart>{axes}</c:plotArea>"
    return f"<c:chartSpace {SPACES}><c:chart>{head}{plot}</c:chart></c:chartSpace>"


CHART = chart_space(
    rich_title("Ducks seen"),
    f"<c:ser><c:tx>{points('str', 'Wild')}</c:tx><c:cat>{points('str', 'May', 'June')}</c:cat>"
    f"<c:val>{points('num', '', '0.5', code='0%')}</c:val></c:ser><c:ser><c:tx><c:v>Tame</c:v></c:tx><c:val><c:numLit>"
    '<c:pt idx="0"><c:v>12.000000000000002</c:v></c:pt></c:numLit></c:val></c:ser>',
    f"<c:catAx>{rich_title('Month')}</c:catAx><c:valAx>{rich_title('Thousands')}</c:valAx>",
)


def test_charts_become_their_title_and_a_table_of_their_values() -> None:
    slide = Page(graphic('<c:chart r:id="c1"/>'), [("c1", "chart", "../charts/chart1.xml")])
    assert shown(slide, parts={"ppt/charts/chart1.xml": CHART}) == [
        Paragraph("Ducks seen", on(1)),
        Paragraph("Thousands", on(1)),
        Table(("Month", "Wild", "Tame"), (("May", "", "12"), ("June", "50%", "")), on(1)),
    ]


def test_newer_charts_are_read_too() -> None:
    def dimension(kind: str, *values: str) -> str:
        inner = "".join(f'<c:pt idx="{at}">{value}</c:pt>' for at, value in enumerate(values))
        return f"<c:{kind}Dim><c:lvl>{inner}</c:lvl></c:{kind}Dim>"

    data = f"<c:chartData><c:data>{dimension('str', 'May', 'June')}{dimension('num', '3', '4')}</c:data></c:chartData>"
    head = "<c:chart><c:title><c:tx><c:txData><c:v>Ducks</c:v></c:txData></c:tx></c:title></c:chart>"
    slide = Page(graphic('<c:chart r:id="c1"/>'), [("c1", "chartEx", "../charts/chartEx1.xml")])
    chart = f"<c:chartSpace {SPACES}>{data}{head}</c:chartSpace>"
    assert shown(slide, parts={"ppt/charts/chartEx1.xml": chart}) == [
        Paragraph("Ducks", on(1)),
        Table(None, (("May", "3"), ("June", "4")), on(1)),
    ]


def test_chart_dates_are_dates_and_grouped_categories_are_joined() -> None:
    levels = "".join(
        f'<c:lvl><c:pt idx="0"><c:v>{first}</c:v></c:pt>{more}</c:lvl>'
        for first, more in (("Q1", '<c:pt idx="1"><c:v>Q2</c:v></c:pt>'), ("2024", ""))
    )
    categories = f"<c:multiLvlStrRef><c:multiLvlStrCache>{levels}</c:multiLvlStrCache></c:multiLvlStrRef>"
    values = points("num", "45000", "45000.5", code="yyyy\\-mm\\-dd")
    chart = chart_space(
        "", f"<c:ser><c:tx><c:v>Due</c:v></c:tx><c:cat>{categories}</c:cat><c:val>{values}</c:val></c:ser>"
    )
    slide = Page(graphic('<c:chart r:id="c1"/>'), [("c1", "chart", "../charts/chart1.xml")])
    assert shown(slide, parts={"ppt/charts/chart1.xml": chart}) == [
        Table(("", "Due"), (("2024 / Q1", "2023-03-15"), ("2024 / Q2", "2023-03-15 12:00")), on(1)),
    ]


def test_diagrams_become_outlines_and_circles_in_them_end() -> None:
    def point(name: str, kind: str = "node") -> str:
        text = f"<dgm:t><a:p><a:r><a:t>{name}</a:t></a:r></a:p></dgm:t>" if kind == "node" else ""
        return f'<dgm:pt modelId="{name}" type="{kind}">{text}</dgm:pt>'

    links = [("root", "Chief", 0), ("Chief", "Second", 1), ("Chief", "First", 0), ("First", "Chief", 0)]
    data = (
        f"<dgm:dataModel {SPACES}><dgm:ptLst>{point('root', 'doc')}{point('x', 'pres')}"
        + "".join(map(point, ("Second", "First", "Chief", "Loose")))
        + "</dgm:ptLst><dgm:cxnLst>"
        + "".join(f'<dgm:cxn srcId="{a}" destId="{b}" srcOrd="{n}"/>' for a, b, n in links)
        + "</dgm:cxnLst></dgm:dataModel>"
    )
    slide = Page(graphic('<dgm:relIds r:dm="d1"/>'), [("d1", "diagramData", "../diagrams/data1.xml")])
    assert shown(slide, parts={"ppt/diagrams/data1.xml": data}) == [
        ListBlock(False, ("Chief", "  First", "  Second", "Loose"), on(1))
    ]


def test_notes_and_comments_follow_the_text_and_are_marked() -> None:
    notes = page_xml(
        shape("", place='type="sldImg"')
        + shape("Say it slowly.", "Then wait.", place='type="body" idx="1"')
        + shape("3", place='type="sldNum"'),
        "notes",
    )
    links = [("n", "notesSlide", "../notesSlides/n1.xml"), ("c", "comments", "../comments/comment1.xml")]
    parts: dict[str, str | bytes | None] = {
        "ppt/notesSlides/n1.xml": notes,
        "ppt/comments/comment1.xml": f'<p:cmLst {SPACES}><p:cm authorId="4"><p:text>Is this\ntrue?</p:text></p:cm>'
        "</p:cmLst>",
        "ppt/commentAuthors.xml": f'<p:cmAuthorLst {SPACES}><p:cmAuthor id="4" name="Bob"/></p:cmAuthorLst>',
    }
    assert texts(Page(title("Claims"), links), title("Next"), parts=parts) == [
        "Claims",
        "Notes: Say it slowly.\nThen wait.",
        "[Comment by Bob: Is this true?]",
        "Next",
    ]


def test_threaded_comments_are_read_with_their_answers() -> None:
    space = 'xmlns:n="http://schemas.microsoft.com/office/powerpoint/2018/8/main"'
    comments = (
        f'<n:cmLst {space} {SPACES}><n:cm authorId="{{A}}"><n:replyLst><n:reply authorId="{{X}}"><n:txBody>'
        f"{line('Yes.')}</n:txBody></n:reply></n:replyLst><n:txBody>{line('Sure?')}</n:txBody></n:cm></n:cmLst>"
    )
    slide = Page(title("T"), [("c", "comments", "../comments/modernComment_1.xml")])
    parts: dict[str, str | bytes | None] = {
        "ppt/comments/modernComment_1.xml": comments,
        "ppt/commentAuthors.xml": f'<n:authorLst {space}><n:author id="{{A}}" name="Ann"/></n:authorLst>',
    }
    assert texts(slide, parts=parts) == ["T", "[Comment by Ann: Sure?]", "[Comment: Yes.]"]


def test_hidden_slides_are_left_out_and_still_count() -> None:
    data = make_pptx(title("First"), Page(title("Secret"), attributes='show="0"'), title("Third"))
    document = read(data, "deck.pptx")
    assert [(block.text, block.location.slide) for block in document.blocks if isinstance(block, Heading)] == [
        ("First", 1),
        ("Third", 3),
    ]
    assert document.metadata == {"slides": 3, "hiddenSlides": [2]}


def test_a_presentation_of_hidden_slides_only_is_read() -> None:
    assert texts(Page(title("Secret"), attributes='show="0"')) == ["Secret"]


def test_pictures_are_known_by_what_a_person_wrote_about_them() -> None:
    slide = title("T") + picture("A duck on a pond. Description automatically generated") + picture("image1.png")
    assert shown(slide + picture("Picture 3") + picture("")) == [
        Heading(1, "T", on(1)),
        Image("A duck on a pond.", on(1)),
    ]
    assert shown(picture("python-powered.png")) == [Image("python-powered.png", on(1))]


def test_slides_that_are_pictures_need_ocr() -> None:
    scan = picture("", at=(0, 0, 24, 18))
    assert code_of(make_pptx(scan, ""), "a.pptx") == "DOCUMENT_NEEDS_OCR"
    assert code_of(make_pptx(picture("", at=(0, 0, 5, 5))), "a.pptx") == "DOCUMENT_EMPTY"
    film = scan.replace("<p:nvPr/>", '<p:nvPr><a:videoFile r:link="x"/></p:nvPr>')
    assert code_of(make_pptx(film), "a.pptx") == "DOCUMENT_EMPTY"
    document = read(make_pptx(title("Read") + scan, scan), "a.pptx")
    assert document.metadata == {"slides": 2, "slidesNeedingOcr": [2]}


def test_masters_are_read_only_when_the_slides_have_no_text() -> None:
    master = MASTER.replace("</p:spTree>", shape("Company Confidential") + "</p:spTree>")
    parts: dict[str, str | bytes | None] = {"ppt/slideMasters/master.xml": master}
    assert texts(title("Own"), parts=parts) == ["Own"]
    assert texts("", "", parts=parts) == ["Company Confidential"]
    assert texts(shape("All rights reserved", place='type="ftr"')) == ["All rights reserved"]
    assert code_of(make_pptx("", ""), "a.pptx") == "DOCUMENT_EMPTY"


def test_formulas_are_latex() -> None:
    formula = (
        "<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath>"
    )
    choice = f"<mc:Choice><a14:m>{formula}</a14:m></mc:Choice><mc:Fallback><a:r><a:t>old</a:t></a:r></mc:Fallback>"
    text = f"<a:p><a:r><a:t>Ratio </a:t></a:r><mc:AlternateContent>{choice}</mc:AlternateContent></a:p>"
    assert texts(shape(text)) == [r"Ratio $\frac{a}{b}$"]


def test_the_fallback_of_an_alternative_is_read_only_when_the_choice_has_no_text() -> None:
    def alternative(choice: str, fallback: str) -> str:
        inner = f"<mc:Choice>{choice}</mc:Choice><mc:Fallback>{fallback}</mc:Fallback>"
        return f"<mc:AlternateContent>{inner}</mc:AlternateContent>"

    assert texts(alternative(shape("new"), shape("old"))) == ["new"]
    assert texts(alternative(picture(""), shape("old"))) == ["old"]
    assert texts(title("T") + alternative(graphic('<c:chart r:id="none"/>'), shape("Your program is too old."))) == [
        "T"
    ]


def test_a_damaged_slide_does_not_lose_the_others() -> None:
    parts: dict[str, str | bytes | None] = {slide_name(2, 3): "<p:sld>broken", slide_name(3, 3): None}
    document = read(make_pptx(title("One"), title("Two"), title("Three"), parts=parts), "deck.pptx")
    assert list(document.blocks) == [Heading(1, "One", on(1))]
    assert document.metadata == {"slides": 3, "damagedSlides": [2, 3]}
    parts[slide_name(1, 3)] = b"\x00"
    assert code_of(make_pptx("", "", "", parts=parts), "a.pptx") == "DOCUMENT_MALFORMED"


def test_a_slide_is_read_up_to_its_damage() -> None:
    whole = page_xml(title("Two") + body("kept", "lost"))
    broken: dict[str, str | bytes | None] = {slide_name(2, 2): whole[: whole.index("lost")]}
    document = read(make_pptx(title("One"), "", parts=broken), "deck.pptx")
    assert [block.location.slide for block in document.blocks] == [1, 2, 2]
    assert document.blocks[-1] == ListBlock(False, ("kept",), on(2))
    assert document.metadata["damagedSlides"] == [2]


def test_characters_that_xml_forbids_are_blanks() -> None:
    slide = page_xml(shape("a~b^c")).replace("~", "&#xB;").replace("^", "\x02")
    assert texts("", parts={slide_name(1, 1): slide}) == ["a b c"]


def test_parts_that_only_add_to_slides_may_be_missing_or_damaged() -> None:
    links = [("n", "notesSlide", "../notesSlides/gone.xml"), ("c1", "chart", "../charts/broken.xml")]
    slide = Page(title("One") + graphic('<c:chart r:id="c1"/>') + graphic('<c:chart r:id="none"/>'), links)
    parts: dict[str, str | bytes | None] = {
        "ppt/charts/broken.xml": "<c:chartSpace",
        "ppt/slideLayouts/layout.xml": LAYOUT[:-20],
        "ppt/slideMasters/master.xml": None,
        "docProps/core.xml": "<broken",
    }
    assert texts(slide, parts=parts) == ["One"]


def test_without_a_list_of_slides_their_own_numbers_order_them() -> None:
    parts: dict[str, str | bytes | None] = {"ppt/presentation.xml": None, "ppt/_rels/presentation.xml.rels": None}
    assert texts(*map(title, "kjihgfedcba"), parts=parts) == list("abcdefghijk")


def first_slide_listed(times: int) -> str:
    entries = '<p:sldId r:id="rId1"/>' * times
    return f"<p:presentation {SPACES}><p:sldIdLst>{entries}</p:sldIdLst></p:presentation>"


def test_a_slide_listed_twice_has_its_text_once() -> None:
    document = read(make_pptx(title("Once"), parts={"ppt/presentation.xml": first_slide_listed(3)}), "deck.pptx")
    assert list(document.blocks) == [Heading(1, "Once", on(1))]
    assert document.metadata["slides"] == 3


def test_more_slides_than_pages_allowed_are_refused() -> None:
    listed: dict[str, str | bytes | None] = {"ppt/presentation.xml": first_slide_listed(2_000)}
    assert code_of(make_pptx(title("T"), parts=listed), "a.pptx") == "DOCUMENT_RESOURCE_LIMIT"
    assert code_of(make_pptx(*map(title, "abcd")), "a.pptx", max_document_pages=3) == "DOCUMENT_RESOURCE_LIMIT"
    assert code_of(make_pptx(*map(title, "abcd" * 500)), "a.pptx") == "DOCUMENT_RESOURCE_LIMIT"


def test_too_much_text_is_refused_while_it_is_read() -> None:
    data = make_pptx(*[body(line(f"{n} " + "word " * 5_000)) for n in range(50)])
    assert code_of(data, "a.pptx", max_extract_bytes=100_000) == "DOCUMENT_RESOURCE_LIMIT"


def test_the_archive_limits_hold() -> None:
    bomb = {"ppt/theme/theme1.xml": bytes(20 * 1024 * 1024)}
    assert code_of(make_pptx(title("T"), parts=bomb), "a.pptx") == "DOCUMENT_RESOURCE_LIMIT"
    many: dict[str, str | bytes | None] = {f"ppt/media/{n}.png": b"" for n in range(1100)}
    assert code_of(make_pptx(title("T"), parts=many), "a.pptx") == "DOCUMENT_RESOURCE_LIMIT"


def test_parts_that_are_referred_to_without_end_are_refused() -> None:
    slide = Page(graphic('<c:chart r:id="c1"/>') * 500, [("c1", "chart", "../charts/chart1.xml")])
    chart = CHART + " " * 50_000
    data = zipped({**pptx_parts(slide), "ppt/charts/chart1.xml": chart}, zipfile.ZIP_STORED)
    assert code_of(data, "a.pptx", max_archive_uncompressed_bytes=5_000_000) == "DOCUMENT_RESOURCE_LIMIT"


def test_packages_that_are_no_presentation_are_malformed() -> None:
    assert (
        code_of(make_pptx(title("T"), parts={"ppt/presentation.xml": "<x/>"})[:300], "a.pptx") == "DOCUMENT_MALFORMED"
    )
    assert code_of(zipped({"ppt/presentation.xml": "<x/>"}), "a.pptx") == "DOCUMENT_MALFORMED"
    doctype = '<!DOCTYPE p [<!ENTITY a "ha">]>' + page_xml(title("&a;"))
    assert code_of(make_pptx("", parts={slide_name(1, 1): doctype}), "a.pptx") == "DOCUMENT_MALFORMED"


def test_strict_packages_are_read() -> None:
    def strict(part: str | bytes | None) -> str | bytes | None:
        if not isinstance(part, str):
            return part
        for name in ("presentationml", "drawingml", "officeDocument"):
            part = part.replace(
                f"http://schemas.openxmlformats.org/{name}/2006/", f"http://purl.oclc.org/ooxml/{name}/"
            )
        return part

    parts = pptx_parts(title("Goals") + table(["a", "b"], ["c", "d"]), body("grow"))
    blocks = blocks_of(zipped({name: strict(part) for name, part in parts.items()}), "a.pptx")
    assert blocks == [
        Heading(1, "Goals", on(1)),
        Table(("a", "b"), (("c", "d"),), on(1)),
        ListBlock(False, ("grow",), on(2)),
    ]


@pytest.mark.parametrize("name", ["deck.pptm", "deck.ppsx", "deck.ppt", "deck.odp"])
def test_the_bytes_decide_what_presentation_it_is(name: str) -> None:
    assert [block.location.slide for block in blocks_of(make_pptx(title("T")), name)] == [1]


SAMPLE = pptx_parts(
    Page(
        title("T") + table(["a", "b"], ["c", "d"]) + graphic('<c:chart r:id="c"/>'), [("c", "chart", "../charts/c.xml")]
    ),
    body("x"),
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(SAMPLE)), st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 255)), max_size=12))
def test_damaged_parts_end_in_a_document_or_a_code(name: str, flips: list[tuple[int, int]]) -> None:
    part = SAMPLE[name]
    assert isinstance(part, str)
    data = flipped(part.encode(), flips)
    try:
        blocks = blocks_of(zipped({**SAMPLE, "ppt/charts/c.xml": CHART, name: data}, zipfile.ZIP_STORED), "a.pptx")
    except KnowledgeError as error:
        assert error.code in {"DOCUMENT_MALFORMED", "DOCUMENT_EMPTY", "DOCUMENT_UNSUPPORTED_FORMAT"}
    else:
        assert {block.location.slide for block in blocks} <= {1, 2}
