"""What stands in a graphic frame of a PowerPoint slide: a table, a chart or a diagram (SmartArt)."""

from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.grids import MAX_REPEATED_CHARS
from mcp_knowledge.adapters.parsers.slides.charts import chart_blocks
from mcp_knowledge.adapters.parsers.slides.diagrams import diagram_lines
from mcp_knowledge.adapters.parsers.slides.document import text_blocks
from mcp_knowledge.adapters.parsers.slides.text import body_text
from mcp_knowledge.adapters.parsers.slides.xml import Package, child, children, is_on
from mcp_knowledge.domain.blocks import Block, Table


def graphic_blocks(package: Package, slide_name: str, frame: Element) -> list[Block]:
    """The blocks of a `p:graphicFrame`; none for embedded programs' objects and damaged parts."""
    data = child(frame, "graphic", "graphicData")
    blocks: list[Block] = []
    for item in () if data is None else data:
        match item.tag:
            case "tbl":
                blocks.append(_table(item))
            case "chart" if (part := _target(package, slide_name, item.get("r:id"))) is not None:
                blocks.extend(chart_blocks(part))
            case "relIds" if (part := _target(package, slide_name, item.get("r:dm"))) is not None:
                blocks.extend(text_blocks(diagram_lines(part)))
    return blocks


def _target(package: Package, slide_name: str, relation_id: str | None) -> Element | None:
    relation = package.relations(slide_name).get(relation_id or "")
    return package.readable(relation.target) if relation is not None else None


def _table(table: Element) -> Table:
    """Each cell stands in its own column: DrawingML states the covered cells of merged ones too."""
    rows: list[tuple[str, ...]] = []
    for row in table.iterfind("tr"):
        texts: list[str] = []
        for column, cell in enumerate(row.iterfind("tc")):
            if is_on(cell.get("hMerge")) and column:
                texts.append(_repeated(texts[-1]))
            elif is_on(cell.get("vMerge")) and rows and column < len(rows[-1]):
                texts.append(_repeated(rows[-1][column]))
            else:
                texts.append(body_text(child(cell, "txBody")))
        rows.append(tuple(texts))
    has_header = len(rows) > 1 and any(is_on(item.get("firstRow")) for item in children(table, "tblPr"))
    return Table(rows[0] if has_header else None, tuple(rows[has_header:]))


def _repeated(text: str) -> str:
    return text if len(text) <= MAX_REPEATED_CHARS else ""
