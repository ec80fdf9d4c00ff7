"""FTS5 query expressions. Terms come out of the tokenizer: letters, digits and marks only, so that quoting is safe."""

from collections.abc import Sequence

from mcp_knowledge.domain.query import Phrase


def expression(phrase: Phrase) -> str:
    """One phrase; the star lets its last token be the start of a longer one."""
    return f'"{" ".join(phrase.tokens)}"{" *" if phrase.prefix else ""}'


def all_of(expressions: Sequence[str]) -> str:
    """Every one must match."""
    return " AND ".join(expressions)


def any_of(expressions: Sequence[str]) -> str:
    """At least one must match; in brackets, fit to be part of another expression."""
    return f"({' OR '.join(expressions)})"


def two_of(expressions: Sequence[str]) -> str:
    """At least two of two or more must match.

    Halved again and again: two in the left half, or two in the right half, or one in each. That is n·log n terms, where
    naming every pair would take n². Many terms stand in it more than once, so it must not be scored.
    """
    middle = len(expressions) // 2
    left, right = expressions[:middle], expressions[middle:]
    ways = [f"({any_of(left)} AND {any_of(right)})"]
    ways += [two_of(half) for half in (left, right) if len(half) > 1]
    return any_of(ways)
