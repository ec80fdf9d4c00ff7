"""PowerPoint files made in code from the XML of their shapes."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

OFFICE = "http://schemas.openxmlformats.org"
R = f"{OFFICE}/officeDocument/2006/relationships"
SPACES = (
    f'xmlns:p="{OFFICE}/presentationml/2006/main" xmlns:a="{OFFICE}/drawingml/2006/main" xmlns:r="{R}" '
    f'xmlns:c="{OFFICE}/drawingml/2006/chart" xmlns:dgm="{OFFICE}/drawingml/2006/diagram" '
    f'xmlns:mc="{OFFICE}/markup-compatibility/2006" xmlns:m="{OFFICE}/officeDocument/2006/math" '
    'xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"'
)
EMU_PER_CM = 360_000

Place = tuple[float, float, float, float]  # left, top, width, height in cm
Parts = Mapping[str, str | bytes | None]
Relation = tuple[str, str, str]  # id, kind, target


@dataclass(frozen=True)
class Page:
    """A slide: its shapes, relations beside that to its layout, and attributes of the root."""

    shapes: str
    relations: Sequence[Relation] = ()
    attributes: str = ""


def zipped(parts: Parts, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as package:
        for name, part in parts.items():
            if part is not None:
                package.writestr(name, part)
    return buffer.getvalue()


def relations(items: Sequence[Relation]) -> str:
    inner = "".join(f'<Relationship Id="{name}" Type="{R}/{kind}" Target="{target}"/>' for name, kind, target in items)
    return f'<Relationships xmlns="{OFFICE}/package/2006/relationships">{inner}</Relationships>'


def line(text: str, level: int = 0, bullet: str = "") -> str:
    """A paragraph; `bullet` is an element of its properties, such as `<a:buNone/>`."""
    return f'<a:p><a:pPr lvl="{level}">{bullet}</a:pPr><a:r><a:t>{escape(text)}</a:t></a:r></a:p>'


def shape(*lines: str, place: str | None = None, at: Place | None = None, attributes: str = "") -> str:
    """A text box. `place`: attributes of its `p:ph`; lines that are no XML are plain paragraphs."""
    holder = f"<p:ph {place}/>" if place is not None else ""
    body = "".join(item if item.startswith("<") else line(item) for item in lines)
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="Shape 1" {attributes}/><p:cNvSpPr/><p:nvPr>{holder}</p:nvPr></p:nvSpPr>'
        f"<p:spPr>{_frame('a', at)}</p:spPr><p:txBody><a:bodyPr/><a:lstStyle/>{body}</p:txBody></p:sp>"
    )


def title(text: str) -> str:
    return shape(text, place='type="title"')


def body(*lines: str, index: int = 1) -> str:
    return shape(*lines, place=f'idx="{index}"')


def picture(description: str, at: Place | None = None) -> str:
    return (
        f'<p:pic><p:nvPicPr><p:cNvPr id="5" name="Picture 4" descr="{escape(description)}"/><p:cNvPicPr/><p:nvPr/>'
        f"</p:nvPicPr><p:blipFill/><p:spPr>{_frame('a', at)}</p:spPr></p:pic>"
    )


def group(*shapes: str) -> str:
    head = '<p:nvGrpSpPr><p:cNvPr id="9" name="Group"/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
    return f"<p:grpSp>{head}{''.join(shapes)}</p:grpSp>"


def graphic(content: str, at: Place | None = None) -> str:
    return (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="6" name="Frame"/><p:cNvGraphicFramePr/><p:nvPr/>'
        f"</p:nvGraphicFramePr>{_frame('p', at)}<a:graphic><a:graphicData>{content}</a:graphicData></a:graphic>"
        "</p:graphicFrame>"
    )


def cell(text: str, attributes: str = "") -> str:
    return f"<a:tc {attributes}><a:txBody><a:bodyPr/>{line(text)}</a:txBody></a:tc>"


def table(*rows: Sequence[str], first_row: bool = True) -> str:
    """A table; cells that are no XML are plain."""
    inner = "".join(
        f"<a:tr>{''.join(item if item.startswith('<') else cell(item) for item in row)}</a:tr>" for row in rows
    )
    return graphic(f'<a:tbl><a:tblPr firstRow="{int(first_row)}"/><a:tblGrid/>{inner}</a:tbl>')


def _frame(prefix: str, at: Place | None) -> str:
    if at is None:
        return ""
    left, top, width, height = (round(side * EMU_PER_CM) for side in at)
    return f'<{prefix}:xfrm><a:off x="{left}" y="{top}"/><a:ext cx="{width}" cy="{height}"/></{prefix}:xfrm>'


def page_xml(shapes: str, tag: str = "sld", attributes: str = "", more: str = "") -> str:
    """A slide, layout, master or notes page."""
    return f"<p:{tag} {SPACES} {attributes}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld>{more}</p:{tag}>"


_PROMPTS = shape("Click to edit Master title style", place='type="title"', at=(1, 1, 23, 3)) + shape(
    "Click to edit Master text styles", place='type="body" idx="1"', at=(1, 5, 23, 12)
)
_BULLETS = "".join(f'<a:lvl{level}pPr><a:buChar char="•"/></a:lvl{level}pPr>' for level in range(1, 6))
MASTER = page_xml(_PROMPTS, "sldMaster", more=f"<p:txStyles><p:bodyStyle>{_BULLETS}</p:bodyStyle></p:txStyles>")
LAYOUT = page_xml(title("Click to edit Master title style") + body("Click to edit Master text styles"), "sldLayout")
_TYPES = (
    f'<Types xmlns="{OFFICE}/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/>'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/ppt/presentation.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"/></Types>'
)


def slide_name(number: int, count: int) -> str:
    """The part of a slide; parts are numbered against the order of presentation."""
    return f"ppt/slides/slide{count - number + 1}.xml"


def pptx_parts(*slides: str | Page) -> dict[str, str | bytes | None]:
    """The parts of a PowerPoint file with these slides."""
    pages = [slide if isinstance(slide, Page) else Page(slide) for slide in slides]
    count = len(pages)
    listed = "".join(f'<p:sldId r:id="rId{number}" id="{255 + number}"/>' for number in range(1, count + 1))
    main = [(f"rId{n}", "slide", slide_name(n, count).removeprefix("ppt/")) for n in range(1, count + 1)]
    parts: dict[str, str | bytes | None] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": relations([("rId1", "officeDocument", "ppt/presentation.xml")]),
        "ppt/presentation.xml": f"<p:presentation {SPACES}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations([*main, ("authors", "commentAuthors", "commentAuthors.xml")]),
        "ppt/slideLayouts/layout.xml": LAYOUT,
        "ppt/slideLayouts/_rels/layout.xml.rels": relations([("m", "slideMaster", "../slideMasters/master.xml")]),
        "ppt/slideMasters/master.xml": MASTER,
    }
    for number, page in enumerate(pages, 1):
        name = slide_name(number, count)
        links = [("layout", "slideLayout", "../slideLayouts/layout.xml"), *page.relations]
        parts[name] = page_xml(page.shapes, attributes=page.attributes)
        parts[name.replace("slides/", "slides/_rels/") + ".rels"] = relations(links)
    return parts


def make_pptx(*slides: str | Page, parts: Parts | None = None) -> bytes:
    """A PowerPoint file with these slides, and further parts or replacements of parts; None removes one."""
    return zipped({**pptx_parts(*slides), **(parts or {})})
