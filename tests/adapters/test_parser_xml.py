import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_support import LIMITS, blocks_of, code_of, read, source_text

from mcp_knowledge.adapters.parsers.source import Limits, Source
from mcp_knowledge.adapters.parsers.xml_text import parse
from mcp_knowledge.domain.blocks import Code, Heading, ListBlock, Paragraph, Quote, Table
from mcp_knowledge.errors import KnowledgeError


def texts_of(xml: str | bytes) -> list[str]:
    return [getattr(block, "text", "") for block in blocks_of(xml, "a.xml")]


def test_every_value_stands_with_its_key_path_record_by_record() -> None:
    xml = """<?xml version="1.0"?>
<factbook><source>CIA</source>
  <country code="us"><name>United States</name><city><name>New York</name><size unit="mio">8</size></city></country>
  <country code="ca"><name>Canada &amp; more</name><tag>north</tag><tag>cold</tag><empty/></country>
</factbook>"""
    blocks = blocks_of(xml, "a.xml")
    assert [block.text for block in blocks if isinstance(block, Paragraph)] == [
        "source: CIA",
        "country.code: us\ncountry.name: United States\ncountry.city.name: New York\ncountry.city.size[unit=mio]: 8",
        "country.code: ca\ncountry.name: Canada & more\ncountry.tag: north, cold",
    ]
    assert source_text(xml, blocks[0]) == "<source>CIA</source>"
    assert source_text(xml, blocks[2]).startswith('<country code="ca">')
    assert source_text(xml, blocks[2]).endswith("<tag>cold</tag>")


def test_repeated_groups_inside_a_record_are_numbered() -> None:
    xml = "<o><order><line><sku>a</sku><n>1</n></line><line><sku>b</sku></line></order><order><line/></order></o>"
    assert texts_of(xml) == ["order.line[1].sku: a\norder.line[1].n: 1\norder.line[2].sku: b"]


def test_elements_of_attributes_only_are_one_line_each() -> None:
    xml = '<config xmlns:x="urn:x"><add key="timeout" value="30"/><x:add key="retries" x:value="3"/></config>'
    assert texts_of(xml) == ["add: key=timeout, value=30\nadd: key=retries, value=3"]


def test_offsets_count_characters_of_the_decoded_text_in_any_charset() -> None:
    xml = '<?xml version="1.0" encoding="iso-8859-1"?>\n<a><b>Köln</b><c>Ärger über Öl</c></a>'
    document = read(xml.encode("latin-1"), "a.xml")
    (block,) = document.blocks
    assert isinstance(block, Paragraph) and block.text == "b: Köln\nc: Ärger über Öl"
    assert source_text(xml, block) == "<b>Köln</b><c>Ärger über Öl</c>"
    assert document.metadata == {"encoding": "cp1252"}
    assert texts_of(("<a><b>" + "é" * 5000 + "</b><c>ü</c></a>").encode("utf-16"))[-1].endswith("c: ü")


def test_a_feed_is_data_and_its_html_is_read_as_text() -> None:
    xml = (
        '<rss version="2.0"><channel><title>News of the Town</title><item><title>Fair</title>'
        "<description>&lt;p&gt;The &lt;b&gt;fair&lt;/b&gt; opens.&lt;/p&gt;</description></item>"
        "<item><title>Rain</title><description><![CDATA[It <i>rains</i>.]]></description></item></channel></rss>"
    )
    document = read(xml, "feed.xml")
    assert document.title == "News of the Town"
    assert texts_of(xml) == [
        "channel.title: News of the Town",
        "channel.item.title: Fair\nchannel.item.description: The fair opens.",
        "channel.item.title: Rain\nchannel.item.description: It rains.",
    ]


