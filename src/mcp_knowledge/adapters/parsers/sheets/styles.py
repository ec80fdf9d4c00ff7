"""Number formats that Excel files refer to by number only (ECMA-376, part 1, 18.8.30)."""

from mcp_knowledge.adapters.parsers.sheets.dates import ISO_DATE, ISO_DATE_TIME, ISO_TIME

_BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    5: '"$"#,##0_);("$"#,##0)',
    6: '"$"#,##0_);("$"#,##0)',
    7: '"$"#,##0.00_);("$"#,##0.00)',
    8: '"$"#,##0.00_);("$"#,##0.00)',
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    14: ISO_DATE,
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: ISO_DATE_TIME,
    37: "#,##0_);(#,##0)",
    38: "#,##0_);(#,##0)",
    39: "#,##0.00_);(#,##0.00)",
    40: "#,##0.00_);(#,##0.00)",
    41: '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)',
    42: '_("$"* #,##0_);_("$"* (#,##0);_("$"* "-"_);_(@_)',
    43: '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)',
    44: '_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)',
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    48: "##0.0E+0",
}
# Of East Asian versions, where each language has dates of its own.
_BUILT_IN |= dict.fromkeys((*range(27, 32), 36, *range(50, 59)), ISO_DATE)
_BUILT_IN |= dict.fromkeys((32, 34), "hh:mm") | dict.fromkeys((33, 35), ISO_TIME)


def format_code(stated: str | None, number: int | str) -> str:
    """A format's code, from the one that the file states or its number; empty for General."""
    code = stated
    if code is None:
        code = _BUILT_IN.get(int(number), "") if str(number).isdecimal() else ""
    code = "".join(filter(str.isprintable, code))
    return "" if code.strip().lower() in ("general", "@", "standard") else code
