"""What a file says about itself: titles that are worth showing, and properties under the same names everywhere."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any
from xml.parsers import expat

from mcp_knowledge.adapters.parsers.xml_events import Handler, feed
from mcp_knowledge.domain.blocks import Block, Heading, NormalizedDocument
from mcp_knowledge.errors import KnowledgeError

_DOCUMENT = r"(?:document|dokument|documento|presentation|präsentation|présentation|presentación|presentazione)"
_JUNK_TITLE = re.compile(
    rf"(?:(?:(?:untitled|unnamed|unbenanntes|new|neues|nouveau|nuevo|word|microsoft word|powerpoint)[ -])?{_DOCUMENT}|"
    r"untitled|unbenannt|ohne titel|kein titel|sans titre|sans nom|sin título|senza titolo|zonder titel|no title|"
    r"title|titel|titre|doc|slide|folie|diapositive|diapositiva|présentation powerpoint|microsoft word|"
    r"index|home|\(?anonymous\)?|unknown(?: title| author)?|null|none|undefined|\[[^\]]*\]|<[^>]*>)"
    r"[\s\-_.#()]*\d*",
    re.IGNORECASE,
)
_LISTS_CONTENTS = re.compile(
    r"(?:table of )?contents|inhalt(?:sverzeichnis)?|sommaire|table des matières|[íi]ndice|sommario|inhoud(?:sopgave)?",
    re.IGNORECASE,
)
_TOOL_PREFIX = re.compile(r"^(?:microsoft (?:word|powerpoint|excel)|word|powerpoint|print)\s+-\s+", re.IGNORECASE)
_FILE_NAME = re.compile(
    r"[^\s/\\]+\.(?:docx?|docm|pdf|tex|dvi|ps|indd|odt|rtf|pptx?|xlsx?|html?|txt|md|qxd|fm|pmd|wpd|pages)",
    re.IGNORECASE,
)
_PATH = re.compile(r"^(?:[a-z]:\\|/|\\\\|file:)", re.IGNORECASE)
_FRACTION = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+")  # of a second: no document needs it
_COUNTS = frozenset({"pages", "slides"})
_MAX_COUNT = 99_999  # what is above is no count of pages
_MAX_PROPERTY_CHARS = 2_000
_PACKAGE_PROPERTIES = {
    "title": "title",
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "language": "language",
    "created": "created",
    "modified": "modified",
    "Pages": "pages",
    "Slides": "slides",
}


def good_title(title: str | None, filename: str) -> str | None:
    """A stated title in one line, or None when a tool made it up (a file name, 'untitled', 'Microsoft Word - …')."""
    text = " ".join((title or "").replace("\0", " ").split())
    bare = _TOOL_PREFIX.sub("", text)
    if not any(map(str.isalnum, bare)) or len(bare) < 2 or _JUNK_TITLE.fullmatch(bare) or _PATH.match(bare):
        return None
    if _FILE_NAME.fullmatch(bare) or (bare != text and "." in bare[-6:]) or bare.lower() in _names(filename):
        return None
    return bare


def _names(filename: str) -> set[str]:
    path = PurePath(filename)
    return {path.name.lower(), path.stem.lower()}


def titled(blocks: Iterable[Block], properties: Mapping[str, Any], filename: str) -> NormalizedDocument:
    """A document with the best title it states: its property, else its first heading."""
    found = tuple(blocks)
    title = good_title(properties.get("title"), filename)
    title = title or next((block.text for block in found if isinstance(block, Heading) and _names_it(block)), None)
    return NormalizedDocument(title, {name: value for name, value in properties.items() if name != "title"}, found)


def _names_it(heading: Heading) -> bool:
    """Whether a heading can be the document's title; that of its table of contents cannot."""
    return _LISTS_CONTENTS.fullmatch(heading.text.strip(" .:")) is None and any(map(str.isalnum, heading.text))


def stated_properties(raw: Mapping[str, str | int | datetime | None]) -> dict[str, Any]:
    """Properties without empty and impossible ones; dates (UTC) in ISO 8601, counts of pages and slides as numbers."""
    properties: dict[str, Any] = {}
    for name, value in raw.items():
        if isinstance(value, datetime):
            properties[name] = f"{value:%Y-%m-%dT%H:%M:%S}Z"
            continue
        text = " ".join(str("" if value is None else value).replace("\0", " ").split())[:_MAX_PROPERTY_CHARS]
        text = _FRACTION.sub(r"\1", text)
        if name not in _COUNTS:
            properties |= {name: text} if text else {}
        elif text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= _MAX_COUNT:
            properties[name] = int(text)
    return properties


def package_properties(parts: Mapping[str, bytes]) -> dict[str, Any]:
    """What an Office Open XML package says about itself, title included. Damaged parts say nothing."""
    reader = _PropertyReader()
    for name in ("docProps/core.xml", "docProps/app.xml"):
        try:
            feed(parts.get(name, b"<none/>"), reader)
        except KnowledgeError:
            continue
    return stated_properties(reader.properties)


class _PropertyReader(Handler):
    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self._name = ""

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        self._name = _PACKAGE_PROPERTIES.get(name, "")

    def text(self, text: str) -> None:
        if self._name:
            self.properties[self._name] = self.properties.get(self._name, "") + text

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        self._name = ""