def test_prose_stays_prose_with_headings_lists_tables_code_quotes_and_notes() -> None:
    xml = """<!DOCTYPE book SYSTEM "docbook.dtd" [<!ENTITY product "Lamp &#x2122;">]>
<book><info><author><firstname>Ann</firstname></author></info><title>The Manual</title>
<chapter><title>Use of the &product;</title>
<para>Press the <emphasis>green</emphasis> button<footnote><para>Not the red one.</para></footnote>
firmly&mdash;twice.</para>
<itemizedlist><listitem><para>first</para></listitem><listitem><para>second</para></listitem></itemizedlist>
<table><title>Sizes</title><tgroup><thead><row><entry>Name</entry><entry>Size</entry></row></thead>
<tbody><row><entry>small</entry><entry>1</entry></row></tbody></tgroup></table>
<programlisting language="sh">run
  it</programlisting>
<blockquote><para>So be it.</para></blockquote>
<variablelist><varlistentry><term>Lux</term><listitem><para>light</para></listitem></varlistentry></variablelist>
</chapter></book>"""
    document = read(xml, "a.xml")
    blocks = list(document.blocks)
    assert document.title == "The Manual"
    assert [type(block) for block in blocks] == [
        *(Paragraph, Heading, Heading, Paragraph, Paragraph, ListBlock, Paragraph, Table, Code, Quote, ListBlock)
    ]
    assert texts_of(xml)[:5] == [
        "author.firstname: Ann",
        "The Manual",
        "Use of the Lamp ™",
        "Press the green button firmly—twice.",
        "Not the red one.",
    ]
    assert isinstance(blocks[1], Heading) and isinstance(blocks[2], Heading)
    assert (blocks[1].level, blocks[2].level) == (1, 2)
    assert isinstance(blocks[5], ListBlock) and blocks[5].items == ("first", "second")
    table = blocks[7]
    assert isinstance(table, Table) and (table.headers, table.rows) == (("Name", "Size"), (("small", "1"),))
    assert isinstance(blocks[8], Code) and (blocks[8].text, blocks[8].language) == ("run\n  it", "sh")
    assert isinstance(blocks[10], ListBlock) and blocks[10].items == ("Lux: light",)
    assert source_text(xml, blocks[9]) == "<blockquote><para>So be it.</para></blockquote>"


def test_a_page_named_xml_goes_through_the_html_reader() -> None:
    xml = '<?xml version="1.0"?><!-- x --><html xmlns="http://www.w3.org/1999/xhtml"><body><h1>T</h1><p>x</p></body></html>'
    assert isinstance(blocks_of(xml, "a.xml")[0], Heading)


def test_a_drawing_is_known_by_its_words() -> None:
    xml = '<svg xmlns="urn:svg"><title>Plan of the house</title><path d="M0"/><text>Door</text></svg>'
    assert read(xml, "a.xml").title == "Plan of the house"
    assert texts_of(xml) == ["Plan of the house", "Door"]


def test_a_property_list_is_read() -> None:
    xml = (
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">'
        '<plist version="1.0"><dict><key>Name</key><string>Ann</string><key>On</key><true/></dict></plist>'
    )
    assert texts_of(xml) == ["dict.key: Name\ndict.string: Ann\ndict.key: On"]


def test_excel_2003_is_read_as_a_spreadsheet() -> None:
    rows = (
        '<Row><Cell><Data ss:Type="String">Item</Data></Cell><Cell><Data ss:Type="String">Price</Data></Cell></Row>'
        '<Row ss:Index="2"><Cell><Data ss:Type="String">Tea</Data></Cell>'
        '<Cell ss:Index="2"><Data ss:Type="Number">2.5</Data></Cell></Row>'
    )
    xml = (
        '<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:ss">'
        f'<Worksheet ss:Name="Costs"><Table>{rows}</Table></Worksheet></Workbook>'
    )
    table = next(block for block in blocks_of(xml, "a.xml") if isinstance(block, Table))
    assert (table.headers, table.rows) == (("Item", "Price"), (("Tea", "2.5"),))
    assert (table.location.sheet, table.location.cell_range) == ("Costs", "A1:B2")


def test_a_flat_open_document_presentation_is_read_as_text() -> None:
    xml = """<office:document xmlns:office="urn:office" xmlns:text="urn:text" xmlns:xlink="urn:xlink" xmlns:meta="urn:m"
office:mimetype="application/vnd.oasis.opendocument.presentation"><office:meta><meta:initial-creator>Ann</meta:initial-creator>
</office:meta><office:body><office:text><text:sequence-decls><text:sequence-decl text:name="Table"/>
</text:sequence-decls><text:h text:outline-level="3">Rules</text:h>
<text:p>One<text:s/>two<text:line-break/>three</text:p>
<draw:frame xmlns:draw="urn:d"><draw:image xlink:href="x.png"/></draw:frame></office:text></office:body>
</office:document>"""
    document = read(xml, "a.xml")
    heading, paragraph = document.blocks
    assert isinstance(heading, Heading) and (heading.level, heading.text) == (3, "Rules")
    assert isinstance(paragraph, Paragraph) and paragraph.text == "One two\nthree"


def test_a_log_of_elements_side_by_side_is_read() -> None:
    assert texts_of("<e><m>one</m></e>\n<e><m>two</m></e>\n") == ["e.m: one", "e.m: two"]


def test_bytes_in_base64_are_left_out() -> None:
    assert texts_of("<a><name>x</name><data>" + "QUJD" * 300 + "</data></a>") == ["name: x"]


def test_nothing_outside_the_file_is_opened(tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret.txt"
    secret.write_text("the secret")
    entity = f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}"><!ENTITY % p SYSTEM "{secret.as_uri()}">%p;]>'
    assert texts_of(f"{entity}<a><b>before &e; after</b></a>") == ["b: before after"]
    dtd = f'<!DOCTYPE a SYSTEM "{secret.as_uri()}"><a xmlns:xi="http://www.w3.org/2001/XInclude"><b>x</b>'
    assert texts_of(f'{dtd}<xi:include href="{secret.as_uri()}" parse="text"/></a>')[0].startswith("b: x")


