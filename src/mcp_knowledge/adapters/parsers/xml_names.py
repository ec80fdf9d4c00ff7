"""What elements of DocBook, DITA, JATS, TEI, FictionBook and OpenDocument are, by their local names in lower case."""

HEADINGS = frozenset({
    "title", "head", "heading", "h", "h1", "h2", "h3", "h4", "h5", "h6", "article-title", "bridgehead",
})  # fmt: skip
PARAGRAPHS = frozenset({
    "p", "para", "simpara", "ab", "l", "v", "subtitle", "text-author", "shortdesc", "caption", "speaker",
})  # fmt: skip
LISTS = frozenset({
    "list", "itemizedlist", "orderedlist", "variablelist", "simplelist", "ul", "ol", "dl", "sl", "steps", "def-list",
})  # fmt: skip
ORDERED_LISTS = frozenset(["ol", "orderedlist", "steps"])
ITEMS = frozenset(["listitem", "item", "li", "member", "sli", "list-item", "step", "term", "dt"])
DEFINITIONS = frozenset(["dd", "def"])
TABLES = frozenset(["table", "informaltable", "simpletable", "tbl"])
TABLE_HEADS = frozenset(["thead", "table-header-rows", "sthead"])
ROWS = frozenset(["row", "tr", "table-row", "strow", "sthead"])
CELLS = frozenset(["entry", "td", "th", "tc", "cell", "table-cell", "stentry", "covered-table-cell"])
CODE = frozenset(["programlisting", "screen", "codeblock", "literallayout", "pre", "preformat", "eg"])
QUOTES = frozenset(["blockquote", "disp-quote", "epigraph", "lq"])
NOTES = frozenset(["footnote", "fn", "note", "annotation"])
SKIPPED = frozenset({
    "style", "script", "binary", "bindata", "binary-data", "indexterm", "instrtext", "deltext", "sequence-decls",
    "tracked-changes",
})  # fmt: skip
# Their titles name a thing on the page, not what follows.
CAPTIONED = TABLES | NOTES | QUOTES | {"figure", "fig", "example", "table-wrap", "stanza", "poem"}
BREAKS = {"s": " ", "tab": "\t", "line-break": "\n", "br": "\n", "lb": "\n"}
BLOCKS = HEADINGS | PARAGRAPHS | LISTS | TABLES | CODE | QUOTES
OWN_LINES = PARAGRAPHS | ITEMS | HEADINGS | ROWS
