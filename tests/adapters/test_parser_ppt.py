import struct
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from ole_files import make_ole
from parser_support import blocks_of, code_of, flipped, read
from ppt_files import (
    BODY,
    DOCUMENT,
    ENCRYPTED_TOKEN,
    GROUP,
    OTHER,
    PROPERTIES,
    SHAPE,
    SLIDE,
    SLIDE_HEIGHT,
    SLIDE_WIDTH,
    TITLE,
    Page,
    atom,
    description,
    document_stream,
    drawing,
    group,
    make_ppt,
    ppt_of,
    record,
    shape,
    text,
)

from mcp_knowledge.domain.blocks import Block, Heading, Image, ListBlock, Paragraph, SourceLocation, Table
from mcp_knowledge.errors import KnowledgeError

# Saved by LibreOffice Impress 7.4; its streams were put into a container without the picture of the first slide.
IMPRESS = Path(__file__).parent / "fixtures" / "impress.ppt"
TITLE_PLACE, DATE_PLACE, FOOTER_PLACE, NUMBER_PLACE = 13, 7, 9, 8


def on(slide: int) -> SourceLocation:
    return SourceLocation(slide=slide)


def shown(*pages: Page | bytes, order: tuple[int, ...] | None = None) -> list[Block]:
    return blocks_of(make_ppt(*pages, order=order), "deck.ppt")


def texts(*pages: Page | bytes, order: tuple[int, ...] | None = None) -> list[str]:
    return [block.text for block in shown(*pages, order=order) if isinstance(block, Heading | Paragraph)]


def heading(words: str) -> bytes:
    return shape(text(words, TITLE), place=TITLE_PLACE)


def test_a_file_of_impress_is_read_slide_by_slide() -> None:
    document = read(IMPRESS.read_bytes(), "plan.ppt")
    assert document.title == "Year Plan"
    assert document.metadata == {"slides": 5, "hiddenSlides": [3]}
    assert list(document.blocks) == [
        Heading(1, "Year Plan", on(1)),
        Paragraph("Prepared for the duck club", on(1)),
        Heading(1, "Goals", on(2)),
        ListBlock(False, ("grow", "  by ten percent", "earn"), on(2)),
        Paragraph("Zoë asks: ¿why €5 – “now”?", on(2)),
        Paragraph("Notes: Say it slowly.\nThen wait.", on(2)),
        Paragraph("[Comment by Bob: Is this true?]", on(2)),
        Heading(1, "Numbers", on(4)),
        Table(None, (("Name", "Size", "Size"), ("duck", "1", "cm"), ("duck", "2", "in")), on(4)),
        Paragraph("inside one", on(4)),
        Paragraph("inside two", on(4)),
        Heading(1, "Далее", on(5)),
        Paragraph("日本語のテキスト", on(5)),
        Paragraph("line one\nline two", on(5)),
    ]


def test_slides_come_in_the_order_of_presentation() -> None:
    assert shown(heading("A"), heading("B"), heading("C"), order=(2, 0, 1)) == [
        Heading(1, "C", on(1)),
        Heading(1, "A", on(2)),
        Heading(1, "B", on(3)),
    ]


def test_bullets_levels_and_line_breaks_are_kept() -> None:
    slide = shape(text("grow\rby ten\rearn", BODY, (0, 1, 0))) + shape(text("one\vtwo\rthree", OTHER, narrow=True))
    assert shown(slide) == [
        ListBlock(False, ("grow", "  by ten", "earn"), on(1)),
        Paragraph("one\ntwo", on(1)),
        Paragraph("three", on(1)),
    ]


def test_narrow_characters_are_latin_1() -> None:
    assert texts(shape(text("Zoë ½ ¿", narrow=True))) == ["Zoë ½ ¿"]


def test_furniture_and_fields_are_left_out() -> None:
    furniture = b"".join(shape(text("noise"), place=place) for place in (DATE_PLACE, FOOTER_PLACE, NUMBER_PLACE))
    furniture += shape(text("noise"), footer_place=FOOTER_PLACE)
    numbered = shape(text("Page *") + atom(0x0FD8, struct.pack("<i", 5)))
    assert texts(heading("T") + furniture + numbered) == ["T", "Page"]


