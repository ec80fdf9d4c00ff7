"""Spreadsheets that are no xlsx: OpenDocument, binary packages, and Excel's early versions."""

import hashlib
import struct
from itertools import accumulate
from pathlib import Path

import pytest
from parser_support import blocks_of, code_of, read
from pdf_files import rc4
from sheet_files import SheetFile, cells_of, make_ods, make_xlsx, zipped

from mcp_knowledge.domain.blocks import Heading, Paragraph, Table


def row(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def cell(text: str, attributes: str = "", inside: str = "") -> str:
    return (
        f'<table:table-cell office:value-type="string" {attributes}><text:p>{text}</text:p>{inside}</table:table-cell>'
    )


def ods_cells(rows: str) -> dict[tuple[str, int, int], str]:
    return cells_of(blocks_of(make_ods(f'<table:table table:name="S">{rows}</table:table>'), "a.ods"))


def test_repeated_cells_and_rows_of_an_ods_stand_where_they_are() -> None:
    blank_rows = row(
        '<table:table-cell table:number-columns-repeated="16384"/>', attributes='table:number-rows-repeated="3"'
    )
    twice = row(
        '<table:table-cell table:number-columns-repeated="2"/>',
        cell("x", 'table:number-columns-repeated="2"'),
        cell("y"),
        attributes='table:number-rows-repeated="2"',
    )
    tail = row("<table:table-cell/>", attributes='table:number-rows-repeated="1048000"')
    places = {("S", number, column): text for number in (4, 5) for column, text in ((3, "x"), (4, "x"), (5, "y"))}
    assert ods_cells(blank_rows + twice + tail) == places


def test_an_ods_leaves_out_hidden_sheets_rows_and_columns_but_not_filtered_rows() -> None:
    display = '<style:table-properties table:display="false"/>'
    styles = f'<style:style style:name="gone" style:family="table">{display}</style:style>'
    hidden = f'<table:table table:name="H" table:style-name="gone">{row(cell("no"))}</table:table>'
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/>'
    rows = (
        row(cell("a"), cell("no"), cell("b"))
        + row(cell("no"), cell("no"), attributes='table:visibility="collapse"')
        + row(cell("c"), cell("no"), cell("d"), attributes='table:visibility="filter"')
    )
    data = make_ods(f'{hidden}<table:table table:name="S">{columns}{rows}</table:table>', styles)
    assert cells_of(blocks_of(data, "a.ods")) == {
        ("S", 1, 1): "a",
        ("S", 1, 3): "b",
        ("S", 3, 1): "c",
        ("S", 3, 3): "d",
    }


def test_an_ods_keeps_spaces_lines_links_and_comments() -> None:
    text = 'a<text:s text:c="2"/>b<text:line-break/><text:a>link</text:a>'
    note = "<office:annotation><text:p>Why?</text:p></office:annotation>"
    data = make_ods(f'<table:table table:name="S">{row("<table:table-cell/>", cell(text, inside=note))}</table:table>')
    _, value, comment = blocks_of(data, "a.ods")
    assert isinstance(value, Paragraph) and value.text == "a  b\nlink" and value.location.cell_range == "B1:B1"
    assert isinstance(comment, Paragraph) and comment.text == "[Comment on B1: Why?]"


@pytest.mark.parametrize(
    ("attributes", "shown"),
    [
        ('office:value-type="float" office:value="2.5"', "2.5"),
        ('office:value-type="percentage" office:value="0.25"', "25%"),
        ('office:value-type="boolean" office:boolean-value="true"', "TRUE"),
        ('office:value-type="date" office:date-value="2024-01-15"', "2024-01-15"),
        ('office:value-type="time" office:time-value="P1DT2H30M"', "26:30:00"),
        ('office:value-type="time" office:time-value="-PT1.5S"', "-0:00:01.500"),
        ('office:value-type="time" office:time-value="P1M"', "P1M"),
        ('table:formula="of:=SUM([.A1:.A9])"', "=SUM([.A1:.A9])"),
    ],
)
def test_an_ods_cell_without_text_shows_its_value(attributes: str, shown: str) -> None:
    assert ods_cells(row(f"<table:table-cell {attributes}/>")) == {("S", 1, 1): shown}


def test_an_ods_merged_over_the_whole_grid_takes_only_what_is_used() -> None:
    wide = cell("x", 'table:number-columns-spanned="2000000000" table:number-rows-spanned="2000000000"')
    assert ods_cells(row(wide)) == {("S", 1, 1): "x"}


def test_an_encrypted_ods_says_so() -> None:
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    data = make_ods("", parts={"META-INF/manifest.xml": manifest, "content.xml": b"\x8f\x01garbage"})
    assert code_of(data, "a.ods") == "DOCUMENT_ENCRYPTED"


def record12(kind: int, data: bytes = b"") -> bytes:
    """A record of a binary package."""
    head = bytes([kind]) if kind < 0x80 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size = len(data)
    return head + (bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])) + data


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def make_xlsb() -> bytes:
    """A binary workbook: a shown sheet with a hidden row, a merged and a formatted cell, and a hidden sheet."""
    book = record12(153, struct.pack("<II", 0, 0) + wide(""))
    book += record12(156, struct.pack("<II", 0, 1) + wide("worksheet0") + wide("Lager"))
    book += record12(156, struct.pack("<II", 1, 2) + wide("worksheet1") + wide("Weg"))
    strings = record12(19, b"\0" + wide("Artikel")) + record12(19, b"\0" + wide("Schrauben"))
    styles = record12(44, struct.pack("<H", 164) + wide('0.00\\ "kg"')) + record12(617)
    styles += record12(47, bytes(16)) + record12(47, struct.pack("<HH", 0, 164) + bytes(12)) + record12(618)

    def line(number: int, hidden: bool = False) -> bytes:
        return record12(0, struct.pack("<IIHBB", number, 0, 300, 0, 0x10 * hidden) + bytes(13))

    def value(kind: int, column: int, style: int, data: bytes) -> bytes:
        return record12(kind, struct.pack("<II", column, style) + data)

    sheet = line(1) + value(7, 1, 0, struct.pack("<I", 0)) + value(6, 2, 0, wide("Gewicht"))
    sheet += line(2) + value(7, 1, 0, struct.pack("<I", 1)) + value(5, 2, 1, struct.pack("<d", 12.5))
    sheet += line(3, hidden=True) + value(6, 1, 0, wide("versteckt"))
    sheet += line(4) + value(2, 1, 0, struct.pack("<I", 7 << 2 | 2)) + value(3, 2, 0, b"\x07")
    sheet += record12(13, struct.pack("<I", 0) + struct.pack("<I", 150 << 2 | 3)) + value(4, 4, 0, b"\x01")
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="worksheet0" Type="x/worksheet" Target="s.bin"/>'
        '<Relationship Id="a" Type="x/sharedStrings" Target="strings.bin"/>'
        '<Relationship Id="b" Type="x/styles" Target="styles.bin"/></Relationships>'
    )
    return zipped(
        {
            "[Content_Types].xml": '<Types><Override ContentType="application/vnd.ms-excel.binary.main"/></Types>',
            "xl/workbook.bin": book,
            "xl/_rels/workbook.bin.rels": relations,
            "xl/strings.bin": strings,
            "xl/styles.bin": styles,
            "xl/s.bin": sheet,
        }
    )


