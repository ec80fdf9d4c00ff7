"""Files that programs name like a workbook though they are none; spreadsheet programs open them all the same."""

import re

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.errors import KnowledgeError

_HEAD_BYTES = 64 * 1024
_EARLY_EXCEL = re.compile(rb"\x09[\x00\x02\x04\x08][\x04\x06\x08\x10]\x00")  # BOF and its size, without a container
_MIME = re.compile(rb"\s*(?:MIME-Version|From|Content-Type):", re.IGNORECASE)
_MARKUP = re.compile(
    r"(?:<!--.*?-->\s*|<\?xml[^>]*>\s*|<!doctype[^>]*>\s*)*<(?:html|head|meta|title|style|body|table|div|font|center|b|p|h\d)\b",
    re.IGNORECASE | re.DOTALL,
)
_WORKBOOK_2003 = re.compile(r"<(?:\w+:)?Workbook\b[^>]*urn:schemas-microsoft-com:office:spreadsheet", re.DOTALL)
_DELIMITERS = "\t;,|"
_SAMPLE_LINES = 20


def disguised_format(data: bytes) -> str | None:
    """The name of the format that a file named like a workbook really has; None when it is nothing readable."""
    if _EARLY_EXCEL.match(data):
        return "xls"
    if _MIME.match(data):
        return "eml"
    try:
        text = decode(data[:_HEAD_BYTES]).text.lstrip("\ufeff \t\r\n")
    except KnowledgeError:
        return None
    if _WORKBOOK_2003.search(text):
        return "xml"
    if _MARKUP.match(text):
        return "html"
    return "csv" if _is_delimited(text) else None


def is_text(data: bytes) -> bool:
    """Whether a file is text in any encoding."""
    try:
        return bool(decode(data[:_HEAD_BYTES]).text.strip())
    except KnowledgeError:
        return False


def _is_delimited(text: str) -> bool:
    """Whether the first lines are cut into equally many cells."""
    lines = [line for line in text.splitlines()[:-1] or text.splitlines() if line.strip()][:_SAMPLE_LINES]
    if not lines:
        return False
    return any(
        len({line.count(delimiter) for line in lines}) == 1 and delimiter in lines[0] for delimiter in _DELIMITERS
    ) or any(sum(delimiter in line for line in lines) > len(lines) // 2 for delimiter in "\t;")
