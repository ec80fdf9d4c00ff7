"""The `key: value` head of a Markdown file.

Only the flat part of YAML that such heads use is read: scalars, `[a, b]` and `- item` lists, folded (`>`) and kept
(`|`) text.
"""

import re
from typing import Any

_HEAD = re.compile(r"---[ \t]*\r?\n(?P<body>(?:.*\r?\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)")
_PAIR = re.compile(r"(?P<key>[^\s:#\-][^:]*?)\s*:(?:\s+(?P<value>.*))?$")
_NUMBER = re.compile(r"[-+]?(0|[1-9]\d{0,14})(\.\d{1,15})?$")
_MAX_HEAD_CHARS = 64 * 1024
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}


def split_front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The properties of a head between `---` lines and where the body starts; `({}, 0)` when there is none."""
    if not text.startswith("---"):
        return {}, 0
    head = _HEAD.match(text, 0, _MAX_HEAD_CHARS)
    if head is None:
        return {}, 0
    lines = head["body"].splitlines()
    if not any(_PAIR.match(line) for line in lines):
        return {}, 0
    return _properties(lines), head.end()


def _properties(lines: list[str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    key, block = "", ""
    for line in lines:
        if match := _PAIR.match(line):
            key, value = match["key"].strip("\"'"), match["value"] or ""
            block = value.strip() if value.strip() in (">", "|", ">-", "|-") else ""
            properties[key] = "" if block else _value(value)
        elif key and line.strip() and (line[0].isspace() or line.startswith("-")):
            properties[key] = _continued(properties[key], line, block)
    return {name: value for name, value in properties.items() if value not in (None, "")}


def _continued(value: Any, line: str, block: str) -> Any:
    item = line.strip()
    if block:
        return f"{value}{chr(10) if block[0] == '|' else ' '}{item}".strip()
    if item.startswith("- ") and (value is None or isinstance(value, list)):
        return [*(value or []), _value(item[2:])]
    return f"{value} {item}" if isinstance(value, str) else value


def _value(text: str) -> Any:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    text = re.sub(r"\s#.*$", "", text).strip()
    if text.startswith("[") and text.endswith("]"):
        return [_value(item) for item in text[1:-1].split(",") if item.strip()]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.match(text):
        return float(text) if "." in text else int(text)
    return text
