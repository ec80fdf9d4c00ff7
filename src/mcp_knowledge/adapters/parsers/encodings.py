"""Bytes to text: byte order mark, strict UTF-8, declared charset, detection; in this order, with a trace of any guess.

The decoded text keeps its line ends and loses its byte order mark; `charStart` and `charEnd` count in it.
"""

import codecs
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from mcp_knowledge.errors import KnowledgeError

# UTF-32's mark begins with UTF-16's, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What browsers read under these labels (WHATWG Encoding Standard, section 4.2).
_LABELS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "utf-16": "utf-8",  # a declaration that was read as ASCII cannot stand in UTF-16
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
_SAMPLE_BYTES = 65_536
_MAX_CONTROL_SHARE = 0.05  # random bytes have 0.10, programs and pictures more; logs with colour codes stay below
_FEW_ACCENTS = 12
_FOREIGN_RUN = re.compile(r"[^\x00-\x7f]{3}")  # as other scripts look when read as Windows-1252
_MAX_ASCII_SHARE = (
    0.8  # of the bytes of UTF-16: every other byte of Western text is zero, and of other text hardly ASCII
)
_ASCII = bytes((*range(32, 127), *b"\t\n\r"))
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\b\x1b\x1a")
_CONTROLS = bytes(code for code in range(32) if code not in _TEXT_CONTROLS) + b"\x7f"


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoded text, the encoding it had, and whether that was guessed or some bytes had to be replaced by U+FFFD."""

    text: str
    encoding: str
    guessed: bool = False
    damaged: bool = False

    @property
    def metadata(self) -> dict[str, Any]:
        """What to tell the document's readers; nothing for plain UTF-8."""
        data: dict[str, Any] = {}
        if self.encoding != "utf-8" or self.guessed or self.damaged:
            data["encoding"] = self.encoding
        if self.guessed:
            data["encodingGuessed"] = True
        if self.damaged:
            data["encodingDamaged"] = True
        return data


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Decode the bytes of a text file; `declared` is a charset label the file itself states.

    Raises:
        KnowledgeError: DOCUMENT_MALFORMED when the bytes are not text in any encoding.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data[len(mark) :], encoding)
    if b"\0" in data[:_SAMPLE_BYTES] and (_is_binary(data) or _strict(data, "utf-8") is None) and (wide := _wide(data)):
        return wide
    if _is_binary(data):
        raise KnowledgeError("DOCUMENT_MALFORMED")
    if b"\x1b$" in data and data.isascii() and (text := _strict(data, "iso2022_jp")) is not None:
        return Decoded(text, "iso2022_jp")
    if (text := _strict(data, "utf-8")) is not None:
        return Decoded(text, "utf-8")
    if declared and (label := _known(declared)) and (text := _strict(data, label)) is not None:
        return Decoded(text, label)
    return _wide(data) or _mainframe(data) or _detected(data)


def strictly(data: bytes, label: str) -> str | None:
    """The text of bytes in the encoding that browsers read under this label; None when they are not in it.

    Args:
        label: stated outside the bytes, so that it may be any encoding, also UTF-16.
    """
    encoding = label if label.lower().startswith("utf-16") else _known(label)
    return None if encoding is None else _strict(data, encoding)


def _marked(data: bytes, encoding: str) -> Decoded:
    text = _strict(data, encoding)
    if text is None:
        return Decoded(data.decode(encoding, "replace"), encoding, damaged=True)
    if text.count("\0") > len(text) * _MAX_CONTROL_SHARE:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    return Decoded(text, encoding)


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _known(label: str) -> str | None:
    try:
        name = codecs.lookup(label.strip()).name
    except (LookupError, ValueError):
        return None
    return _LABELS.get(name, name)


def _wide(data: bytes) -> Decoded | None:
    """UTF-16 without a mark: bytes that make assigned characters, with blanks or line ends, in one byte order."""
    if len(data) % 2 or len(data) < 4:
        return None
    sample = data[:_SAMPLE_BYTES]
    for encoding in ("utf-16-le", "utf-16-be"):
        text = _strict(sample, encoding) or _strict(sample[:-2], encoding)
        if text and _plausible(text) and (whole := _strict(data, encoding)) is not None:
            return Decoded(whole, encoding, guessed=True)
    return None


