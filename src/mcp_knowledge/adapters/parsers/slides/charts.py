"""Charts: the title, and a table of categories and series from the values that the file keeps of them."""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta
from xml.etree.ElementTree import Element

from mcp_knowledge.adapters.parsers.slides.text import body_text
from mcp_knowledge.adapters.parsers.slides.xml import child, children, number
from mcp_knowledge.domain.blocks import Block, Paragraph, Table

_EPOCH = datetime(1899, 12, 30)  # day 0 of spreadsheet dates
_MAX_DAY = 200_000  # the year 2447
_CACHES = ("strRef/strCache", "numRef/numCache", "multiLvlStrRef/multiLvlStrCache", "strLit", "numLit")
_MAX_ROWS = 2_000  # a chart of more points shows a curve, and its numbers tell a reader nothing


def chart_blocks(root: Element) -> list[Block]:
    """The blocks of a chart's part, of either kind: `c:chartSpace` or the newer `cx:chartSpace`."""
    chart = child(root, "chart")
    title = _title(chart)
    table = _newer_table(root) if child(root, "chartData") is not None else _table(child(chart, "plotArea"))
    texts = [title, *_value_titles(child(chart, "plotArea")), *_labels(root)]
    return [*(Paragraph(text) for text in dict.fromkeys(texts) if text), *([table] if table else [])]


def _value_titles(plot: Element | None) -> Iterator[str]:
    """What the axes of values say: mostly the unit."""
    for axis in children(plot, "valAx"):
        yield _title(axis)


def _labels(root: Element) -> Iterator[str]:
    """Labels of single points that somebody wrote."""
    for label in root.iter("dLbl"):
        yield " ".join(body_text(child(label, "tx", "rich")).split())


def _title(owner: Element | None) -> str:
    """The title of a chart or axis: typed text, or a cell's text."""
    title = child(owner, "title")
    text = next(
        (text for path in ("rich", "txData/rich") if (text := body_text(child(title, "tx", *path.split("/"))))), ""
    )
    if not text and title is not None:
        cached = child(title, "tx", "strRef", "strCache")
        text = " ".join(_points(cached).values()) or title.findtext("tx/txData/v") or ""
    return " ".join(text.split())


def _table(plot: Element | None) -> Table | None:
    if plot is None:
        return None
    series = [item for kind in plot for item in kind.iterfind("ser")]
    columns = [column for item in series for column in _columns(item)]
    categories = next((found for item in series if (found := _values(item, "cat") or _values(item, "xVal"))), {})
    places = sorted({*categories, *(place for _, values in columns for place in values)})
    if not places or len(places) > _MAX_ROWS:
        return None
    headers = (_category_title(plot), *(name for name, _ in columns))
    rows = ((categories.get(place, ""), *(values.get(place, "") for _, values in columns)) for place in places)
    return Table(headers, tuple(rows))


def _columns(series: Element) -> Iterator[tuple[str, dict[int, str]]]:
    name = _series_name(series)
    for tag, addition in (("val", ""), ("yVal", ""), ("bubbleSize", " (size)")):
        if child(series, tag) is not None:
            yield name + addition, _values(series, tag)


def _series_name(series: Element) -> str:
    text = " ".join(_values(series, "tx").values()) or series.findtext("tx/v") or ""
    return " ".join(text.split())


def _category_title(plot: Element) -> str:
    return next((title for axis in plot if axis.tag in ("catAx", "dateAx") and (title := _title(axis))), "")


def _values(series: Element, tag: str) -> dict[int, str]:
    """The kept values of one part of a series by their place."""
    source = child(series, tag)
    return next(
        (found for path in _CACHES if (found := _points(child(source, *path.split("/"))))),
        {},
    )


def _points(cache: Element | None) -> dict[int, str]:
    """Points by place; the levels of grouped categories are joined, the widest group first."""
    levels = list(children(cache, "lvl"))
    if levels:
        return _joined_levels([_points(level) for level in levels])
    code = (cache.findtext("formatCode") or "") if cache is not None else ""
    points = {}
    for point in children(cache, "pt"):
        text = " ".join((point.findtext("v") or point.text or "").split())
        points[number(point.get("idx"))] = _formatted(text, point.get("formatCode") or code)
    return points


def _joined_levels(levels: list[dict[int, str]]) -> dict[int, str]:
    joined = {}
    starts = [sorted(level) for level in levels[1:]]
    for place in sorted(levels[0]):
        names = [levels[0][place]]
        for level, places in zip(levels[1:], starts, strict=True):  # a group's name stands at its first place
            index = bisect_right(places, place)
            names.append(level[places[index - 1]] if index else "")
        joined[place] = " / ".join(name for name in reversed(names) if name)
    return joined


def _formatted(text: str, code: str) -> str:
    """A number as its format shows it, as far as that matters to a reader: dates, percentages, no endless digits."""
    try:
        value = float(text)
    except ValueError:
        return text
    plain = code.split(";")[0].lower()
    if plain.endswith("%"):
        return f"{value * 100:.10g}%"
    if ("yy" in plain or "mmm" in plain or "d/" in plain) and 0 < value < _MAX_DAY:
        moment = _EPOCH + timedelta(days=value)
        return f"{moment:%Y-%m-%d}" if moment.time() == datetime.min.time() else f"{moment:%Y-%m-%d %H:%M}"
    return f"{value:.10g}"


def _newer_table(root: Element) -> Table | None:
    """Waterfall, tree map, funnel and their like (`cx:`): each dimension is a column."""
    data = child(root, "chartData", "data")
    columns = [_points(dimension) for dimension in (() if data is None else data) if dimension.tag.endswith("Dim")]
    columns = [column for column in columns if column]
    places = sorted({place for column in columns for place in column})
    if not places or len(places) > _MAX_ROWS:
        return None
    return Table(None, tuple(tuple(column.get(place, "") for column in columns) for place in places))
