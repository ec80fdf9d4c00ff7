"""Edits of an OpenDocument text's content that anydoc does not make.

Hidden text goes, comments become notes behind a mark, typewriter paragraphs get a mark, the title becomes a heading,
and what stands in shapes, fields of forms and rarer indexes is put where anydoc finds it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape

from mcp_knowledge.adapters.parsers.word.anydoc_blocks import CODE_MARK, COMMENT_MARK
from mcp_knowledge.adapters.parsers.word.odt_forms import FormReader
from mcp_knowledge.adapters.parsers.word.odt_lists import ListNumbers
from mcp_knowledge.adapters.parsers.word.wordml_parts import is_typewriter
from mcp_knowledge.adapters.parsers.xml_events import Handler, feed
from mcp_knowledge.adapters.parsers.xml_splices import Editor
from mcp_knowledge.errors import KnowledgeError

_NAMESPACES = (
    b' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    b' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
)
_BOX_START = b"<draw:frame" + _NAMESPACES + b"><draw:text-box>"
_BOX_END = b"</draw:text-box></draw:frame>"
_PARAGRAPH_START = b"<text:p" + _NAMESPACES + b">"
_ITEM_NAME = re.compile(rb"<([\w.-]+:)?list-item")
_SHAPES = frozenset({
    "custom-shape", "rect", "ellipse", "circle", "line", "polyline", "polygon", "regular-polygon", "path",
    "connector", "caption", "measure",
})  # fmt: skip
_FLOATING = _SHAPES | {"frame", "g", "control", "a"}
# Indexes that anydoc passes over, and paragraphs in the numbered form.
_UNKNOWN_CONTAINERS = frozenset({"user-index", "table-index", "object-index", "numbered-paragraph"})
_BODIES = frozenset({"text", "section", "index-body"})
_TITLE_STYLES = frozenset({"title", "titel", "titre", "título", "titolo"})


def edited_content(content: bytes, styles: bytes, keep_hidden: bool) -> bytes:
    """`content.xml` as anydoc should see it. Both parts in UTF-8.

    Raises:
        KnowledgeError: DOCUMENT_MALFORMED when the content is no XML.
    """
    reader = _StyleReader()
    for part in (styles, content):
        try:
            feed(part, reader)
        except KnowledgeError:  # broken styles hide nothing; a broken content is told of below
            continue
    return _ContentEditor(content, reader, keep_hidden).edited()


class _StyleReader(Handler):
    """Which styles hide their text or set it in a typewriter face, which are a title's, and what form fields hold."""

    def __init__(self) -> None:
        self.forms = FormReader()
        self._hidden: set[tuple[str, str]] = set()
        self._shown: set[tuple[str, str]] = set()
        self._typewriter: dict[tuple[str, str], bool] = {}
        self._parents: dict[tuple[str, str], str] = {}
        self._style: tuple[str, str] | None = None

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        self.forms.start(name, attributes)
        if name == "style":
            self._style = (attributes.get("family", ""), attributes.get("name", ""))
            self._parents[self._style] = attributes.get("parent-style-name", "")
        elif name == "text-properties" and self._style:
            display = attributes.get("display")
            if display is not None:
                (self._hidden if display == "none" else self._shown).add(self._style)
            if font := attributes.get("font-name") or attributes.get("font-family"):
                self._typewriter[self._style] = is_typewriter(font.strip("'\" "))

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        self.forms.end(name)
        if name == "style":
            self._style = None

    def hides(self, family: str, name: str) -> bool:
        """Whether a style hides its text, by itself or by what it inherits."""
        for ancestor in self._chain(family, name):
            if (family, ancestor) in self._shown:
                return False
            if (family, ancestor) in self._hidden:
                return True
        return False

    def is_typewriter(self, family: str, name: str) -> bool | None:
        """Whether a style sets its text in a typewriter face; None when it says nothing of the face."""
        faces = (self._typewriter.get((family, ancestor)) for ancestor in self._chain(family, name))
        return next((face for face in faces if face is not None), None)

    def is_title(self, name: str) -> bool:
        """Whether a paragraph style is that of titles, or made from it."""
        return any(ancestor.lower() in _TITLE_STYLES for ancestor in self._chain("paragraph", name))

    def _chain(self, family: str, name: str) -> list[str]:
        chain: list[str] = []
        while name and name not in chain:
            chain.append(name)
            name = self._parents.get((family, name), "")
        return chain


@dataclass(slots=True)
class _Open:
    """An element that is not closed yet: where it begins, and what to do at its end."""

    name: str
    start: int
    hidden: bool = False
    before: bytes = b""
    wrap: tuple[bytes, bytes] | None = None
    end_tag: bytes | None = None
    is_comment: bool = False
    typewriter: bool = False
    typed: bool = False  # a paragraph with text in a typewriter face
    printed: bool = False  # and in any other
    pieces: list[str] = field(default_factory=list)


