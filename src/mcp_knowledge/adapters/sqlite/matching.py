"""FTS5 query expressions. Terms come out of the tokenizer: letters, digits and marks only, so that quoting is safe."""

from mcp_knowledge.adapters.rows.matching import Operators
from mcp_knowledge.domain.query import Phrase

FTS5 = Operators(" AND ", " OR ")


def expression(phrase: Phrase) -> str:
    """One phrase; the star lets its last token be the start of a longer one."""
    return f'"{" ".join(phrase.tokens)}"{" *" if phrase.prefix else ""}'
