import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_support import blocks_of, read, source_text

from mcp_knowledge.domain.blocks import Block, Code, Heading, ListBlock, Paragraph, SourceLocation, Table
from mcp_knowledge.errors import KnowledgeError


def shape(block: Block) -> tuple[object, ...]:
    match block:
        case Heading():
            return f"h{block.level}", block.text
        case ListBlock():
            return ("ordered" if block.ordered else "list", *block.items)
        case Table():
            return block.headers, *block.rows
        case Code():
            return f"code {block.language}", block.text
        case Paragraph():
            return ("paragraph", block.text)
        case _:
            return (block.type,)


def shapes(text: str) -> list[tuple[object, ...]]:
    return [shape(block) for block in blocks_of(text, "guide.rst")]


def test_headings_get_levels_in_order_of_appearance() -> None:
    document = read(
        "=====\nTitle\n=====\n\nIntro\n\nPart\n----\nText\n\nOther\n-----\n\n1\n\nnot a heading\n--", "guide.rst"
    )
    assert document.title == "Title"
    assert [shape(block) for block in document.blocks] == [
        ("h1", "Title"),
        ("paragraph", "Intro"),
        ("h2", "Part"),
        ("paragraph", "Text"),
        ("h2", "Other"),
        ("paragraph", "1"),
        ("paragraph", "not a heading\n--"),
    ]


def test_code_keeps_its_lines_and_indentation() -> None:
    text = (
        "Run::\n\n    if x:\n        go()\n\n    stop()\n\nafter\n\n.. code-block:: python\n   :linenos:\n\n"
        "   def f():\n       pass\n\n::\n\n  alone\nend"
    )
    assert shapes(text) == [
        ("paragraph", "Run::"),
        ("code None", "if x:\n    go()\n\nstop()"),
        ("paragraph", "after"),
        ("code python", "def f():\n    pass"),
        ("code None", "alone"),
        ("paragraph", "end"),
    ]


def test_lists_are_lists_with_their_nested_ones_and_their_numbers() -> None:
    text = (
        "- one\n  goes on\n- two\n\n  more\n\n  1. deep\n  2. deeper\n\n- shown::\n\n    code\n\n3. three\n#. four\n\n"
        "1. first\n\n- last"
    )
    assert shapes(text) == [
        ("list", "one\ngoes on", "two\nmore", "  1. deep", "  2. deeper", "shown::"),
        ("code None", "code"),
        ("ordered", "3. three", "four", "1. first"),
        ("list", "last"),
    ]


def test_tables_are_tables_and_merged_cells_never_shift_their_neighbours() -> None:
    text = """
+------+------+-------+
| Name | Size         |
+======+======+=======+
|      | 1    | cm    |
| Duck +------+-------+
|      | 2    | in or |
|      |      | ft    |
+------+------+-------+

  =====  =====
  A      B
  =====  =====
  1      two
         lines
  2
  =====  =====

= no table
"""
    assert shapes(text) == [
        (("Name", "Size", "Size"), ("Duck", "1", "cm"), ("Duck", "2", "in or\nft")),
        (("A", "B"), ("1", "two\nlines"), ("2", "")),
        ("paragraph", "= no table"),
    ]


PIECES = ["- a\n", "  b\n", "1. c\n", "\n", "::\n", "T\n", "====\n", "+--+--+\n", "| x| y|\n", "== ==\n",
          ".. code:: c\n", "   ", "\t", "\r\n", "\u2028", "word ", "слово\n"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_every_block_stands_where_it_says_and_no_word_is_lost(text: str) -> None:
    try:
        blocks = blocks_of(text, "a.rst")
    except KnowledgeError as error:
        assert error.code == "DOCUMENT_EMPTY"
        return
    end = 0
    for block in blocks:
        piece = source_text(text, block)
        assert block.location.char_start is not None and block.location.char_start >= end
        end = block.location.char_end or 0
        if isinstance(block, Paragraph):
            assert piece.replace("\r\n", "\n") == block.text
    shown = " ".join(str(shape(block)) for block in blocks)
    assert ("word" in text) <= ("word" in shown) and ("слово" in text) <= ("слово" in shown)


@pytest.mark.parametrize("piece", ["a\n---\n", "- x\n  y\n", ".. code:: c\n", "a::\n\n", "+-+\n"])
def test_long_texts_are_read_in_one_pass(piece: str) -> None:
    assert blocks_of("first\n\n" + piece * 20_000, "a.rst")[0] == Paragraph(
        "first", SourceLocation(char_start=0, char_end=5)
    )
