"""Spreadsheets of any shape: every filled cell is found at its place, and nothing a file says can do harm."""

import zipfile
from io import BytesIO
from pathlib import Path

import pytest
import python_calamine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parser_support import blocks_of, code_of, read
from sheet_files import SheetFile, Value, cells_of, make_ods, make_xlsx, merged, orders_xlsx
from test_parser_sheets_formats import make_xlsb

from mcp_knowledge.adapters.parsers.sheets.model import range_of
from mcp_knowledge.domain.blocks import Heading, Table
from mcp_knowledge.domain.cell_ranges import column_name
from mcp_knowledge.errors import KnowledgeError

FIXTURES = Path(__file__).parent / "fixtures"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PLACES = st.tuples(st.integers(1, 30) | st.integers(1, 1_048_576), st.integers(1, 12) | st.integers(1, 16_384))
VALUES = st.sampled_from(
    ["name", "total", "2023", "a longer remark in one cell", "a remark of many words " * 6 + "ends", "x", "y"]
) | st.integers(-10_000, 10_000).map(float)
GRIDS = st.dictionaries(PLACES, VALUES, min_size=1, max_size=60)
SPANS = st.tuples(st.integers(1, 30), st.integers(1, 12), st.integers(0, 3), st.integers(0, 3))


def reference(row: int, column: int) -> str:
    return f"{column_name(column)}{row}"


def shown(value: str | float) -> str:
    return value if isinstance(value, str) else str(int(value))


def assert_found(grid: dict[tuple[int, int], str | float], data: bytes) -> None:
    """Each value stands at its place: as a cell, or as part of a column's name made from several rows."""
    blocks = blocks_of(data, "a.xlsx")
    found = cells_of(blocks)
    names: dict[tuple[int, int], str] = {}
    for block in blocks:
        if isinstance(block, Table) and block.headers is not None:
            top, left = min((row, column) for row, column in ranges(block))
            names |= {(top, left + index): name for index, name in enumerate(block.headers)}
            depth = len({row for row, _ in ranges(block)}) - len(block.rows)
            for row in range(1, depth):
                names |= {(top + row, left + index): name for index, name in enumerate(block.headers)}
    for (row, column), value in grid.items():
        at = found.get(("S", row, column), "")
        assert at == shown(value) or shown(value) in names.get((row, column), ""), (row, column, value, at)


def ranges(block: Table) -> list[tuple[int, int]]:
    area = range_of(block.location.cell_range or "")
    assert area is not None
    return [(row, column) for row in range(area.top, area.bottom + 1) for column in (area.left, area.right)]


@given(GRIDS)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_cell_of_any_grid_is_found_at_its_place(grid: dict[tuple[int, int], str | float]) -> None:
    cells = {reference(*place): value for place, value in sorted(grid.items())}
    assert_found(grid, make_xlsx(SheetFile("S", cells)))


@given(
    st.dictionaries(st.tuples(st.integers(1, 30), st.integers(1, 12)), VALUES, min_size=1), st.lists(SPANS, max_size=4)
)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_merged_cells_never_move_another(
    grid: dict[tuple[int, int], str | float], spans: list[tuple[int, int, int, int]]
) -> None:
    areas = [f"{reference(r, c)}:{reference(r + down, c + right)}" for r, c, down, right in spans]
    cells = {reference(*place): value for place, value in sorted(grid.items())}
    assert_found(grid, make_xlsx(SheetFile("S", cells, after=merged(*areas))))


@given(
    st.dictionaries(st.tuples(st.integers(1, 30), st.integers(1, 12)), VALUES, min_size=1), st.sets(st.integers(1, 30))
)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_hidden_rows_go_and_the_others_keep_their_places(
    grid: dict[tuple[int, int], str | float], hidden: set[int]
) -> None:
    cells = {reference(*place): value for place, value in sorted(grid.items())}
    cells["A40"] = "always shown"
    data = make_xlsx(SheetFile("S", cells, rows=dict.fromkeys(hidden, 'hidden="1"')))
    visible = {place: value for place, value in grid.items() if place[0] not in hidden}
    assert_found(visible, data)
    shown_rows = {row for _, row, _ in cells_of(blocks_of(data, "a.xlsx"))}
    assert not shown_rows & hidden


def test_more_cells_than_allowed_are_refused_while_reading() -> None:
    cells = {reference(row, column): "x" for row in range(1, 101) for column in range(1, 11)}
    data = make_xlsx(SheetFile("S", cells))
    assert code_of(data, "a.xlsx", max_spreadsheet_cells=999) == "DOCUMENT_RESOURCE_LIMIT"
    assert len(cells_of(blocks_of(data, "a.xlsx", max_spreadsheet_cells=1000))) == 1000
    line = "<table:table-cell><text:p>x</text:p></table:table-cell></table:table-row>"
    line = f'<table:table-row table:number-rows-repeated="1000000">{line}'
    ods = make_ods(f'<table:table table:name="S">{line}</table:table>')
    assert code_of(ods, "a.ods") == "DOCUMENT_RESOURCE_LIMIT"
    xls = (FIXTURES / "orders.xls").read_bytes()
    assert code_of(xls, "a.xls", max_spreadsheet_cells=10) == "DOCUMENT_RESOURCE_LIMIT"
    assert code_of(make_xlsb(), "a.xlsb", max_spreadsheet_cells=3) == "DOCUMENT_RESOURCE_LIMIT"


def test_cells_of_hidden_sheets_do_not_count() -> None:
    cells = {reference(row, 1): "x" for row in range(1, 101)}
    data = make_xlsx(SheetFile("S", {"A1": "seen"}), SheetFile("H", cells, state="hidden"))
    assert len(cells_of(blocks_of(data, "a.xlsx", max_spreadsheet_cells=10))) == 1