def test_hidden_slides_are_left_out_and_still_count_and_notes_are_marked() -> None:
    secret = Page(heading("Secret"), hidden=True)
    document = read(make_ppt(heading("A"), secret, Page(heading("C"), notes=shape(text("Say it.", 2)))), "deck.pps")
    assert list(document.blocks) == [
        Heading(1, "A", on(1)),
        Heading(1, "C", on(3)),
        Paragraph("Notes: Say it.", on(3)),
    ]
    assert texts(secret) == ["Secret"]


def test_groups_are_read_and_shapes_that_lie_edge_to_edge_are_a_table() -> None:
    loose = group(shape(text("b"), at=(0, 500, 90, 590)), shape(text("a"), at=(0, 100, 90, 190)))
    assert texts(loose) == ["a", "b"]
    cells = [shape(text(f"r{y}c{x}"), at=(x * 100, y * 50, x * 100 + 100, y * 50 + 50)) for y in (0, 1) for x in (1, 0)]
    assert shown(group(*cells)) == [Table(None, (("r0c0", "r0c1"), ("r1c0", "r1c1")), on(1))]


def test_pictures_are_known_by_their_description() -> None:
    assert shown(heading("T") + shape(properties=description("A duck on a pond"))) == [
        Heading(1, "T", on(1)),
        Image("A duck on a pond", on(1)),
    ]


def test_slides_that_are_pictures_need_ocr() -> None:
    filled = atom(PROPERTIES, struct.pack("<HI", 0x4104, 1), instance=1)
    scan = shape(at=(0, 0, SLIDE_WIDTH, SLIDE_HEIGHT), properties=filled)
    assert code_of(make_ppt(scan, b""), "a.ppt") == "DOCUMENT_NEEDS_OCR"
    document = read(make_ppt(heading("Read"), scan), "a.ppt")
    assert document.metadata == {"slides": 2, "slidesNeedingOcr": [2]}


def test_a_slide_whose_drawing_is_lost_is_read_from_the_outline() -> None:
    stream = document_stream([Page(heading("Kept")), Page(b"", outline=[text("Lost", TITLE), text("Words", BODY)])])
    second = struct.pack("<I", 4 | 1 << 20)  # the directory's entry of the second slide; its place comes next
    at = stream.index(second) + len(second)
    moved = stream[:at] + b"\xf0\xff\xff\xff" + stream[at + 4 :]
    assert blocks_of(ppt_of(moved), "a.ppt") == [
        Heading(1, "Kept", on(1)),
        Heading(1, "Lost", on(2)),
        ListBlock(False, ("Words",), on(2)),
    ]


def test_shapes_that_refer_to_the_outline_show_its_text() -> None:
    outline = (text("Goals", TITLE), text("grow\rearn", BODY))
    shapes = b"".join(shape(atom(0x0F9E, struct.pack("<I", number))) for number in (1, 0, 7))
    assert shown(Page(shapes, outline=outline)) == [
        Heading(1, "Goals", on(1)),
        ListBlock(False, ("grow", "earn"), on(1)),
    ]


def test_the_last_edit_of_a_file_counts() -> None:
    stream = document_stream([Page(heading("Old")), Page(heading("Kept"))])
    first_edit = len(stream) - 36
    slide_at = len(stream)
    stream += record(SLIDE, drawing(heading("New")))
    directory_at = len(stream)
    stream += atom(0x1772, struct.pack("<II", 2 | 1 << 20, slide_at))
    edit = struct.pack("<IIIIII4x", 0, 0, first_edit, directory_at, 1, 0)
    assert texts_of(ppt_of(stream + atom(0x0FF5, edit))) == ["New", "Kept"]


