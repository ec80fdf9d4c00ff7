from pathlib import Path

import pytest
from parser_support import blocks_of, code_of, read
from sheet_files import Bold, Error, Formula, Number, SheetFile, Value, cells_of, make_xlsx, merged, orders_xlsx

from mcp_knowledge.domain.blocks import Block, Heading, Paragraph, Table

FIXTURES = Path(__file__).parent / "fixtures"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def sheet_blocks(cells: dict[str, Value], before: str = "", after: str = "") -> list[Block]:
    """The blocks of a workbook with one sheet, without the sheet's name."""
    name, *blocks = blocks_of(make_xlsx(SheetFile("S", cells, before, after)), "a.xlsx")
    assert isinstance(name, Heading) and name.text == "S"
    return blocks


def table(block: Block) -> tuple[str | None, tuple[str, ...] | None, tuple[tuple[str, ...], ...]]:
    assert isinstance(block, Table)
    return block.location.cell_range, block.headers, block.rows


@pytest.mark.parametrize("name", ["orders.xlsx", "orders.xls", "orders.ods"])
def test_the_same_workbook_reads_the_same_from_every_format(name: str) -> None:
    data = orders_xlsx() if name == "orders.xlsx" else (FIXTURES / name).read_bytes()
    document = read(data, name)
    assert (document.metadata["sheets"], document.metadata["hiddenSheets"]) == (2, 1)
    orders, title, first, second, comment, side, remark, grouped, groups = document.blocks
    assert orders == Heading(1, "Orders", orders.location) and orders.location.cell_range == "B2:I12"
    assert isinstance(title, Heading) and (title.level, title.text) == (2, "Orders of 2024")
    names = ("Date", "Customer", "Amount", "", "Paid")
    rows = (("15.01.2024", "Ann & Co", "1,234.50 €", "", "TRUE"), ("2024-01-16 12:00", "Bob", "-17.25 €", "", "FALSE"))
    assert table(first) == ("B4:F6", names, rows)
    rows = (("18-Jan-24", "Cid", "15.5%", "", "#DIV/0!"), ("", "Total", "1218.405", "", ""))
    assert table(second) == ("B8:F9", names, rows)
    assert isinstance(comment, Paragraph) and comment.text == "[Comment on C6: Ask Bob again]"
    assert comment.location.cell_range == "C6:C6"
    assert table(side) == ("H4:I6", ("Region", "Share"), (("North", "25%"), ("South", "75%")))
    assert isinstance(remark, Paragraph) and remark.location.cell_range == "B12:B12"
    assert isinstance(grouped, Heading) and grouped.text == "Grouped"
    names = ("Region", "2023 / Q1", "2023 / Q2", "2024 / Q1", "2024 / Q2")
    assert table(groups) == ("A1:E4", names, (("North", "1", "2", "3", "4"), ("South", "5", "6", "7", "8")))
    assert {block.location.sheet for block in document.blocks} == {"Orders", "Grouped"}


def test_blank_rows_part_tables_and_one_below_without_names_goes_on_with_those_above() -> None:
    cells: dict[str, Value] = {"A1": "item", "B1": "price", "A2": "pen", "B2": 1.0, "A4": "ink", "B4": 2.5}
    first, second = sheet_blocks({**cells, "A7": "Notes", "A8": "none"})[:2]
    assert table(first) == ("A1:B2", ("item", "price"), (("pen", "1"),))
    assert table(second) == ("A4:B4", ("item", "price"), (("ink", "2.5"),))


def test_a_blank_column_inside_one_table_does_not_tear_its_rows_apart() -> None:
    cells: dict[str, Value] = {"A1": "item", "B1": "size", "D1": "price", "E1": "stock"}
    for row in range(2, 6):
        cells |= {f"A{row}": f"pen {row}", f"B{row}": "long", f"D{row}": float(row), f"E{row}": 7.0}
    (block,) = sheet_blocks(cells)
    assert table(block)[:2] == ("A1:E5", ("item", "size", "", "price", "stock"))


