"""The property sets of OLE files (MS-OLEPS): title, author, dates and the like of old Office files.

Read here and not by olefile, which drops the zero bytes of UTF-16 strings and may count a vector for ever.
"""

import codecs
import struct
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from mcp_knowledge.adapters.parsers.ole import Container
from mcp_knowledge.adapters.parsers.properties import stated_properties

_SUMMARY = "\x05SummaryInformation"
# MS-OLEPS 2.25.1, by property id. Slides are in the second set of properties (MS-OSHARED 2.3.3.2.2.1).
_SUMMARY_NAMES = {
    2: "title",
    3: "subject",
    4: "author",
    5: "keywords",
    6: "description",
    12: "created",
    13: "modified",
    14: "pages",
}
_DOCUMENT_SUMMARY = "\x05DocumentSummaryInformation"
_DOCUMENT_SUMMARY_NAMES = {7: "slides"}
_CODE_PAGE_ID = 1
_INT16, _INT32, _STRING, _WIDE_STRING, _FILETIME = 2, 3, 30, 31, 64
_UTF16_CODE_PAGE = 1200
_CODE_PAGES = {65000: "utf-7", 65001: "utf-8", 10000: "mac_roman", 10007: "mac_cyrillic", 20127: "ascii"}
_EPOCH = datetime(1601, 1, 1)  # of FILETIME, which counts 100 ns
_MAX_PROPERTIES = 1_000


def ole_properties(container: Container) -> dict[str, Any]:
    """What the file says about itself, title included, named as in every other format's metadata."""
    stated: dict[str, Any] = {}
    for stream, names in ((_SUMMARY, _SUMMARY_NAMES), (_DOCUMENT_SUMMARY, _DOCUMENT_SUMMARY_NAMES)):
        values = _property_set(container.stream(stream) or b"")
        stated |= {name: values[number] for number, name in names.items() if number in values}
    return stated_properties(stated)


def code_page_name(number: int) -> str:
    """Python's name for a Windows code page; Windows-1252 for what it does not know."""
    name = _CODE_PAGES.get(number, f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"


def _property_set(stream: bytes) -> Mapping[int, str | int | datetime]:
    """The first section's properties by id; those of other types than text, number and date are left out."""
    try:
        (start,) = struct.unpack_from("<I", stream, 44)
        (count,) = struct.unpack_from("<I", stream, start + 4)
        places = [
            struct.unpack_from("<II", stream, start + 8 + 8 * index) for index in range(min(count, _MAX_PROPERTIES))
        ]
    except struct.error:
        return {}
    section = stream[start:]
    code_page = next((_value(section, at, 0) for number, at in places if number == _CODE_PAGE_ID), None)
    page = code_page & 0xFFFF if isinstance(code_page, int) else 1252
    values = {number: _value(section, at, page) for number, at in places if number != _CODE_PAGE_ID}
    return {number: value for number, value in values.items() if value is not None}


def _value(section: bytes, at: int, code_page: int) -> str | int | datetime | None:
    try:
        (kind,) = struct.unpack_from("<I", section, at)
        match kind:
            case _ if kind == _INT16:
                return int(struct.unpack_from("<h", section, at + 4)[0])
            case _ if kind == _INT32:
                return int(struct.unpack_from("<i", section, at + 4)[0])
            case _ if kind == _FILETIME:
                ticks = int(struct.unpack_from("<Q", section, at + 4)[0])
                return _EPOCH + timedelta(microseconds=ticks // 10) if ticks else None
            case _ if kind in (_STRING, _WIDE_STRING):
                (length,) = struct.unpack_from("<I", section, at + 4)
                wide = kind == _WIDE_STRING
                text = section[at + 8 : at + 8 + length * (2 if wide else 1)]
                encoding = "utf-16-le" if wide or code_page == _UTF16_CODE_PAGE else code_page_name(code_page)
                return text.decode(encoding, "replace").partition("\0")[0]
    except (struct.error, OverflowError):
        pass
    return None