class _ContentEditor(Editor):
    def __init__(self, xml: bytes, styles: _StyleReader, keep_hidden: bool) -> None:
        super().__init__(xml)
        self._styles = styles
        self._keep_hidden = keep_hidden
        self._open: list[_Open] = []
        self._comment: _Open | None = None
        self._author: list[str] = []
        self._lists = ListNumbers()

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        at = parser.CurrentByteIndex
        parent = self._open[-1].name if self._open else ""
        item = _Open(name, at, typewriter=self._in_typewriter(name, attributes))
        self._open.append(item)
        if numbered := self._lists.start(name, attributes, at):
            self._number(*numbered)
        if name == "annotation":
            item.is_comment, self._comment, self._author = True, item, []
            return
        if self._comment:
            return
        item.hidden = not self._keep_hidden and self._is_hidden(name, attributes)
        if name == "hidden-paragraph" and attributes.get("is-hidden") == "true" and not self._keep_hidden:
            self._hide_paragraph()
        elif name == "ruby-text":
            item.hidden = True
        elif name == "p" and self._styles.is_title(attributes.get("style-name", "")) and parent in _BODIES:
            self.splices.replace(
                at, self.tag_end(at), b"<text:h" + _NAMESPACES + b' text:outline-level="1" text:is-list-header="true">'
            )
            item.end_tag = b"</text:h>"
        elif name == "control":
            item.before = escape(f" {self._styles.forms.value_of(attributes.get('control', ''))} ").encode()
        self._place(item, name, parent)

    def _in_typewriter(self, name: str, attributes: Mapping[str, str]) -> bool:
        around = bool(self._open) and self._open[-1].typewriter
        if name not in ("span", "p"):
            return around
        stated = self._styles.is_typewriter("text" if name == "span" else "paragraph", attributes.get("style-name", ""))
        return (around and name == "span") if stated is None else stated

    def _number(self, index: int, number: int) -> None:
        """Give the list's item that begins at a byte index a number to start with."""
        tag = _ITEM_NAME.match(self.xml, index)
        if tag:
            self.splices.insert(tag.end(), b' %sstart-value="%d"' % (tag[1] or b"", number))

    def _is_hidden(self, name: str, attributes: Mapping[str, str]) -> bool:
        match name:
            case "span":
                return self._styles.hides("text", attributes.get("style-name", ""))
            case "p" | "h":
                return self._styles.hides("paragraph", attributes.get("style-name", ""))
            case "section":
                display = attributes.get("display")
                return display == "none" or (display == "condition" and attributes.get("is-hidden") == "true")
            case "hidden-text":
                return attributes.get("is-hidden", "true") != "false"
            case "table-row":
                return attributes.get("visibility") == "collapse"
        return False

    def _hide_paragraph(self) -> None:
        around = next((item for item in reversed(self._open) if item.name in ("p", "h")), None)
        if around:
            around.hidden = True

    def _place(self, item: _Open, name: str, parent: str) -> None:
        """Shapes become frames with a box of text, and what floats outside of paragraphs gets one."""
        start, end = b"", b""
        if name in _UNKNOWN_CONTAINERS:
            start, end = b"<text:section" + _NAMESPACES + b">", b"</text:section>"
        elif name in _SHAPES:
            start, end = _BOX_START, _BOX_END
        if name in _FLOATING and parent in _BODIES:
            start, end = _PARAGRAPH_START + start, end + b"</text:p>"
        if start:
            item.wrap = (start, end)

    def text(self, text: str) -> None:
        if (
            not self._comment
            and text.strip()
            and (paragraph := next((item for item in reversed(self._open) if item.name == "p"), None))
        ):
            face = self._open[-1].typewriter
            paragraph.typed, paragraph.printed = paragraph.typed or face, paragraph.printed or not face
        if self._comment:
            inside = self._open[-1].name
            if inside == "creator":
                self._author.append(text)
            elif inside not in ("date", "date-string", "creator-initials", "sender-initials", "annotation"):
                self._comment.pieces.append(text)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        at = parser.CurrentByteIndex
        item = self._open.pop()
        self._lists.end(name)
        end = self.element_end(item.start, at)
        if item.is_comment:
            self._comment = None
            self.splices.replace(item.start, end, self._note(item))
            return
        if self._comment:
            if name in ("p", "line-break", "tab", "s"):
                self._comment.pieces.append(" ")
            return
        if item.hidden:
            self.splices.cut(item.start, end)
        elif item.end_tag and end > at:
            self.splices.replace(at, end, item.end_tag)
        elif item.end_tag:
            self.splices.cut(item.start, end)
        elif item.wrap:
            self._wrap(item, at, end)
        elif item.before:
            self.splices.insert(item.start, item.before)
        elif item.typed and not item.printed:
            self.splices.insert(self.tag_end(item.start), CODE_MARK.encode())

    def _wrap(self, item: _Open, at: int, end: int) -> None:
        start_tag, end_tag = item.wrap or (b"", b"")
        keeps_tag = item.name in _FLOATING and item.name not in _SHAPES
        if keeps_tag:
            self.splices.insert(item.start, start_tag + item.before)
            self.splices.insert(end, end_tag)
        elif at == end:
            self.splices.cut(item.start, end)
        else:
            self.splices.replace(item.start, self.tag_end(item.start), start_tag)
            self.splices.replace(at, end, end_tag)

    def _note(self, item: _Open) -> bytes:
        text = " ".join("".join(item.pieces).split())
        if not text:
            return b""
        author = " ".join("".join(self._author).split())
        label = f"Comment by {author}" if author else "Comment"
        body = escape(f"{COMMENT_MARK}{label}: {text}").encode()
        return (
            b'<text:note text:note-class="footnote"' + _NAMESPACES + b"><text:note-body><text:p>" + body
            + b"</text:p></text:note-body></text:note>"
        )  # fmt: skip
