"""Edits of WordprocessingML that anydoc does not make.

Hidden text and deleted rows go, comments come after their paragraph, typewriter paragraphs and documents taken in get
a mark, and signs, ruby, form fields and wrapped rows are put in words that anydoc knows.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape

from mcp_knowledge.adapters.parsers.word.anydoc_blocks import CODE_MARK, INSERT_MARK
from mcp_knowledge.adapters.parsers.word.symbols import symbol
from mcp_knowledge.adapters.parsers.word.wordml_parts import OFF, Comment, Styles, is_typewriter
from mcp_knowledge.adapters.parsers.xml_splices import Editor

_SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_ENDS_MATTER = frozenset({"r", "p", "pPr", "ruby", "fldChar", "sdt", "sdtContent", "customXml"})
# A part without any of these is as anydoc should see it.
_INTERESTING = re.compile(
    rb"vanish|noBreakHyphen|:sym\b|:ruby>|ffData|altChunk|:hidden\b|:del\b|:sdt>|customXml"
    rb"|[Cc]ourier|[Cc]onsolas|[Mm]enlo|[Mm]onaco|[Ll]ucida|[Ii]nconsolata|[Cc]ascadia|[Gg]othic|[Mm]ono\b|[Cc]ode\b"
)


@dataclass(slots=True)
class _Run:
    hidden: bool
    typewriter: bool
    has_text: bool = False


@dataclass(slots=True)
class _Paragraph:
    begin: int  # where its runs begin
    hidden: bool = False
    typewriter: bool = False
    comments: list[str] = field(default_factory=list)
    typed: int = 0  # runs with text in a typewriter face
    other: int = 0  # and in any other


@dataclass(slots=True)
class _Open:
    """An open element. At its end it is replaced, if there is anything to replace it with."""

    name: str
    start: int
    replacement: bytes | None = None
    unwrapped: bool = False
    inner_end: int = 0


@dataclass(slots=True)
class _FormField:
    """A check box or a list of a form, whose value is no text of the document."""

    checked: bool | None = None
    choice: int = 0
    entries: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The value to show."""
        if self.entries:
            return self.entries[self.choice] if 0 <= self.choice < len(self.entries) else ""
        return "" if self.checked is None else "[x]" if self.checked else "[ ]"


def edited(xml: bytes, comments: Mapping[str, Comment], styles: Styles, keep_hidden: bool = False) -> bytes:
    """A part with running text, in UTF-8, as anydoc should see it."""
    if not comments and not styles.hiding and not styles.typewriter and not _INTERESTING.search(xml):
        return xml
    return _Editor(xml, comments, styles, keep_hidden).edited()


