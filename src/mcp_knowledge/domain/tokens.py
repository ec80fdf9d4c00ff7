"""The one lexical tokenizer: both back ends, query and text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """A folded term and where it stands in the text it came from (character offsets, end exclusive)."""

    term: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, in order. Terms are folded (NFKC, case, Latin diacritics)."""
    raise NotImplementedError
