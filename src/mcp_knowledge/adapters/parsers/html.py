"""HTML: title, properties and the blocks of the page, by selectolax's lexbor parser and an own walk over its tree.

Text is decoded here and not by the parser: HTML libraries that decode for themselves break on misdeclared charsets.
"""

import re
from dataclasses import replace
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.html_walk import walk
from mcp_knowledge.adapters.parsers.properties import good_title
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.domain.blocks import Block, Heading, Image, NormalizedDocument, SourceLocation
from mcp_knowledge.errors import KnowledgeError

_DECLARED = re.compile(
    rb"""<\?xml[^>]*?encoding=["']([\w.:-]+)|<meta[^>]+?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE
)
_DECLARATION_WINDOW = 4096
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_MAX_DEPTH = 5_000  # the parser's time grows with the square of the depth: 200,000 levels take two minutes
# Void elements, and those whose end tag may be left out.
_NOT_NESTING = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "colgroup", "option", "optgroup", "rt",
    "rp", "html", "head", "body", "script", "style",
})  # fmt: skip
_PROPERTIES = {
    "author": "author",
    "description": "description",
    "keywords": "keywords",
    "og:site_name": "siteName",
    "article:published_time": "published",
    "dc.date": "published",
    "dcterms.created": "created",
}


def parse(source: Source) -> NormalizedDocument:
    """The page's blocks. They carry no location: the headings around them are it."""
    declared = _DECLARED.search(source.data, 0, _DECLARATION_WINDOW)
    label = (declared[1] or declared[2]).decode("ascii") if declared else None
    decoded = decode(source.data, label)
    tree = _tree(decoded.text)
    blocks = _page_blocks(tree)
    node = tree.css_first("head > title") or tree.css_first("title")
    title = good_title(node.text() if node is not None else None, source.filename)
    title = title or next((block.text for block in blocks if isinstance(block, Heading)), None)
    return NormalizedDocument(title, {**_properties(tree), **decoded.metadata}, tuple(blocks))


def fragment_blocks(markup: str, location: SourceLocation) -> list[Block]:
    """The blocks of a piece of HTML inside another document, all at this location."""
    body = _tree(markup).body
    return [replace(block, location=location) for block in walk(body, keep_boilerplate=True)] if body else []


def _tree(text: str) -> LexborHTMLParser:
    _refuse_depth(text)
    return LexborHTMLParser(text.replace("\0", " "))


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
    blocks = walk(body)
    if any(not isinstance(block, Heading | Image) for block in blocks):
        return blocks
    return walk(body, keep_boilerplate=True) or blocks  # a page that is all navigation is about its navigation


def _properties(tree: LexborHTMLParser) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    language = tree.root.attributes.get("lang") if tree.root is not None else None
    if language and language.strip():
        properties["language"] = language.strip()
    for node in tree.css("meta[content]"):
        name = (node.attributes.get("name") or node.attributes.get("property") or "").lower()
        content = (node.attributes.get("content") or "").strip()
        if content and name in _PROPERTIES:
            properties.setdefault(_PROPERTIES[name], content)
    return properties
