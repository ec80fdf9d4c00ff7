"""The walk over an HTML tree that makes blocks of it. It keeps its own stack, so deep nesting costs no recursion."""

import re

from selectolax.lexbor import LexborNode

from mcp_knowledge.adapters.parsers.sinks import ListSink, QuoteSink, Sink, TableSink
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
    "anchorjs-link", "mw-editsection", "pagination",
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
_LANGUAGE = re.compile(r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s*)([\w+#.-]+)")
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?)", re.IGNORECASE)  # says nothing about a picture
_MAX_SPAN = 1_000  # HTML Standard, "algorithm for processing rows": colspan is clamped to this


def walk(root: LexborNode, keep_boilerplate: bool = False) -> list[Block]:
    """The blocks below a node."""
    walker = _Walker(keep_boilerplate)
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

    def __init__(self, keep_boilerplate: bool) -> None:
        self._keep_boilerplate = keep_boilerplate
        self._page = Sink()
        self._sinks: list[Sink] = [self._page]
        self._parts: list[str] = []
        self._images: list[str] = []
        self._heading_depth = 0  # inside headings, blocks are only blanks
        self._pre: list[str] | None = None
        self._pre_depth = 0
        self._language: str | None = None
        self._article_depth = 0  # inside main, article or a quotation, a header or footer belongs to the content
        self._only_headings = 0  # inside the page's own header

    def finish(self) -> list[Block]:
        """All blocks."""
        self._flush()
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
        if tag in _NEVER_CONTENT or self._is_left_out(node, tag):
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
            if alt and not self._only_headings and not _FILE_NAME.fullmatch(alt):
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
            self._leave_block(tag)

    def _enter_block(self, node: LexborNode, tag: str) -> None:
        if self._heading_depth or tag in _HEADINGS:
            if tag in _HEADINGS:
                if not self._heading_depth:
                    self._flush()
                self._heading_depth += 1
            self._parts.append(" ")
            return
        self._flush()
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
                sink.begin_item()
            case "dd" if isinstance(sink, ListSink):
                sink.continue_item(": ")
            case "tr" if isinstance(sink, TableSink):
                sink.begin_row()
            case "thead" | "tbody" | "tfoot" if isinstance(sink, TableSink):
                sink.begin_head(tag == "thead")
            case "td" | "th" if isinstance(sink, TableSink):
                sink.begin_cell(tag == "th", _span(attributes.get("colspan")), _span(attributes.get("rowspan")))
            case _ if tag in _LISTS:
                self._sinks.append(ListSink(tag == "ol"))
            case "header" | "footer":
                self._only_headings += self._is_page_header(tag)
        if tag in ("main", "article", "blockquote", "figure"):
            self._article_depth += 1

    def _leave_block(self, tag: str) -> None:
        if self._heading_depth:
            self._parts.append(" ")
            return
        self._flush()
        if tag in ("blockquote", "table") or tag in _LISTS:
            blocks = self._sinks.pop().close()
            for block in blocks:
                self._sinks[-1].add_block(block)
        elif tag == "header":
            self._only_headings -= self._is_page_header(tag)
        if tag in ("main", "article", "blockquote", "figure"):
            self._article_depth -= 1

    def _is_page_header(self, tag: str) -> bool:
        return tag == "header" and not self._keep_boilerplate and self._article_depth == 0

    def _is_left_out(self, node: LexborNode, tag: str) -> bool:
        attributes = node.attributes
        if not attributes and tag not in _BOILERPLATE:
            return False
        if attributes.get("hidden", "until-found") != "until-found" or attributes.get("aria-hidden") == "true":
            return True
        if _HIDDEN_STYLE.search(attributes.get("style") or ""):
            return True
        if self._keep_boilerplate:
            return False
        names = f"{attributes.get('id') or ''} {attributes.get('class') or ''}".split()
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

    def _in_quote(self) -> bool:
        return any(isinstance(sink, QuoteSink) for sink in self._sinks)

    def _flush(self) -> None:
        """End the inline text collected so far."""
        text, images = self._take(), self._images
        self._images = []
        if text:
            self._sinks[-1].add_text(text)
        for alt in images:
            self._sinks[-1].add_block(Image(alt))

    def _flush_heading(self, level: int) -> None:
        text = self._take() or " ".join(self._images)
        self._images = []
        if text:
            self._sinks[-1].add_block(Heading(level, " ".join(text.split())))

    def _take(self) -> str:
        text = "".join(self._parts).replace("\xa0", " ")
        self._parts = []
        lines = [" ".join(line.split()) for line in text.split("\n")]
        return "\n".join(lines).strip()


def _language(node: LexborNode | None) -> str | None:
    match = _LANGUAGE.search((node.attributes.get("class") or "") if node is not None else "")
    return match[1] if match and match[1] not in ("default", "none", "text") else None


def _span(value: str | None) -> int:
    return min(max(int(value), 1), _MAX_SPAN) if value and value.strip().isdecimal() else 1
