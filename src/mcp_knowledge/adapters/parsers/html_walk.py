"""The walk over an HTML tree that makes blocks of it. It keeps its own stack, so deep nesting costs no recursion."""

import re

from selectolax.lexbor import LexborNode

from mcp_knowledge.adapters.parsers.sinks import ListSink, QuoteSink, Sink, TableSink
from mcp_knowledge.adapters.parsers.stylesheets import NOTHING_HIDDEN, Hidden
from mcp_knowledge.adapters.parsers.word_lists import WordList
from mcp_knowledge.domain.blocks import Block, Code, Heading, Image

_NEVER_CONTENT = frozenset({
    "script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "canvas", "audio", "video",
    "head", "select", "datalist", "button", "input", "textarea", "dialog", "map", "area", "link", "meta",
    "annotation", "annotation-xml", "rp",
})  # fmt: skip
_BOILERPLATE = frozenset(["nav", "header", "footer", "aside", "menu"])
_BOILERPLATE_ROLES = frozenset(
    ["navigation", "banner", "contentinfo", "search", "menu", "menubar", "dialog", "alertdialog", "complementary"]
)
_BOILERPLATE_NAMES = frozenset({
    "navbar", "breadcrumb", "breadcrumbs", "sidebar", "sphinxsidebar", "site-nav", "site-navigation", "main-menu",
    "skip-link", "mw-jump-link", "interlanguage-link", "skip-links", "skip-to-content", "headerlink",
    "anchorjs-link", "mw-editsection", "pagination", "toc", "table-of-contents", "mw-cite-backlink",
    "catlinks", "printfooter", "navbox",
})  # fmt: skip
_COOKIE_BANNER = re.compile(
    r"cookie[-_]?(?:banner|consent|notice|notification|bar|popup|overlay|law|message|dialog|policy-banner)|gdpr[-_]?(?:banner|consent)?$"
    r"|consent[-_]?(?:banner|manager|popup)|onetrust|cybotcookiebot|usercentrics|^cc-(?:window|banner)",
    re.IGNORECASE,
)
_KEPT_ASIDE = re.compile(r"footnote|admonition|note|warning|tip|callout", re.IGNORECASE)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "ins", "kbd", "label", "mark", "math", "mi", "mn", "mo", "mrow", "ms", "msqrt", "mfrac", "msub", "msup",
    "mtext", "mspace", "mstyle", "semantics", "q", "ruby", "rt", "rb", "s", "samp", "small", "span", "strike",
    "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "nobr", "img", "br", "picture", "source", "meter",
    "output", "progress",
})  # fmt: skip
_LISTS = frozenset(["ul", "ol", "menu", "dir", "dl"])
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLANKS = re.compile(r"[ \t\n\r\f]+")
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s*|sourceCode\s+(?:numberSource\s+)?)([\w+#.-]+)"
)
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?)", re.IGNORECASE)  # says nothing about a picture
_NOTE_LABEL = re.compile(r"\w{1,3}|[*†‡§¶]{1,3}")
_BACK_TO_TEXT = re.compile(r"[↩⏎↵↑⤴^\ufe0e\s]+")
_FORMULA = re.compile(r"math|latex", re.IGNORECASE)  # in the class of a picture: its text belongs into the sentence
_LIST_STYLES = {"a": "lower_alpha", "A": "upper_alpha", "i": "lower_roman", "I": "upper_roman"}
_MAX_HEADER_LINKS = 2  # in the header of an article; that of a site has a menu
_MAX_SPAN = 1_000  # HTML Standard, "algorithm for processing rows": colspan is clamped to this


def walk(root: LexborNode, keep_boilerplate: bool = False, hidden: Hidden = NOTHING_HIDDEN) -> list[Block]:
    """The blocks below a node."""
    walker = _Walker(keep_boilerplate, hidden, has_main=root.css_first("main, article, [role=main]") is not None)
    node: LexborNode | None = root.first_child
    path: list[LexborNode] = []
    while node is not None:
        if node.is_text_node:
            walker.text(node.text_content or "")
        elif node.is_element_node and walker.enter(node):
            path.append(node)
            if (child := node.first_child) is not None:
                node = child
                continue
            walker.leave(path.pop())
        following = node.next
        while following is None and path:
            node = path.pop()
            walker.leave(node)
            following = node.next
        node = following
    return walker.finish()


