"""Terms of the full text in the forms that PostgreSQL stores and asks for: tsvector, tsquery, sparsevec.

They come out of the tokenizer: letters, digits and marks only, so that quoting is safe. Whatever the text, its forms
keep to PostgreSQL's limits: lexemes under 2 KiB, a tsvector under 1 MiB with positions up to 16,383, a sparsevec of up
to 16,000 numbers. Only headings of many thousands of words come near them; of those the last are left out.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from mcp_knowledge.adapters.rows.dialect import IndexedText
from mcp_knowledge.adapters.rows.matching import Operators
from mcp_knowledge.domain.query import Phrase

TSQUERY = Operators(" & ", " | ")
TITLE_WEIGHT, HEADINGS_WEIGHT, CONTENT_WEIGHT = 8, 4, 1
_TITLE_LABEL, _HEADINGS_LABEL, _CONTENT_LABEL = "A", "B", ""
# For ts_rank_cd: what labels D, C, B, A weigh, as parts of the title's weight. A C is never written.
LABEL_WEIGHTS = f"{{{CONTENT_WEIGHT / TITLE_WEIGHT}, 1, {HEADINGS_WEIGHT / TITLE_WEIGHT}, 1}}"

_SLOTS = 1_000_000_000  # the most dimensions that a sparsevec may have
_MAX_FREQUENCIES = 16_000
_MAX_POSITION = 16_383
_MAX_POSITIONS = 255  # of a lexeme
_MAX_TERM_BYTES = 500  # a longer term is cut, and told from its like by a hash
_MAX_BYTES = 500_000  # of all lexemes of a chunk


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    """A chunk's row of the full text."""

    size: int
    frequencies: str
    vector: str
    lexemes: Sequence[str]


def chunk_terms(title: Sequence[str], text: IndexedText) -> ChunkTerms:
    """The row of a chunk from its document's title and its own text, in tokens. What is long stands last."""
    headings, content = (part.split() for part in text)
    positions: dict[str, list[str]] = {}
    frequencies: dict[int, int] = {}
    position, left_bytes = 1, _MAX_BYTES
    for tokens, label, weight in (
        (content, _CONTENT_LABEL, CONTENT_WEIGHT),
        (title, _TITLE_LABEL, TITLE_WEIGHT),
        (headings, _HEADINGS_LABEL, HEADINGS_WEIGHT),
    ):
        for token in tokens:
            term = lexeme(token)
            known = positions.get(term)
            if known is None:
                left_bytes -= len(term.encode())
                if left_bytes < 0:
                    continue
                known = positions[term] = []
            known.append(f"{min(position, _MAX_POSITION)}{label}")
            slot = _slot(term)
            frequencies[slot] = frequencies.get(slot, 0) + weight
            position += 1
        position += 1  # the gap
    return ChunkTerms(
        len(title) + len(headings) + len(content),
        _sparse(frequencies),
        " ".join(f"'{term}':{','.join(places[:_MAX_POSITIONS])}" for term, places in positions.items()),
        list(positions),
    )


def lexeme(term: str) -> str:
    """The term, unless PostgreSQL's indexes could not hold it."""
    if len(term) * 4 <= _MAX_TERM_BYTES or len(encoded := term.encode()) <= _MAX_TERM_BYTES:
        return term
    return f"{_beginning(encoded)}#{blake2b(encoded, digest_size=16).hexdigest()}"


def tsquery(phrase: Phrase) -> str:
    """An expression that holds where the phrase stands."""
    *leading, last = phrase.tokens
    parts = [f"'{lexeme(token)}'" for token in leading]
    parts.append(f"'{_beginning(last.encode())}':*" if phrase.prefix else f"'{lexeme(last)}'")
    return f"({' <-> '.join(parts)})"


def single_term(phrase: Phrase) -> str | None:
    """The lexeme of a phrase that is one whole token."""
    return None if phrase.prefix or len(phrase.tokens) > 1 else lexeme(phrase.tokens[0])


def single_prefix(phrase: Phrase) -> str | None:
    """How the lexemes begin that fit a phrase of one token with a star."""
    return _beginning(phrase.tokens[0].encode()) if phrase.prefix and len(phrase.tokens) == 1 else None


def picking_vector(lexemes: Sequence[str]) -> str:
    """The sparsevec whose inner product with a chunk's frequencies is the sum of those of these lexemes."""
    return _sparse({_slot(term): 1 for term in lexemes})


def _beginning(encoded: bytes) -> str:
    return encoded[:_MAX_TERM_BYTES].decode(errors="ignore")


def _slot(term: str) -> int:
    """Where a lexeme's number stands in a sparsevec (they count from 1)."""
    return zlib.crc32(term.encode()) % _SLOTS + 1


def _sparse(values: Mapping[int, int]) -> str:
    items: Iterable[tuple[int, int]] = values.items()
    if len(values) > _MAX_FREQUENCIES:
        items = list(items)[:_MAX_FREQUENCIES]
    return f"{{{','.join(f'{slot}:{value}' for slot, value in sorted(items))}}}/{_SLOTS}"
