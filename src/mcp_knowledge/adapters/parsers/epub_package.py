"""What an EPUB says about itself: which files make the book in which order, its table of contents, its properties."""

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from mcp_knowledge.adapters.parsers.html import decoded_page
from mcp_knowledge.adapters.parsers.xml_tree import Node, parse_tree
from mcp_knowledge.errors import KnowledgeError

_PAGES = (".xhtml", ".html", ".htm", ".xht")
_NOT_PAGES = ("text/css", "application/x-dtbncx+xml")
# These only scramble fonts, with a key that stands in the file (EPUB Open Container Format, "font obfuscation").
_FONT_OBFUSCATION = frozenset(["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"])
_PROPERTIES = {
    "creator": "author",
    "language": "language",
    "publisher": "publisher",
    "date": "published",
    "subject": "subject",
    "description": "description",
}
_MAX_PROPERTY_CHARS = 2_000
_NOBODY = ("unknown", "unknown author")  # what programs write where nothing was stated


@dataclass(frozen=True, slots=True)
class Book:
    """The package.

    Args:
        pages: names of the parts that make the book, in reading order; navigation and cover are left out.
        labels: what the table of contents calls a part, or places in it, in the table's order.
    """

    title: str | None
    properties: dict[str, Any]
    pages: list[str]
    labels: dict[str, list[str]]


class Parts:
    """A package's parts, found by names that are written a little differently in different places."""

    def __init__(self, parts: Mapping[str, bytes]) -> None:
        self._parts = parts
        self._names = {_key(name): name for name in [*parts][::-1]}

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._parts if not name.startswith("__MACOSX/"))

    def __getitem__(self, name: str) -> bytes:
        return self._parts[name]

    def named(self, name: str) -> str | None:
        """The part's own name, or None when there is no such part."""
        return self._names.get(_key(name))

    def target(self, base: str, href: str) -> str | None:
        """The part that a reference in the part `base` leads to."""
        path = unquote(urlsplit(href).path) if "%" in href or "#" in href or "?" in href else href
        return self.named(posixpath.normpath(posixpath.join(posixpath.dirname(base), path)))

    def tree(self, name: str | None) -> Node | None:
        """A part as XML, or None when it is missing or broken."""
        if name is None:
            return None
        text = decoded_page(self._parts[name]).text
        try:
            return parse_tree(text, len(self._parts[name]))
        except KnowledgeError as error:
            if error.code == "DOCUMENT_RESOURCE_LIMIT":
                raise
            return None


def _key(name: str) -> str:
    with suppress(UnicodeError):  # names in UTF-8 without the flag that says so
        name = name.encode("cp437").decode("utf-8")
    return unicodedata.normalize("NFC", name).casefold().lstrip("/")


def read_book(parts: Parts) -> Book:
    """The book of a package. Where its own description is missing or broken, every page by name.

    Raises:
        KnowledgeError: DOCUMENT_ENCRYPTED when a page of it is.
    """
    place = _package_place(parts)
    package = parts.tree(place)
    book = None if package is None or place is None else _Package(parts, place, package).book()
    if book is None or not book.pages:
        pages = sorted((name for name in parts if name.lower().endswith(_PAGES)), key=_by_numbers)
        book = Book(book.title if book else None, book.properties if book else {}, pages, book.labels if book else {})
    if not _encrypted(parts).isdisjoint(book.pages):
        raise KnowledgeError("DOCUMENT_ENCRYPTED")
    return book


