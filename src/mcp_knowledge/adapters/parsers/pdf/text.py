"""Text of PDF pages: markup and ligatures undone, hyphens at line ends mended, broken paragraphs joined."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from mcp_knowledge.adapters.parsers.pdf.math import without_latex
from mcp_knowledge.domain.blocks import Block, PageBreak, Paragraph

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_MARKUP = re.compile(r"\\([\\*_])|\*+")
_CODE = re.compile(r"`([^`\n]+)`")
# Accents that TeX sets as characters of their own before the letter. An acute accent is also a common false apostrophe:
# it counts before vowels only, and where the page has no whole accented letters.
_ACCENTS = {
    **{"ˆ": "\u0302", "˜": "\u0303", "¨": "\u0308", "ˇ": "\u030c", "˘": "\u0306", "¯": "\u0304", "˙": "\u0307"},
    **{"˚": "\u030a", "˝": "\u030b", "´": "\u0301", "`": "\u0300"},
}
_ACCENT = re.compile(r"([ˆ˜¨ˇ˘¯˙˚˝])([^\W\d_])")
_DOUBTFUL_ACCENT = re.compile(r"(´|(?<=[^\W\d_])`)([aeiouyAEIOUYı])")
_ACCENTED_LETTER = re.compile("[À-ÖØ-öø-İĲ-ž]")
_CEDILLA = re.compile(r"([cCsStT])¸(?=\w)")
_LEADERS = re.compile(r"(?:\s?\.){5,}\s*(?=(?:\d+|[ivxlc]+)\b)")  # dots from a title to its page number
_SOFT_HYPHEN = re.compile(r"\xad\s*")
_LINE_HYPHEN = re.compile(r"(\w+)[-\u2010]\s*\n\s*(\w+)")
_BROKEN_END = re.compile(r"(\w+)[-\u2010]$")
_WORD = re.compile(r"\w+")
_IDEOGRAPH = re.compile("[\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60]")
_IDEOGRAPH_GAP = re.compile(f"(?<={_IDEOGRAPH.pattern}) (?={_IDEOGRAPH.pattern})")
_IDEOGRAPH_LINE_END = re.compile(f"(?<={_IDEOGRAPH.pattern})\n(?={_IDEOGRAPH.pattern})")
_APART = re.compile(r"(\w+)[-\u2010] (\w+)")
_REAL_HYPHEN_PREFIXES = frozenset({"self", "well", "ex", "non", "all", "half", "high", "low", "long", "short"})


def plain(markdown: str, page: str) -> str:
    """liteparse's block text without the emphasis, code marks and escapes that it adds to the text of the page."""
    text = _CODE.sub(lambda match: match[0] if match[0] in page else match[1], without_latex(markdown))
    return mended(_MARKUP.sub(lambda match: match[1] or "", text), page)


def mended(text: str, page: str) -> str:
    """Some of a page's text without ligatures, soft hyphens and dot leaders, each accent on its letter."""
    text = _LEADERS.sub(" ", _SOFT_HYPHEN.sub("", text).translate(_LIGATURES))
    if text.isascii() and "`" not in text:
        return text
    text = _CEDILLA.sub(lambda match: unicodedata.normalize("NFC", match[1] + "\u0327"), text)
    text = _ACCENT.sub(_accented, text)
    return text if "´" not in page or _ACCENTED_LETTER.search(page) else _DOUBTFUL_ACCENT.sub(_accented, text)


def _accented(match: re.Match[str]) -> str:
    """A letter with the accent that stands before it, as TeX sets it; two characters where there is no such letter."""
    letter = {"ı": "i", "ȷ": "j"}.get(match[2], match[2])
    whole = unicodedata.normalize("NFC", letter + _ACCENTS[match[1]])
    return whole if len(whole) == 1 else match[0]


