"""Documents of word processors that are one XML file: flat Open Packaging, Word 2003 XML and flat OpenDocument."""

import re
from collections.abc import Mapping
from xml.parsers import expat

from mcp_knowledge.adapters.parsers.xml_splices import Editor, in_utf8

_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*|<\?mso-application[^>]*\?>\s*|<!--.*?-->\s*)*"
    rb"<(?P<root>pkg:package|w:wordDocument|office:document)\b(?P<attributes>[^>]*)>",
    re.DOTALL,
)
_WINDOW = 64 * 1024
_MAIN_PART_WINDOW = 1024 * 1024
_WORD_PART = b"wordprocessingml.document"
_TEXT_DOCUMENT = b"application/vnd.oasis.opendocument.text"
_WORD_2003 = b"http://schemas.microsoft.com/office/word/2003/wordml"
_WORD_2006 = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_AROUND_PARAGRAPHS = re.compile(rb"</?(?:wx:(?:sect|sub-section|pBdrGroup)|aml:(?:annotation|content))\b[^>]*>")
_STYLES = re.compile(rb"<w:styles\b.*?</w:styles>", re.DOTALL)
_FLAT_ROOT = re.compile(rb"(</?)office:document\b(?!-)")
_BODY = re.compile(rb"<w:body\b.*</w:body>", re.DOTALL)


def flat_format(data: bytes) -> str | None:
    """The format whose reader takes this XML file: docx or odt; None for any other file."""
    match = _BEGINNING.match(in_utf8(data[:_WINDOW]))
    if match is None:
        return None
    match match["root"]:
        case b"w:wordDocument":
            return "docx"
        case b"pkg:package":
            return "docx" if _WORD_PART in data[:_MAIN_PART_WINDOW] else None
        case _:
            return "odt" if _TEXT_DOCUMENT in match["attributes"] else None


def flat_word_parts(data: bytes) -> dict[str, bytes] | None:
    """The parts of the package that a Word file in one XML file stands for; None for any other file.

    Raises:
        KnowledgeError: DOCUMENT_MALFORMED for XML that is broken.
    """
    xml = in_utf8(data)
    match = _BEGINNING.match(xml[:_WINDOW])
    if match is None:
        return None
    if match["root"] == b"pkg:package":
        reader = _PartReader(xml)
        reader.edited()
        return reader.parts
    if match["root"] == b"w:wordDocument":
        return _word_2003_parts(xml, match["attributes"])
    return None


def flat_open_document_parts(data: bytes) -> dict[str, bytes] | None:
    """A flat OpenDocument file as the parts of a package; None for any other file."""
    xml = in_utf8(data)
    match = _BEGINNING.match(xml[:_WINDOW])
    if match is None or match["root"] != b"office:document":
        return None
    content = _FLAT_ROOT.sub(rb"\1office:document-content", xml)
    styles = _FLAT_ROOT.sub(rb"\1office:document-styles", xml)
    return {"mimetype": _TEXT_DOCUMENT, "content.xml": content, "styles.xml": styles, "meta.xml": xml}


class _PartReader(Editor):
    """Cuts the parts out of a flat package."""

    def __init__(self, xml: bytes) -> None:
        super().__init__(xml)
        self.parts: dict[str, bytes] = {}
        self._name = ""
        self._begin = 0

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name == "part":
            self._name = attributes.get("name", "").lstrip("/")
        elif name == "xmlData":
            self._begin = self.tag_end(parser.CurrentByteIndex)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name == "xmlData" and self._name:
            self.parts[self._name] = self.xml[self._begin : parser.CurrentByteIndex].strip()


def _word_2003_parts(xml: bytes, attributes: bytes) -> dict[str, bytes]:
    """Word 2003's elements have the names of later ones: its namespace is exchanged, wrappers of its own go."""
    body, styles = _BODY.search(xml), _STYLES.search(xml)
    spaces = attributes.replace(_WORD_2003, _WORD_2006)
    content = _AROUND_PARAGRAPHS.sub(b"", body[0]) if body else b""
    document = b"<w:document" + spaces + b">" + content + b"</w:document>"
    parts = {"word/document.xml": document, "docProps/core.xml": _properties(xml, attributes)}
    if styles:
        parts["word/styles.xml"] = styles[0].replace(b"<w:styles", b"<w:styles" + spaces, 1)
    return parts


def _properties(xml: bytes, attributes: bytes) -> bytes:
    """What the file says about itself, under the names of later files."""
    found = re.search(rb"<o:DocumentProperties>.*?</o:DocumentProperties>", xml, re.DOTALL)
    if found is None:
        return b"<none/>"
    names = {b"Title": b"title", b"Author": b"creator", b"Subject": b"subject", b"Keywords": b"keywords"}
    text = found[0]
    for old, new in {**names, b"Created": b"created", b"LastSaved": b"modified"}.items():
        text = re.sub(rb"(</?)o:" + old + rb">", rb"\1o:" + new + rb">", text)
    return b"<x" + attributes + b">" + text + b"</x>"