def test_a_binary_package_is_read_like_any_other() -> None:
    document = read(make_xlsb(), "a.xlsb")
    assert document.metadata == {"sheets": 1, "hiddenSheets": 1}
    assert cells_of(document.blocks) == {
        ("Lager", 2, 2): "Artikel",
        ("Lager", 2, 3): "Gewicht",
        ("Lager", 3, 2): "Schrauben",
        ("Lager", 3, 3): "12.50 kg",
        ("Lager", 5, 2): "7",
        ("Lager", 5, 3): "#DIV/0!",
        ("Lager", 5, 4): "1.5",
        ("Lager", 5, 5): "TRUE",
    }


def record(kind: int, data: bytes = b"") -> bytes:
    """A record of an old Excel file."""
    return struct.pack("<HH", kind, len(data)) + data


def test_excel_2_files_without_a_container_are_read() -> None:
    data = record(0x09, struct.pack("<HH", 2, 0x10))
    data += record(0x42, struct.pack("<H", 1252))
    data += record(0x04, struct.pack("<HH3xB", 1, 1, 5) + "Käse!".encode("cp1252"))
    data += record(0x03, struct.pack("<HH3xd", 1, 2, 2.5)) + record(0x02, struct.pack("<HH3xH", 2, 1, 42))
    data += record(0x05, struct.pack("<HH3xBB", 2, 2, 1, 0)) + record(0x0A)
    assert {place[1:]: text for place, text in cells_of(blocks_of(data, "old.xls")).items()} == {
        (2, 2): "Käse!",
        (2, 3): "2.5",
        (3, 2): "42",
        (3, 3): "TRUE",
    }


