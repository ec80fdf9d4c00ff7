"""Dates and times as a spreadsheet shows them: serial numbers under Excel's date format codes (ECMA-376, 18.8.31)."""

import math
import re
from datetime import datetime, timedelta
from functools import lru_cache

# Built-in formats whose appearance depends on the reader's own system are shown in ISO 8601.
ISO_DATE, ISO_DATE_TIME, ISO_TIME = "yyyy\\-mm\\-dd", "yyyy\\-mm\\-dd\\ hh:mm", "hh:mm:ss"
_LAST_DAY = 2_958_465  # 9999-12-31
_SECONDS_OF_DAY = 86_400
_DAYS_BEFORE_1904 = 1_462
_TOKEN = re.compile(
    r"(?P<quoted>\"[^\"]*\"?|\\.|_.|\*.)"
    r"|(?P<elapsed>\[(?:h+|m+|s+)\])|(?P<bracket>\[[^\]]*\])"
    r"|(?P<noon>am/pm|a/p|上午/下午)|(?P<fraction>\.0+)|(?P<general>general)"
    r"|(?P<unit>y+|e+|m+|d+|h+|s+|b+|g+|a{3,})|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_MONTHS = {
    0x09: "January February March April May June July August September October November December",
    0x07: "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    0x0C: "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    0x0A: "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    0x10: "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    0x16: "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    0x13: "januari februari maart april mei juni juli augustus september oktober november december",
}  # by primary language id (MS-LCID); English for every other language
_DAYS = {
    0x09: "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    0x07: "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    0x0C: "lundi mardi mercredi jeudi vendredi samedi dimanche",
    0x0A: "lunes martes miércoles jueves viernes sábado domingo",
    0x10: "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    0x16: "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    0x13: "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
}
_ENGLISH = 0x09
_DEFINES_UNIT = frozenset("ymdhsegba")


@lru_cache(maxsize=4096)
def date_tokens(code: str) -> tuple[tuple[str, str], ...] | None:
    """(kind, text) of each piece of a date or time format's first section; None for any other format."""
    if re.match(r"\[\$-(?:x-sysdate|f800)\]", code, re.IGNORECASE):
        code = ISO_DATE
    elif re.match(r"\[\$-(?:x-systime|f400)\]", code, re.IGNORECASE):
        code = ISO_TIME
    tokens: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(code):
        kind = match.lastgroup or "other"
        if kind == "other" and match[0] == ";":
            break
        tokens.append((kind, match[0]))
    if not any(kind in ("unit", "elapsed") for kind, _ in tokens):
        return None
    if any((kind == "other" and text in "0#?@%") or kind == "general" for kind, text in tokens):
        return None
    return tuple(_minutes(tokens))


