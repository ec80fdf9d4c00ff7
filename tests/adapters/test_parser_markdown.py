import re

from hypothesis import given
from hypothesis import strategies as st
from parser_support import blocks_of, code_of, read, source_text

from mcp_knowledge.domain.blocks import Block, Code, Heading, Image, ListBlock, Paragraph, Quote, Table
from mcp_knowledge.errors import KnowledgeError

DOCUMENT = """\
---
title: "Handbook: Operations"
author: Ann
tags: [ops, "on call"]
version: 3
draft: false
---
# Getting *started*

A paragraph with **bold**, `code`, a [link](https://example.com/x) and
a second line.

Setext heading
--------------

- one
- two
  continued
  - nested with `x`
    1. deeper
- three

  second paragraph of three

```python
def f():
    return 1
```

    indented code

> Quoted text
> goes on.
>
> - with a list

| Name | Size |
|------|-----:|
| a\\|b | 1    |
| c    |      |

![A red square](red.png)

<details><summary>More</summary><p>Hidden <b>detail</b></p></details>

---

7) seven
8) eight
"""


def shape(block: Block) -> tuple[str, object]:
    match block:
        case Heading():
            return f"h{block.level}", block.text
        case ListBlock():
            return "ordered" if block.ordered else "list", block.items
        case Table():
            return "table", (block.headers, block.rows)
        case Code():
            return f"code {block.language}", block.text
        case Paragraph() | Quote():
            return block.type, block.text
        case Image():
            return "image", block.alt
        case _:
            return block.type, None


def test_everything_markdown_has_becomes_its_block() -> None:
    document = read(DOCUMENT, "handbook.md")
    assert [shape(block) for block in document.blocks] == [
        ("h1", "Getting started"),
        ("paragraph", "A paragraph with bold, code, a link and\na second line."),
        ("h2", "Setext heading"),
        ("list", ("one", "two\ncontinued", "  nested with x", "    1. deeper", "three\nsecond paragraph of three")),
        ("code python", "def f():\n    return 1"),
        ("code None", "indented code"),
        ("quote", "Quoted text\ngoes on.\n\n- with a list"),
        ("table", (("Name", "Size"), (("a|b", "1"), ("c", "")))),
        ("image", "A red square"),
        ("paragraph", "More"),
        ("paragraph", "Hidden detail"),
        ("ordered", ("7) seven", "8) eight")),
    ]


def test_front_matter_is_metadata_and_its_title_the_title() -> None:
    document = read(DOCUMENT, "handbook.md")
    assert document.title == "Handbook: Operations"
    assert document.metadata == {"author": "Ann", "tags": ["ops", "on call"], "version": 3, "draft": False}


def test_front_matter_lists_and_long_text_are_read() -> None:
    text = "---\nkeywords:\n  - one\n  - two\nsummary: >\n  folded\n  text\nempty:\n---\nBody"
    document = read(text, "a.md")
    assert document.metadata == {"keywords": ["one", "two"], "summary": "folded text"}
    assert [source_text(text, block) for block in document.blocks] == ["Body"]


def test_a_rule_at_the_start_is_no_front_matter() -> None:
    document = read("---\n\nText\n\n---\n\nMore", "a.md")
    assert [shape(block)[1] for block in document.blocks] == ["Text", "More"]


def test_without_front_matter_the_first_heading_is_the_title() -> None:
    assert read("text\n\n## Second\n\n# First", "a.md").title == "Second"
    assert read("only text", "a.md").title is None


def test_offsets_cover_the_source_lines_of_each_block() -> None:
    for text in (DOCUMENT, DOCUMENT.replace("\n", "\r\n")):
        blocks = blocks_of(text, "handbook.md")
        pieces = [source_text(text, block).replace("\r\n", "\n") for block in blocks]
        assert pieces[0] == "# Getting *started*"
        assert pieces[2] == "Setext heading\n--------------"
        assert pieces[3].startswith("- one\n") and pieces[3].endswith("second paragraph of three")
        assert pieces[4] == "def f():\n    return 1"
        assert pieces[5] == "indented code"
        assert pieces[7].startswith("| Name") and pieces[7].endswith("|      |")
        assert pieces[11] == "7) seven\n8) eight"


def test_lines_of_a_paragraph_stay_lines_so_that_text_and_offsets_are_those_of_the_source() -> None:
    text = "每天备份数\n据库。\n\nA plain\nparagraph of\nthree lines."
    first, second = blocks_of(text, "a.md")
    assert shape(first)[1] == source_text(text, first) == "每天备份数\n据库。"
    assert shape(second)[1] == source_text(text, second) == "A plain\nparagraph of\nthree lines."


