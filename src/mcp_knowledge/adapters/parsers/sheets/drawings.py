"""What hangs at the cells of an Excel package: comments, and the words in shapes, charts and diagrams."""

from collections.abc import Callable, Iterator, Mapping
from xml.parsers import expat

from mcp_knowledge.adapters.parsers.sheets.model import TOP_LEFT, Note, Range, cell_of
from mcp_knowledge.adapters.parsers.sheets.parts import Parts, feed_leniently
from mcp_knowledge.adapters.parsers.xml_events import Handler

_THREAD_HINT = "[Threaded comment]"  # what a comment says to versions that cannot show the thread it stands for
_ANCHORS = frozenset({"twoCellAnchor", "oneCellAnchor", "absoluteAnchor"})


def sheet_notes(parts: Parts, path: str, read_comments: Callable[[bytes], list[Note]]) -> Iterator[Note]:
    """Comments and drawings of the sheet at this path, each with its cells.

    Args:
        read_comments: reads a part with comments; threads of comments are XML in all packages.
    """
    threads = [note for part in parts.related(path, "threadedComment") for note in xml_comments(parts.content(part))]
    yield from threads
    places = {note.where for note in threads}
    for part in parts.related(path, "comments"):
        for note in read_comments(parts.content(part)):
            if not (note.where in places and note.text.startswith(_THREAD_HINT)):
                yield note
    for part in parts.related(path, "drawing"):
        yield from _drawings(parts, part)


def xml_comments(xml: bytes) -> list[Note]:
    """The comments of a part."""
    reader = _CommentReader()
    feed_leniently(xml, reader)
    return reader.notes


class _CommentReader(Handler):
    def __init__(self) -> None:
        self.notes: list[Note] = []
        self._where: Range | None = None
        self._pieces: list[str] = []
        self._in_text = False

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name in ("comment", "threadedComment"):
            place = cell_of(attributes.get("ref", "").partition(":")[0])
            self._where = Range(*place, *place) if place else None
            self._pieces = []
        elif name in ("t", "text"):
            self._in_text = True

    def text(self, text: str) -> None:
        if self._in_text:
            self._pieces.append(text)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name in ("t", "text"):
            self._in_text = False
        elif name in ("comment", "threadedComment") and self._where and (text := "".join(self._pieces).strip()):
            self.notes.append(Note(self._where, "Comment", text))


def _drawings(parts: Parts, path: str) -> Iterator[Note]:
    """The words of each shape, and of the charts and diagrams that a drawing shows."""
    reader = _DrawingReader()
    feed_leniently(parts.content(path), reader)
    targets = parts.targets(path)
    for where, paragraphs, relations in reader.anchors:
        lines = list(paragraphs)
        for relation in relations:
            kind, target = targets.get(relation, ("", ""))
            if kind in ("chart", "chartEx", "diagramData"):
                lines += _words(parts.content(target))
        if text := "\n".join(lines):
            yield Note(where, "", text)


def _words(xml: bytes) -> list[str]:
    reader = _DrawingReader()
    feed_leniently(xml, reader)
    return reader.paragraphs


class _DrawingReader(Handler):
    """Paragraphs of DrawingML, by anchor where there are anchors."""

    def __init__(self) -> None:
        self.anchors: list[tuple[Range, list[str], list[str]]] = []
        self.paragraphs: list[str] = []
        self._relations: list[str] = []
        self._pieces: list[str] = []
        self._corner: dict[str, int] = {}
        self._sink: list[str] | None = None
        self._side = "from"

    def start(self, name: str, attributes: Mapping[str, str], parser: expat.XMLParserType) -> None:
        if name in _ANCHORS:
            self.paragraphs, self._relations, self._corner = [], [], {}
        elif name in ("from", "to"):
            self._side = name
        elif name in ("t", "row", "col"):
            self._sink = []
        elif name == "p":
            self._pieces = []
        elif name == "br":
            self._pieces.append("\n")
        elif name == "chart" and "r:id" in attributes:
            self._relations.append(attributes["r:id"])
        elif name == "relIds" and "r:dm" in attributes:
            self._relations.append(attributes["r:dm"])

    def text(self, text: str) -> None:
        if self._sink is not None:
            self._sink.append(text)

    def end(self, name: str, parser: expat.XMLParserType) -> None:
        if name in ("t", "row", "col"):
            text, self._sink = "".join(self._sink or ()), None
            if name == "t":
                self._pieces.append(text)
            elif text.strip().isdecimal():
                self._corner[f"{self._side} {name}"] = int(text) + 1
        elif name == "p" and (paragraph := "".join(self._pieces).strip()):
            self.paragraphs.append(paragraph)
            self._pieces = []
        elif name in _ANCHORS:
            self.anchors.append((self._where(), self.paragraphs, self._relations))
            self.paragraphs = []

    def _where(self) -> Range:
        if "from row" not in self._corner or "from col" not in self._corner:
            return TOP_LEFT
        top, left = self._corner["from row"], self._corner["from col"]
        return Range(top, left, max(top, self._corner.get("to row", top)), max(left, self._corner.get("to col", left)))
