"""Which format a file really has. Bytes decide; the extension only tells text formats apart."""

import io
import re
import zipfile
from collections.abc import Mapping

from mcp_knowledge.adapters.parsers import ole
from mcp_knowledge.adapters.parsers.packages import ZIP_FAULTS
from mcp_knowledge.adapters.parsers.registry import Format, Registry
from mcp_knowledge.adapters.parsers.sheets.disguised import disguised_format, is_text
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.word.flat_office import flat_format
from mcp_knowledge.errors import KnowledgeError

_PDF_HEADER_WINDOW = 1024  # readers accept a PDF header within the first kilobyte (ISO 32000-1, annex H.3.4.1)
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
# A main part's folder tells the kind of an Office package; names are compared in lower case.
_PACKAGES = {"word/": "docx", "xl/": "xlsx", "ppt/": "pptx"}
_SAVED_AS_PAGE = frozenset({"html", "eml"})  # web pages and web archives under any name
_OLD_TEXTS = frozenset({"doc", "rtf"})  # also extensions of plain texts
_SPREADSHEETS = frozenset({"xls", "xlsx", "ods"})
_MAX_LISTING_BYTES = 1024 * 1024
_MAIN_PART = re.compile(
    rb"application/vnd\.[\w.-]*(word|excel|powerpoint|wordprocessingml|spreadsheetml|presentationml)"
    rb"[\w.-]*\.main\b",
    re.IGNORECASE,
)
_MAIN_PARTS = {
    b"word": "docx",
    b"wordprocessingml": "docx",
    b"excel": "xlsx",
    b"spreadsheetml": "xlsx",
    b"powerpoint": "pptx",
    b"presentationml": "pptx",
}
_OPEN_DOCUMENT_BODY = re.compile(rb"<office:(text|spreadsheet|presentation)[\s/>]")
_OPEN_DOCUMENT_BODIES = {b"text": "odt", b"spreadsheet": "ods", b"presentation": "odp"}
_PACKAGE_MIME_TYPES = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
}


def detect(source: Source, registry: Registry) -> Format:
    """The format to read a file with.

    Raises:
        KnowledgeError: DOCUMENT_UNSUPPORTED_FORMAT for a known format that is not read, DOCUMENT_ENCRYPTED for an
            encrypted Office file, DOCUMENT_MALFORMED when the bytes are nothing that the name promises.
    """
    signed = _signed_format(source.data, source.extension)
    if signed is not None:
        return registry.named(signed)
    named = registry.for_extension(source.extension)
    if not named.binary:
        return named
    disguised = _disguised(source.data, named.name)
    if disguised is None:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    return registry.named(disguised)


def _disguised(data: bytes, named: str) -> str | None:
    """What a file named like a binary format is, when it is a text that its program opens all the same."""
    found = disguised_format(data)
    if named in _SPREADSHEETS or found in _SAVED_AS_PAGE:
        return found
    return "text" if named in _OLD_TEXTS and is_text(data) else None


def _signed_format(data: bytes, extension: str) -> str | None:
    if data.startswith(ole.MAGIC):
        return ole.detect_kind(data)
    if data.startswith(_ZIP_MAGIC):
        return _package_format(data)
    head = data[:_PDF_HEADER_WINDOW].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(b"%PDF-") or (extension == "pdf" and b"%PDF-" in head):
        return "pdf"
    return flat_format(data)


def _package_format(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            entries = {entry.filename.lower().replace("\\", "/").lstrip("/"): entry for entry in package.infolist()}
            names = list(entries)
            if "mimetype" in entries:
                declared = _beginning(package, entries["mimetype"], 100)
                return next((kind for mime, kind in _PACKAGE_MIME_TYPES.items() if declared.startswith(mime)), "zip")
            if main := _declared_main_part(package, entries):
                return main
    except ZIP_FAULTS:
        names = _names_without_directory(data)
    for folder, kind in _PACKAGES.items():
        if any(name.startswith(folder) for name in names):
            return kind
    raise KnowledgeError("DOCUMENT_MALFORMED")


def _beginning(package: zipfile.ZipFile, entry: zipfile.ZipInfo, size: int) -> bytes:
    with package.open(entry) as stream:
        return stream.read(size).strip()


def _declared_main_part(package: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]) -> str | None:
    """The kind that a package without a media type of its own declares in its list of parts."""
    if "[content_types].xml" in entries:
        types = _beginning(package, entries["[content_types].xml"], _MAX_LISTING_BYTES)
        found = _MAIN_PART.search(types)
        return _MAIN_PARTS[found[1].lower()] if found else None
    if "content.xml" in entries:
        root = _OPEN_DOCUMENT_BODY.search(_beginning(package, entries["content.xml"], _MAX_LISTING_BYTES))
        return _OPEN_DOCUMENT_BODIES[root[1]] if root else "odt"
    return "epub" if "meta-inf/container.xml" in entries else None


def _names_without_directory(data: bytes) -> list[str]:
    """Entry names from the local headers of a zip file whose central directory is damaged."""
    names = []
    for match in re.finditer(rb"PK\x03\x04.{22}(..)", data, re.DOTALL):
        length = int.from_bytes(match[1], "little")
        names.append(data[match.end() + 2 : match.end() + 2 + length].decode("utf-8", "replace").lower())
    return names
