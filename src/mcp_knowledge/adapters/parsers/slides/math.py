"""Formulas on slides (Office MathML) to LaTeX, by anydoc, which reads them in Word files."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape, quoteattr

import anydoc

from mcp_knowledge.adapters.parsers.packages import write_parts

_MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org"
_MAX_DEPTH = 60  # of fractions in fractions; anydoc's own limit is near
_TYPES = (
    f'<Types xmlns="{_OFFICE}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    f'<Relationships xmlns="{_OFFICE}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
)


def latex(formula: Element) -> str:
    """An `a14:m` element as `$…$`; its bare characters when it cannot be read."""
    body = "".join(_markup(formula, 0))
    document = f'<w:document xmlns:w="{_WORD}" xmlns:m="{_MATH}"><w:body><w:p>{body}</w:p></w:body></w:document>'
    parts = {"[Content_Types].xml": _TYPES, "_rels/.rels": _RELATIONS, "word/document.xml": document}
    try:
        blocks = anydoc.to_document(write_parts((name, part.encode()) for name, part in parts.items()), "docx").blocks
    except (anydoc.ConvertError, UnicodeEncodeError):
        blocks = []
    texts = [block.text for block in blocks if block.kind == "math"]
    texts += [inline.text for block in blocks for inline in block.content or () if inline.kind == "math"]
    text = " ".join(text.strip() for text in texts if text)
    return f"${text}$" if text else "".join(item.text or "" for item in formula.iter("t"))


def _markup(element: Element, depth: int) -> Iterator[str]:
    """The children as XML with the prefix that a Word file has; run properties of the slide are left out."""
    for item in element if depth < _MAX_DEPTH else ():
        if item.tag == "rPr":
            continue
        stated = item.get("val")
        value = "" if stated is None else f" m:val={quoteattr(stated)}"
        yield f"<m:{item.tag}{value}>{escape(item.text or '') if item.tag == 't' else ''}"
        yield from _markup(item, depth + 1)
        yield f"</m:{item.tag}>"
