"""User text to lexical passes: which terms must, or may, match, and where they stand in a text.

A word is what white space separates, or a part in double quotes. In the exact pass every word is a phrase of its tokens
and all must match. In the fallback pass the stop words go and any of the remaining terms may match. An identifier is
one term, so that `INV-0043` never finds `INV-0042`; a compound of plain words (`real-time`, `l'heure`) is a term for
each of them; a script without spaces counts in pairs of characters, because a word there is often a whole sentence.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol

import regex

from mcp_knowledge.domain.search import MatchMode, QueryReading
from mcp_knowledge.domain.tokens import Token, is_unspaced, tokenize

_ENGLISH_STOP_WORDS = """
a an and are as at be by can do for from how i in is it me my of on or please that the this to was we what with you
"""
STOP_WORDS = frozenset(_ENGLISH_STOP_WORDS.split())
_QUOTES = re.compile('["\u201c\u201d\u201e\u201f\uff02]')
_WORDS = re.compile(r"\S+")
_BLANK = re.compile(r"\s")
_COMPOUND = regex.compile(
    r"[\p{L}\p{M}]+(?:['\u2019/\p{Dash}]+[\p{L}\p{M}]+)+\*?"
)  # digits, dots, underscores: an identifier
_MAX_STARS = 4
_ONE_WORD_PAIRS = 2


@dataclass(frozen=True, slots=True)
class Phrase:
    """Folded tokens that must stand next to each other, in order.

    `prefix` lets the last one be the start of a longer token. `text` is the phrase as the user typed it, `start` its
    place in the query.
    """

    tokens: tuple[str, ...]
    prefix: bool = False
    text: str = field(default="", compare=False)
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """The two passes of a query.

    Args:
        exact: every phrase must match in the chunk (title, headings and content together). Empty: nothing can match.
        fallback: any of these phrases may match; empty when there is no fallback pass.
        fallback_min_match: how many distinct fallback phrases a chunk must contain (1 or 2).
        dropped: the stop words left out of the fallback, as typed.
        tokens: every folded token of the query, in order.
    """

    exact: tuple[Phrase, ...]
    fallback: tuple[Phrase, ...]
    fallback_min_match: int
    dropped: tuple[str, ...]
    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the query with its tokens (placed in the query's text)."""

    tokens: tuple[Token, ...]
    quoted: bool
    prefix: bool
    text: str

    @property
    def phrase(self) -> Phrase:
        return Phrase(tuple(token.term for token in self.tokens), self.prefix, self.text, self.tokens[0].start)


def parse_query(text: str) -> LexicalQuery:
    """Read a user's query. Never raises: operators, quotes, NUL and noise are text like any other."""
    words = _with_few_prefixes(_words(text))
    parts = {word.phrase: tuple(_parts(word)) for word in words}
    terms = _distinct(part for found in parts.values() for part in found)
    # A compound counts as one word here: a lone identifier that isn't there finds nothing.
    size = sum(len(found) if _is_run(found) else 1 for found in parts.values() if found)
    fallback = terms if size > 1 and len(terms) > 1 else ()
    return LexicalQuery(
        exact=tuple(parts),
        fallback=fallback,
        fallback_min_match=2 if min(size, len(fallback)) > 2 else 1,
        dropped=tuple(phrase.text for phrase, found in parts.items() if not found),
        tokens=tuple(token.term for word in words for token in word.tokens),
    )


def describe(query: LexicalQuery) -> QueryReading:
    """How the query was understood, in words that an explanation shows."""
    least = "any of" if query.fallback_min_match == 1 else f"at least {query.fallback_min_match} of"
    return QueryReading(
        tokens=query.tokens,
        exact=f"all of: {_listed(query.exact)}" if query.exact else "nothing: the query holds no letter or digit",
        fallback=f"{least}: {_listed(query.fallback)}" if query.fallback else None,
        dropped=query.dropped,
    )


def find_matches(
    query: LexicalQuery, content: str, titles: Sequence[str] = (), match_mode: MatchMode | None = None
) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """Which terms of the pass that found a passage stand in it, as typed, and where in its content.

    Args:
        content: the passage.
        titles: what was searched beside it: the document's title and the headings.
        match_mode: the pass that found it; None (only the vector side did): the terms that the fallback would count,
            or those of the exact pass without stop words, where there is none.

    Returns:
        The terms in query order, and their spans in `content` (character offsets, end exclusive; ascending, apart).
    """
    phrases = query.exact if match_mode == "exact" else query.fallback or _telling(query)
    body = _text(content)
    beside = [_text(title) for title in titles]
    matched: list[Phrase] = []
    spans: list[tuple[int, int]] = []
    for phrase in phrases:
        found = list(body.spans(phrase))
        spans += found
        if found or any(True for text in beside for _ in text.spans(phrase)):
            matched.append(phrase)
    return _readable(matched), _merged(spans)