def _minutes(tokens: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The tokens, with m and mm after hours or before seconds known as minutes."""
    result = list(tokens)
    places = [index for index, (kind, _) in enumerate(tokens) if kind in ("unit", "elapsed")]
    for at, index in enumerate(places):
        text = tokens[index][1].lower()
        if text not in ("m", "mm"):
            continue
        before = tokens[places[at - 1]][1].lower().strip("[]") if at else ""
        after = tokens[places[at + 1]][1].lower().strip("[]") if at + 1 < len(places) else ""
        if before.startswith("h") or after.startswith("s"):
            result[index] = ("minute", text)
    return result


def show_date(serial: float, code: str, epoch_1904: bool) -> str | None:
    """A date or time as text; None when the format is none for dates, or the number is no date."""
    tokens = date_tokens(code)
    if tokens is None or not math.isfinite(serial):
        return None
    decimals = max((len(text) - 1 for kind, text in tokens if kind == "fraction"), default=0)
    if any(kind == "elapsed" for kind, _ in tokens):
        return _elapsed(serial, tokens, min(decimals, 3)) if abs(serial) < _LAST_DAY else None
    days = serial + (_DAYS_BEFORE_1904 if epoch_1904 else 0)
    moment = _moment(days, min(decimals, 3))
    return _show(moment, tokens, decimals) if moment else None


def _moment(days: float, decimals: int) -> datetime | None:
    if not 0 <= days < _LAST_DAY + 1:
        return None
    # Excel takes 1900 for a leap year: up to its 29 February the count is a day behind the calendar.
    base = datetime(1899, 12, 31) if days < 60 else datetime(1899, 12, 30)
    unit = 10**decimals
    try:
        return base + timedelta(seconds=math.floor(days * _SECONDS_OF_DAY * unit + 0.5) / unit)
    except OverflowError:
        return None


def _language(tokens: tuple[tuple[str, str], ...]) -> int:
    for kind, text in tokens:
        if kind == "bracket" and (match := re.match(r"\[\$[^-\]]*-([0-9A-Fa-f]{1,8})[\],]", text)):
            language = int(match[1], 16) & 0x3FF
            return language if language in _MONTHS else _ENGLISH
    return _ENGLISH


def _show(moment: datetime, tokens: tuple[tuple[str, str], ...], decimals: int) -> str:
    language = _language(tokens)
    half_day = any(kind == "noon" for kind, _ in tokens)
    parts = []
    for kind, text in tokens:
        match kind:
            case "unit":
                parts.append(_unit(moment, text.lower(), language, half_day))
            case "minute":
                parts.append(f"{moment.minute:0{len(text)}d}")
            case "noon":
                noon = ("AM", "PM") if len(text) > 3 else ("A", "P")
                parts.append(noon[moment.hour >= 12])
            case "fraction":
                parts.append("." + f"{moment.microsecond:06d}"[:decimals])
            case _:
                parts.append(_literal(kind, text))
    return "".join(parts).strip()


def _unit(moment: datetime, unit: str, language: int, half_day: bool) -> str:
    count = len(unit)
    match unit[0]:
        case "y":
            return f"{moment.year % 100:02d}" if count <= 2 else f"{moment.year:04d}"
        case "e":
            return f"{moment.year:04d}"
        case "m":
            if count <= 2:
                return f"{moment.month:0{count}d}"
            name = _MONTHS[language].split()[moment.month - 1]
            return name[:3] if count == 3 else name[:1] if count == 5 else name
        case "d" | "a":
            if count <= 2:
                return f"{moment.day:0{count}d}"
            name = _DAYS[language].split()[moment.weekday()]
            return name if count > 3 else name[: 3 if language == _ENGLISH else 2]
        case "h":
            hour = (moment.hour % 12 or 12) if half_day else moment.hour
            return f"{hour:0{min(count, 2)}d}"
        case "s":
            return f"{moment.second:0{min(count, 2)}d}"
    return ""


def _literal(kind: str, text: str) -> str:
    if kind == "quoted":
        if text.startswith('"'):
            return text.strip('"')
        return {"\\": text[1:], "_": " ", "*": ""}[text[0]]
    if kind == "bracket":
        match = re.match(r"\[\$([^-\]]*)", text)
        return match[1] if match else ""
    return text


def _elapsed(serial: float, tokens: tuple[tuple[str, str], ...], decimals: int) -> str:
    """A duration: the largest unit counts all, the others what is left."""
    unit = 10**decimals
    total, rest = divmod(math.floor(abs(serial) * _SECONDS_OF_DAY * unit + 0.5), unit)
    largest = next(text.lower()[1] for kind, text in tokens if kind == "elapsed")
    parts = ["-"] if serial < 0 else []
    for kind, text in tokens:
        letter = text.lower().strip("[]")[:1]
        width = len(text.strip("[]"))
        if kind not in ("elapsed", "unit", "minute", "fraction"):
            parts.append(_literal(kind, text))
        elif kind == "fraction":
            parts.append("." + f"{rest:0{decimals}d}"[:decimals])
        else:
            number = {"h": total // 3600, "m": total // 60, "s": total}.get(letter, 0)
            parts.append(f"{number if kind == 'elapsed' or letter == largest else number % 60:0{width}d}")
    return "".join(parts).strip()