def _mainframe(data: bytes) -> Decoded | None:
    """EBCDIC, in which the blank is 0x40 and hardly a byte is an ASCII letter."""
    sample = data[:_SAMPLE_BYTES]
    if sample.count(0x40) * 12 < len(sample) or sample.count(0x20) * 100 > len(sample):
        return None
    text = data.decode("cp500").replace("\x85", "\n")
    letters = sum(c.isalnum() or c.isspace() for c in text[:_SAMPLE_BYTES])
    return Decoded(text, "cp500", guessed=True) if letters >= 0.8 * len(text[:_SAMPLE_BYTES]) else None


def _plausible(text: str) -> bool:
    odd = sum(unicodedata.category(c) in ("Cn", "Co", "Cs", "Cc") and c not in "\t\n\r\f" for c in text)
    blanks = sum(c in " \n\r\t\u3000" for c in text)
    # Text in one script stays on few 256-character pages; two bytes of something else in one code unit wander over all.
    pages = len({ord(c) >> 8 for c in text if not "\u3000" <= c <= "\u9fff" and not "\uac00" <= c <= "\ud7a3"})
    return odd == 0 and blanks * 100 >= len(text) and pages <= 12


def _is_binary(data: bytes) -> bool:
    sample = data[:_SAMPLE_BYTES]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls > max(2, len(sample) * _MAX_CONTROL_SHARE) or (0 < len(sample) <= 2 and controls > 0)


def _detected(data: bytes) -> Decoded:
    """Damaged UTF-8, else what charset-normalizer (loaded only now: most files are UTF-8) says, else Windows-1252."""
    if (text := _damaged_utf8(data)) is not None:
        return Decoded(text, "utf-8", guessed=True, damaged=True)
    from charset_normalizer import from_bytes

    best = from_bytes(_sample_around_non_ascii(data), cp_exclusion=_NEVER).best()
    guess = best.encoding if best else "cp1252"
    label = _LABELS.get(_name(guess), _name(guess))
    text = _strict(data, label)
    western = _strict(data, "cp1252")
    if western is not None and (text is None or text == western or _short_western(western)):
        return Decoded(western, "cp1252", guessed=True)
    if text is not None:
        return Decoded(text, label, guessed=True)
    return Decoded(data.decode("cp1252", "replace"), "cp1252", guessed=True, damaged=True)


def _damaged_utf8(data: bytes) -> str | None:
    """The text of UTF-8 with some broken bytes: whole multi-byte characters outnumber them by far."""
    whole = data.decode("utf-8", "ignore")
    broken = len(data) - len(whole.encode())
    others = sum(not c.isascii() for c in whole)
    return data.decode("utf-8", "replace") if others > 5 * broken else None


def _short_western(text: str) -> bool:
    """Whether a text has too few accented letters for statistics, and they stand as they do in Western languages."""
    others = sum(not c.isascii() for c in text)
    return others <= _FEW_ACCENTS and _FOREIGN_RUN.search(text) is None


# Mainframe and rare code pages that short Western texts are taken for, and encodings that were tried already.
_NEVER = [
    "cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140", "utf_7", "utf_8", "utf_16", "utf_16_le",
    "utf_16_be", "utf_32", "utf_32_le", "utf_32_be", "hp_roman8", "ptcp154", "kz1048", "johab", "cp1006", "cp1125",
    "cp720", "cp737", "cp775", "cp855", "cp856", "cp857", "cp858", "cp860", "cp861", "cp862", "cp863", "cp864",
    "cp865", "cp869", "mac_croatian", "mac_iceland", "mac_latin2", "mac_turkish", "mac_greek", "iso8859_10",
    "iso8859_13", "iso8859_14", "iso8859_16",
]  # fmt: skip


def _name(encoding: str) -> str:
    return codecs.lookup(encoding).name


def _sample_around_non_ascii(data: bytes) -> bytes:
    """The part of a big file that tells its encoding: from a little before the first byte that is not ASCII."""
    if len(data) <= _SAMPLE_BYTES:
        return data
    first = next((index for index in range(0, len(data), 4096) if not data[index : index + 4096].isascii()), 0)
    return data[max(0, first - 1024) : first + _SAMPLE_BYTES]
