import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_support import blocks_of, code_of, read

from mcp_knowledge.domain.blocks import Block, Code, Heading, Image, ListBlock, Paragraph, Quote, Table
from mcp_knowledge.errors import KnowledgeError


def shape(block: Block) -> tuple[object, ...]:
    match block:
        case Heading():
            return (f"h{block.level}", block.text)
        case ListBlock():
            return ("ordered" if block.ordered else "list", *block.items)
        case Table():
            return ("table", block.headers, block.rows)
        case Code():
            return ("code", block.language, block.text)
        case Paragraph() | Quote():
            return (block.type, block.text)
        case Image():
            return ("image", block.alt)
        case _:
            return (block.type,)


def shapes(html: str) -> list[tuple[object, ...]]:
    return [shape(block) for block in blocks_of(html, "page.html")]


PAGE = """<!doctype html><html lang="en-GB"><head><title>Duck &amp; Goose</title>
<meta name="author" content="A. Bird"><style>p{color:red}</style><script>var x = "<p>no</p>"</script></head>
<body>
<div id="cookie-banner">We use cookies <button>OK</button></div>
<header><h1>All about ducks</h1><p>Search our site</p></header>
<nav><ul><li><a href="/">Home</a></li></ul></nav>
<main>
<p>A <b>duck</b> is a<br>bird.   It &quot;quacks&quot;.</p>
Loose text <span>in the body</span>
<h2>Lists</h2>
<ul><li>one</li><li>two<ul><li>nested</li></ul></li><li><p>three</p><p>more</p></li></ul>
<ol><li>first</li></ol>
<dl><dt>Mallard</dt><dd>A common duck</dd><dt>Teal</dt><dd>Small</dd><dd>Shy</dd></dl>
<pre class="highlight-python"><span>def</span> f():
    return 1
</pre>
<blockquote><p>Said one.</p><p>Said two.</p><footer>A farmer</footer></blockquote>
<table><caption>Sizes</caption><thead><tr><th>Name</th><th colspan="2">Size</th></tr></thead>
<tr><td rowspan="2">Duck</td><td>1</td><td>cm</td></tr><tr><td>2</td><td>in</td></tr></table>
<figure><img src="d.png" alt="A swimming duck"><figcaption>In a pond</figcaption></figure>
<p hidden>secret one</p><p style="display: none">secret two</p><p aria-hidden="true">secret three</p>
<template><p>secret four</p></template><svg><text>secret five</text></svg>
</main>
<aside>Related links</aside><footer>Copyright</footer></body></html>"""


def test_everything_a_page_has_becomes_its_block_and_boilerplate_goes() -> None:
    document = read(PAGE, "page.html")
    assert document.title == "Duck & Goose"
    assert document.metadata == {"language": "en-GB", "author": "A. Bird"}
    assert [shape(block) for block in document.blocks] == [
        ("h1", "All about ducks"),
        ("paragraph", 'A duck is a\nbird. It "quacks".'),
        ("paragraph", "Loose text in the body"),
        ("h2", "Lists"),
        ("list", "one", "two", "  nested", "three\nmore"),
        ("ordered", "first"),
        ("list", "Mallard: A common duck", "Teal: Small\nShy"),
        ("code", "python", "def f():\n    return 1"),
        ("quote", "Said one.\n\nSaid two.\n\nA farmer"),
        ("paragraph", "Sizes"),
        ("table", ("Name", "Size", "Size"), (("Duck", "1", "cm"), ("Duck", "2", "in"))),
        ("image", "A swimming duck"),
        ("paragraph", "In a pond"),
    ]


def test_every_author_is_named() -> None:
    html = "<meta name=author content=Ann><meta name=author content=Bob><meta name=author content=Ann><p>x"
    assert read(html, "page.html").metadata == {"author": "Ann; Bob"}


def test_every_container_of_text_counts() -> None:
    html = (
        "<body>a<div>b<section>c</section>d</div><article>e</article><address>f</address>"
        "<details><summary>g</summary>h</details>"
    )
    assert [text for _, text in shapes(html)] == list("abcdefgh")


def test_tables_that_only_lay_out_a_page_are_read_through() -> None:
    html = (
        "<table><tr><td><h2>Left</h2><p>text</p></td><td><table><tr><td>1</td><td>2</td></tr></table></td></tr></table>"
    )
    assert shapes(html) == [("h2", "Left"), ("paragraph", "text"), ("table", None, (("1", "2"),))]