def test_code_stands_where_its_own_lines_are() -> None:
    code = "def f():\n    return '`'\n\n\nf()"
    for text in (
        f"Before\n\n```py\n\n{code}\n```\nafter",
        f"~~~~\n{code}\n~~~\n~~~~",
        f"```\n{code}",
    ):
        block = next(block for block in blocks_of(text, "a.md") if isinstance(block, Code))
        assert source_text(text, block) == block.text
        assert block.text.startswith(code)
    quoted = "> ```\n> one\n> two\n> ```"
    (inner,) = blocks_of(quoted, "a.md")
    assert shape(inner) == ("code None", "one\ntwo")
    assert "> one\n> two" in source_text(quoted, inner)


def test_code_and_tables_inside_a_list_split_it_in_order() -> None:
    text = "1. install\n\n   ```sh\n   make\n   ```\n\n2. run\n"
    assert [shape(block) for block in blocks_of(text, "a.md")] == [
        ("ordered", ("install",)),
        ("code sh", "make"),
        ("ordered", ("2. run",)),
    ]


def test_lists_say_their_numbers_where_positions_do_not_tell_them() -> None:
    text = "3. three\n4. four\n   - dot\n   1. one\n\ntext\n\n- bullet\n  1. first\n  2. second\n"
    assert [shape(block) for block in blocks_of(text, "a.md")] == [
        ("ordered", ("3. three", "4. four", "  - dot", "  1. one")),
        ("paragraph", "text"),
        ("list", ("bullet", "  1. first", "  2. second")),
    ]


def test_footnotes_are_kept_where_they_stand_with_all_their_blocks() -> None:
    text = (
        "One[^1] and two[^note].\n\n[^1]: Short.\n[^note]: First *line*\ngoes on.\n\n    More.\n\n    - item\n\n"
        "[a link]: https://example.org\n[^c]:\n    ```\n    code\n    ```\n\nlast\n\n- item\n\n  [^d]: in a list"
    )
    blocks = blocks_of(text, "a.md")
    assert [shape(block) for block in blocks] == [
        ("paragraph", "One[^1] and two[^note]."),
        ("paragraph", "[^1]: Short."),
        ("paragraph", "[^note]: First line\ngoes on."),
        ("paragraph", "More."),
        ("list", ("item",)),
        ("paragraph", "[^c]:"),
        ("code None", "code"),
        ("paragraph", "last"),
        ("list", ("item",)),
        ("paragraph", "[^d]: in a list"),
    ]
    assert source_text(text, blocks[1]) == "[^1]: Short."
    assert source_text(text, blocks[2]) == "[^note]: First *line*\ngoes on."


def test_names_of_headings_are_no_part_of_them() -> None:
    text = "# Install {#install}\n\n## The set {a, b}\n\n### {#only}"
    assert [shape(block) for block in blocks_of(text, "a.md")] == [
        ("h1", "Install"), ("h2", "The set {a, b}"), ("h3", "{#only}"),
    ]  # fmt: skip


def test_html_comments_and_scripts_leave_nothing() -> None:
    assert code_of("<!-- nothing here -->\n\n<script>alert(1)</script>\n", "a.md") == "DOCUMENT_EMPTY"


def test_deep_nesting_is_read() -> None:
    assert [shape(block) for block in blocks_of("> " * 40 + "deep\n\nlast", "a.md")] == [
        ("quote", "deep"),
        ("paragraph", "last"),
    ]


def test_nothing_is_lost_where_nesting_goes_too_deep_for_markdown() -> None:
    text = "- " * 3000 + "deep\n\n" + "[" * 5000 + "z\n\nlast"
    texts = [str(shape(block)[1]) for block in blocks_of(text, "a.md")]
    assert "- deep" in "".join(texts) and texts[-1] == "last"


MARKUP = (
    ["# ", "- ", "1. ", "> ", "```\n", "    ", "\n", "\n\n", "|a|b|\n|-|-|\n|1|2|\n", "*x*", "`y`", "[l](u)", "<b>"],
    ["<!--", "\r\n", "---\n", "k: v\n", "![i](j)", "\\*", "&amp;", "\t", "  \n", "\x00", "\u2028", "\r", "\x85"],
    ["word ", "Wort ", "слово ", "[^1]: ", "[^1]"],
)
MARKDOWN = st.lists(st.one_of(*map(st.sampled_from, MARKUP)), max_size=40).map("".join)


@given(MARKDOWN)
def test_blocks_stand_where_they_say_and_in_order(text: str) -> None:
    try:
        blocks = blocks_of(text, "a.md")
    except KnowledgeError as error:
        assert error.code in ("DOCUMENT_EMPTY", "DOCUMENT_MALFORMED")
        return
    start = 0
    for block in blocks:
        piece = source_text(text, block)
        for word in re.findall(r"word|Wort|слово", repr(shape(block)[1])):
            assert word in piece
        assert block.location.char_start is not None
        assert block.location.char_start >= start
        start = block.location.char_start
