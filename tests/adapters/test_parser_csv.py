import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_support import blocks_of, code_of, read, source_text

from mcp_knowledge.domain.blocks import Paragraph, Table
from mcp_knowledge.domain.cell_ranges import column_name
from mcp_knowledge.errors import KnowledgeError


def table_of(text: str, name: str = "a.csv") -> Table:
    (block,) = blocks_of(text, name)
    assert isinstance(block, Table)
    return block


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(delimiter: str) -> None:
    text = "\n".join(
        delimiter.join(row) for row in (["name", "city", "note"], ["Ann", "Berlin", "x y"], ["Bob", "Rome", ""])
    )
    table = table_of(text)
    assert table.headers == ("name", "city", "note")
    assert table.rows == (("Ann", "Berlin", "x y"), ("Bob", "Rome", ""))


def test_decimal_commas_do_not_win_over_semicolons() -> None:
    assert table_of("item;price\nA;1,50\nB;2,75\n").rows == (("A", "1,50"), ("B", "2,75"))


def test_the_delimiter_that_excel_states_is_taken() -> None:
    text = "sep=;\nname;a,b\nx;1,2\n"
    table = table_of(text)
    assert table.headers == ("name", "a,b")
    assert source_text(text, table) == "x;1,2"


def test_quoted_cells_keep_delimiters_quotes_and_line_breaks() -> None:
    text = 'id,text\n1,"a, ""b""\nsecond line"\n2,plain\n'
    table = table_of(text)
    assert table.rows == (("1", 'a, "b"\nsecond line'), ("2", "plain"))
    assert source_text(text, table) == '1,"a, ""b""\nsecond line"\n2,plain'
    assert table.location.cell_range == "A2:B3"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1,20;3,4\n2,35;4,1\n", (("1,20", "3,4"), ("2,35", "4,1"))),
        ('q,a\nhi,"say \\"yes\\", now"\nyo,no\n', (("hi", 'say "yes", now'), ("yo", "no"))),
        ('C:\\x\\,y\n"D:\\","z"\n"E:\\","w"\n', (("D:\\", "z"), ("E:\\", "w"))),
        ('who, city\nAnn, "Rome, IT"\nBob, Bern\n', (("Ann", "Rome, IT"), ("Bob", "Bern"))),
        ('"sep=;"\nwho;price\nAnn;1,20\n', (("Ann", "1,20"),)),
        ("a,b\n1,\x002\n3,4\n", (("1", "2"), ("3", "4"))),
    ],
)
def test_cells_are_told_apart_however_they_are_written(text: str, rows: tuple[tuple[str, ...], ...]) -> None:
    assert table_of(text).rows == rows


@pytest.mark.parametrize(
    ("head", "row", "names"),
    [
        ("Country,2019,2020,2021", "Chad,1,2,3", ("Country", "2019", "2020", "2021")),
        ("State,Lat,1/22/20,1/23/20", "NY,41.5,0,1", ("State", "Lat", "1/22/20", "1/23/20")),
        (",0,1", "0,5,6", ("", "0", "1")),
        ('"x","y"', '"1",5,6\n"2",7,8', ("", "x", "y")),
        ("1,2", "a,b", ("1", "2")),
        ("city,2020", "Rome,2021", None),
        ("1,2", "a,5", None),
    ],
)
def test_years_and_numbers_may_name_columns(head: str, row: str, names: tuple[str, ...] | None) -> None:
    assert table_of(f"{head}\n{row}\n").headers == names


def test_lines_before_a_table_are_no_names_of_its_columns() -> None:
    text = (
        "Made 2023-01-05\nSource: ERP, module X\nDate,Account,Amount\n2023-01-01,Rent,100.00\n2023-01-02,Food,20.50\n"
    )
    *lines, table = blocks_of(text, "a.csv")
    assert [source_text(text, line) for line in lines] == ["Made 2023-01-05", "Source: ERP, module X"]
    assert [line.location.cell_range for line in lines] == ["A1:A1", "A2:B2"]
    assert isinstance(table, Table) and table.headers == ("Date", "Account", "Amount")
    assert table.location.cell_range == "A4:C5"


def test_tables_below_each_other_have_names_of_their_own_and_a_blank_line_alone_begins_none() -> None:
    text = "Stock\nid,val\n1,2\n\n2,3\n\nPeople\nname,city,zip\nann,rome,1\nbob,bern,2\n"
    stock, first, second, people, last = blocks_of(text, "a.csv")
    assert isinstance(stock, Paragraph) and isinstance(people, Paragraph) and people.text == "People"
    assert isinstance(first, Table) and isinstance(second, Table) and isinstance(last, Table)
    assert first.headers == second.headers == ("id", "val") and second.location.cell_range == "A5:B5"
    assert last.headers == ("name", "city", "zip") and last.location.cell_range == "A9:C10"


def test_a_quote_that_never_closes_does_not_swallow_the_rest() -> None:
    table = table_of('name,size\nscreen,17" wide\nboard,"12 inch\nlamp,3\n')
    assert [row[0] for row in table.rows] == ["screen", "board", "lamp"]


