"""What a file from the web is called, and which format it has: its bytes tell, then its type, then its name.

Servers often state the wrong one of these: a README.md that is a web page around it, a PDF sent as text, a spreadsheet
without a name. Where they contradict each other the bytes win, and a file that is none of what was promised is refused.
"""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from mcp_knowledge.domain.disposition import read_disposition
from mcp_knowledge.domain.filenames import extension_of, safe_name
from mcp_knowledge.domain.urls import WebAddress

HEAD_BYTES = 64 * 1024  # how much of a file is looked at
# Types beside the registered ones, as servers write them.
_OTHER_TYPES = {
    "application/x-pdf": "pdf",
    "application/vnd.ms-word": "doc",
    "application/x-msexcel": "xls",
    "application/x-rtf": "rtf",
    "text/rtf": "rtf",
    "application/csv": "csv",
    "text/x-csv": "csv",
    "text/x-markdown": "md",
    "text/json": "json",
    "application/x-json": "json",
    "application/x-ndjson": "jsonl",
    "application/ndjson": "jsonl",
    "application/json-lines": "jsonl",
    "text/xml": "xml",
    "application/xml": "xml",
    "application/x-zip-compressed": "zip",
    "application/zip": "zip",
}
_PACKAGES = frozenset(
    {"docx", "docm", "pptx", "pptm", "ppsx", "xlsx", "xlsm", "xlsb", "odt", "ods", "odp", "epub", "zip"}
)
_OLE = frozenset({"doc", "ppt", "pps", "xls"})
_SIBLINGS = ({"csv", "tsv"}, {"json", "jsonl"})  # often sent under one type
_DISGUISED = "xls"  # web applications call their HTML tables so, and the parser knows it
_BINARY = _PACKAGES | _OLE | {"pdf", "rtf"}
_PACKAGE_FOLDERS = {b"word": "docx", b"xl": "xlsx", b"ppt": "pptx"}
_PACKAGE_TYPES = {b"epub+zip": "epub", b"text": "odt", b"spreadsheet": "ods", b"presentation": "odp"}
_PACKAGE_KIND = re.compile(
    rb"PK\x03\x04.{26}(?:(word|xl|ppt)/|mimetypeapplication/(?:vnd\.oasis\.opendocument\.)?"
    rb"(epub\+zip|text|spreadsheet|presentation))",
    re.DOTALL,
)  # the name in an entry's header (APPNOTE 4.3.7), or the type that EPUB and OpenDocument put first, uncompressed
_MARKUP = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|link|style|h1|div|p|table)\b", re.IGNORECASE
)
_TITLE = re.compile(r"<title\b[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_PLAUSIBLE_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,80}")
_PICTURES = ("image/", "audio/", "video/", "font/")


@dataclass(frozen=True, slots=True)
class Download:
    """What an answer says about the file in it.

    Args:
        address: where it came from in the end.
        content_type: the header's value, empty when there is none.
        disposition: the `Content-Disposition` header's bytes.
        head: the file's first bytes, HEAD_BYTES at most.
    """

    address: WebAddress
    content_type: str
    disposition: bytes
    head: bytes


class Formats:
    """The formats that are read.

    Args:
        accepted: extensions in lower case, without the dot.
        media_type: the media type of an extension that some parser reads.
    """

    def __init__(self, accepted: frozenset[str], media_type: Callable[[str], str]) -> None:
        self.accepted = accepted
        self._type_of = {extension: media_type(extension) for extension in sorted(accepted - {"zip"})}
        by_type: dict[str, str] = {}
        for extension, kind in self._type_of.items():
            if kind not in by_type or extension in ("html", "txt", "md", "ppt"):
                by_type[kind] = extension
        self.extensions: Mapping[str, str] = by_type | {
            kind: extension for kind, extension in _OTHER_TYPES.items() if extension in accepted
        }

    def same(self, one: str, other: str) -> bool:
        """Whether two extensions stand for the same type, as htm and html do."""
        return one == other or (one in self._type_of and self._type_of[one] == self._type_of.get(other))


