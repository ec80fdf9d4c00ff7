"""The manifest of a scanned folder: which metadata the files below it get, by globs over their paths."""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from mcp_knowledge.domain.documents import Metadata
from mcp_knowledge.domain.metadata import check_metadata
from mcp_knowledge.errors import KnowledgeError

MANIFEST_NAME = ".mcp-knowledge-manifest.json"
MAX_MANIFEST_BYTES = 1024 * 1024
_FORBIDDEN = frozenset("{}[]!\\")
_DRIVE = re.compile(r"[A-Za-z]:")
_SHOWN_CHARS = 100


@dataclass(frozen=True, slots=True)
class Rule:
    """Files whose path matches the glob get the metadata. `segments` is the glob, cut at its slashes."""

    segments: tuple[str, ...]
    metadata: Metadata


class Manifest:
    """The rules of a folder, in order.

    Args:
        rules: later ones win; their metadata is merged key by key at the top level.
    """

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self._literal: dict[tuple[str, ...], list[int]] = {}  # rules for one path each: found without trying them all
        self._patterns: list[int] = []
        for index, rule in enumerate(self.rules):
            if any("*" in segment or "?" in segment for segment in rule.segments):
                self._patterns.append(index)
            else:
                self._literal.setdefault(rule.segments, []).append(index)

    def metadata_for(self, path: str) -> Metadata:
        """What a file gets.

        Args:
            path: relative to the folder, with `/`. Composed and decomposed accents are the same letters.

        Raises:
            KnowledgeError: INVALID_METADATA when the rules add up to more than metadata may have.
        """
        segments = tuple(unicodedata.normalize("NFC", path).split("/"))
        matching = [index for index in self._patterns if matches(self.rules[index].segments, segments)]
        merged: Metadata = {}
        for index in sorted(matching + self._literal.get(segments, [])):
            merged |= self.rules[index].metadata
        return check_metadata(merged) if merged else merged


def parse_manifest(data: bytes) -> Manifest:
    """Read and check a manifest's bytes.

    Raises:
        KnowledgeError: INVALID_INGEST_MANIFEST; the message says what is wrong and in which rule (counted from 1).
    """
    if len(data) > MAX_MANIFEST_BYTES:
        invalid_manifest("it has more than 1 MiB.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        invalid_manifest("it is not UTF-8 text.")
    document = _parse_json(text)
    if not isinstance(document, dict) or set(document) != {"rules"} or not isinstance(document["rules"], list):
        invalid_manifest('it must be a JSON object with "rules", a list, and nothing else.')
    return Manifest([_rule(item, number) for number, item in enumerate(document["rules"], 1)])


def invalid_manifest(reason: str) -> NoReturn:
    """Raises INVALID_INGEST_MANIFEST with a reason that ends the sentence."""
    raise KnowledgeError("INVALID_INGEST_MANIFEST", f"The manifest is not valid: {reason}")


def _parse_json(text: str) -> Any:
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=lambda name: _not_finite(), parse_float=_finite
        )
    except json.JSONDecodeError as error:
        invalid_manifest(f"it is no JSON at line {error.lineno}, column {error.colno}.")
    except RecursionError:
        invalid_manifest("it is nested too deeply.")
    except ValueError:  # an integer of thousands of digits
        invalid_manifest("it has a number that is too long.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        invalid_manifest(f"one of its objects has the key {_shown(twice)} twice.")
    return found


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _not_finite()


def _not_finite() -> NoReturn:
    invalid_manifest("it has a number that is not finite.")


def _rule(item: Any, number: int) -> Rule:
    if not isinstance(item, dict) or set(item) != {"glob", "metadata"}:
        invalid_manifest(f'rule {number} must be an object with "glob" and "metadata", and nothing else.')
    glob, metadata = item["glob"], item["metadata"]
    if not isinstance(glob, str):
        invalid_manifest(f"the glob of rule {number} must be a string.")
    if reason := _fault(glob):
        invalid_manifest(f"the glob {_shown(glob)} of rule {number} {reason}.")
    if not isinstance(metadata, dict):
        invalid_manifest(f"the metadata of rule {number} must be a JSON object.")
    if _has_half_surrogate(item):
        invalid_manifest(f"rule {number} has half of a surrogate pair.")
    try:
        check_metadata(metadata)
    except KnowledgeError as error:
        invalid_manifest(f"rule {number}: {error.message}")
    return Rule(tuple(unicodedata.normalize("NFC", glob).split("/")), metadata)


def _fault(glob: str) -> str | None:
    """What is wrong with a glob, as the end of a sentence."""
    if any(char in _FORBIDDEN for char in glob):
        return "must not contain braces, brackets, '!' or backslashes"
    if any(unicodedata.category(char) == "Cc" for char in glob):
        return "must not contain control characters"
    if glob.startswith("/") or _DRIVE.match(glob):
        return "must be relative to the folder"
    for segment in glob.split("/"):
        if segment in ("", ".", ".."):
            return "must not have empty, '.' or '..' segments"
        if "**" in segment and segment != "**":
            return "may use '**' only as a whole segment"
    return None


def _has_half_surrogate(value: Any) -> bool:
    """Whether a string of a JSON value, short of the allowed depth, cannot be written as UTF-8."""
    return any(0xD800 <= ord(char) <= 0xDFFF for text in _strings(value) for char in text)


def _strings(value: Any) -> Iterable[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item


def _shown(text: str) -> str:
    """A part of the manifest, fit to stand in a message."""
    kept = "".join(char if char.isprintable() else "?" for char in text[:_SHOWN_CHARS])
    return f"'{kept}{'…' if len(text) > _SHOWN_CHARS else ''}'"


def matches(glob: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a path matches a glob, both cut at their slashes: `**` stands for any number of segments."""
    return _fits(glob, path, "**", _segment_matches)


def _segment_matches(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern of `*` (any characters) and `?` (one)."""
    return _fits(pattern, name, "*", lambda wanted, char: wanted in ("?", char))


def _fits(pattern: Sequence[str], items: Sequence[str], many: str, one: Callable[[str, str], bool]) -> bool:
    """Whether items fit a pattern, in which `many` stands for any number of them.

    Only the last `many` ever needs another try: whatever an earlier one could take more, the last can take as well.
    So the time is bounded by the product of the lengths.
    """
    at, tried, star, begun = 0, 0, -1, 0
    while tried < len(items):
        if at < len(pattern) and pattern[at] == many:
            star, begun = at, tried
            at += 1
        elif at < len(pattern) and one(pattern[at], items[tried]):
            at += 1
            tried += 1
        elif star >= 0:
            begun += 1
            at, tried = star + 1, begun
        else:
            return False
    return all(item == many for item in pattern[at:])
