"""What people add to a PDF page beside its text: values filled into form fields, and comments."""

import re
from typing import Any

from mcp_knowledge.domain.blocks import Block, ListBlock, Paragraph, SourceLocation

_COMMENTS = frozenset({"text", "freetext", "highlight", "underline", "squiggly", "strikeout", "caret", "ink", "stamp"})
_UNFILLED = frozenset({"", "0", "-1", "Off"})
_INDEX = re.compile(r"\[\d+\]")


def filled_fields(page: Any) -> tuple[str, ...]:
    """`label: value` of each visible form field that is filled in or ticked, in the page's order."""
    lines = []
    for item in page.form_fields or ():
        box = item.rect
        if box is None or box.width <= 0 or box.height <= 0:
            continue
        value = ", ".join(item.selected_options) or (item.value or "")
        if item.checked:
            value = "[x]"
        if value.strip() not in _UNFILLED and item.checked is not False:
            lines.append(f"{_label(item)}: {value.strip()}")
    return tuple(dict.fromkeys(lines))


def comments(page: Any) -> tuple[str, ...]:
    """The texts of notes and marks, with who made them."""
    found = []
    for item in page.annotations or ():
        if item.subtype in _COMMENTS and (text := (item.contents or "").strip()):
            found.append(f"[Comment by {item.title}: {text}]" if item.title else f"[Comment: {text}]")
    return tuple(found)


def extra_blocks(
    fields: tuple[str, ...], notes: tuple[str, ...], page_text: str, location: SourceLocation
) -> list[Block]:
    """Blocks for fields and comments whose text the page does not show already."""
    blocks: list[Block] = []
    if items := tuple(line for line in fields if line.partition(": ")[2] not in page_text):
        blocks.append(ListBlock(False, items, location))
    blocks.extend(Paragraph(note, location) for note in notes if _quoted(note) not in page_text)
    return blocks


def _label(item: Any) -> str:
    """The name that a reader sees, else the last part of the technical one."""
    technical = _INDEX.sub("", item.name or "").rpartition(".")[2]
    return (item.alternate_name or "").strip() or technical.replace("_", " ").strip() or "field"


def _quoted(note: str) -> str:
    return note.partition(": ")[2].removesuffix("]")
