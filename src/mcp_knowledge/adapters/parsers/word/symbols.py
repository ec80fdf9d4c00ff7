"""Characters of the fonts Symbol and Wingdings, which Office files name by their place in the font."""

# Symbol's encoding (Adobe, "Symbol Set and Encoding") from 0x41 and from 0x61 on, then its signs.
_CAPITALS = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"
_SMALL = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
_SIGNS = {
    0xA3: "≤", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓", 0xB0: "°", 0xB1: "±", 0xB2: "″",
    0xB3: "≥", 0xB4: "×", 0xB5: "∝", 0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBA: "≡", 0xBB: "≈", 0xBC: "…",
    0xC6: "∅", 0xC7: "∩", 0xC8: "∪", 0xCE: "∈", 0xCF: "∉", 0xD1: "∇", 0xD2: "®", 0xD3: "©", 0xD4: "™", 0xD5: "∏",
    0xD6: "√", 0xD7: "⋅", 0xD8: "¬", 0xD9: "∧", 0xDA: "∨", 0xDB: "⇔", 0xDC: "⇐", 0xDE: "⇒", 0xE5: "∑", 0xF2: "∫",
}  # fmt: skip
_SYMBOL = {
    **{0x41 + index: letter for index, letter in enumerate(_CAPITALS)},
    **{0x61 + index: letter for index, letter in enumerate(_SMALL)},
    **_SIGNS,
}
_WINGDINGS = {
    0x28: "☎", 0x2A: "✉", 0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x71: "☐", 0x72: "☐", 0x76: "❖", 0x9F: "•", 0xA7: "▪",
    0xA8: "☐", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": {0x50: "✓", 0x52: "☑", 0x53: "☒", 0xA3: "☐"}}
_PRIVATE_USE = 0xF000  # where these fonts' characters stand in Unicode text
# Without the font's name: bullets, boxes and arrows are Wingdings, letters and signs of mathematics Symbol.
_BY_PLACE = str.maketrans({
    chr(_PRIVATE_USE + code): sign for code, sign in {**_SYMBOL, **_WINGDINGS, 0x6C: "λ", 0x6E: "ν", 0x6F: "ο"}.items()
})  # fmt: skip


def symbol(font: str, code: int) -> str:
    """The character at a place of a font; empty for what has no meaning in text."""
    place = code - _PRIVATE_USE if code >= _PRIVATE_USE else code
    known = _FONTS.get(font.strip().lower())
    if known is not None:
        return known.get(place, "")
    return chr(code) if 0x20 <= code < _PRIVATE_USE and not 0xD800 <= code <= 0xDFFF else ""


def readable_symbols(text: str) -> str:
    """Text with the private characters of these fonts as what they look like."""
    return text if text.isascii() else text.translate(_BY_PLACE)