def laughs(levels: int) -> str:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, levels))
    return f'<!DOCTYPE r [<!ENTITY l0 "ha">{entities}]><r><m>&l{levels - 1};</m></r>'


@pytest.mark.parametrize(
    "xml",
    [
        laughs(10),
        f'<!DOCTYPE l [<!ENTITY a "{"x" * 60_000}">]><l>{"&a;" * 10_000}</l>',
        f'<!DOCTYPE l [<!ENTITY a "{"x" * 60_000}">]><l>' + "<m n='&a;'/>" * 10_000 + "</l>",
        '<!DOCTYPE l [<!ENTITY a "&b;"><!ENTITY b "&a;">]><l>&a;</l>',
        "<a>" * 100_000 + "</a>" * 100_000,
        f"<a>{'<b>word</b>' * 260_000}</a>",
    ],
    ids=["laughs", "quadratic", "attributes", "circle", "deep", "long"],
)
def test_xml_that_grows_or_nests_without_end_is_refused(xml: str) -> None:
    assert code_of(xml, "a.xml", max_extract_bytes=1_000_000) in ("DOCUMENT_RESOURCE_LIMIT", "DOCUMENT_MALFORMED")


def test_entities_that_stay_short_are_expanded() -> None:
    assert texts_of(laughs(3)) == ["m: " + "ha" * 100]


@pytest.mark.parametrize("xml", ["<a><b></a>", "<a>", "text", "<a b></a>", "<a>1 < 2</a>", "<?xml version='1.0'?>"])
def test_what_is_not_well_formed_is_malformed(xml: str) -> None:
    assert code_of(xml, "a.xml") == "DOCUMENT_MALFORMED"


def test_control_characters_and_blanks_before_the_declaration_do_no_harm() -> None:
    assert texts_of('\n <?xml version="1.0"?><a><b>x\x0by</b></a>') == ["b: x y"]


def test_ampersands_that_should_be_escaped_are_read_as_they_stand() -> None:
    xml = "<a><b>R & D</b><link href='x?a=1&b=2'>&lt;</link><c>ü</c></a>"
    (block,) = blocks_of(xml, "a.xml")
    assert isinstance(block, Paragraph) and block.text == "b: R & D\nlink[href=x?a=1&b=2]: <\nc: ü"
    assert source_text(xml, block) == xml[3:-4]


def test_an_element_without_text_is_empty() -> None:
    assert code_of("<a><b/></a>", "a.xml") == "DOCUMENT_EMPTY"


NAMES = ("a", "p", "list", "item", "table", "row", "title", "entry", "w:wordDocument", "Workbook", "Worksheet", "Cell")
PIECES = [
    *(tag for name in NAMES for tag in (f"<{name}>", f"</{name}>")),
    *("<entry colspan='3'>", "<x y='1'/>", "ü text ", "<!-- c -->", "<!DOCTYPE a [<!ENTITY z 'q'>]>", "\n"),
    *("&amp;", "&nbsp;", "&z;", "<![CDATA[<b>", "]]>", "<?pi?>", "<Row><Cell><Data>"),
    *("<pkg:package><pkg:part pkg:name='/word/document.xml'>", "<pkg:xmlData>"),
]
MARKUP = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(st.one_of(MARKUP, MARKUP.map(lambda text: f"<a>{text}</a>"), st.text(max_size=60), st.binary(max_size=60)))
def test_any_markup_gives_places_inside_the_text_or_a_coded_error(content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    try:
        document = parse(Source(data, "a.xml", Limits(**LIMITS)))
    except KnowledgeError as error:
        assert error.code in ("DOCUMENT_MALFORMED", "DOCUMENT_RESOURCE_LIMIT")
        return
    if isinstance(content, str):
        for block in document.blocks:
            start, end = block.location.char_start, block.location.char_end
            assert start is None or (end is not None and 0 <= start < end <= len(content))


def test_lists_and_code_of_journal_articles_keep_numbers_and_lines() -> None:
    text = (
        "<article><body><p>A text of some words in a paragraph.</p><list list-type='order'><list-item><label>3.</label>"
        "<p>three</p><list list-type='alpha-lower'><list-item><p>sub</p></list-item></list></list-item></list>"
        "<code language='c'>if (x)\n    go();</code></body></article>"
    )
    blocks = blocks_of(text, "a.xml")
    assert [block.items for block in blocks if isinstance(block, ListBlock)] == [("3. three", "  a. sub")]
    assert [(block.text, block.language) for block in blocks if isinstance(block, Code)] == [("if (x)\n    go();", "c")]
