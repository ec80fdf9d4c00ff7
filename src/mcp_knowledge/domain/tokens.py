"""The one lexical tokenizer: both back ends, query and text.

Folding: NFKC, default-ignorable characters out (soft hyphens, joiners, variation selectors), full case folding,
diacritics of Latin letters off (as SQLite FTS5's `unicode61 remove_diacritics 2`, and ß as ss). A token is a run of
letters, digits and marks. A run of a script that is written without spaces (and of Hangul) becomes one token for each
character: the character with its right neighbour, and the last character alone. So any part of two or more characters
is a phrase of pairs, and a single character is the prefix of a token.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import regex

# Scripts searched by pairs of characters. The marks are those that NFKC leaves behind unspaced letters.
_UNSPACED = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Thai}\p{Script=Lao}"
    r"\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Hangul}\u30FC\u3099\u309A"
)
_PAIRED = rf"[[\p{{L}}\p{{N}}\p{{M}}]&&[{_UNSPACED}]]"
_WRAPPED = rf"[[\p{{L}}\p{{N}}\p{{M}}]&&[{_UNSPACED}]--\p{{Script=Hangul}}]"  # a line break may fall inside a word
_RUNS = regex.compile(
    rf"(?P<pairs>{_PAIRED}(?:{_PAIRED}|(?<={_WRAPPED})[ \t\r]*\n[ \t]*(?={_WRAPPED}))*)"
    rf"|[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]+",
    regex.VERSION1,
)
_HAS_PAIRS = regex.compile(_PAIRED, regex.VERSION1)
# A cheap first look: where those scripts begin.
_MAY_HAVE_PAIRS = re.compile("[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u19e0-\u19ff\u2e80-\U0010ffff]")
_WORDS = regex.compile(r"[\p{L}\p{N}\p{M}]+", regex.VERSION1)
_ASCII_WORDS = re.compile(r"[a-z0-9]+")

_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_FRACTIONS = re.compile("[\u00bc-\u00be\u2150-\u215f\u2189]")  # NFKC makes 6½ into 61⁄2: keep the 6 apart
_DIACRITICS = re.compile(
    "[\u00c0-\u024f\u1e00-\u1eff\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
# What normalization may join to the character before it: marks, Hangul vowels and finals in every form, ignorable ones.
_JOINING = r"[\p{M}\p{Default_Ignorable_Code_Point}\u1160-\u11FF\u3131-\u318E\uD7B0-\uD7FB\uFF9E-\uFFDC]"
_HAS_JOINING = regex.compile(_JOINING)
_SEGMENTS = regex.compile(rf"[\x00-\x7F]+(?!{_JOINING})|.{_JOINING}*", regex.DOTALL)


class Token(NamedTuple):
    """A folded term and where it stands in the text it came from (character offsets, end exclusive)."""

    term: str
    start: int
    end: int


def _bare(match: re.Match[str]) -> str:
    """A Latin letter without its diacritics; nothing for a combining mark; any other character as it is."""
    char = match[0]
    if unicodedata.combining(char) or unicodedata.category(char) == "Me":
        return ""
    base = unicodedata.normalize("NFD", char)[0]
    return base if "LATIN" in unicodedata.name(base, "") else char


def fold(text: str) -> str:
    """Text as the index compares it: NFKC, ignorable characters out, case folded, Latin letters without diacritics."""
    if text.isascii():
        return text.lower()
    text = _FRACTIONS.sub(r" \g<0>", _IGNORABLE.sub("", text))
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFKC", _DIACRITICS.sub(_bare, text))


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, in order, with their places in the text as given."""
    if text.isascii():
        return [Token(found[0], found.start(), found.end()) for found in _ASCII_WORDS.finditer(text.lower())]
    folded, starts, ends = _fold_with_offsets(text)
    return [Token(term, starts[first], ends[last - 1]) for term, first, last in _terms(folded)]


def index_text(text: str) -> str:
    """The terms of a text, separated by spaces, for a full-text index. Terms hold letters, digits and marks only."""
    folded = fold(text)
    if folded.isascii():
        return " ".join(_ASCII_WORDS.findall(folded))
    if _MAY_HAVE_PAIRS.search(folded) is None:
        return " ".join(_WORDS.findall(folded))
    return " ".join(term for term, _, _ in _terms(folded))


def is_unspaced(term: str) -> bool:
    """Whether a folded term belongs to a script that is searched by pairs of characters."""
    return not term.isascii() and _HAS_PAIRS.match(term) is not None


def _terms(folded: str) -> Iterator[tuple[str, int, int]]:
    """Terms of a folded text with their first and end positions in it."""
    if _MAY_HAVE_PAIRS.search(folded) is None:
        for word in _WORDS.finditer(folded):
            yield word[0], word.start(), word.end()
        return
    for run in _RUNS.finditer(folded):
        text, start = run[0], run.start()
        if run.lastgroup != "pairs":
            yield text, start, start + len(text)
            continue
        places = [start + index for index, char in enumerate(text) if not char.isspace()]
        for place, following in pairwise(places):
            yield folded[place] + folded[following], place, following + 1
        yield folded[places[-1]], places[-1], places[-1] + 1


def _fold_with_offsets(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """`fold(text)`, and for each of its characters the start and end of the original characters that it came from."""
    if _HAS_JOINING.search(text) is None and all(len(fold(char)) == 1 for char in set(text)):
        return fold(text), range(len(text)), range(1, len(text) + 1)
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for segment in _SEGMENTS.finditer(text):
        piece, start, end = fold(segment[0]), segment.start(), segment.end()
        pieces.append(piece)
        if segment[0].isascii():
            starts += range(start, end)
            ends += range(start + 1, end + 1)
        else:
            starts += [start] * len(piece)
            ends += [end] * len(piece)
    return "".join(pieces), starts, ends