@pytest.mark.parametrize(
    ("head", "row", "is_header"),
    [
        (["", "2022", "2023"], ["Revenue", 100.0, 110.0], True),
        (["", 2022.0, 2023.0], ["Revenue", 100.0, 110.0], True),
        (["", "Mon", "Tue"], ["8:00", "Maths", "Art"], True),
        (["Task", "Owner", Number(45292.0, "d-mmm")], ["Dig", "Ann", "x"], True),
        (["Name", "Phone", "City"], ["Ann", "030 123456", "Rome"], True),
        (["City", "2020"], ["Rome", "2021"], False),
        ([Number(45292.0, "d-mmm"), "met Ann"], [Number(45293.0, "d-mmm"), "met Bob"], False),
        (["Acme Ltd", "Invoice", "R-2024-017"], ["1 Main Road", "Client", "K-881"], False),
        ([1.0, 2.0], [3.0, 4.0], False),
    ],
)
def test_names_of_columns_are_told_from_values(head: list[Value], row: list[Value], is_header: bool) -> None:
    cells = {f"{'ABC'[column]}{number}": value for number in range(2, 5) for column, value in enumerate(row)}
    cells |= {f"{'ABC'[column]}1": value for column, value in enumerate(head) if value != ""}
    (block,) = sheet_blocks({reference: cells[reference] for reference in sorted(cells)})
    assert isinstance(block, Table)
    assert (block.headers is not None) == is_header
    assert len(block.rows) == (3 if is_header else 4)


def test_a_merged_cell_shifts_nothing() -> None:
    cells: dict[str, Value] = {"A1": "room", "B1": "day", "C1": "who", "A2": "Blue", "B2": "Mon", "C2": "Ann"}
    cells |= {"B3": "Tue", "C3": "Bob", "A4": "Red", "B4": "Mon", "C4": "Cid"}
    (block,) = sheet_blocks(cells, after=merged("A2:A3"))
    assert table(block)[2] == (("Blue", "Mon", "Ann"), ("Blue", "Tue", "Bob"), ("Red", "Mon", "Cid"))


def test_a_table_that_the_file_defines_gives_the_names_even_when_they_look_like_values() -> None:
    cells: dict[str, Value] = {"B3": "2023", "C3": "2024", "B4": "a", "C4": "b", "B5": "c", "C5": "d"}
    sheet = SheetFile("S", cells, relations={"table": "../t.xml"})
    part = f'<table xmlns="{MAIN}" ref="B3:C5"><autoFilter ref="B3:C5"/></table>'
    _, block = blocks_of(make_xlsx(sheet, parts={"xl/t.xml": part}), "a.xlsx")
    assert table(block) == ("B3:C5", ("2023", "2024"), (("a", "b"), ("c", "d")))


def test_rows_left_out_by_a_filter_or_folded_away_are_kept_and_hidden_ones_are_not() -> None:
    cells: dict[str, Value] = {"A1": "name", "B1": "n"}
    cells |= {f"A{row}": f"r{row}" for row in range(2, 7)} | {f"B{row}": float(row) for row in range(2, 7)}
    filtered = '<autoFilter ref="A1:B4"><filterColumn colId="0"><filters/></filterColumn></autoFilter>'
    data = make_xlsx(
        SheetFile("S", cells, rows={3: 'hidden="1"', 5: 'hidden="1" outlineLevel="1"', 6: 'hidden="1"'}, after=filtered)
    )
    names = [text for (_, _, column), text in cells_of(blocks_of(data, "a.xlsx")).items() if column == 1]
    assert names == ["name", "r2", "r3", "r4", "r5"]


