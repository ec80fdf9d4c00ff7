"""How a question was read, in plain words."""

from dataclasses import dataclass

from mcp_knowledge.domain.absence import QueryWord
from mcp_knowledge.domain.query import LexicalQuery, Phrase, parse_query
from mcp_knowledge.domain.search import SearchResult
from mcp_knowledge.services.query_words import words_and_parts
from mcp_knowledge.settings import Settings

_WORD_CHARS = 60  # of a word or phrase that is shown; the box above has all of it
_WORDS_TOLD = 24  # in a sentence
_KINDS = {
    "phrase": "as it stands, in this order",
    "beginning": "and whatever begins so",
}


@dataclass(frozen=True, slots=True)
class ReadWord:
    """A word of the question. `about`: how it is looked for, where that is not plain; `nowhere`: no passage has it."""

    text: str
    chunks: int | None
    about: str
    dropped: bool
    part: bool

    @property
    def nowhere(self) -> bool:
        """Whether no passage of the whole corpus has it."""
        return self.chunks == 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What the page says of the question.

    Args:
        first: which passages come first; None where no word can be looked for.
        second: which ones fill the list up; None: there is no second pass.
        filled: whether the first pass left no room for the second.
        exact_found, fallback_found: how many candidates each pass gave.
    """

    words: list[ReadWord]
    first: str | None
    second: str | None
    filled: bool
    exact_found: int
    fallback_found: int

    @property
    def nowhere(self) -> list[str]:
        """The words that no passage has."""
        return [word.text for word in self.words if word.nowhere and not word.part]

    @property
    def dropped(self) -> list[str]:
        """The words that only the first pass looks for."""
        return [word.text for word in self.words if word.dropped]

    @property
    def only_common(self) -> bool:
        """Whether it has no other words."""
        return all(word.dropped for word in self.words)


def reading_of(result: SearchResult, words: tuple[QueryWord, ...], settings: Settings) -> Reading:
    """A search's question as its lexical side took it."""
    query = parse_query(result.request.query)
    room = max(settings.lexical_candidates, result.request.limit)  # or twice that, and so on, to collapse
    exact = sum(item.match_mode == "exact" for item in result.lexical)
    return Reading(
        [
            ReadWord(_short(word.text), word.chunks, _about(phrase), word.dropped, word.part)
            for word, phrase in zip(words, words_and_parts(query), strict=True)
        ],
        _first(query),
        _second(query),
        exact == len(result.lexical) > 0 and (exact % room == 0 or exact == settings.max_collapse_candidates),
        exact,
        len(result.lexical) - exact,
    )


def _about(phrase: Phrase) -> str:
    if phrase.prefix and phrase.text.endswith("*"):
        return _KINDS["beginning"]
    return _KINDS["phrase"] if len(phrase.tokens) > 1 else ""


def _first(query: LexicalQuery) -> str | None:
    if not query.exact:
        return None
    if len(query.exact) == 1:
        return f"Passages with {_quoted(query.exact)} come first."
    return f"Passages with {'both words' if len(query.exact) == 2 else f'all {len(query.exact)} words'} come first."


def _second(query: LexicalQuery) -> str | None:
    if not query.fallback:
        return None
    start = (
        "Then come those with any of"
        if query.fallback_min_match == 1
        else (f"Then come those with at least {query.fallback_min_match} of")
    )
    return f"{start} {_quoted(query.fallback)}."


def _quoted(phrases: tuple[Phrase, ...]) -> str:
    shown = [f"“{_short(phrase.text)}”" for phrase in phrases[:_WORDS_TOLD]]
    return ", ".join(shown) + (f" and {len(phrases) - _WORDS_TOLD} more" if len(phrases) > _WORDS_TOLD else "")


def _short(text: str) -> str:
    return text if len(text) <= _WORD_CHARS else f"{text[: _WORD_CHARS - 1]}…"
