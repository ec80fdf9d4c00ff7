"""The tokens of an RTF file (RTF 1.9.1, "RTF Syntax"), and text out of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mcp_knowledge.adapters.parsers.ole_properties import code_page_name

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z'])|([{}])|([^\\{}\r\n]+)|[\r\n]+|\\",
    re.DOTALL,
)
_LINE_BREAKS = frozenset({"par", "line", "tab", "cell", "row", "sect", "page", "nestcell"})
_CHARACTERS = {
    "emdash": "\u2014",
    "endash": "\u2013",
    "lquote": "\u2018",
    "rquote": "\u2019",
    "ldblquote": "\u201c",
    "rdblquote": "\u201d",
    "bullet": "\u2022",
}

Kind = Literal["open", "close", "word", "hex", "symbol", "text", "blank", "binary"]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the file from `start` to `end`; a word with its number, a character's byte, or a run of text."""

    kind: Kind
    start: int
    end: int
    name: str = ""
    number: int | None = None
    raw: bytes = b""


def token_at(data: bytes, start: int) -> Token:
    """The token that begins at this place; tokens cover the whole file."""
    match = _TOKEN.match(data, start)
    if match is None:  # a byte that begins nothing
        return Token("blank", start, start + 1)
    end = match.end()
    word, number, code, symbol, brace, text = match.groups()
    if word is not None:
        name, value = word.decode("ascii"), int(number) if number else None
        if name == "bin" and value and value > 0:
            return Token("binary", start, min(len(data), end + value))
        return Token("word", start, end, name, value)
    if code is not None:
        return Token("hex", start, end, raw=bytes([int(code, 16)]))
    if symbol is not None:
        return Token("symbol", start, end, symbol.decode("latin-1"))
    if brace is not None:
        return Token("open" if brace == b"{" else "close", start, end)
    return Token("blank", start, end) if text is None else Token("text", start, end, raw=text)


def run_pattern(interesting: Iterable[str]) -> re.Pattern[bytes]:
    """What matches text and control words up to the next brace or interesting word: most of a file, at one go."""
    words = "|".join((*interesting, "bin")).encode("ascii")
    return re.compile(
        rb"(?:[^\\{}]++|\\'[0-9a-fA-F]{2}|\\[^a-zA-Z'*]|\\(?!(?:"
        + words
        + rb")(?![a-zA-Z]))[a-zA-Z]{1,32}(?![a-zA-Z]))++"
    )


class TextCollector:
    """Puts the text of a destination together; bytes are in the file's code page."""

    def __init__(self, code_page: int) -> None:
        self._encoding = code_page_name(code_page)
        self._bytes = bytearray()
        self._parts: list[str] = []
        self._skip = 0
        self._fallback = 1

    def take(self, token: Token) -> None:
        """Add a token's text, if it has any."""
        match token.kind:
            case "hex" | "text":
                skipped = min(self._skip, len(token.raw))
                self._skip -= skipped
                self._bytes += token.raw[skipped:]
            case "word" if token.name == "u" and token.number is not None:
                self._flush()
                self._parts.append(chr(token.number & 0xFFFF))
                self._skip = self._fallback
            case "word" if token.name == "uc":
                self._fallback = max(0, token.number or 0)
            case "word" if token.name in _LINE_BREAKS:
                self._add(" ")
            case "word" if token.name in _CHARACTERS:
                self._add(_CHARACTERS[token.name])
            case "symbol" if token.name in "\\{}":
                self._add(token.name)
            case "symbol" if token.name == "~":
                self._add(" ")
            case "symbol" if token.name == "_":
                self._add("-")

    def _add(self, text: str) -> None:
        self._flush()
        self._parts.append(text)

    def _flush(self) -> None:
        if self._bytes:
            self._parts.append(self._bytes.decode(self._encoding, "replace"))
            self._bytes.clear()

    def text(self) -> str:
        """What was collected, in one line; halves of surrogate pairs are joined."""
        self._flush()
        joined = "".join(self._parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return " ".join(joined.split())


def escaped(text: str) -> bytes:
    """Text for an RTF file, in ASCII; `\\uc1` must hold there."""
    units = text.encode("utf-16-le")
    characters = []
    for at in range(0, len(units), 2):
        unit = int.from_bytes(units[at : at + 2], "little")
        if unit >= 0x80:
            characters.append(f"\\u{unit - 0x10000 if unit >= 0x8000 else unit}?")
        else:
            characters.append(f"\\{chr(unit)}" if chr(unit) in "\\{}" else chr(unit))
    return "".join(characters).encode("ascii")
