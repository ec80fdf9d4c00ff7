"""A condition on metadata as a row of a form: all text, and what the texts stand for."""

import re
from dataclasses import dataclass

OPERATORS = {
    "eq": "is",
    "neq": "is not",
    "in": "is one of",
    "gte": "is at least",
    "lte": "is at most",
    "exists": "exists",
    "missing": "is missing",
}
KINDS = {
    "": "as found",
    "string": "text",
    "number": "number",
    "boolean": "true or false",
    "null": "nothing (null)",
    "json": "JSON",
}
# A number, a word of JSON, nothing, or what begins or ends with a blank.
_NOT_PLAINLY_TEXT = re.compile(r"[-+]?[\d.,]+(?:e[-+]?\d+)?|true|false|null||\s.*|.*\s", re.IGNORECASE)
_WITHOUT_VALUE = ("exists", "missing")


@dataclass(frozen=True, slots=True)
class Row:
    """One condition as the form has it: all text. `problem` is a sentence to show beside it.

    Args:
        operator: a key of `OPERATORS`.
        kind: a key of `KINDS`; empty: of the kind that the documents' own values have.
    """

    key: str = ""
    operator: str = "eq"
    value: str = ""
    kind: str = ""
    problem: str = ""
    unfinished: bool = False

    @property
    def blank(self) -> bool:
        """Whether nothing was filled in."""
        return not (self.key or self.value)

    @property
    def takes_value(self) -> bool:
        """Whether the operator compares with something."""
        return self.operator not in _WITHOUT_VALUE

    @property
    def sentence(self) -> str:
        """The condition in words."""
        words = f"{self.key} {OPERATORS.get(self.operator, self.operator)}"
        if not self.takes_value:
            return words
        return f"{words} nothing" if self.kind == "null" else f"{words} {self.told}"

    @property
    def told(self) -> str:
        """The value for people: a text in quotes where it could be taken for something else, or for nothing."""
        plain = self.kind != "string" or self.operator == "in"
        return self.value if plain or not _NOT_PLAINLY_TEXT.fullmatch(self.value) else f"“{self.value}”"
