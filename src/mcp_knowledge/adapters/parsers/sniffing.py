"""Which format a file really has. Bytes decide; the extension only tells text formats apart."""

import io
import re
import zipfile

from mcp_knowledge.adapters.parsers.registry import Format, Registry
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.errors import KnowledgeError

_PDF_HEADER_WINDOW = 1024  # readers accept a PDF header within the first kilobyte (ISO 32000-1, annex H.3.4.1)
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_ENCRYPTED = re.compile(
    b"|".join(
        name.encode("utf-16-le") for name in ("EncryptedPackage", "EncryptionInfo", "DRMContent", "DRMViewerContent")
    ),
    re.IGNORECASE,
)  # stream names stand in the file's directory as UTF-16
_OLE_STREAMS = tuple(name.encode("utf-16-le") for name in ("WordDocument", "PowerPoint Document", "Workbook", "Book"))
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
# A main part's folder tells the kind of an Office package; names are compared in lower case.
_PACKAGES = {"word/": "docx", "xl/": "xlsx", "ppt/": "pptx"}
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
    if named.binary:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    return named


def _signed_format(data: bytes, extension: str) -> str | None:
    if data.startswith(_OLE_MAGIC):
        return _ole_format(data)
    if data.startswith(_ZIP_MAGIC):
        return _package_format(data)
    head = data[:_PDF_HEADER_WINDOW].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(b"%PDF-") or (extension == "pdf" and b"%PDF-" in head):
        return "pdf"
    return None


def _ole_format(data: bytes) -> str:
    if _OLE_ENCRYPTED.search(data):
        raise KnowledgeError("DOCUMENT_ENCRYPTED")
    if any(name in data for name in _OLE_STREAMS):
        return "ole"
    raise KnowledgeError("DOCUMENT_MALFORMED")


def _package_format(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            names = [name.lower().replace("\\", "/").lstrip("/") for name in package.namelist()]
            if "mimetype" in names:
                with package.open(package.infolist()[names.index("mimetype")]) as stream:
                    declared = stream.read(100).strip()
                return next((kind for mime, kind in _PACKAGE_MIME_TYPES.items() if declared.startswith(mime)), "zip")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError, EOFError):
        names = _names_without_directory(data)
    for folder, kind in _PACKAGES.items():
        if any(name.startswith(folder) for name in names):
            return kind
    raise KnowledgeError("DOCUMENT_MALFORMED")


def _names_without_directory(data: bytes) -> list[str]:
    """Entry names from the local headers of a zip file whose central directory is damaged."""
    names = []
    for match in re.finditer(rb"PK\x03\x04.{22}(..)", data, re.DOTALL):
        length = int.from_bytes(match[1], "little")
        names.append(data[match.end() + 2 : match.end() + 2 + length].decode("utf-8", "replace").lower())
    return names