@pytest.mark.parametrize("dimension", ["A1:XFD1048576", "nonsense", "A1:ZZZ99999999"])
def test_a_claimed_size_is_not_believed(dimension: str) -> None:
    cells: dict[str, Value] = {"A1": "first", "XFD1048576": "last", "C7": 3.0}
    data = make_xlsx(SheetFile("S", cells, before=f'<dimension ref="{dimension}"/>'))
    assert cells_of(blocks_of(data, "a.xlsx")) == {
        ("S", 1, 1): "first",
        ("S", 1_048_576, 16_384): "last",
        ("S", 7, 3): "3",
    }


def test_cells_scattered_over_the_whole_grid_make_no_huge_table() -> None:
    cells = {reference(number, number): "x" for number in range(1, 3000)}
    assert len(cells_of(blocks_of(make_xlsx(SheetFile("S", cells)), "a.xlsx"))) == 2999


def test_a_long_text_used_by_many_cells_is_refused_before_memory_is_full() -> None:
    strings = f'<sst xmlns="{MAIN}"><si><t>{"word " * 20_000}</t></si></sst>'
    line = "".join('<row><c t="s"><v>0</v></c></row>' for _ in range(50_000))
    parts = {
        "xl/worksheets/s0.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{line}</sheetData></worksheet>',
        "xl/sharedStrings.xml": strings,
        "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="worksheet0" Type="x/worksheet" '
        'Target="worksheets/s0.xml"/><Relationship Id="a" Type="x/sharedStrings" Target="sharedStrings.xml"/>'
        "</Relationships>",
    }
    assert code_of(make_xlsx(SheetFile("S"), parts=parts), "a.xlsx") == "DOCUMENT_RESOURCE_LIMIT"


def test_a_zip_bomb_in_a_sheet_is_refused() -> None:
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{" " * 30_000_000}</sheetData></worksheet>'
    data = make_xlsx(SheetFile("S"), parts={"xl/worksheets/s0.xml": sheet})
    assert len(data) < 100_000
    assert code_of(data, "a.xlsx") == "DOCUMENT_RESOURCE_LIMIT"


def test_entities_are_never_expanded() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    prolog = f'<!DOCTYPE worksheet [<!ENTITY l0 "ha">{laughs}]>'
    data = make_xlsx(SheetFile("S", {"A1": "x"}), prolog=prolog)
    (name,) = blocks_of(data, "a.xlsx")
    assert isinstance(name, Heading)
    text = f"<?xml version='1.0'?>{prolog}<office:document-content/>"
    assert code_of(make_ods("", parts={"content.xml": text}), "a.ods") == "DOCUMENT_MALFORMED"


SAMPLES = {
    "a.xlsx": orders_xlsx(),
    "a.xlsb": make_xlsb(),
    "a.xls": (FIXTURES / "orders.xls").read_bytes(),
    "a.ods": (FIXTURES / "orders.ods").read_bytes(),
}
CODES = {"DOCUMENT_MALFORMED", "DOCUMENT_EMPTY", "DOCUMENT_RESOURCE_LIMIT", "DOCUMENT_ENCRYPTED"}


def unpacked(data: bytes) -> bytes:
    """The package without compression, so that a changed byte reaches the parts."""
    buffer = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return buffer.getvalue()


@given(st.sampled_from(sorted(SAMPLES)), st.floats(0, 1))
@settings(deadline=None)
def test_a_file_cut_off_anywhere_is_read_or_refused(name: str, part: float) -> None:
    data = SAMPLES[name]
    try:
        read(data[: int(len(data) * part)], name)
    except KnowledgeError as error:
        assert error.code in CODES | {"DOCUMENT_UNSUPPORTED_FORMAT"}


@given(st.sampled_from(sorted(SAMPLES)), st.lists(st.tuples(st.floats(0, 0.9999), st.integers(0, 255)), max_size=30))
@settings(max_examples=300, deadline=None)
def test_changed_bytes_are_read_or_refused(name: str, changes: list[tuple[float, int]]) -> None:
    data = bytearray(SAMPLES[name] if name == "a.xls" else unpacked(SAMPLES[name]))
    for place, byte in changes:
        data[int(len(data) * place)] = byte
    try:
        read(bytes(data), name)
    except KnowledgeError as error:
        assert error.code in CODES | {"DOCUMENT_UNSUPPORTED_FORMAT"}


@given(st.binary(max_size=400))
@settings(deadline=None)
def test_no_records_do_harm(data: bytes) -> None:
    begin = b"\x09\x08\x10\x00\x00\x06\x05\x00" + bytes(12)
    try:
        read(begin + data, "a.xls")
    except KnowledgeError as error:
        assert error.code in CODES


@pytest.mark.parametrize("name", ["orders.xls", "orders.ods", "orders.xlsx"])
def test_another_reader_finds_the_same_values_at_the_same_places(name: str) -> None:
    data = orders_xlsx() if name == "orders.xlsx" else (FIXTURES / name).read_bytes()
    found = cells_of(blocks_of(data, name))
    sheet = python_calamine.load_workbook(BytesIO(data)).get_sheet_by_name("Orders")
    assert sheet.start is not None
    top, left = (number + 1 for number in sheet.start)
    hidden = {(7, column) for column in range(1, 10)} | {(row, 5) for row in range(1, 13)}
    for row, values in enumerate(sheet.to_python(), top):
        for column, value in enumerate(values, left):
            if value != "" and (row, column) not in hidden:
                text = found["Orders", row, column]
                assert text == value or not isinstance(value, str)
            elif (row, column) not in hidden and row > 2:
                assert found.get(("Orders", row, column), "#").startswith("#")  # it does not tell errors from blanks