class _Walker:
    """The state of a walk: open containers, and the inline text that is being collected."""

    def __init__(self, keep_boilerplate: bool, hidden: Hidden, has_main: bool) -> None:
        self._keep_boilerplate = keep_boilerplate
        self._has_main = has_main
        self._hidden = hidden
        self._page = Sink()
        self._sinks: list[Sink] = [self._page]
        self._parts: list[str] = []
        self._images: list[str] = []
        self._heading_depth = 0  # inside headings, blocks are only blanks
        self._pre: list[str] | None = None
        self._pre_depth = 0
        self._language: str | None = None
        self._article_depth = 0  # inside main, article or a quotation, a header or footer belongs to the content
        self._word_list = WordList()
        self._only_headings = 0  # inside the page's own header

    def finish(self) -> list[Block]:
        """All blocks."""
        self._flush()
        self._end_word_list()
        return self._page.close()

    def text(self, text: str) -> None:
        """A text node."""
        if self._pre is not None:
            self._pre.append(text)
        elif not self._only_headings or self._heading_depth:
            self._parts.append(_BLANKS.sub(" ", text))

    def enter(self, node: LexborNode) -> bool:
        """An element begins. False when nothing in it is content."""
        tag = node.tag or ""
        if tag in _NEVER_CONTENT and not (tag == "button" and self._heading_depth):
            if tag == "input" and isinstance(self._sinks[-1], ListSink | TableSink):
                self._parts.append(_check_box(node))
            return False
        if self._is_left_out(node, tag) or (tag == "span" and self._word_list.is_marker(node)):
            return False
        if (label := _note_label(node, tag)) is not None:
            self._parts.append(label)
            return False
        if self._pre is not None:
            self._pre_depth += 1
            self._language = self._language or _language(node)
            if tag == "br":
                self._pre.append("\n")
            return True
        if tag == "br":
            self._parts.append("\n")
        elif tag == "img":
            alt = _BLANKS.sub(" ", node.attributes.get("alt") or "").strip()
            if alt and _FORMULA.search(node.attributes.get("class") or ""):
                self._parts.append(alt)
            elif alt and not self._only_headings and not _FILE_NAME.fullmatch(alt):
                self._images.append(alt)
        elif tag not in _INLINE:
            self._enter_block(node, tag)
        return True

    def leave(self, node: LexborNode) -> None:
        """An element ends."""
        tag = node.tag or ""
        if self._pre is not None:
            self._pre_depth -= 1
            if self._pre_depth == 0:
                code = Code("".join(self._pre), self._language)
                self._pre = None
                if not self._only_headings:
                    self._sinks[-1].add_block(code)
        elif tag in _INLINE:
            return
        elif tag in _HEADINGS:
            self._heading_depth -= 1
            if self._heading_depth == 0:
                self._flush_heading(_HEADINGS[tag])
        else:
            self._leave_block(node, tag)

    def _enter_block(self, node: LexborNode, tag: str) -> None:
        if self._heading_depth or tag in _HEADINGS:
            if tag in _HEADINGS:
                if not self._heading_depth:
                    self._flush()
                    self._end_word_list()
                self._heading_depth += 1
            self._parts.append(" ")
            return
        self._flush()
        if tag != "p" or not self._word_list.begins(node):
            self._end_word_list()
        sink = self._sinks[-1]
        attributes = node.attributes
        match tag:
            case "pre" | "listing" | "xmp":
                self._pre, self._pre_depth, self._language = [], 1, _language(node) or _language(node.parent)
            case "blockquote":
                self._sinks.append(QuoteSink())
            case "table":
                self._sinks.append(TableSink(attributes.get("role") in ("presentation", "none")))
            case "li" | "dt" if isinstance(sink, ListSink):
                sink.begin_item(_number(attributes.get("value")))
            case "dd" if isinstance(sink, ListSink):
                sink.begin_definition()
            case "tr" if isinstance(sink, TableSink):
                sink.begin_row()
            case "thead" | "tbody" | "tfoot" if isinstance(sink, TableSink):
                sink.begin_head(tag == "thead")
            case "td" | "th" if isinstance(sink, TableSink):
                sink.begin_cell(tag == "th", _span(attributes.get("colspan")), _span(attributes.get("rowspan")))
            case _ if tag in _LISTS:
                self._sinks.append(_list_sink(node, tag))
            case "header":
                self._only_headings += self._is_page_header(node)
        if tag in ("main", "article", "blockquote", "figure"):
            self._article_depth += 1

    def _leave_block(self, node: LexborNode, tag: str) -> None:
        if self._heading_depth:
            self._parts.append(" ")
            return
        self._flush()
        if tag != "p":
            self._end_word_list()
        if tag in ("blockquote", "table") or tag in _LISTS:
            blocks = self._sinks.pop().close()
            for block in blocks:
                self._sinks[-1].add_block(block)
        elif tag == "header":
            self._only_headings -= self._is_page_header(node)
        if tag in ("main", "article", "blockquote", "figure"):
            self._article_depth -= 1

    def _is_page_header(self, node: LexborNode) -> bool:
        """Whether a header is the site's and not that of the text, which has the title and hardly a link."""
        if self._keep_boilerplate or self._article_depth:
            return False
        return self._has_main or node.css_first("h1") is None or len(node.css("a[href]")) > _MAX_HEADER_LINKS

    def _is_left_out(self, node: LexborNode, tag: str) -> bool:
        attributes = node.attributes
        if not attributes and tag not in _BOILERPLATE:
            return False
        if tag == "del" and ("datetime" in attributes or "cite" in attributes):  # a tracked change, not a line through
            return True
        if attributes.get("hidden", "until-found") != "until-found" or attributes.get("aria-hidden") == "true":
            return True
        classes = (attributes.get("class") or "").split()
        if _HIDDEN_STYLE.search(attributes.get("style") or "") or self._is_hidden(attributes.get("id"), classes):
            return True
        if self._keep_boilerplate:
            return False
        names = [*(attributes.get("id") or "").split(), *classes]
        if tag not in ("html", "body", "main", "article") and any(map(_COOKIE_BANNER.search, names)):
            return True
        role = attributes.get("role") or ""
        if tag == "aside":
            return not (_KEPT_ASIDE.search(role) or any(map(_KEPT_ASIDE.search, names)))
        if tag == "footer" or role == "contentinfo":
            return self._article_depth == 0 or not self._in_quote()
        if tag == "nav" or role in _BOILERPLATE_ROLES:
            return True
        return not _BOILERPLATE_NAMES.isdisjoint(names) and node.css_first("h1, main, article") is None

    def _is_hidden(self, identity: str | None, classes: list[str]) -> bool:
        return identity in self._hidden.ids or not self._hidden.classes.isdisjoint(classes)

    def _in_quote(self) -> bool:
        return any(isinstance(sink, QuoteSink) for sink in self._sinks)

    def _flush(self) -> None:
        """End the inline text collected so far."""
        text, images = self._take(), self._images
        self._images = []
        if text and not self._word_list.take(text):
            self._end_word_list()
            self._sinks[-1].add_text(text)
        for alt in images:
            self._sinks[-1].add_block(Image(alt))

    def _end_word_list(self) -> None:
        for block in self._word_list.close():
            self._sinks[-1].add_block(block)

    def _flush_heading(self, level: int) -> None:
        text = self._take() or " ".join(self._images)
        self._images = []
        if text:
            self._sinks[-1].add_block(Heading(level, " ".join(text.split())))

    def _take(self) -> str:
        text = "".join(self._parts).replace("\xa0", " ").replace("\xad", "")
        self._parts = []
        lines = [" ".join(line.split()) for line in text.split("\n")]
        return "\n".join(lines).strip()


