"""Values with their key paths as readable text: one line a value (`customer.address.city: Berlin`)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mcp_knowledge.adapters.parsers.source import TextBudget
from mcp_knowledge.domain.blocks import Paragraph, SourceLocation

_MAX_BLOCK_CHARS = 1_500
_MAX_LINE_CHARS = 400  # of an array's values on one line


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that is no container.

    `path` leads to it inside its record; an array's values share the array's path (`in_array`). `record` tells which
    values belong together. The offsets cover key and value.
    """

    record: tuple[int, str]
    path: str
    value: str
    in_array: bool
    start: int
    end: int


def leaf_paragraphs(leaves: Iterable[Leaf], budget: TextBudget) -> Iterator[Paragraph]:
    """Paragraphs of `path: value` lines, record by record. Raises DOCUMENT_RESOURCE_LIMIT beyond the budget."""
    lines: list[Leaf] = []
    chars = 0
    for leaf in _joined(leaves):
        size = len(leaf.path) + len(leaf.value) + 3
        budget.take(leaf.path)
        budget.take(leaf.value)
        if lines and (lines[-1].record != leaf.record or chars + size > _MAX_BLOCK_CHARS):
            yield _paragraph(lines)
            lines, chars = [], 0
        lines.append(leaf)
        chars += size
    if lines:
        yield _paragraph(lines)


def _paragraph(lines: list[Leaf]) -> Paragraph:
    text = "\n".join(f"{leaf.path}: {leaf.value}" if leaf.path else leaf.value for leaf in lines)
    return Paragraph(text, SourceLocation(char_start=lines[0].start, char_end=lines[-1].end))


def _joined(leaves: Iterable[Leaf]) -> Iterator[Leaf]:
    """The leaves, with an array's values on one line as long as it stays short."""
    held: Leaf | None = None
    for leaf in leaves:
        if (
            held is not None
            and held.in_array
            and leaf.in_array
            and (held.path, held.record) == (leaf.path, leaf.record)
            and len(held.value) + len(leaf.value) < _MAX_LINE_CHARS
        ):
            held = Leaf(held.record, held.path, f"{held.value}, {leaf.value}", True, held.start, leaf.end)
            continue
        if held is not None:
            yield held
        held = leaf
    if held is not None:
        yield held