def test_merged_cells_never_shift_their_neighbours() -> None:
    html = "<table><tr><th>a<th>b<th>c<tr><td rowspan=3>1<td>2<td>3<tr><td colspan=2>4<tr><td>5<td>6</table>"
    assert shapes(html) == [("table", ("a", "b", "c"), (("1", "2", "3"), ("1", "4", "4"), ("1", "5", "6")))]


def test_code_inside_a_list_splits_it() -> None:
    html = "<ol><li>install<pre>make</pre></li><li>run</li></ol>"
    assert shapes(html) == [("ordered", "install"), ("code", None, "make"), ("ordered", "2. run")]


def test_a_page_of_navigation_is_about_its_navigation() -> None:
    assert shapes("<nav><ul><li>Home</li><li>Contact</li></ul></nav>") == [("list", "Home", "Contact")]


def test_a_made_up_title_is_passed_over_for_the_first_heading() -> None:
    assert read("<title>Untitled Document</title><h2>Real</h2>x", "page.html").title == "Real"
    assert read("<title>page.html</title>x", "page.html").title is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1251", "koi8-r"])
def test_declared_charsets_are_honoured_and_wrong_ones_are_not(encoding: str) -> None:
    html = (
        f'<html><head><meta charset="{encoding}"><title>Заголовок</title></head><body><p>Привет, мир</p></body></html>'
    )
    document = read(html.encode(encoding), "page.htm")
    assert (document.title, [shape(b) for b in document.blocks]) == ("Заголовок", [("paragraph", "Привет, мир")])
    misdeclared = html.replace(encoding, "iso-8859-1", 1).encode()
    assert read(misdeclared, "page.htm").title == "Заголовок"


def test_xhtml_is_read() -> None:
    html = '<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>x&#160;y</p></body></html>'
    assert [shape(block) for block in blocks_of(html, "a.xhtml")] == [("paragraph", "x y")]


def test_pages_without_text_are_empty() -> None:
    assert code_of("<html><body><script>1</script><img src=x></body></html>", "a.html") == "DOCUMENT_EMPTY"


def test_deep_nesting_is_read_to_a_depth_and_refused_beyond() -> None:
    assert shapes("<div>" * 3000 + "deep" + "</div>" * 3000) == [("paragraph", "deep")]
    assert code_of("<div>" * 100_000 + "x", "a.html") == "DOCUMENT_RESOURCE_LIMIT"
    unclosed = "".join(f"<p>paragraph {n}<li>item" for n in range(20_000))
    assert blocks_of(unclosed, "a.html")


def test_exploding_spans_are_refused() -> None:
    html = "<table>" + "<tr>" + "<td colspan=1000 rowspan=60000>x" * 1000 + "<tr><td>y" * 1000 + "</table>"
    assert code_of(html, "a.html") == "DOCUMENT_RESOURCE_LIMIT"


TAGS = ["p", "div", "ul", "ol", "li", "table", "tr", "td", "th", "thead", "pre", "code", "h1", "h2", "blockquote", "dl"]
TAGS += ["dt", "dd", "a", "b", "br", "img", "nav", "header", "main", "template", "svg", "select", "option"]
OTHERS = ["text ", "&amp;", "<!--", "-->", "<td colspan=3>", "\n", "\x00", "<", '"']
PIECES = st.sampled_from([*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), *OTHERS])


@given(st.lists(PIECES, max_size=60).map("".join))
def test_no_markup_raises_anything_but_a_coded_error(html: str) -> None:
    try:
        blocks = blocks_of(html, "a.html")
    except KnowledgeError as error:
        assert error.code in ("DOCUMENT_EMPTY", "DOCUMENT_MALFORMED")
        return
    for block in blocks:
        if isinstance(block, Table):
            assert len({len(row) for row in (*block.rows, block.headers or block.rows[0])}) == 1


def test_texts_in_a_table_that_lays_out_the_page_are_paragraphs_of_their_own() -> None:
    page = "<table><tr><td><h2>Title</h2>One.<br><br>Two.<br>Still two.</td></tr></table>"
    assert [block.text for block in blocks_of(page, "a.html") if isinstance(block, Paragraph)] == [
        "One.",
        "Two.\nStill two.",
    ]