def match_spans(query: LexicalQuery, text: str, match_mode: MatchMode | None = None) -> list[tuple[int, int]]:
    """The spans of `find_matches` alone."""
    return find_matches(query, text, (), match_mode)[1]


def matched_terms(query: LexicalQuery, texts: Sequence[str], match_mode: MatchMode | None = None) -> tuple[str, ...]:
    """The terms of `find_matches` alone, looked for in every text."""
    return find_matches(query, "", texts, match_mode)[0]


def present(phrases: Iterable[Phrase], texts: Sequence[str]) -> list[bool]:
    """Whether each phrase stands in any of the texts."""
    tokenized = [_text(text) for text in texts]
    return [any(True for text in tokenized for _ in text.spans(phrase)) for phrase in phrases]


def _with_few_prefixes(words: Iterable[_Word]) -> list[_Word]:
    """The words, without the stars after the first few: each costs a search as much as many plain words."""
    kept: list[_Word] = []
    stars = 0
    for word in words:
        starred = word.text.endswith("*") and not is_unspaced(word.tokens[-1].term)
        stars += starred
        if starred and stars > _MAX_STARS:
            word = replace(word, prefix=False, text=word.text.removesuffix("*"))
        kept.append(word)
    return kept


def _words(text: str) -> Iterator[_Word]:
    """The words of a query that hold at least one token. A quotation mark without a partner is text."""
    marks = [mark.start() for mark in _QUOTES.finditer(text)]
    outside = 0
    for opening, closing in zip(marks[::2], marks[1::2], strict=False):
        yield from _bare_words(text, outside, opening)
        yield from _word(text, opening + 1, closing, quoted=True)
        outside = closing + 1
    yield from _bare_words(text, outside, len(text))


def _bare_words(text: str, start: int, end: int) -> Iterator[_Word]:
    for found in _WORDS.finditer(text, start, end):
        yield from _word(text, found.start(), found.end(), quoted=False)


def _word(text: str, start: int, end: int, quoted: bool) -> Iterator[_Word]:
    tokens = [Token(token.term, token.start + start, token.end + start) for token in tokenize(text[start:end])]
    if len(tokens) > 1 and is_unspaced(tokens[-1].term) and tokens[-2].end == tokens[-1].end:
        tokens.pop()  # the last character of a run stands alone in a text only where the run ends
    if not tokens:
        return
    first, last = tokens[0].start, tokens[-1].end
    starred = not quoted and last == end - 1 and text[last] == "*"
    lone_character = is_unspaced(tokens[-1].term) and len(tokens[-1].term) == 1
    yield _Word(tuple(tokens), quoted, starred or lone_character, text[first : last + starred])


def _parts(word: _Word) -> Iterator[Phrase]:
    """The fallback terms of a word; none when it holds stop words only, or a single starred letter."""
    if word.quoted:
        yield word.phrase
    elif any(is_unspaced(token.term) for token in word.tokens):
        yield from _pairs(word)
    elif len(word.tokens) > 1 and _COMPOUND.fullmatch(word.text):
        longest = max(len(token.term) for token in word.tokens)
        for part in (_term(word, token) for token in word.tokens):
            if not _is_stop_word(part) and (len(part.tokens[0]) > 1 or longest < 3):  # without the s of "what's"
                yield part
    elif not _is_stop_word(word.phrase):
        yield word.phrase


def _is_stop_word(phrase: Phrase) -> bool:
    """Whether a word is not worth looking for alone. Accents count here: `thé` is no `the`."""
    if phrase.prefix:
        return len(phrase.tokens) == 1 and phrase.text[1:] == "*"
    return phrase.text.casefold() in STOP_WORDS


def _pairs(word: _Word) -> Iterator[Phrase]:
    for index, token in enumerate(word.tokens):
        lone = len(token.term) == 1 and is_unspaced(token.term)
        if not (lone and index and word.tokens[index - 1].end == token.end):  # else the pair before holds it
            yield _term(word, token, prefix=lone)


