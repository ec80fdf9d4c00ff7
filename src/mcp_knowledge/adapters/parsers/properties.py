"""What a file says about itself: titles that are worth showing."""

import re
from pathlib import PurePath

_JUNK_TITLE = re.compile(
    r"(?:untitled(?: document| presentation)?|"
    r"unbenannt|sans titre|sin título|no title|title|document|dokument|doc|word document|"
    r"slide|presentation|powerpoint presentation|new document|index|home|microsoft word|"
    r"\(?anonymous\)?|unknown|null|none|undefined)"
    r"[\s\-_.#()]*\d*",
    re.IGNORECASE,
)
_TOOL_PREFIX = re.compile(r"^(?:microsoft (?:word|powerpoint|excel)|word|powerpoint|print)\s+-\s+", re.IGNORECASE)
_FILE_NAME = re.compile(
    r"[^\s/\\]+\.(?:docx?|docm|pdf|tex|dvi|ps|indd|odt|rtf|pptx?|xlsx?|html?|txt|md|qxd|fm|pmd|wpd|pages)",
    re.IGNORECASE,
)
_PATH = re.compile(r"^(?:[a-z]:\\|/|\\\\|file:)", re.IGNORECASE)


def good_title(title: str | None, filename: str) -> str | None:
    """A stated title in one line, or None when a tool made it up (a file name, 'untitled', 'Microsoft Word - …')."""
    text = " ".join((title or "").replace("\0", " ").split())
    bare = _TOOL_PREFIX.sub("", text)
    if not any(map(str.isalnum, bare)) or len(bare) < 2 or _JUNK_TITLE.fullmatch(bare) or _PATH.match(bare):
        return None
    if _FILE_NAME.fullmatch(bare) or (bare != text and "." in bare[-6:]) or bare.lower() in _names(filename):
        return None
    return bare


def _names(filename: str) -> set[str]:
    path = PurePath(filename)
    return {path.name.lower(), path.stem.lower()}