def test_lists_say_their_numbers_where_positions_do_not_tell_them() -> None:
    html = (
        "<ol start=3><li>three<li>four<ol type=a><li>x<li>y</ol><li value=9>nine</ol>"
        "<ul><li>one<ol><li>deep<ul><li>dot</ul></ol></ul><ol reversed><li>b<li>a</ol>"
    )
    assert shapes(html) == [
        ("ordered", "3. three", "4. four", "  a. x", "  b. y", "9. nine"),
        ("list", "one", "  1. deep", "    - dot"),
        ("ordered", "2. b", "1. a"),
    ]


def test_check_boxes_tell_what_is_done() -> None:
    html = "<ul><li><input type=checkbox checked> done<li><label><input type=checkbox> open</label></ul>"
    assert shapes(html) == [("list", "[x] done", "[ ] open")]


def test_a_heading_that_opens_with_a_button_is_read() -> None:
    assert shapes("<h2><button>How so?</button></h2><p>So.</p><button>Send</button>") == [
        ("h2", "How so?"),
        ("paragraph", "So."),
    ]


def test_links_to_notes_are_no_part_of_words_and_links_back_are_left_out() -> None:
    html = """<p>Word<sup><a href="#n1">1</a></sup>, word<a href="#n2" role="doc-noteref"><sup>2</sup></a> and
    10<sup>2</sup>.</p><ol><li id=n1>First. <a href="#r1">↩</a></li></ol>"""
    assert shapes(html) == [("paragraph", "Word[1], word[2] and 102."), ("ordered", "First.")]


def test_what_the_pages_own_style_sheet_hides_is_left_out_unless_it_can_open() -> None:
    html = """<style>.gone, #off { color: red; display: none } .tab{display:none} .tab.on{display:block}
    .menu{display:none} @media print { .screen { display: none } .menu {color: red} } @import "x";
    #late{visibility:hidden}</style><p id=late>no</p><script>open(".menu")</script>
    <p class="a gone">no</p><p id=off>no</p><p class=tab>tab</p><p class=menu>menu</p><p class=screen>screen</p>"""
    assert shapes(html) == [("paragraph", "tab"), ("paragraph", "menu"), ("paragraph", "screen")]
    assert shapes("<style>.all{display:none}</style><p class=all>All there is</p>") == [("paragraph", "All there is")]


def test_the_header_of_a_text_without_main_part_is_kept_whole() -> None:
    html = "<header><h1>Report</h1><p>By Ada</p><p>An abstract.</p></header><h2>One</h2><p>Text</p>"
    assert shapes(html) == [("h1", "Report"), ("paragraph", "By Ada"), ("paragraph", "An abstract."), ("h2", "One"),
                            ("paragraph", "Text")]  # fmt: skip


def test_soft_hyphens_go_and_pictures_of_formulas_stay_in_their_sentence() -> None:
    html = '<p>Kaf&shy;fee, <img class="mwe-math-fallback-image-inline" alt="E=mc^2"> holds.</p>'
    assert shapes(html) == [("paragraph", "Kaffee, E=mc^2 holds.")]


def test_lists_of_pages_that_word_wrote_are_lists_and_its_tracked_deletions_go() -> None:
    def item(level: int, marker: str, text: str) -> str:
        return (
            f"<p class=MsoListParagraph style='text-indent:-18.0pt;mso-list:l0 level{level} lfo1'><![if !supportLists]>"
            f"<span style='font-family:Symbol'><span style='mso-list:Ignore'>{marker}<span>&nbsp;&nbsp; </span></span>"
            f"</span><![endif]>{text}</p>"
        )

    html = (
        "<p>Before <del cite='mailto:ann' datetime='2024'>gone</del><del>struck</del></p>"
        + item(1, "·", "one") + item(2, "o", "<b>inner</b> one") + item(2, "1.", "first") + item(1, "·", "two")
        + "<p>Between</p>" + item(1, "3.", "three") + item(1, "4.", "four") + "<h2>Next</h2>"
    )  # fmt: skip
    assert shapes(html) == [
        ("paragraph", "Before struck"),
        ("list", "one", "  inner one", "  1. first", "two"),
        ("paragraph", "Between"),
        ("ordered", "3. three", "4. four"),
        ("h2", "Next"),
    ]


@pytest.mark.parametrize("sheet", ["a" * 900_000, "@a{b{}" * 100_000, "/*" * 400_000, "{" * 900_000, "@" * 900_000])
def test_style_sheets_of_any_shape_are_read_in_one_pass(sheet: str) -> None:
    assert shapes(f"<style>display:none{sheet}</style><p>text</p>") == [("paragraph", "text")]
