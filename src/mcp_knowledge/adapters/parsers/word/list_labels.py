"""What stands before the items of a word processor's list where their position does not tell it."""

import anydoc

from mcp_knowledge.adapters.parsers.list_markers import numeral


def item_labels(source: anydoc.List) -> list[str]:
    """What stands before each item, unless it is what the item's position already tells."""
    if source.marker == "bullet":
        return [""] * len(source.items)
    labels = []
    for number, item in enumerate(source.items, source.start):
        label = item.marker_label
        if not label and (source.start != 1 or source.marker != "decimal"):
            label = f"{numeral(number, source.marker)}."
        labels.append(f"{label} " if label else "")
    return labels
