"""HTML: title, properties and the blocks of the page, by selectolax's lexbor parser and an own walk over its tree.

Text is decoded here and not by the parser: HTML libraries that decode for themselves break on misdeclared charsets.
"""

import re
from dataclasses import replace
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from mcp_knowledge.adapters.parsers.encodings import Decoded, decode
from mcp_knowledge.adapters.parsers.html_walk import walk
from mcp_knowledge.adapters.parsers.properties import good_title
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.stylesheets import hidden_names
from mcp_knowledge.domain.blocks import Block, Heading, Image, NormalizedDocument, SourceLocation
from mcp_knowledge.errors import KnowledgeError

_DECLARED = re.compile(
    rb"""<\?xml[^>]*?encoding=["']([\w.:-]+)|<meta[^>]+?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE
)
_DECLARATION_WINDOW = 4096
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_MAX_DEPTH = 5_000  # the parser's time grows with the square of the depth: 200,000 levels take two minutes
_XHTML = re.compile(r"<\?xml\s|xmlns\s*=\s*[\"']http://www\.w3\.org/1999/xhtml")
_EMPTY_ELEMENT = re.compile(r"<([a-zA-Z][\w:-]*)((?:\s[^<>]*)?)/>")
_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
# Void elements, and those whose end tag may be left out.
_NOT_NESTING = _VOID | frozenset({
    "p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "colgroup", "option", "optgroup", "rt",
    "rp", "html", "head", "body", "script", "style",
})  # fmt: skip
_PROPERTIES = {
    "description": "description",
    "keywords": "keywords",
    "og:site_name": "siteName",
    "article:published_time": "published",
    "dc.date": "published",
    "dcterms.date": "published",
    "dcterms.created": "created",
}


def parse(source: Source) -> NormalizedDocument:
    """The page's blocks. They carry no location: the headings around them are it."""
    decoded = decoded_page(source.data)
    tree = _tree(decoded.text)
    blocks = _page_blocks(tree)
    node = tree.css_first("head > title") or tree.css_first("title")
    title = good_title(node.text() if node is not None else None, source.filename)
    title = title or next((block.text for block in blocks if isinstance(block, Heading)), None)
    return NormalizedDocument(title, {**_properties(tree), **decoded.metadata}, tuple(blocks))


def decoded_page(data: bytes) -> Decoded:
    """The text of a page in the charset that it has or states. Raises DOCUMENT_MALFORMED when it is no text."""
    declared = _DECLARED.search(data, 0, _DECLARATION_WINDOW)
    return decode(data, (declared[1] or declared[2]).decode("ascii") if declared else None)


def fragment_blocks(markup: str, location: SourceLocation) -> list[Block]:
    """The blocks of a piece of HTML inside another document, all at this location."""
    tree = _tree(markup)
    if tree.body is None:
        return []
    blocks = walk(tree.body, keep_boilerplate=True, hidden=hidden_names(tree))
    return [replace(block, location=location) for block in blocks]


def _tree(text: str) -> LexborHTMLParser:
    if _XHTML.search(text, 0, _DECLARATION_WINDOW):
        text = _EMPTY_ELEMENT.sub(_closed, text)
    _refuse_depth(text)
    return LexborHTMLParser(text.replace("\0", " "))


def _closed(tag: re.Match[str]) -> str:
    """`<title/>` as `<title></title>`: HTML knows no empty elements and would take the whole page for the title."""
    return tag[0] if tag[1].lower() in _VOID else f"<{tag[1]}{tag[2]}></{tag[1]}>"


def _refuse_depth(text: str) -> None:
    depth = 0
    for tag in _TAG.finditer(text):
        if tag[2].lower() in _NOT_NESTING:
            continue
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > _MAX_DEPTH:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")


def _page_blocks(tree: LexborHTMLParser) -> list[Block]:
    body = tree.body or tree.root
    if body is None:
        return []
    hidden = hidden_names(tree)
    blocks = walk(body, hidden=hidden)
    if any(not isinstance(block, Heading | Image) for block in blocks):
        return blocks
    return (
        walk(body, keep_boilerplate=True, hidden=hidden) or walk(body, keep_boilerplate=True) or blocks
    )  # a page that is all navigation is about its navigation


def _properties(tree: LexborHTMLParser) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    authors: dict[str, None] = {}
    language = tree.root.attributes.get("lang") if tree.root is not None else None
    if language and language.strip():
        properties["language"] = language.strip()
    for node in tree.css("meta[content]"):
        name = (node.attributes.get("name") or node.attributes.get("property") or "").lower()
        content = (node.attributes.get("content") or "").strip()
        if content and name == "author":
            authors.setdefault(content)
        elif content and name in _PROPERTIES:
            properties.setdefault(_PROPERTIES[name], content)
    if authors:
        properties["author"] = "; ".join(authors)
    return properties