def _by_numbers(name: str) -> list[int | str]:
    """A sort key under which chapter 10 comes after chapter 9."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"([0-9]+)", name)]


def _package_place(parts: Parts) -> str | None:
    container = parts.tree(parts.named("META-INF/container.xml"))
    for rootfile in container.find("rootfile") if container else ():
        if place := parts.target("", rootfile.attributes.get("full-path", "")):
            return place
    return next((name for name in parts if name.lower().endswith(".opf")), None)


def _encrypted(parts: Parts) -> set[str]:
    tree = parts.tree(parts.named("META-INF/encryption.xml"))
    found: set[str] = set()
    for item in tree.find("EncryptedData") if tree else ():
        methods = {method.attributes.get("Algorithm", "") for method in item.find("EncryptionMethod")}
        if not methods <= _FONT_OBFUSCATION or not methods:
            places = [reference.attributes.get("URI", "") for reference in item.find("CipherReference")]
            found.update(target for place in places if (target := parts.target("", place)))
    return found


@dataclass(slots=True)
class _Package:
    """The package document (OPF) at `place`."""

    parts: Parts
    place: str
    tree: Node
    targets: dict[str, str] = field(default_factory=dict)  # by manifest id
    kinds: dict[str, str] = field(default_factory=dict)  # media types by part
    navigation: str | None = None

    def book(self) -> Book:
        """All that it tells."""
        for item in self.tree.find("item"):
            stated = item.attributes
            target = self.parts.target(self.place, stated.get("href", ""))
            if target is None:
                continue
            self.targets[stated.get("id", "")] = target
            self.kinds[target] = stated.get("media-type", "").lower()
            if "nav" in stated.get("properties", "").split():
                self.navigation = target
        pages = self._pages()
        return Book(self._title(), self._properties(), pages, self._labels())

    def _pages(self) -> list[str]:
        spine = [self.targets.get(item.attributes.get("idref", "")) for item in self.tree.find("itemref")]
        pages = list(dict.fromkeys(page for page in spine if page and self.kinds[page] not in _NOT_PAGES))
        guides = {"cover": set[str](), "toc": set[str]()}
        for reference in self.tree.find("reference"):
            target = self.parts.target(self.place, reference.attributes.get("href", ""))
            kind = reference.attributes.get("type", "").lower()
            if target and kind in guides:
                guides[kind].add(target)
        left_out = {self.navigation, *guides["toc"]}
        return [page for page in pages if page not in left_out] or pages

    def _title(self) -> str | None:
        return next((text for node in self.tree.find("title") if (text := " ".join(node.text().split()))), None)

    def _properties(self) -> dict[str, Any]:
        found: dict[str, list[str]] = {}
        metadata = next(self.tree.find("metadata"), None)
        for node in metadata.find(*_PROPERTIES) if metadata else ():
            text = " ".join(node.text().split())[:_MAX_PROPERTY_CHARS]
            if text and text.lower() not in _NOBODY:
                found.setdefault(_PROPERTIES[node.name], []).append(text)
        return {
            name: values[0] if name == "published" else "; ".join(dict.fromkeys(values))
            for name, values in found.items()
        }

    def _labels(self) -> dict[str, list[str]]:
        """From the navigation page, else from the older table (NCX)."""
        labels: dict[str, list[str]] = {}
        for href, base, label in [*self._navigation_links()] or [*self._ncx_links()]:
            if (target := self.parts.target(base, href)) and (text := " ".join(label.split())):
                labels.setdefault(target, []).append(text)
        return labels

    def _navigation_links(self) -> Iterator[tuple[str, str, str]]:
        tree = self.parts.tree(self.navigation)
        tables = list(tree.find("nav")) if tree else []
        for table in [table for table in tables if table.attributes.get("type") == "toc"] or tables[:1]:
            for link in table.find("a"):
                yield link.attributes.get("href", ""), self.navigation or "", link.text()

    def _ncx_links(self) -> Iterator[tuple[str, str, str]]:
        names = [name for name, kind in self.kinds.items() if kind == "application/x-dtbncx+xml"]
        name = next((name for name in [*names, *self.parts] if name in names or name.lower().endswith(".ncx")), None)
        tree = self.parts.tree(name)
        for point in tree.find("navPoint") if tree else ():
            label, target = next(point.find("navLabel"), None), next(point.find("content"), None)
            if label is not None and target is not None:
                yield target.attributes.get("src", ""), name or "", label.text()
