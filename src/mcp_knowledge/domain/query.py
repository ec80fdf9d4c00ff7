"""User text to lexical passes: which terms must, or may, match."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phrase:
    """Folded tokens that must stand next to each other, in order; `prefix` lets the last one be the start of a longer token."""

    tokens: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """The two passes of a query.

    Args:
        exact: every phrase must match in the chunk (title, headings and content together). Empty: nothing can match.
        fallback: any of these single-token (or prefix) phrases may match; empty when there is no fallback pass.
        fallback_min_match: how many distinct fallback phrases a chunk must contain (1 or 2).
        dropped: the stop words left out of the fallback, as typed.
        tokens: every folded token of the query, in order.
    """

    exact: tuple[Phrase, ...]
    fallback: tuple[Phrase, ...]
    fallback_min_match: int
    dropped: tuple[str, ...]
    tokens: tuple[str, ...]


def parse_query(text: str) -> LexicalQuery:
    """Read a user's query. Never raises: operators, quotes, NUL and noise are text like any other."""
    raise NotImplementedError