def joined_lines(text: str, vocabulary: frozenset[str]) -> str:
    """Lines of pdfium's text in which words that were split at line ends are whole again."""
    text = _IDEOGRAPH_LINE_END.sub("", text)
    return _LINE_HYPHEN.sub(lambda match: joined_word(match[1], match[2], vocabulary), text)


def joined_word(head: str, tail: str, vocabulary: frozenset[str]) -> str:
    """A word split at a line end. The hyphen stays where it is the word's own."""
    hyphenated, whole = f"{head}-{tail}", head + tail
    if len(head) == 1 or tail[0].isupper() or tail[0].isdigit() or head[-1].isdigit():
        return hyphenated
    if whole.lower() in vocabulary:
        return whole
    if hyphenated.lower() in vocabulary or head.lower() in _REAL_HYPHEN_PREFIXES:
        return hyphenated
    return whole


class LineEnds:
    """Mends what liteparse does to text at line ends.

    It leaves some words apart at their hyphen, joins others although the hyphen is the word's own, and puts a blank
    between ideographs, which have none between words.

    Args:
        lines: the page's lines as they stand.
        words: the words of the page as joined.
        vocabulary: the document's words.
    """

    def __init__(self, lines: Sequence[str], words: Iterable[str], vocabulary: frozenset[str]) -> None:
        stripped = [line.strip() for line in lines]
        self._vocabulary = vocabulary
        self._ends = {match[1] for line in stripped if (match := _BROKEN_END.search(line))}
        starts = {match[0] for line in stripped if (match := _WORD.match(line))} if self._ends else set()
        self._starts = starts
        self._tails = {line[-2:] for line in stripped if _IDEOGRAPH.match(line[-1:])}
        self._heads = {line[:2] for line in stripped} if self._tails else set()
        self._wrong = {
            word: right
            for word in words
            for head in self._ends
            if word.startswith(head) and word[len(head) :] in starts
            if (right := joined_word(head, word[len(head) :], vocabulary)) != word
        }

    def mend(self, text: str) -> str:
        """The text as it would stand on one line."""
        if self._tails:
            text = _IDEOGRAPH_GAP.sub(self._closed, text)
        if self._ends and "- " in text:
            text = _APART.sub(self._together, text)
        return _WORD.sub(lambda match: self._wrong.get(match[0], match[0]), text) if self._wrong else text

    def _closed(self, match: re.Match[str]) -> str:
        text, at = match.string, match.start()
        return "" if text[max(at - 2, 0) : at] in self._tails and text[at + 1 : at + 3] in self._heads else " "

    def _together(self, match: re.Match[str]) -> str:
        if match[1] in self._ends and match[2] in self._starts:
            return joined_word(match[1], match[2], self._vocabulary)
        return match[0]


def join_broken_blocks(blocks: Sequence[Block], vocabulary: frozenset[str]) -> list[Block]:
    """Paragraphs that were split within a word, at a column's or page's end, become one that spans both."""
    result: list[Block] = []
    index = 0
    while index < len(blocks):
        block = blocks[index]
        index += 1
        while isinstance(block, Paragraph) and (end := _BROKEN_END.search(block.text)):
            after = index + 1 if index < len(blocks) and isinstance(blocks[index], PageBreak) else index
            following = blocks[after] if after < len(blocks) else None
            if not isinstance(following, Paragraph) or not following.text[:1].islower():
                break
            first = _WORD.match(following.text)
            assert first is not None  # a lower-case letter begins a word
            word = joined_word(end[1], first[0], vocabulary)
            text = block.text[: end.start()] + word + following.text[first.end() :]
            location = replace(block.location, page_end=following.location.page_end)
            block = Paragraph(text, location)
            result.extend(blocks[index:after])
            index = after + 1
        if result and isinstance(result[-1], PageBreak) and block.location.page_start != block.location.page_end:
            result.insert(len(result) - 1, block)  # the joined paragraph begins before the page break
        else:
            result.append(block)
    return result