def media_type(content_type: str) -> str:
    """The type of a `Content-Type` header, without its parameters; empty when it states none."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind if _PLAUSIBLE_TYPE.fullmatch(kind) else ""


def charset(content_type: str) -> str | None:
    """The charset that a `Content-Type` header states."""
    found = _CHARSET.search(content_type)
    return found[1] if found else None


def filename_of(download: Download, formats: Formats) -> str | None:
    """The file's name, with an extension that tells its format; None when it is nothing that is read."""
    name = _stated_name(download)
    extension = _format(download, extension_of(name), formats)
    if extension is None:
        return None
    name = name or _page_title(download.head, extension) or download.address.host
    return name if formats.same(extension_of(name), extension) else f"{name}.{extension}"


def _stated_name(download: Download) -> str:
    """The name in the header, else the last part of the path; empty when there is neither."""
    stated = read_disposition(download.disposition)[1]
    if stated and (name := _name(stated)):
        return name
    segments = [part for part in download.address.target.partition("?")[0].split("/") if part]
    return _name(unquote(segments[-1]).replace("/", "-")) if segments else ""


def _name(text: str) -> str:
    name = safe_name(text)
    return "" if name == "document" and name not in text else name  # what stands for a name of which nothing is left


def _page_title(head: bytes, extension: str) -> str:
    found = _TITLE.search(head.decode("utf-8", "replace")) if extension == "html" else None
    title = " ".join(html.unescape(found[1]).split()) if found else ""
    return _name(title.replace("/", "-").replace("\\", "-").replace("\ufffd", ""))[:120].rstrip()


def _format(download: Download, named: str, formats: Formats) -> str | None:
    head, kind = download.head, media_type(download.content_type)
    stated = formats.extensions.get(kind) or _by_suffix(kind)
    signed = _signed(head, named)
    found = _among(signed, named, stated) if signed else _text_format(head, kind, named, stated, formats)
    return found if found in formats.accepted else None


def _by_suffix(kind: str) -> str | None:
    """The syntax that a type's name ends in (RFC 6839)."""
    return next((suffix for suffix in ("json", "xml") if kind.endswith(f"+{suffix}")), None)


def _signed(head: bytes, named: str) -> tuple[str, frozenset[str]] | None:
    """The likeliest format of a file whose first bytes tell what it is, with all that have the same first bytes."""
    start = head[:1024].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"%PDF-") or (named == "pdf" and b"%PDF-" in start):
        return "pdf", frozenset({"pdf"})
    if start.startswith(b"{\\rtf"):
        return "rtf", frozenset({"rtf"})
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        kind = _PACKAGE_KIND.search(head)
        likeliest = "zip" if kind is None else _PACKAGE_FOLDERS.get(kind[1]) or _PACKAGE_TYPES[kind[2]]
        return likeliest, _PACKAGES
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return "", _OLE  # which of them, only the whole file tells
    return None


def _among(signed: tuple[str, frozenset[str]], named: str, stated: str | None) -> str | None:
    likeliest, family = signed
    if named in family:
        return named
    if stated in family and not (stated == "zip" and likeliest):
        return stated
    return likeliest or None


def _text_format(head: bytes, kind: str, named: str, stated: str | None, formats: Formats) -> str | None:
    """The format of a file whose first bytes are no signature: one of those that are text, or nothing."""
    page = _MARKUP.search(head[:2048].replace(b"\0", b"")) is not None
    name_fits = named in formats.accepted and named not in _BINARY
    if kind.startswith(_PICTURES):
        return None
    if stated in _BINARY:
        if name_fits and not page:
            return named
        return stated if stated == _DISGUISED else None
    if stated is not None and stated != "txt":
        closer = {named, stated} in _SIBLINGS or (name_fits and formats.same(stated, "html") and not page)
        return named if closer else stated
    if name_fits:
        return named
    if named == _DISGUISED:
        return named
    if named in _BINARY and not page:
        return None
    if page and kind != "text/plain":
        return "html"
    return "txt" if kind.startswith("text/") or (not kind and _readable(head)) else None


def _readable(head: bytes) -> bool:
    return bool(head) and not re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", head)
