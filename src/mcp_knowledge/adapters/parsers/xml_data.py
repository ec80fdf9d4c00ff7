"""XML that holds data: one line a value, with the names of its elements (`country.capital: Ottawa`)."""

import re
from collections import Counter
from collections.abc import Iterator

from mcp_knowledge.adapters.parsers.html import fragment_blocks
from mcp_knowledge.adapters.parsers.key_paths import Leaf
from mcp_knowledge.adapters.parsers.sinks import plain_text
from mcp_knowledge.adapters.parsers.xml_tree import Node
from mcp_knowledge.domain.blocks import NOWHERE

_MAX_LABEL_CHARS = 200  # of the attributes that stand with a value on one line
_NOT_TOLD = frozenset(["schemaLocation", "noNamespaceSchemaLocation", "space", "base"])  # for programs only
_OF_THE_FORMAT = frozenset(["version", "lang"])  # on the outermost element
_MARKUP = re.compile(r"<(?:p|br|div|a|ul|ol|li|b|i|strong|em|span|table|img|h[1-6]|blockquote)(?:\s[^<>]*)?/?>", re.I)
_ENCODED_BYTES = re.compile(r"[A-Za-z0-9+/]{60}[A-Za-z0-9+/\s]{340,}=*\s*")
_FEWEST_ENCODED = 400


def leaves(root: Node) -> Iterator[Leaf]:
    """The values below an element, and its attributes, in reading order.

    An element that stands several times beside its like and has more than one value is a record; outside of those,
    each child of the outermost element is one. The outermost element's own name is in no path.
    """
    if root.children:
        yield from _container(root, "", "", fixed=False, top=True)
    else:
        yield from _single(root, root.name, "")


def _container(node: Node, path: str, record: str, *, fixed: bool, top: bool = False) -> Iterator[Leaf]:
    start_tag_end = node.children[0].start
    for name, value in _attributes(node).items() if node.attributes else ():
        if not top or name not in _OF_THE_FORMAT:
            yield Leaf((0, record), f"{path}.{name}" if path else name, value, False, node.start, start_tag_end)
    if is_mixed(node):
        yield Leaf((0, record), path or node.name, readable(node.text()), False, node.start, node.end)
        return
    children = [(child, bool(child.children)) for child in node.children]
    counts = Counter(child.name for child, is_container in children if is_container)
    seen: Counter[str] = Counter()
    for child, is_container in children:
        child_path = f"{path}.{child.name}" if path else child.name
        if not is_container:
            yield from _single(child, child_path, record)
            continue
        seen[child.name] += 1
        repeated = counts[child.name] > 1
        if repeated and fixed:
            child_path += f"[{seen[child.name]}]"
        group = f"{record}/{child.name}{seen[child.name]}" if not fixed and (repeated or top) else record
        yield from _container(child, child_path, group, fixed=fixed or repeated)


def _single(node: Node, path: str, record: str) -> Iterator[Leaf]:
    """An element without elements inside."""
    text = readable(node.text())
    attributes = _attributes(node) if node.attributes else {}
    label = ", ".join(f"{name}={value}" for name, value in attributes.items())
    if len(label) > _MAX_LABEL_CHARS:
        for name, value in attributes.items():
            yield Leaf((0, record), f"{path}.{name}", value, False, node.start, node.end)
    elif label and not text:
        yield Leaf((0, record), path, label, False, node.start, node.end)
    elif label:
        path = f"{path}[{label}]"
    if text:
        yield Leaf((0, record), path, text, True, node.start, node.end)


def _attributes(node: Node) -> dict[str, str]:
    told = ((name, readable(value)) for name, value in node.attributes.items() if name not in _NOT_TOLD)
    return {name: text for name, text in told if text}


def is_mixed(node: Node) -> bool:
    """Whether text stands between the elements inside."""
    return any(isinstance(part, str) and not part.isspace() for part in node.parts)


def readable(text: str) -> str:
    """A value without the blanks around its lines, without the markup of HTML; nothing for encoded bytes."""
    if text.isalnum() and len(text) < _FEWEST_ENCODED:
        return text
    if len(text) >= _FEWEST_ENCODED and _ENCODED_BYTES.fullmatch(text.strip()):
        return ""
    if "<" in text and _MARKUP.search(text):
        text = "\n".join(map(plain_text, fragment_blocks(text, NOWHERE)))
    return "\n".join(line for raw in text.split("\n") if (line := " ".join(raw.split())))
