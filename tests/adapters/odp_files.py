"""OpenDocument presentations made in code from the XML of their pages."""

from xml.sax.saxutils import escape

from pptx_files import Parts, Place, zipped

_NAMES = [
    "office",
    "style",
    "text",
    "drawing",
    "presentation",
    "svg-compatible",
    "xsl-fo-compatible",
    "table",
    "chart",
    "meta",
]
_PREFIXES = {"drawing": "draw", "svg-compatible": "svg", "xsl-fo-compatible": "fo"}
_OPEN_DOCUMENT = " ".join(
    f'xmlns:{_PREFIXES.get(name, name)}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in _NAMES
)
SPACES = (
    f'{_OPEN_DOCUMENT} xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'office:version="1.3"'
)
_NUMBERED = '<text:list-level-style-number text:level="1" style:num-format="{}"/>'
_STYLES = f"""<office:automatic-styles>
<style:style style:name="hidden" style:family="drawing-page">
<style:drawing-page-properties presentation:visibility="hidden"/></style:style>
<text:list-style style:name="bullets"><text:list-level-style-bullet text:level="1" text:bullet-char="•"/>
<text:list-level-style-bullet text:level="2" text:bullet-char="-"/></text:list-style>
<text:list-style style:name="numbers">{_NUMBERED.format("1")}</text:list-style>
<text:list-style style:name="plain">{_NUMBERED.format("")}</text:list-style>
</office:automatic-styles>"""


def p(text: str) -> str:
    """A paragraph of plain text, or of XML."""
    return f"<text:p>{text if '<' in text else escape(text)}</text:p>"


def listed(*items: str, style: str = "bullets") -> str:
    """A list; an item that begins with `<text:p>` or `<text:list` is its content as XML."""
    inner = "".join(
        f"<text:list-item>{item if item.startswith('<text:') else p(item)}</text:list-item>" for item in items
    )
    return f'<text:list text:style-name="{style}">{inner}</text:list>'


def frame(content: str, kind: str = "", at: Place | None = None, attributes: str = "") -> str:
    """A frame of a presentation class, such as `title`."""
    kind_attribute = f'presentation:class="{kind}"' if kind else ""
    return f"<draw:frame {kind_attribute} {_place(at)} {attributes}>{content}</draw:frame>"


def text_box(*content: str, kind: str = "", at: Place | None = None, attributes: str = "") -> str:
    inner = "".join(item if item.startswith("<text:") else p(item) for item in content)
    return frame(f"<draw:text-box>{inner}</draw:text-box>", kind, at, attributes)


def title(text: str) -> str:
    return text_box(text, kind="title", at=(1, 1, 23, 3))


def notes(*lines: str) -> str:
    picture = '<draw:page-thumbnail presentation:class="page"/>'
    return f"<presentation:notes>{picture}{text_box(*lines, kind='notes')}</presentation:notes>"


def _place(at: Place | None) -> str:
    names = ("x", "y", "width", "height")
    return "" if at is None else " ".join(f'svg:{name}="{side}cm"' for name, side in zip(names, at, strict=True))


def page(shapes: str, style: str = "shown") -> str:
    return f'<draw:page draw:name="p" draw:style-name="{style}" draw:master-page-name="Main">{shapes}</draw:page>'


def content_xml(pages: str) -> str:
    body = f"<office:body><office:presentation>{pages}</office:presentation></office:body>"
    return f"<office:document-content {SPACES}>{_STYLES}{body}</office:document-content>"


def odp_parts(*pages: str) -> dict[str, str | bytes | None]:
    """The parts of a presentation; a page that is not one already is made of its shapes."""
    whole = "".join(item if item.startswith("<draw:page ") else page(item) for item in pages)
    master = f"<office:master-styles><style:master-page style:name='Main'>{title('Prompt')}</style:master-page>"
    return {
        "mimetype": "application/vnd.oasis.opendocument.presentation",
        "content.xml": content_xml(whole),
        "styles.xml": f"<office:document-styles {SPACES}>{master}</office:master-styles></office:document-styles>",
        "META-INF/manifest.xml": "<manifest/>",
    }


def make_odp(*pages: str, parts: Parts | None = None) -> bytes:
    """A presentation with these pages, and further parts or replacements of parts; None removes one."""
    return zipped({**odp_parts(*pages), **(parts or {})})
