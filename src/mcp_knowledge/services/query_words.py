"""The words of a query, each with how common it is: what explains most surprises of a search by words."""

from collections.abc import Sequence

from mcp_knowledge.domain.absence import QueryWord
from mcp_knowledge.domain.query import LexicalQuery, Phrase, present
from mcp_knowledge.ports import LexicalIndex

MAX_COUNTED_WORDS = 32  # a pasted page is not counted to its end
MAX_COUNTED_CHUNKS = 10_000  # whatever is in so many is common; counting on would take as long as the search


async def query_words(
    index: LexicalIndex, query: LexicalQuery, texts: Sequence[str] | None = None
) -> tuple[QueryWord, ...]:
    """Every distinct word of a query, in its order; then the parts of words that the fallback pass looks for alone.

    Args:
        texts: title, headings and content of the chunk in question, if there is one.
    """
    phrases = words_and_parts(query)
    counts: list[int | None] = [*await index.count(phrases[:MAX_COUNTED_WORDS], MAX_COUNTED_CHUNKS)]
    counts += [None] * (len(phrases) - len(counts))
    found: Sequence[bool | None] = [None] * len(phrases) if texts is None else present(phrases, texts)
    words = len(query.exact)
    return tuple(
        QueryWord(phrase.text, chunks, place < words and phrase.text in query.dropped, place >= words, is_there)
        for place, (phrase, chunks, is_there) in enumerate(zip(phrases, counts, found, strict=True))
    )


def words_and_parts(query: LexicalQuery) -> list[Phrase]:
    """The phrases of both passes, each once: those of the exact pass first."""
    return list(dict.fromkeys((*query.exact, *query.fallback)))
