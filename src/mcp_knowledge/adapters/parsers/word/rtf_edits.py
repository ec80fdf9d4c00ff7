"""Edits of RTF that anydoc does not make.

Hidden and deleted text, headers, footers, pictures and index entries go, comments become notes behind a mark, and old
character sets are put in words that anydoc knows.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcp_knowledge.adapters.parsers.ole_properties import code_page_name
from mcp_knowledge.adapters.parsers.properties import stated_properties
from mcp_knowledge.adapters.parsers.word.anydoc_blocks import COMMENT_MARK
from mcp_knowledge.adapters.parsers.word.rtf_tokens import TextCollector, Token, escaped, run_pattern, token_at

_UNREAD = frozenset({
    "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "pict", "objdata",
    "themedata", "colorschememapping", "datastore", "latentstyles", "xe", "tc", "tcn", "rxe", "txe", "nonshppict",
    "atnid", "atnref", "atndate", "atnicn", "atnparent", "atntime", "atrfstart", "atrfend",
})  # fmt: skip
_PROPERTIES = {
    "title": "title",
    "author": "author",
    "subject": "subject",
    "keywords": "keywords",
    "doccomm": "description",
    "creatim": "created",
    "revtim": "modified",
}
_CHARACTER_WORDS = frozenset({
    "u", "tab", "line", "emdash", "endash", "lquote", "rquote", "ldblquote", "rdblquote", "bullet", "enspace",
    "emspace", "qmspace",
})  # fmt: skip
_CHARACTER_SETS = {"mac": 10000, "pc": 437, "pca": 850}
_OLD_CODE_PAGES = frozenset({437, 850, 852, 10000})  # which anydoc reads as Windows-1252
_STYLE = re.compile(rb"\{(?:\\\*)?\\s\d+")
_HEADING_NAME = re.compile(
    rb"[ \n](?:(?:heading|titre|titolo|kop|rubrik|\\'dcberschrift) ([1-9])|title);\}$", re.IGNORECASE
)
_MAX_DEPTH = 1_000
_WINDOWS_LATIN = 1252
_RUN = run_pattern(
    sorted({*_UNREAD, *_CHARACTER_SETS, "info", "annotation", "atnauthor", "v", "deleted", "plain", "ansicpg"})
)
_ONLY_WORDS = re.compile(rb"(?:\\[a-zA-Z]++(?:-?\d++)?+ ?|[\r\n])*+")


@dataclass(slots=True)
class _Group:
    """An open group. `use` says what becomes of its text: kept when empty, else dropped or collected."""

    start: int  # index in the output
    hidden: bool = False
    use: str = ""
    owns_use: bool = False
    begun: bool = False  # text or a group came: what follows names no destination
    text: TextCollector | None = None


class RtfEditor:
    """Reads a file once; `edited` gives it as anydoc should see it, and fills `properties`."""

    def __init__(self, data: bytes, keep_hidden: bool) -> None:
        self.properties: dict[str, Any] = {}
        self._data = data
        self._keep_hidden = keep_hidden
        self._out: list[bytes] = []
        self._groups: list[_Group] = []
        self._code_page = _WINDOWS_LATIN
        self._author = ""
        self._stated: dict[str, str | int | datetime | None] = {}
        self._date: dict[str, int] = {}
        self._after_unicode = False

    def edited(self) -> bytes:
        """The file without what is left out, up to the end of its outermost group."""
        at = 0
        while at < len(self._data):
            run = _RUN.match(self._data, at) if self._goes_by_runs() else None
            if run:
                self._run(run[0])
                at = run.end()
                continue
            token = token_at(self._data, at)
            at = token.end
            self._take(token)
            if token.kind == "close" and not self._groups:
                break
        self.properties = stated_properties(self._stated)
        return b"".join(self._out)

    def _take(self, token: Token) -> None:
        match token.kind:
            case "open":
                self._open(token)
            case "close":
                self._close(token)
            case _ if self._groups:
                self._inside(token, self._groups[-1])
        self._after_unicode = token.kind == "word" and token.name == "u"

    def _goes_by_runs(self) -> bool:
        """Whether everything up to the next interesting word is kept, or everything is dropped."""
        if not self._groups or self._code_page in _OLD_CODE_PAGES:
            return False
        group = self._groups[-1]
        return group.use == "drop" or (not group.use and (self._keep_hidden or not group.hidden))

    def _run(self, run: bytes) -> None:
        group = self._groups[-1]
        if not group.use:
            group.begun = group.begun or _ONLY_WORDS.fullmatch(run) is None
            self._out.append(run)

    def _open(self, token: Token) -> None:
        around = self._groups[-1] if self._groups else _Group(0)
        around.begun = True
        group = _Group(len(self._out), around.hidden, around.use, text=around.text)
        if len(self._groups) >= _MAX_DEPTH:
            group.use = "drop"
        self._groups.append(group)
        self._keep(token, group)

    def _close(self, token: Token) -> None:
        if not self._groups:
            return
        group = self._groups.pop()
        self._keep(token, group)
        if len(self._groups) == 2 and not group.use:
            self._give_level(group)
        if not group.owns_use or group.text is None:
            return
        text = group.text.text()
        if group.use == "annotation":
            visible = bool(self._groups) and not self._groups[-1].use
            if text and visible:
                label = f"Comment by {self._author}" if self._author else "Comment"
                self._out.append(b"{\\footnote\\plain\\uc1 " + escaped(f"{COMMENT_MARK}{label}: {text}") + b"}")
            self._author = ""
        elif group.use == "atnauthor":
            self._author = text
        else:
            self._stated[group.use] = _date(self._date) or text

    def _give_level(self, group: _Group) -> None:
        """Some writers give the styles of headings their names only, and no level."""
        sheet = self._out[self._groups[-1].start + 1 :][:1]
        if not sheet or not sheet[0].lstrip().startswith(b"\\stylesheet"):
            return
        definition = b"".join(self._out[group.start :])
        style, name = _STYLE.match(definition), _HEADING_NAME.search(definition)
        if style and name and b"\\outlinelevel" not in definition:
            level = int(name[1]) - 1 if name[1] else 0
            self._out[group.start :] = [
                definition[: style.end()],
                b"\\outlinelevel%d" % level,
                definition[style.end() :],
            ]

    def _inside(self, token: Token, group: _Group) -> None:
        if token.kind == "word" and not group.begun and self._is_destination(token, group):
            return
        group.begun = group.begun or token.kind in ("text", "hex")
        if group.use:
            self._collect(token, group)
            return
        if token.kind == "word":
            self._note_word(token, group)
        if group.hidden and not self._keep_hidden and _is_character(token):
            return
        if token.kind == "hex" and self._code_page in _OLD_CODE_PAGES and not self._after_unicode:
            self._out.append(escaped(token.raw.decode(code_page_name(self._code_page), "replace")))
            return
        self._keep(token, group)

    def _is_destination(self, token: Token, group: _Group) -> bool:
        """Whether the word names what the group is for, and that is not text of the document."""
        if token.name in _UNREAD:
            self._use(group, "drop", None)
        elif token.name == "info":
            self._use(group, "info", None)
        elif token.name in ("annotation", "atnauthor") and not group.use:
            self._use(group, token.name, TextCollector(self._code_page))
        elif token.name in _PROPERTIES and group.use == "info":
            self._date = {}
            self._use(group, _PROPERTIES[token.name], TextCollector(self._code_page))
        else:
            return False
        return True

    def _use(self, group: _Group, use: str, text: TextCollector | None) -> None:
        if not group.use:
            del self._out[group.start :]
        group.use, group.owns_use, group.text = use, True, text

    def _collect(self, token: Token, group: _Group) -> None:
        if token.kind == "symbol" and token.name == "*" and not group.owns_use and group.use != "info":
            group.use = "drop"
        elif group.use == "info" and token.name == "nofpages":
            self._stated["pages"] = token.number
        elif token.kind == "word" and token.name in ("yr", "mo", "dy", "hr", "min"):
            self._date[token.name] = token.number or 0
        elif group.text is not None and group.use != "drop":
            group.text.take(token)

    def _note_word(self, token: Token, group: _Group) -> None:
        if token.name in ("v", "deleted"):
            group.hidden = token.number != 0
        elif token.name == "plain":
            group.hidden = False
        elif token.name == "ansicpg" and token.number:
            self._code_page = token.number
        elif token.name in _CHARACTER_SETS and len(self._groups) == 1:
            self._code_page = _CHARACTER_SETS[token.name]

    def _keep(self, token: Token, group: _Group) -> None:
        if not group.use:
            self._out.append(self._data[token.start : token.end])


def _is_character(token: Token) -> bool:
    return token.kind in ("text", "hex") or (
        token.name in _CHARACTER_WORDS if token.kind == "word" else token.kind == "symbol" and token.name in "~_\\{}-"
    )


def _date(parts: Mapping[str, int]) -> str | None:
    """The writer's local time in ISO 8601; RTF states no zone."""
    year, month, day, hour, minute = (
        parts.get(name, default) for name, default in (("yr", 0), ("mo", 1), ("dy", 1), ("hr", 0), ("min", 0))
    )
    try:
        return datetime(year, month, day, hour, minute).isoformat()
    except (ValueError, OverflowError):
        return None
