"""What a page's own style sheets hide for good: classes and ids with `display: none` that nothing shows again."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_BRACE = re.compile(r"[{}]")
_HIDES = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_SHOWS = re.compile(r"(?:^|;)\s*(?:display\s*:(?!\s*none)|visibility\s*:\s*visible)", re.IGNORECASE)
_SIMPLE = re.compile(r"[a-zA-Z]*([.#])([\w-]+)")
_NAME = re.compile(r"[.#]([\w-]+)")
_MAX_SHEET_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Hidden:
    """Names of hidden classes and ids."""

    classes: frozenset[str] = field(default_factory=frozenset)
    ids: frozenset[str] = field(default_factory=frozenset)


NOTHING_HIDDEN = Hidden()


def hidden_names(tree: LexborHTMLParser) -> Hidden:
    """What rules for one class or id hide.

    A name that another rule shows, or that a script of the page uses, belongs to something that opens (a tab, a menu)
    and hides no text.
    """
    sheet = "\n".join(node.text() for node in tree.css("style"))
    if ("none" not in sheet and "hidden" not in sheet) or len(sheet) > _MAX_SHEET_CHARS:
        return NOTHING_HIDDEN
    hidden: dict[str, set[str]] = {".": set(), "#": set()}
    shown: set[str] = set()
    for selectors, declarations in _rules(_COMMENT.sub("", sheet)):
        if _SHOWS.search(declarations):
            shown.update(_NAME.findall(selectors))
        elif _HIDES.search(declarations):
            for selector in selectors.split(","):
                if match := _SIMPLE.fullmatch(selector.strip()):
                    hidden[match[1]].add(match[2])
    if not any(hidden.values()):
        return NOTHING_HIDDEN
    scripts = "\n".join(node.text() for node in tree.css("script"))
    return Hidden(*(frozenset(name for name in hidden[kind] - shown if name not in scripts) for kind in ".#"))


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Selectors and declarations of each rule; not those inside `@media` and the like, which hold on some screens."""
    at = 0
    selectors: str | None = None  # of the rule that is open
    conditions = 0  # open blocks that are no rules
    for brace in _BRACE.finditer(sheet):
        text, at = sheet[at : brace.start()], brace.end()
        if brace[0] == "{":
            conditions += selectors is not None  # a rule in a rule
            selectors = text.rpartition(";")[2].strip()
            if selectors.startswith("@"):
                conditions, selectors = conditions + 1, None
        elif selectors is not None:
            if not conditions:
                yield selectors, text
            selectors = None
        elif conditions:
            conditions -= 1
