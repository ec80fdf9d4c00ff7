"""Office documents that are one XML file: Word and Excel 2003, flat packages of Word, flat OpenDocument."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from mcp_knowledge.adapters.parsers.packages import write_parts
from mcp_knowledge.adapters.parsers.properties import good_title
from mcp_knowledge.adapters.parsers.sheets import document_of
from mcp_knowledge.adapters.parsers.sheets_model import CellBudget
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.xml_prose import ProseReader
from mcp_knowledge.adapters.parsers.xml_tree import Node
from mcp_knowledge.adapters.parsers.xml_workbook import read_workbook
from mcp_knowledge.domain.blocks import Block, Heading, NormalizedDocument

_PROPERTIES = {
    "title": "title",
    "author": "author",
    "initial-creator": "author",
    "creator": "author",
    "subject": "subject",
    "keyword": "keywords",
    "keywords": "keywords",
    "description": "description",
    "created": "created",
    "creation-date": "created",
    "lastsaved": "modified",
    "language": "language",
}
_HEADING_STYLE = re.compile(r"heading\s*([1-9])", re.IGNORECASE)
_WORD_CONTAINERS = {"tbl": "table", "tr": "tr", "tc": "td"}
_OFF = ("off", "0", "false")


def reader_of(root: Node) -> Callable[[Node, str, Source], NormalizedDocument] | None:
    """The function that reads this kind of Office document; None for any other XML.

    It takes the outermost element, the decoded text and the source.
    """
    if root.name == "wordDocument":
        return _word
    if root.name == "Workbook" and any(root.find("Worksheet")):
        return _workbook
    if root.name == "document" and root.attributes.get("mimetype", "").startswith("application/vnd.oasis"):
        return _open_document
    if root.name == "package" and any(map(_is_main_part, root.find("part"))):
        return _package
    return None


def _is_main_part(part: Node) -> bool:
    return part.attributes.get("name") == "/word/document.xml"


def _workbook(root: Node, text: str, source: Source) -> NormalizedDocument:
    workbook = read_workbook(root, CellBudget(source.limits))
    return document_of(workbook, _properties(root, "DocumentProperties"), source.filename)


def _package(root: Node, text: str, source: Source) -> NormalizedDocument:
    from mcp_knowledge.adapters.parsers.office import parse

    return parse(replace(source, data=write_parts(_parts(root, text))))


def _parts(root: Node, text: str) -> Iterator[tuple[str, bytes]]:
    for part in root.find("part"):
        name = part.attributes.get("name", "").lstrip("/")
        for content in part.children:
            if content.name == "xmlData" and content.children:
                inner = content.children[0]
                yield name, text[inner.start : inner.end].encode()
            elif content.name == "binaryData":
                try:
                    yield name, base64.b64decode(content.text())
                except binascii.Error:
                    continue


def _open_document(root: Node, text: str, source: Source) -> NormalizedDocument:
    return _document(root, next(root.find("body"), root), _properties(root, "meta"), source)


def _word(root: Node, text: str, source: Source) -> NormalizedDocument:
    levels = {
        style.attributes.get("styleId", ""): match[1]
        for style in root.find("style")
        for name in style.find("name")
        if (match := _HEADING_STYLE.search(name.attributes.get("val", "")))
    }
    body = next(root.find("body"), root)
    plain = Node("body", {}, body.start, body.end, list(_word_parts(body, levels)))
    return _document(root, plain, _properties(root, "DocumentProperties"), source)


def _document(root: Node, body: Node, properties: dict[str, Any], source: Source) -> NormalizedDocument:
    blocks: list[Block] = list(ProseReader(body, None).blocks())
    title = good_title(properties.pop("title", None), source.filename)
    title = title or next((block.text for block in blocks if isinstance(block, Heading)), None)
    return NormalizedDocument(title, properties, tuple(blocks))


def _word_parts(node: Node, levels: dict[str, str]) -> Iterator[str | Node]:
    """Paragraphs and tables only, under names that the reader of prose knows."""
    for child in node.children:
        if child.name == "annotation" and child.attributes.get("type") == "Word.Deletion":
            continue
        if child.name == "p":
            yield _word_paragraph(child, levels)
        elif child.name in _WORD_CONTAINERS:
            spans = [item.attributes.get("val", "") for item in child.find("gridSpan")] if child.name == "tc" else []
            attributes = {"colspan": spans[0]} if spans else {}
            parts = list(_word_parts(child, levels))
            yield Node(_WORD_CONTAINERS[child.name], attributes, child.start, child.end, parts)
        else:
            yield from _word_parts(child, levels)


def _word_paragraph(node: Node, levels: dict[str, str]) -> Node:
    style = next((item.attributes.get("val", "") for item in node.find("pStyle")), "")
    level = levels.get(style)
    parts: list[str | Node] = []
    stack = node.children[::-1]
    while stack:
        item = stack.pop()
        match item.name:
            case "t":
                parts.append(item.text())
            case "tab" | "br":
                parts.append(Node(item.name, {}, item.start, item.end))
            case "annotation" if item.attributes.get("type") == "Word.Deletion":
                continue
            case "annotation" if item.attributes.get("type") == "Word.Comment":
                parts.append(_note(item, f"[Comment by {item.attributes.get('author', 'somebody')}: ", "]"))
            case "footnote" | "endnote":
                parts.append(_note(item))
            case "r" if any(mark.attributes.get("val") not in _OFF for mark in item.find("vanish")):
                continue
            case name if not name.endswith("Pr"):
                stack.extend(item.children[::-1])
    return Node("h" if level else "p", {"outline-level": level} if level else {}, node.start, node.end, parts)


def _note(node: Node, before: str = "", after: str = "") -> Node:
    """What stands behind its paragraph."""
    text = " ".join("".join(item.text() for item in node.find("t")).split())
    return Node("footnote", {}, node.start, node.end, [f"{before}{text}{after}"])


def _properties(root: Node, element: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in root.find(element):
        for item in node.children:
            name = _PROPERTIES.get(item.name.lower())
            if name and (text := " ".join(item.text().split())):
                found.setdefault(name, text)
    return found