def _language(node: LexborNode | None) -> str | None:
    match = _LANGUAGE.search((node.attributes.get("class") or "") if node is not None else "")
    return match[1] if match and match[1] not in ("default", "none", "text") else None


def _check_box(node: LexborNode) -> str:
    attributes = node.attributes
    if (attributes.get("type") or "").lower() != "checkbox":
        return ""
    return "[x] " if "checked" in attributes else "[ ] "


def _note_label(node: LexborNode, tag: str) -> str | None:
    """What stands for a link to a note (`[1]`, or it would be read as part of the word) or back from one (nothing)."""
    if tag not in ("a", "sup"):
        return None
    link = node if tag == "a" else node.css_first("a") or node.parent
    if link is None or link.tag != "a" or "#" not in (link.attributes.get("href") or ""):
        return None
    text = node.text().strip()
    attributes = link.attributes
    role = f"{attributes.get('role') or ''} {attributes.get('epub:type') or ''}"
    if "backlink" in role or (text and _BACK_TO_TEXT.fullmatch(text)):
        return ""
    if (tag == "sup" or "noteref" in role) and _NOTE_LABEL.fullmatch(text):
        return f"[{text}]"
    return None


def _list_sink(node: LexborNode, tag: str) -> ListSink:
    attributes = node.attributes
    start, step = _number(attributes.get("start")), 1
    if "reversed" in attributes:
        start, step = start or sum(child.tag == "li" for child in node.iter()), -1
    style = _LIST_STYLES.get(attributes.get("type") or "", "decimal")
    return ListSink(tag == "ol", 1 if start is None else start, step, style)


def _number(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"[0-9]{1,6}", value.strip()) else None


def _span(value: str | None) -> int:
    return min(max(int(value), 1), _MAX_SPAN) if value and value.strip().isdecimal() else 1
