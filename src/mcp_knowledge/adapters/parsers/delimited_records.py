"""Text to records: the delimiter and the way of quoting are detected."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Protocol

from mcp_knowledge.adapters.parsers.source import TextBudget

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_RECORDS = 100
_SAMPLE_CHARS = 64 * 1024
_UNCLEAN = 0.25  # a delimiter after which quotes end inside cells is hardly one
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_SEPARATOR_LINE = re.compile(r'("?)sep=([,;|\t])\1(?:\r\n?|\n|\Z)', re.IGNORECASE)  # Excel's own way to state it
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
_ESCAPED_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)\\"')
_SPACED_QUOTE = re.compile(r'[,;|] +"')


@dataclass(frozen=True, slots=True)
class Record:
    """A record: its cells, its number (from 1, header included) and its place in the decoded text."""

    cells: tuple[str, ...]
    number: int
    start: int
    end: int


class _Reader(Iterator[list[str]], Protocol):
    """A reader of the module csv."""

    line_num: int


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How cells are written.

    Args:
        quoted: whether quotes enclose cells.
        spaced: whether blanks may stand before them.
        escaped: whether a backslash before a quote makes it a character of its cell.
    """

    delimiter: str
    quoted: bool = True
    spaced: bool = False
    escaped: bool = False

    def records(self, lines: Iterable[str], strict: bool = False) -> _Reader:
        """A reader of records; it counts the lines that it has read. `strict` raises csv.Error for bad quotes."""
        if self.escaped:  # in as many characters, so that offsets stay
            lines = (_ESCAPED_QUOTE.sub(r'\1""', line) for line in lines)
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE,
            skipinitialspace=self.spaced,
            strict=strict,
        )


def read_records(text: str, default: str, budget: TextBudget) -> Iterator[Record]:
    """All records that are not blank.

    Args:
        default: the delimiter where nothing speaks for another one.

    Raises:
        KnowledgeError: DOCUMENT_RESOURCE_LIMIT beyond the budget.
    """
    # A whole file may be one cell; two more for the probe for open quotes. Never lowered: others read CSV here too.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 2))
    stated = _SEPARATOR_LINE.match(text)
    start = stated.end() if stated else 0
    dialect = _detected(text[start : start + _SAMPLE_CHARS], stated[2] if stated else None, default)
    lines = [match[0] for match in _LINE.finditer(text, start)]
    offsets = list(accumulate(map(len, lines), initial=start))
    if _ends_inside_quotes(lines, dialect):
        dialect = replace(dialect, quoted=False, escaped=False)
    reader = dialect.records(lines)
    first = 0
    for number, written in enumerate(reader, 1):
        begin = offsets[first]
        first = reader.line_num
        cells = [cell.strip() for cell in written]
        if any(cells):
            for cell in cells:
                budget.take(cell)
            while not cells[-1]:
                cells.pop()
            end = offsets[first]
            yield Record(tuple(cells), number, begin, begin + len(text[begin:end].rstrip("\r\n")))


def _detected(sample: str, stated: str | None, default: str) -> _Dialect:
    lines = sample.splitlines(keepends=True)
    dialect = _Dialect(stated or _delimiter(lines, default))
    if '\\"' in sample and not _is_clean(lines, dialect) and _is_clean(lines, replace(dialect, escaped=True)):
        dialect = replace(dialect, escaped=True)
    if _SPACED_QUOTE.search(sample):
        spaced = replace(dialect, spaced=True)
        dialect = spaced if _evenness(lines, spaced)[0] > _evenness(lines, dialect)[0] else dialect
    return dialect


def _is_clean(lines: list[str], dialect: _Dialect) -> bool:
    """Whether every closing quote of a sample stands at the end of its cell."""
    try:
        for _ in islice(dialect.records(lines, strict=True), _SAMPLE_RECORDS):
            pass
    except csv.Error:
        return False
    return True


def _delimiter(lines: list[str], default: str) -> str:
    """The delimiter that cuts most records of a sample into equally many (more than one) cells."""
    evenness = {
        delimiter: (share, width)
        for delimiter in (default, *(item for item in _DELIMITERS if item != default))
        for share, width in [_evenness(lines, _Dialect(delimiter))]
        if width > 1
    }
    scores = {
        delimiter: share * (1 + min(width, 20) / 100) * (1 if _is_clean(lines, _Dialect(delimiter)) else _UNCLEAN)
        for delimiter, (share, width) in evenness.items()
    }
    best = max(scores, key=scores.__getitem__, default=default)
    if best == "," and not any("," in _DECIMAL_COMMA.sub("", line) for line in lines):
        others = {other: scores[other] for other in scores if other != "," and evenness[other][0] >= evenness[","][0]}
        best = max(others, key=others.__getitem__, default=best)  # commas in numbers only, between other delimiters
    return best


def _evenness(lines: list[str], dialect: _Dialect) -> tuple[float, int]:
    """Which share of records has the same number of cells, and that number; nothing without records."""
    widths = []
    try:
        for cells in dialect.records(lines):
            if cells:
                widths.append(len(cells))
            if len(widths) == _SAMPLE_RECORDS:
                break
    except csv.Error:
        return 0.0, 0
    if not widths:
        return 0.0, 0
    width, count = Counter(widths).most_common(1)[0]
    return count / len(widths), width


def _ends_inside_quotes(lines: list[str], dialect: _Dialect) -> bool:
    """Whether a quote is still open at the end: then one more line would belong to the last record."""
    reader = dialect.records(lines)
    begun = last = 0
    for _ in reader:
        last, begun = begun, reader.line_num
    return len(list(dialect.records([*lines[last:-1], *(line + "\n" for line in lines[-1:]), "x"]))) == 1