def test_encrypted_presentations_say_so() -> None:
    assert code_of(ppt_of(document_stream([Page(heading("T"))]), ENCRYPTED_TOKEN), "a.ppt") == "DOCUMENT_ENCRYPTED"
    session = atom(0x2F14)
    edit = struct.pack("<IIIIIIII", 0, 0, 0, len(session), 2, 0, 0, 1)
    directory = atom(0x1772, struct.pack("<II", 1 | 1 << 20, 0))
    stream = session + directory + atom(0x0FF5, edit)
    at = len(session) + len(directory)
    assert code_of(ppt_of(stream, last_edit=at), "a.ppt") == "DOCUMENT_ENCRYPTED"


def test_edits_that_refer_to_each_other_in_a_circle_end() -> None:
    stream = bytearray(document_stream([Page(heading("T"))]))
    at = len(stream) - 36
    struct.pack_into("<I", stream, at + 16, at)
    assert texts_of(ppt_of(bytes(stream), last_edit=at)) == ["T"]
    assert texts_of(ppt_of(bytes(stream), last_edit=12_345_678)) == ["T"]


def texts_of(data: bytes) -> list[str]:
    return [block.text for block in blocks_of(data, "a.ppt") if isinstance(block, Heading | Paragraph)]


def test_lengths_that_lie_do_no_harm() -> None:
    lying = record(SHAPE, shape(text("inside")), size=0xFFFFFFFF)
    assert texts(heading("T") + lying)[0] == "T"
    assert code_of(ppt_of(record(DOCUMENT, size=0x7FFFFFFF)), "a.ppt") == "DOCUMENT_EMPTY"
    many_runs = atom(0x0F9F, bytes(4)) + atom(0x0FA0, "ab".encode("utf-16-le")) + atom(0x0FA1, b"\0" * 100_000)
    assert texts(shape(many_runs)) == ["ab"]
    assert texts(heading("T") + shape(text("x"), properties=atom(0xF00B, b"\0" * 20, instance=0xFFF))) == ["T", "x"]


def test_records_as_deep_as_the_stack_do_no_harm() -> None:
    deep = shape(text("deepest"))
    for _ in range(3_000):
        deep = record(GROUP, shape(), deep)
    assert texts(heading("T") + deep) == ["T"]
    nested = record(SLIDE)
    for _ in range(200):
        nested = record(SLIDE, nested)
    assert code_of(ppt_of(nested), "a.ppt") == "DOCUMENT_RESOURCE_LIMIT"


def test_more_slides_than_pages_allowed_are_refused() -> None:
    assert code_of(make_ppt(*[heading("T")] * 501), "a.ppt") == "DOCUMENT_RESOURCE_LIMIT"


def test_a_slide_listed_twice_has_its_text_once() -> None:
    document = read(make_ppt(heading("Once"), order=(0, 0, 0)), "a.ppt")
    assert list(document.blocks) == [Heading(1, "Once", on(1))]
    assert document.metadata["slides"] == 3


def test_files_without_a_presentation_are_malformed() -> None:
    assert code_of(make_ole({"PowerPoint Document": bytes(5_000)}), "a.ppt") == "DOCUMENT_MALFORMED"
    assert code_of(ppt_of(drawing(b"")), "a.ppt") == "DOCUMENT_MALFORMED"
    assert code_of(make_ppt(b""), "a.ppt") == "DOCUMENT_EMPTY"
    data = IMPRESS.read_bytes()
    assert code_of(data[:3_000], "a.ppt") == "DOCUMENT_MALFORMED"


SAMPLE = IMPRESS.read_bytes()
CODES = {"DOCUMENT_MALFORMED", "DOCUMENT_EMPTY", "DOCUMENT_ENCRYPTED", "DOCUMENT_RESOURCE_LIMIT"}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255)), max_size=40))
def test_damaged_files_end_in_a_document_or_a_code(flips: list[tuple[int, int]]) -> None:
    try:
        blocks = blocks_of(flipped(SAMPLE, flips), "a.ppt")
    except KnowledgeError as error:
        assert error.code in CODES
    else:
        assert all(block.location.slide for block in blocks)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SAMPLE)))
def test_truncated_files_end_in_a_document_or_a_code(length: int) -> None:
    try:
        blocks_of(SAMPLE[:length], "a.ppt")
    except KnowledgeError as error:
        assert error.code in CODES
