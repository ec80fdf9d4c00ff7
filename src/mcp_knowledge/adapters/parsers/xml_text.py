"""XML: pages through the HTML reader, texts as texts, data as values with key paths, drawings by their words."""

import re
from collections.abc import Iterable

from mcp_knowledge.adapters.parsers import html
from mcp_knowledge.adapters.parsers.encodings import Decoded
from mcp_knowledge.adapters.parsers.key_paths import leaf_paragraphs
from mcp_knowledge.adapters.parsers.properties import good_title
from mcp_knowledge.adapters.parsers.source import Source, TextBudget
from mcp_knowledge.adapters.parsers.xml_data import leaves
from mcp_knowledge.adapters.parsers.xml_names import SKIPPED
from mcp_knowledge.adapters.parsers.xml_prose import ProseReader, is_prose
from mcp_knowledge.adapters.parsers.xml_tree import Node, parse_tree
from mcp_knowledge.domain.blocks import Block, Heading, NormalizedDocument, Paragraph, SourceLocation

_PAGE = re.compile(r"\s*(?:<\?[^>]*\?>\s*|<!--.*?-->\s*)*<(?:!doctype\s+)?html[\s>]", re.IGNORECASE | re.DOTALL)
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."  # in one file, without a package
_DRAWING_TEXTS = ("title", "desc", "text")


def parse(source: Source) -> NormalizedDocument:
    """Blocks with offsets into the decoded text; those of a page that is named `.xml` have none."""
    decoded = html.decoded_page(source.data)
    if _PAGE.match(decoded.text):
        return html.parse(source)
    root = parse_tree(decoded.text, len(source.data) + source.limits.max_extract_bytes)
    if root.name == "Workbook" and any(root.find("Worksheet")):
        from mcp_knowledge.adapters.parsers.sheets.xml_workbook import read_workbook

        return read_workbook(root, source)
    return _document(root, decoded, source)


def _document(root: Node, decoded: Decoded, source: Source) -> NormalizedDocument:
    budget = TextBudget(source.limits.max_extract_bytes)
    title = None
    blocks: Iterable[Block]
    if root.name == "svg":
        blocks = _drawing(root)
        title = next((child.text() for child in root.children if child.name == "title"), None)
    elif root.attributes.get("mimetype", "").startswith(_OPEN_DOCUMENT):
        blocks = ProseReader(next(root.find("body"), root), None).blocks()
    elif is_prose(root):
        blocks = list(ProseReader(root, budget).blocks())
        title = next((block.text for block in blocks if isinstance(block, Heading)), None)
    else:
        blocks = leaf_paragraphs(leaves(root), budget)
        title = _feed_title(root)
    return NormalizedDocument(good_title(title, source.filename), decoded.metadata, tuple(blocks))


def _drawing(root: Node) -> Iterable[Block]:
    for node in root.find(*_DRAWING_TEXTS):
        if node.name not in SKIPPED and (text := " ".join(node.text().split())):
            yield Paragraph(text, SourceLocation(char_start=node.start, char_end=node.end))


def _feed_title(root: Node) -> str | None:
    """What an RSS or Atom feed calls itself."""
    channel = next(root.find("channel"), None) if root.name.lower() in ("rss", "rdf") else root
    if channel is None or (channel is root and root.name != "feed"):
        return None
    return next((child.text() for child in channel.children if child.name == "title"), None)
