"""Word documents: the package under limits, hidden text, comments and documents taken in by us, the rest by anydoc."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from email import message_from_bytes

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.packages import read_parts, write_parts
from mcp_knowledge.adapters.parsers.properties import package_properties, titled
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.word.anydoc_blocks import document_blocks
from mcp_knowledge.adapters.parsers.word.flat_office import flat_word_parts
from mcp_knowledge.adapters.parsers.word.wordml import edited
from mcp_knowledge.adapters.parsers.word.wordml_parts import read_comments, read_relations, read_styles
from mcp_knowledge.adapters.parsers.xml_splices import in_utf8
from mcp_knowledge.domain.blocks import NOWHERE, Block, NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

# Pictures and embedded objects are not inflated: nothing is read from them.
_TEXT_PARTS = (".xml", ".rels", ".mht", ".mhtml", ".htm", ".html", ".xhtml", ".txt", ".rtf")
_TEXT_STREAM = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")
_MAIN_RELATIONS = re.compile(r"word/_rels/document\d*\.xml\.rels")
_COMMENTS = re.compile(r"word/comments\d*\.xml")
_STYLES = "word/styles.xml"
_FURNITURE = re.compile(r"word/(?:header|footer)\d*\.xml")
_FURNITURE_ROOT = re.compile(rb"<(\w+:)(?:hdr|ftr)\b([^>]*)>(.*)</\1(?:hdr|ftr)\s*>", re.DOTALL)
# Of a converter that makes these styles from its style of titles, which would make headings of them.
_NO_TITLES = re.compile(
    rb"""(<w:style\b[^>]*w:styleId=["'](?:Author|Date)["'][^>]*>(?:(?!</w:style>).){0,4000}?)<w:basedOn\b[^>]*/>""",
    re.DOTALL,
)
_MESSAGES = (".mht", ".mhtml")


def parse(source: Source) -> NormalizedDocument:
    """The document's blocks. They have no location: Word files do not state where their pages end.

    A document of which all is hidden is read as if nothing were, and one that has but headers and footers (letter
    paper) gives those: that is what it has to say.
    """
    parts = flat_word_parts(source.data)
    if parts is None:
        parts = read_parts(source.data, _TEXT_PARTS, source.limits)
    inserts = _documents_taken_in(parts, source)
    blocks = _blocks(parts, inserts, keep_hidden=False) or _blocks(parts, inserts, keep_hidden=True)
    if not blocks:
        blocks = [block for furniture in _furniture(parts) for block in _blocks(furniture, {}, keep_hidden=False)]
    return titled(blocks, package_properties(parts), source.filename)


def _blocks(parts: Mapping[str, bytes], inserts: Mapping[str, Sequence[Block]], keep_hidden: bool) -> list[Block]:
    comments = {
        identity: comment
        for name, part in parts.items()
        if _COMMENTS.fullmatch(name.lower())
        for identity, comment in read_comments(in_utf8(part)).items()
    }
    styles = read_styles(parts.get(_STYLES, b""))
    streams = {
        name: edited(in_utf8(part), comments, styles, keep_hidden)
        for name, part in parts.items()
        if _TEXT_STREAM.fullmatch(name.lower())
    }
    if _STYLES in parts:
        streams[_STYLES] = _NO_TITLES.sub(rb"\1", parts[_STYLES])
    return document_blocks(write_parts({**parts, **streams}.items()), "docx", inserts)


def _furniture(parts: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Each page header and footer as the package of a document of its own; equal ones once."""
    seen: set[bytes] = set()
    for name, part in sorted(parts.items()):
        root = _FURNITURE_ROOT.search(in_utf8(part)) if _FURNITURE.fullmatch(name.lower()) else None
        if root is None or root[3] in seen:
            continue
        seen.add(root[3])
        prefix, spaces, content = root.groups()
        body = b"<%sdocument%s><%sbody>%s</%sbody></%sdocument>" % (prefix, spaces, prefix, content, prefix, prefix)
        yield {**parts, "word/document.xml": body}


def _documents_taken_in(parts: Mapping[str, bytes], source: Source) -> dict[str, list[Block]]:
    """Whole documents that stand inside this one (`w:altChunk`), by the id of their relation."""
    relations: dict[str, str] = {}
    for name, part in parts.items():
        if _MAIN_RELATIONS.fullmatch(name.lower()):
            relations |= read_relations(part)
    found: dict[str, list[Block]] = {}
    for identity, target in relations.items():
        name = posixpath.normpath(posixpath.join("/word", target)).lstrip("/")
        if name in parts and not name.endswith((".xml", ".rels")):
            found[identity] = _chunk(name, parts[name], source)
    return found


def _chunk(name: str, part: bytes, source: Source) -> list[Block]:
    """The blocks of a document inside; one that cannot be read leaves the rest of the file readable."""
    from mcp_knowledge.adapters.parsers import text
    from mcp_knowledge.adapters.parsers.html import fragment_blocks
    from mcp_knowledge.adapters.parsers.word import rtf

    try:
        if name.endswith(".rtf"):
            return list(rtf.parse(Source(part, name, source.limits)).blocks)
        if name.endswith(".txt"):
            return list(text.parse(Source(part, name, source.limits)).blocks)
        pages = _pages_of_message(part) if name.endswith(_MESSAGES) else [part]
        return [block for page in pages for block in fragment_blocks(decode(page).text, NOWHERE)]
    except KnowledgeError as error:
        if error.code == "DOCUMENT_RESOURCE_LIMIT":
            raise
        return []


def _pages_of_message(part: bytes) -> list[bytes]:
    payloads = (
        piece.get_payload(decode=True)
        for piece in message_from_bytes(part).walk()
        if piece.get_content_type() == "text/html"
    )
    return [payload for payload in payloads if isinstance(payload, bytes)]
