"""Tables of reStructuredText, drawn with lines: grids (`+---+`) and simple ones (`=== ===`)."""

import re
from collections.abc import Sequence
from itertools import pairwise

from mcp_knowledge.domain.blocks import Table

_GRID_RULE = re.compile(r"\+(?:[-=]+\+)+")
_SIMPLE_RULE = re.compile(r"=+(?: +=+)+")
_ROW_RULE = re.compile(r"[-= ]+")
_MAX_COLUMNS = 200


def table_of(lines: Sequence[str]) -> Table | None:
    """The table that lines without a blank one draw; None when they draw none that can be told."""
    margin = len(lines[0]) - len(lines[0].lstrip())
    drawn = [line[margin:].rstrip() for line in lines]
    if len(drawn) < 3:
        return None
    if _GRID_RULE.fullmatch(drawn[0]) and _GRID_RULE.fullmatch(drawn[-1]):
        return _grid(drawn)
    if _SIMPLE_RULE.fullmatch(drawn[0]) and drawn[-1] == drawn[0]:
        return _simple(drawn)
    return None


def _grid(lines: Sequence[str]) -> Table | None:
    """A grid by the edges of its columns; merged cells are repeated."""
    edges = sorted({at for line in lines if line.startswith("+") for at, char in enumerate(line) if char == "+"})
    if len(edges) > _MAX_COLUMNS:
        return None
    rows: list[list[list[str]]] = []  # cells as lists of lines; a cell over several rows is one and the same
    head = 0
    for line in lines[:-1]:
        opened = [at for at in edges if line[at : at + 1] in ("|", "+")]
        if line[:1] not in ("+", "|") or opened[-1:] != edges[-1:]:
            return None
        pieces = [(edges.index(begin), edges.index(end), line[begin + 1 : end]) for begin, end in pairwise(opened)]
        if _GRID_RULE.fullmatch(line):
            head = len(rows) if "=" in line else head
            rows.append([[] for _ in edges[1:]])
            continue
        if any(map(_is_rule, (text for _, _, text in pieces))):
            rows.append([*rows[-1]])
            for first, end, text in pieces:
                if _is_rule(text):
                    rows[-1][first:end] = [[] for _ in range(first, end)]
        for first, end, text in pieces:
            if not _is_rule(text) and text.strip():
                for cell in rows[-1][first:end]:
                    cell.append(text.strip())
    return _table([["\n".join(cell) for cell in row] for row in rows], head)


def _is_rule(text: str) -> bool:
    return len(text) > 1 and set(text) <= set("-=+")


def _simple(lines: Sequence[str]) -> Table | None:
    """A simple table: each line is a row, or goes on with the last one when its first column is empty."""
    columns = [match.span() for match in re.finditer("=+", lines[0])]
    if len(columns) > _MAX_COLUMNS:
        return None
    gaps = [(end, begin) for (_, end), (begin, _) in pairwise(columns)]
    if any(line[end:begin].strip() for line in lines if not _ROW_RULE.fullmatch(line) for end, begin in gaps):
        return None  # text over several columns
    ends = [begin for begin, _ in columns[1:]]
    rows: list[list[str]] = []
    head = 0
    for line in lines[1:-1]:
        if _ROW_RULE.fullmatch(line):
            head = len(rows) if "=" in line else head
            continue
        cells = [line[begin:end].strip() for (begin, _), end in zip(columns, [*ends, len(line)], strict=True)]
        if cells[0] or not rows:
            rows.append(cells)
        else:
            rows[-1] = [f"{former}\n{cell}".strip() for former, cell in zip(rows[-1], cells, strict=True)]
    return _table(rows, head)


def _table(rows: Sequence[Sequence[str]], head: int) -> Table | None:
    filled = [(index, tuple(row)) for index, row in enumerate(rows) if any(row)]
    if not filled:
        return None
    headers = [row for index, row in filled if index < head]
    body = tuple(row for index, row in filled if index >= head)
    if len(headers) != 1:
        return Table(None, tuple(row for _, row in filled))
    return Table(headers[0], body)