def test_excel_4_workbooks_keep_their_sheets_apart() -> None:
    def sheet(name: bytes, text: bytes) -> bytes:
        label = record(0x204, struct.pack("<HHHH", 1, 1, 0, len(text)) + text)
        return (
            record(0x8F, struct.pack("<IB", 0, len(name)) + name) + record(0x409, b"\0\4\x10\0") + label + record(0x0A)
        )

    data = record(0x409, b"\0\4\0\1") + sheet(b"Eins", b"one") + sheet(b"Zwei", b"two") + record(0x0A)
    assert cells_of(blocks_of(data, "old.xls")) == {("Eins", 2, 2): "one", ("Zwei", 2, 2): "two"}


def excel_5(parts: list[bytes], names: list[str]) -> bytes:
    """A workbook of Excel 5 without its container: as some programs write them."""
    begin = record(0x809, struct.pack("<HH4x", 0x500, 5))
    lengths = [len(begin) + sum(11 + len(name) for name in names) + 4, *map(len, parts)]
    starts = list(accumulate(lengths))
    listing = b"".join(
        record(0x85, struct.pack("<IBBB", start, 0, 0, len(name)) + name.encode("cp1252"))
        for start, name in zip(starts, names, strict=False)
    )
    return begin + listing + record(0x0A) + b"".join(parts)


def test_excel_5_workbooks_keep_their_sheets_apart() -> None:
    def sheet(text: str) -> bytes:
        label = record(0x204, struct.pack("<HHHH", 2, 3, 0, len(text)) + text.encode("cp1252"))
        return record(0x809, struct.pack("<HH4x", 0x500, 0x10)) + label + record(0x0A)

    data = excel_5([sheet("Größe"), sheet("zwei")], ["Eins", "Zwei"])
    assert cells_of(blocks_of(data, "old.xls")) == {("Eins", 3, 4): "Größe", ("Zwei", 3, 4): "zwei"}


FIXTURES = Path(__file__).parent / "fixtures"


def test_a_workbook_under_excels_own_password_opens_and_under_any_other_stays_closed() -> None:
    """`protected.xls` is `orders.xls` encrypted with RC4 and the built-in password; LibreOffice opens it, too."""
    data = (FIXTURES / "protected.xls").read_bytes()
    assert blocks_of(data, "a.xls") == blocks_of((FIXTURES / "orders.xls").read_bytes(), "a.xls")
    verifier = data.index(struct.pack("<HHHHH", 0x2F, 54, 1, 1, 1)) + 10 + 16
    closed = data[:verifier] + bytes([data[verifier] ^ 1]) + data[verifier + 1 :]
    assert code_of(closed, "a.xls") == "DOCUMENT_ENCRYPTED"


def test_strong_rc4_under_excels_own_password_opens() -> None:
    salt, verifier = bytes(range(16)), bytes(range(100, 116))
    base = hashlib.sha1(salt + "VelvetSweatshop".encode("utf-16-le")).digest()
    key = hashlib.sha1(base + bytes(4)).digest()[:16]
    header = struct.pack("<8I", 4, 0, 0x6801, 0x8004, 128, 1, 0, 0) + "Provider\0".encode("utf-16-le")
    secret = rc4(key, verifier + hashlib.sha1(verifier).digest())
    file_pass = struct.pack("<HHHII", 1, 2, 2, 4, len(header)) + header + struct.pack("<I", 16) + salt
    file_pass += secret[:16] + struct.pack("<I", 20) + secret[16:]
    clear = record(0x204, struct.pack("<HHHHB", 1, 1, 0, 4, 0) + b"open")
    begin = record(0x809, struct.pack("<HH4x", 0x600, 0x10)) + record(0x2F, file_pass)
    hidden = rc4(key, bytes(len(begin)) + clear)[len(begin) :]
    data = begin + clear[:4] + hidden[4:] + record(0x0A)
    assert cells_of(blocks_of(data, "a.xls")) == {("Sheet1", 2, 2): "open"}


def test_an_xlsx_named_xls_is_read_as_what_it_is() -> None:
    name, value = blocks_of(make_xlsx(SheetFile("S", {"B2": "x"})), "a.xls")
    assert isinstance(name, Heading) and value.location.cell_range == "B2:B2"
    assert not isinstance(value, Table)