class _Editor(Editor):
    def __init__(self, xml: bytes, comments: Mapping[str, Comment], styles: Styles, keep_hidden: bool) -> None:
        super().__init__(xml)
        self._comments = comments
        self._styles = styles
        self._keep_hidden = keep_hidden
        self._open: list[_Open] = []
        self._former = 0  # depth inside properties that a tracked change has replaced
        self._runs: list[_Run] = []
        self._paragraphs: list[_Paragraph] = []
        self._form: _FormField | None = None
        self._ruby: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        at = parser.CurrentByteIndex
        item = _Open(name, at)
        parent = self._open[-1].name if self._open else ""
        self._open.append(item)
        if self._former or name.endswith("Change"):
            self._former += 1
            return
        value = attributes.get("val", "")
        match name:
            case "p":
                self._paragraphs.append(_Paragraph(self.tag_end(at)))
            case "r":
                around = self._paragraphs[-1] if self._paragraphs else _Paragraph(at)
                self._runs.append(_Run(around.hidden, around.typewriter))
            case "vanish" | "rStyle" | "rFonts" if parent == "rPr" and self._is_of_run():
                self._run_property(name, value, attributes)
            case "pStyle" if parent == "pPr" and self._paragraphs:
                self._paragraphs[-1].hidden = value in self._styles.hiding
                self._paragraphs[-1].typewriter = value in self._styles.typewriter
            case "commentReference" if self._paragraphs:
                self._paragraphs[-1].comments.append(attributes.get("id", ""))
            case "hidden" | "del" if parent == "trPr" and value not in OFF and not self._keep_hidden:
                self._cut_row()
            case "noBreakHyphen":
                item.replacement = _text("-")
            case "sym":
                item.replacement = _text(symbol(attributes.get("font", ""), _hexadecimal(attributes.get("char", ""))))
            case "altChunk":
                item.replacement = _paragraph(f"{INSERT_MARK}{attributes.get('r:id', '')}")
            case "ruby":
                self._ruby = []
            case "sdt" | "customXml" if self._stands_in_table():
                item.unwrapped = True
                if name == "customXml":
                    self.splices.cut(at, self.tag_end(at))
            case "sdtContent" if len(self._open) > 1 and self._open[-2].unwrapped:
                self.splices.cut(self._open[-2].start, self.tag_end(at))
            case _:
                self._form_property(name, value)

    def _is_of_run(self) -> bool:
        return len(self._open) > 2 and self._open[-3].name == "r" and bool(self._runs)

    def _run_property(self, name: str, value: str, attributes: Mapping[str, str]) -> None:
        run = self._runs[-1]
        if name == "vanish":
            run.hidden = value not in OFF
        elif name == "rStyle":
            run.hidden = run.hidden or value in self._styles.hiding
            run.typewriter = run.typewriter or value in self._styles.typewriter
        elif font := attributes.get("ascii") or attributes.get("hAnsi"):
            run.typewriter = is_typewriter(font)

    def _cut_row(self) -> None:
        row = next((item for item in reversed(self._open) if item.name == "tr"), None)
        if row:
            row.replacement = b""

    def _stands_in_table(self) -> bool:
        """Whether the element that begins wraps rows of a table."""
        for item in reversed(self._open[:-1]):
            if not item.unwrapped and item.name != "sdtContent":
                return item.name == "tbl"
        return False

    def _form_property(self, name: str, value: str) -> None:
        if name == "ffData":
            self._form = _FormField()
        elif self._form is None:
            return
        elif name == "checkBox":
            self._form.checked = False
        elif name in ("default", "checked") and self._form.checked is not None:
            self._form.checked = value not in OFF
        elif name in ("default", "result") and value.isdecimal() and len(value) < 6:
            self._form.choice = int(value)
        elif name == "listEntry":
            self._form.entries.append(value)

    def text(self, text: str) -> None:
        if self._open[-1].name != "t" or self._former:
            return
        if self._runs and text.strip():
            self._runs[-1].has_text = True
        if any(item.name == "rubyBase" for item in self._open):
            self._ruby.append(text)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        at = parser.CurrentByteIndex
        item = self._open.pop()
        if self._former:
            self._former -= 1
            return
        if name not in _ENDS_MATTER and item.replacement is None:
            return
        end = self.element_end(item.start, at)
        match name:
            case "r" if self._runs:
                self._end_run(item, end)
            case "p" if self._paragraphs:
                self._end_paragraph(self._paragraphs.pop(), end)
            case "pPr" if self._paragraphs:
                self._paragraphs[-1].begin = end
            case "ruby":
                item.replacement = _text("".join(self._ruby))
            case "fldChar" if self._form is not None:
                self.splices.insert(item.start, _text(self._form.text()))
                self._form = None
            case "sdtContent" if self._open and self._open[-1].unwrapped:
                self._open[-1].inner_end = at
            case "sdt" | "customXml" if item.unwrapped:
                self.splices.cut(item.inner_end or at, end)
        if item.replacement is not None:
            self.splices.replace(item.start, end, item.replacement)

    def _end_run(self, item: _Open, end: int) -> None:
        run = self._runs.pop()
        if run.hidden and not self._keep_hidden:
            self.splices.cut(item.start, end)
        elif run.has_text and self._paragraphs:
            self._paragraphs[-1].typed += run.typewriter
            self._paragraphs[-1].other += not run.typewriter

    def _end_paragraph(self, paragraph: _Paragraph, end: int) -> None:
        if paragraph.typed and not paragraph.other:
            self.splices.insert(paragraph.begin, f"<w:r {_SPACE}>".encode() + _text(CODE_MARK) + b"</w:r>")
        for comment_id in paragraph.comments:
            if comment := self._comments.get(comment_id):
                label = f"Comment by {comment.author}" if comment.author else "Comment"
                self.splices.insert(end, _paragraph(f"[{label}: {comment.text}]"))


def _text(text: str) -> bytes:
    return f'<w:t {_SPACE} xml:space="preserve">{escape(text)}</w:t>'.encode() if text else b""


def _paragraph(text: str) -> bytes:
    return f"<w:p {_SPACE}><w:r>".encode() + _text(text) + b"</w:r></w:p>"


def _hexadecimal(digits: str) -> int:
    try:
        return int(digits, 16)
    except ValueError:
        return 0
