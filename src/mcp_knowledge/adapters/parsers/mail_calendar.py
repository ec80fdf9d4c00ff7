"""Invitations inside messages (iCalendar, RFC 5545): what, when, where and who, without the machine's lines."""

import re
from collections.abc import Iterator

_FOLD = re.compile(r"\r?\n[ \t]")
_LINE = re.compile(r"([A-Za-z-]+)((?:;[^:;=\"]+=(?:\"[^\"]*\"|[^:;\"]*))*):(.*)")
_NAME = re.compile(r";CN=(?:\"([^\"]*)\"|([^:;\"]*))", re.IGNORECASE)
_ZONE = re.compile(r";TZID=\"?([^:;\"]+)", re.IGNORECASE)
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_ESCAPED = re.compile(r"\\([\\;,nN])")
_EVENTS = frozenset(["vevent", "vtodo", "vjournal"])
_SHOWN = {
    "summary": "Event", "dtstart": "Start", "dtend": "End", "due": "Due", "location": "Location",
    "organizer": "Organizer", "attendee": "Attendee", "description": "Description",
}  # fmt: skip
_MAX_FIELDS = 500


def events(text: str, *, described: bool) -> list[str]:
    """Each event as lines `name: value`.

    Args:
        described: with the description, which the text of the message repeats where there is one.
    """
    found: list[list[str]] = []
    inside: list[str] = []  # components that are open; alarms stand inside events
    for name, parameters, value in _lines(text):
        if name == "begin":
            inside.append(value.strip().lower())
            if inside[-1] in _EVENTS:
                found.append([])
        elif name == "end" and inside:
            inside.pop()
        elif found and inside and inside[-1] in _EVENTS and name in _SHOWN and len(found[-1]) < _MAX_FIELDS:
            shown = _shown(name, parameters, value) if described or name != "description" else ""
            found[-1] += [f"{_SHOWN[name]}: {shown}"] if shown else []
    return ["\n".join(lines) for lines in found if lines]


def _lines(text: str) -> Iterator[tuple[str, str, str]]:
    for line in _FOLD.sub("", text).splitlines():
        if match := _LINE.fullmatch(line):
            yield match[1].lower(), match[2], match[3]


def _shown(name: str, parameters: str, value: str) -> str:
    if name in ("organizer", "attendee"):
        called = _NAME.search(parameters)
        address = re.sub(r"^mailto:", "", value.strip(), flags=re.IGNORECASE)
        known = (called[1] or called[2] or "").strip() if called else ""
        return f"{known} <{address}>" if known and known != address else address
    if name in ("dtstart", "dtend", "due") and (time := _TIME.fullmatch(value.strip())):
        date = f"{time[1]}-{time[2]}-{time[3]}"
        zone = _ZONE.search(parameters)
        place = " UTC" if time[6] else f" ({zone[1]})" if zone else ""
        return f"{date} {time[4]}:{time[5]}{place}" if time[4] else date
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value).strip()
