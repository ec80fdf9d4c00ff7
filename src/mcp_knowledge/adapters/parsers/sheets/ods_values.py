"""What an OpenDocument cell without text shows: its value (ODF 1.3, part 3, 19.385 and following)."""

import re
from collections.abc import Mapping

from mcp_knowledge.adapters.parsers.sheets.dates import show_date

_VALUES = {
    "float": "value",
    "percentage": "value",
    "currency": "value",
    "date": "date-value",
    "time": "time-value",
    "boolean": "boolean-value",
    "string": "string-value",
}
_DURATION = re.compile(
    r"(-?)P(?:(\d{1,6})W)?(?:([\d.]{1,12})D)?(?:T(?:([\d.]{1,12})H)?(?:([\d.]{1,12})M)?(?:([\d.]{1,12})S)?)?"
)


def value_text(cell: Mapping[str, str], kind: str) -> str:
    """What a cell without text shows: its value, else its formula."""
    value = cell.get(_VALUES.get(kind, ""), "").strip()
    if kind == "boolean" and value:
        return value.upper()
    if kind == "percentage" and value:
        return _percent(value)
    if kind == "time" and value:
        return _duration(value)
    if value or kind == "string":
        return value
    formula = cell.get("formula", "")
    return "=" + formula.partition("=")[2] if "=" in formula else ""


def _percent(value: str) -> str:
    try:
        return f"{float(value) * 100:.10g}%"
    except ValueError:
        return value


def _duration(value: str) -> str:
    """A duration of ISO 8601 in hours, minutes and seconds."""
    match = _DURATION.fullmatch(value)
    try:
        sizes = [float(part) if part else 0.0 for part in match.groups()[1:]] if match else []
    except ValueError:
        sizes = []
    if match is None or not sizes:
        return value
    days = sum(size * unit for size, unit in zip(sizes, (7, 1, 1 / 24, 1 / 1440, 1 / 86400), strict=True))
    code = "[h]:mm:ss.000" if sizes[-1] % 1 else "[h]:mm:ss"
    return show_date(-days if match[1] else days, code, False) or value