def test_a_title_names_what_stands_below_and_a_sentence_is_none() -> None:
    cells: dict[str, Value] = {"A1": "All prices are net.", "A2": "Prices", "A3": "item", "B3": "price", "A4": "pen"}
    sentence, title, block = sheet_blocks({**cells, "B4": 2.0})
    assert isinstance(sentence, Paragraph) and sentence.location.cell_range == "A1:A1"
    assert isinstance(title, Heading) and title.location.cell_range == "A2:A2"
    assert table(block)[:2] == ("A3:B4", ("item", "price"))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Number(0.5, "0.00%"), "50.00%"),
        (Number(1234567.891, "#,##0.00"), "1,234,567.89"),
        (Number(-5.0, "0.00_);[Red](0.00)"), "(5.00)"),
        (Number(2.5, "# ?/?"), "2 1/2"),
        (Number(3.75, "# ??/??"), "3 3/4"),
        (Number(1234.5, "#,##0.00 €"), "1,234.50 €"),
        (Number(1234.5, "£#,##0.00"), "£1,234.50"),
        (Number(1234.5, "#'##0.00"), "1'234.50"),
        (Number(21.5, "0.0 °C"), "21.5 °C"),
        (Number(1250.0, "0.00E+00"), "1.25E+03"),
        (Number(3.03, '_("$"* #,##0.00_);_("$"* (#,##0.00)'), "$3.03"),
        (Number(7.0, "00000"), "00007"),
        (Number(1.0, '"Q"0'), "Q1"),
        (Number(45306.0, "[$-407]d. mmmm yyyy"), "15. Januar 2024"),
        (Number(45306.75, "m/d/yy h:mm AM/PM"), "1/15/24 6:00 PM"),
        (Number(1.104340278, "[h]:mm:ss"), "26:30:15"),
        (Number(0.000543981, "mm:ss.0"), "00:47.0"),
        (Number(59.0, "d.m.yyyy"), "28.2.1900"),
        (Number(45306.0, "[$-F800]dddd, mmmm dd, yyyy"), "2024-01-15"),
        (Number(-3.0, "yyyy-mm-dd"), "-3"),
        (0.1 + 0.2, "0.3"),
        (4e-7, "4E-07"),
        (123456789012.0, "123456789012"),
        (True, "TRUE"),
        (Error("#N/A"), "#N/A"),
        (Formula("1+1", 2.0), "2"),
        (Formula('"a"&"b"', "ab"), "ab"),
        (Formula("SUM(B1:B9)"), "=SUM(B1:B9)"),
    ],
)
def test_values_are_shown_as_their_reader_sees_them(value: Value, shown: str) -> None:
    (block,) = sheet_blocks({"C7": value})
    assert isinstance(block, Paragraph) and block.text == shown


def test_a_format_that_shows_nothing_hides_the_value() -> None:
    assert sheet_blocks({"A1": "seen", "A2": Number(5.0, ";;;")}) == sheet_blocks({"A1": "seen"})


def test_dates_count_from_1904_where_the_file_says_so() -> None:
    data = make_xlsx(SheetFile("S", {"A1": Number(43844.0, "yyyy-mm-dd")}), epoch_1904=True)
    assert cells_of(blocks_of(data, "a.xlsx")) == {("S", 1, 1): "2024-01-15"}


def test_rich_text_is_whole_without_phonetic_hints_and_escapes_are_read() -> None:
    strings = (
        f'<sst xmlns="{MAIN}"><si><r><t xml:space="preserve">one </t></r><r><t>two</t></r>'
        '<rPh sb="0" eb="1"><t>hint</t></rPh></si><si><t>a_x000D_\nb</t></si></sst>'
    )
    row = '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{row}</sheetData></worksheet>'
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="a" Type="x/sharedStrings" Target="/xl/strings.xml"/>'
        '<Relationship Id="worksheet0" Type="x/worksheet" Target="s.xml"/></Relationships>'
    )
    parts = {"xl/strings.xml": strings, "xl/s.xml": sheet, "xl/_rels/workbook.xml.rels": relations}
    data = make_xlsx(SheetFile("S"), parts=parts)
    assert cells_of(blocks_of(data, "a.xlsx")) == {("S", 1, 1): "one two", ("S", 1, 2): "a\nb"}


def test_the_title_is_the_stated_one_and_never_a_sheet_name() -> None:
    core = "<p><title>Budget of the north</title><creator>Ann</creator><created>2024-01-15T00:00:00Z</created></p>"
    data = make_xlsx(SheetFile("Sheet1", {"A1": "x"}), parts={"docProps/core.xml": core})
    document = read(data, "a.xlsx")
    assert document.title == "Budget of the north"
    assert document.metadata == {"author": "Ann", "created": "2024-01-15T00:00:00Z", "sheets": 1}
    assert read(make_xlsx(SheetFile("Sheet1", {"A1": "x"})), "a.xlsx").title is None