def test_a_quote_inside_the_last_cell_is_only_a_character() -> None:
    table = table_of('name,size\n"screen, wide",20\nboard,17" wide')
    assert table.rows == (("screen, wide", "20"), ("board", '17" wide'))


def test_rows_come_in_groups_with_column_names_ranges_and_offsets() -> None:
    lines = ["id,name,city", *(f"{n},Person {n},City {n}" for n in range(1, 121))]
    text = "\r\n".join(lines) + "\r\n"
    blocks = blocks_of(text, "people.csv")
    assert [block.location.cell_range for block in blocks] == ["A2:C51", "A52:C101", "A102:C121"]
    for block in blocks:
        assert isinstance(block, Table)
        assert block.headers == ("id", "name", "city")
        piece = source_text(text, block)
        assert piece.startswith(",".join(block.rows[0])) and piece.endswith(",".join(block.rows[-1]))
    assert read(text, "people.csv").metadata == {"rows": 120, "columns": 3}


def test_a_file_of_numbers_has_no_header() -> None:
    table = table_of("1,2,3\n4,5,6\n")
    assert table.headers is None and table.rows == (("1", "2", "3"), ("4", "5", "6"))


def test_a_title_before_the_table_is_a_paragraph() -> None:
    title, table = blocks_of("Sales of 2024,,\n,,\nregion,sum,share\nnorth,5,50%\n", "a.csv")
    assert isinstance(title, Paragraph) and title.text == "Sales of 2024"
    assert isinstance(table, Table) and table.headers == ("region", "sum", "share")
    assert table.location.cell_range == "A4:C4"


def test_uneven_records_are_filled_up_and_none_is_cut() -> None:
    table = table_of("a,b\n1,2,3\n4\n")
    assert table.headers == ("a", "b", "")
    assert table.rows == (("1", "2", "3"), ("4", "", ""))


def test_one_line_and_one_column_are_tables_too() -> None:
    assert table_of("just,one,line").rows == (("just", "one", "line"),)
    assert table_of("name\nAnn\nBob\n").rows == (("Ann",), ("Bob",))


def test_tab_separated_files_may_hold_commas() -> None:
    assert table_of("a\tb\nx, y\tz\n", "a.tsv").rows == (("x, y", "z"),)


def test_a_table_without_a_value_is_empty_and_too_much_text_is_refused() -> None:
    assert code_of(",,\n,,\n", "a.csv") == "DOCUMENT_EMPTY"
    assert code_of("a,b\n" + "word,word\n" * 1000, "a.csv", max_extract_bytes=2000) == "DOCUMENT_RESOURCE_LIMIT"


def test_uneven_rows_that_would_fill_up_to_millions_of_cells_are_refused() -> None:
    text = "a,b\n" + "x" + ",y" * 5000 + "\n" + "1\n" * 1000
    assert code_of(text, "a.csv") == "DOCUMENT_RESOURCE_LIMIT"


@pytest.mark.parametrize(("number", "name"), [(1, "A"), (26, "Z"), (27, "AA"), (52, "AZ"), (703, "AAA")])
def test_columns_are_named_as_in_spreadsheets(number: int, name: str) -> None:
    assert column_name(number) == name


CELLS = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from(",;|\"'\n"), max_size=12
)
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=5), min_size=1, max_size=80)


@given(ROWS, st.sampled_from(["\n", "\r\n"]))
def test_written_cells_are_found_again_and_offsets_never_cut_a_record(rows: list[list[str]], line_end: str) -> None:
    stream = io.StringIO()
    csv.writer(stream, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows([["name", "text"], *rows])
    text = stream.getvalue()
    blocks = blocks_of(text, "a.csv")
    found = [
        cell
        for block in blocks
        if isinstance(block, Table)
        for row in (block.headers or (), *block.rows)
        for cell in row
    ]
    texts = " ".join(found) + " ".join(block.text for block in blocks if isinstance(block, Paragraph))
    for cell in (cell for row in rows for cell in row):
        for word in cell.split():
            assert word in texts
    end = 0
    for block in blocks:
        piece = source_text(text, block)
        assert piece.startswith('"') and piece.endswith('"')
        assert block.location.char_start is not None and block.location.char_end is not None
        assert block.location.char_start >= end
        end = block.location.char_end


@given(st.text(alphabet=st.sampled_from('ab1,;\t|"\n\r\x00 \ufeff\u2028'), max_size=200))
def test_no_text_raises_anything_but_a_coded_error(text: str) -> None:
    try:
        blocks = blocks_of(text, "a.csv")
    except KnowledgeError as error:
        assert error.code in ("DOCUMENT_EMPTY", "DOCUMENT_MALFORMED")
        return
    for block in blocks:
        source_text(text.removeprefix("\ufeff"), block)


def test_reading_a_file_leaves_other_readers_of_the_process_their_room() -> None:
    before = csv.field_size_limit()
    table_of("a,b\n1,2\n")
    assert csv.field_size_limit() >= before
