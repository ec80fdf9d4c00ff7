"""What the two binary workbook formats have in common (MS-XLS 2.5.217, 2.5.10; MS-XLSB 2.5.122, 2.5.97.2)."""

import struct

ERRORS = {
    0x00: "#NULL!",
    0x07: "#DIV/0!",
    0x0F: "#VALUE!",
    0x17: "#REF!",
    0x1D: "#NAME?",
    0x24: "#NUM!",
    0x2A: "#N/A",
    0x2B: "#GETTING_DATA",
}
_HUNDREDTHS, _INTEGER = 0x1, 0x2


def rk_number(packed: int) -> float:
    """The number in four bytes: a whole one of 30 bits or the upper half of a double, as it is or in hundredths."""
    number: float
    if packed & _INTEGER:
        whole = packed >> 2
        number = float(whole - (1 << 30) if whole >= 1 << 29 else whole)
    else:
        (number,) = struct.unpack("<d", b"\0\0\0\0" + (packed & 0xFFFFFFFC).to_bytes(4, "little"))
    return number / 100 if packed & _HUNDREDTHS else number


def error_text(code: int) -> str:
    """An error as a cell shows it."""
    return ERRORS.get(code, "#VALUE!")