def _term(word: _Word, token: Token, prefix: bool = False) -> Phrase:
    offset = word.tokens[0].start
    starred = word.prefix and token is word.tokens[-1]
    return Phrase((token.term,), prefix or starred, word.text[token.start - offset : token.end - offset], token.start)


def _is_run(terms: tuple[Phrase, ...]) -> bool:
    """Whether a word in a script without spaces is longer than a word of three characters."""
    return len(terms) > _ONE_WORD_PAIRS and any(is_unspaced(term.tokens[0]) for term in terms)


def _telling(query: LexicalQuery) -> tuple[Phrase, ...]:
    return tuple(phrase for phrase in query.exact if phrase.text not in query.dropped)


def _distinct(phrases: Iterable[Phrase]) -> tuple[Phrase, ...]:
    return tuple(dict.fromkeys(phrases))


def _listed(phrases: Iterable[Phrase]) -> str:
    return ", ".join(f'"{phrase.text}"' if _BLANK.search(phrase.text) else phrase.text for phrase in phrases)


class _Text(Protocol):
    """A text in which phrases are looked for."""

    def spans(self, phrase: Phrase) -> Iterator[tuple[int, int]]:
        """The character spans at which a phrase matches, in no particular order."""
        ...


def _text(text: str) -> _Text:
    return _AsciiText(text) if text.isascii() else _TokenizedText(text)


class _AsciiText:
    """A text without accents and other scripts. Taking all its tokens apart to look for a few took up to ten times as
    long as looking for these.
    """

    def __init__(self, text: str) -> None:
        self._folded = text.lower()

    def spans(self, phrase: Phrase) -> Iterator[tuple[int, int]]:
        """As of every text."""
        if len(phrase.tokens) == 1:
            yield from self._places(phrase.tokens[0], phrase.prefix)
        elif phrase.tokens[-1] in self._folded:
            for found in _pattern(phrase).finditer(self._folded):
                yield found.span(1)

    def _places(self, token: str, prefix: bool) -> Iterator[tuple[int, int]]:
        """As a pattern would find them, in a tenth of the time."""
        text = self._folded
        start = text.find(token)
        while start >= 0:
            end = start + len(token)
            if prefix:
                while text[end : end + 1].isalnum():
                    end += 1
            if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
                yield start, end
            start = text.find(token, start + 1)


@lru_cache(maxsize=256)
def _pattern(phrase: Phrase) -> re.Pattern[str]:
    """Matches at the beginning of a phrase in ASCII text; its end is that of the group. Matches may overlap."""
    tokens = "[^a-z0-9]+".join(map(re.escape, phrase.tokens))
    return re.compile(f"(?<![a-z0-9])(?=({tokens}{'[a-z0-9]*' if phrase.prefix else ''}(?![a-z0-9])))")


class _TokenizedText:
    """A text's tokens, and where each term stands among them."""

    def __init__(self, text: str) -> None:
        self._tokens = tokenize(text)
        self._places: dict[str, list[int]] = {}
        for place, token in enumerate(self._tokens):
            self._places.setdefault(token.term, []).append(place)

    def spans(self, phrase: Phrase) -> Iterator[tuple[int, int]]:
        """As of every text."""
        *leading, last = phrase.tokens
        for term in self._completions(last) if phrase.prefix else (last,):
            for end in self._places.get(term, ()):
                start = end - len(leading)
                if start >= 0 and all(self._tokens[start + at].term == wanted for at, wanted in enumerate(leading)):
                    yield self._tokens[start].start, self._end(end, last)

    def _completions(self, prefix: str) -> list[str]:
        return [term for term in self._places if term.startswith(prefix)]

    def _end(self, place: int, wanted: str) -> int:
        """Where a match ends. One character of an unspaced script is found through its pair, but it alone matches."""
        inside_pair = len(wanted) == 1 and len(self._tokens[place].term) == 2 and is_unspaced(wanted)
        return self._tokens[place + 1].start if inside_pair else self._tokens[place].end


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _readable(phrases: Iterable[Phrase]) -> tuple[str, ...]:
    """The phrases as typed; neighbouring pairs of characters read as the word that they came from."""
    terms: list[str] = []
    previous: Phrase | None = None
    for phrase in phrases:
        chained = previous is not None and phrase.start == previous.start + 1 and is_unspaced(phrase.tokens[0])
        if chained and terms[-1].endswith(phrase.text[:1]):
            terms[-1] += phrase.text[1:]
        else:
            terms.append(phrase.text)
        previous = phrase
    return tuple(dict.fromkeys(terms))