def test_a_workbook_of_blank_sheets_shows_their_names() -> None:
    (block,) = blocks_of(make_xlsx(SheetFile("Plan 2025"), SheetFile("Old", state="veryHidden")), "a.xlsx")
    assert isinstance(block, Heading) and block.text == "Plan 2025"


def test_a_workbook_that_shows_nothing_is_read_with_what_it_hides() -> None:
    hidden = SheetFile("Data", {"A1": "kept", "A2": "back"}, rows={2: 'hidden="1"'}, state="hidden")
    blocks = blocks_of(make_xlsx(SheetFile("Start"), hidden), "a.xlsx")
    assert cells_of(blocks) == {("Data", 1, 1): "kept", ("Data", 2, 1): "back"}


def test_text_in_shapes_and_chart_titles_stands_with_its_cells() -> None:
    drawing = (
        '<d xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><twoCellAnchor>'
        "<from><col>2</col><row>4</row></from><to><col>5</col><row>9</row></to><sp><p><r><t>Read</t></r><r><t> me</t>"
        '</r></p></sp></twoCellAnchor><oneCellAnchor><from><col>0</col><row>0</row></from><chart r:id="c"/>'
        "</oneCellAnchor></d>"
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="c" Type="x/chart" Target="../charts/c.xml"/></Relationships>'
    )
    parts = {
        "xl/drawings/d.xml": drawing,
        "xl/drawings/_rels/d.xml.rels": relations,
        "xl/charts/c.xml": "<chartSpace><title><p><r><t>Sales by month</t></r></p></title></chartSpace>",
    }
    data = make_xlsx(SheetFile("S", {"A1": "x"}, relations={"drawing": "../drawings/d.xml"}), parts=parts)
    _, _, chart, shape = blocks_of(data, "a.xlsx")
    assert isinstance(chart, Paragraph) and (chart.text, chart.location.cell_range) == ("Sales by month", "A1:A1")
    assert isinstance(shape, Paragraph) and (shape.text, shape.location.cell_range) == ("Read me", "C5:F10")


def test_long_tables_come_in_groups_with_the_names_and_exact_ranges() -> None:
    cells: dict[str, Value] = {"C3": Bold("n"), "D3": Bold("name")}
    cells |= {f"C{row}": float(row) for row in range(4, 124)} | {f"D{row}": f"row {row}" for row in range(4, 124)}
    blocks = sheet_blocks(cells)
    assert [block.location.cell_range for block in blocks] == ["C3:D53", "C54:D103", "C104:D123"]
    assert all(isinstance(block, Table) and block.headers == ("n", "name") for block in blocks)


def test_a_damaged_sheet_keeps_the_cells_before_the_damage() -> None:
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData><row><c t="str"><v>kept</v></c></row><row><c t="str"><v>lo'
    data = make_xlsx(SheetFile("S"), parts={"xl/worksheets/s0.xml": sheet})
    assert cells_of(blocks_of(data, "a.xlsx")) == {("S", 1, 1): "kept"}


def test_what_only_is_named_like_a_workbook_is_read_as_what_it_is() -> None:
    page = "<html><body><table><tr><th>item<th>price<tr><td>pen<td>2</table></body></html>"
    (block,) = blocks_of(page, "export.xls")
    assert isinstance(block, Table) and block.rows[-1] == ("pen", "2")
    assert read("item\tprice\npen\t2\n".encode("utf-16"), "export.xls").metadata["encoding"] == "utf-16-le"
    assert isinstance(blocks_of("item;price\npen;2\n", "export.xlsx")[0], Table)
    assert code_of("only words", "a.xlsx") == "DOCUMENT_MALFORMED"
    assert code_of(b"\x00\x01\x02" * 100, "a.xls") == "DOCUMENT_MALFORMED"
