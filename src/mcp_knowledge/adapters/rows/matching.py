"""Full-text conditions out of smaller ones, in any language that has an AND and an OR."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operators:
    """How a full-text query language says AND and OR."""

    both: str
    either: str

    def all_of(self, expressions: Sequence[str]) -> str:
        """Every one must match."""
        return self.both.join(expressions)

    def any_of(self, expressions: Sequence[str]) -> str:
        """At least one must match; in brackets, fit to be part of another expression."""
        return f"({self.either.join(expressions)})"

    def two_of(self, expressions: Sequence[str]) -> str:
        """At least two of two or more must match.

        Halved again and again: two in the left half, or two in the right half, or one in each. That is n·log n terms,
        where naming every pair would take n². Many terms stand in it more than once, so it must not be scored.
        """
        middle = len(expressions) // 2
        left, right = expressions[:middle], expressions[middle:]
        ways = [f"({self.all_of([self.any_of(left), self.any_of(right)])})"]
        ways += [self.two_of(half) for half in (left, right) if len(half) > 1]
        return self.any_of(ways)
