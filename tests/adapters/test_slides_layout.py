from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.adapters.parsers.slides.document import Slide
from mcp_knowledge.adapters.parsers.slides.layout import Item, fill
from mcp_knowledge.adapters.parsers.slides.order import Box, in_reading_order
from mcp_knowledge.domain.blocks import Paragraph

SIDES = st.integers(-50, 50)
BOXES = st.none() | st.builds(Box, SIDES, SIDES, st.integers(0, 40), st.integers(0, 40))


@given(st.lists(BOXES, max_size=30), st.booleans())
def test_nothing_is_lost_or_doubled_by_the_reading_order(boxes: list[Box | None], from_right: bool) -> None:
    order = in_reading_order(list(zip(boxes, range(len(boxes)), strict=True)), from_right)
    assert sorted(order) == list(range(len(boxes)))


@given(st.permutations(range(12)))
def test_a_column_is_read_from_top_to_bottom_whatever_the_order_of_its_boxes(tops: list[int]) -> None:
    items = [(Box(0, 10 * top, 50, 8), top) for top in tops]
    assert in_reading_order(items) == sorted(tops)


def test_a_drawing_of_very_many_labels_is_put_on_its_slide() -> None:
    slide = Slide(1)
    fill(slide, [Item(Box(at % 200, at // 200, 1, 1), [Paragraph(f"label {at}")]) for at in range(50_000)], 1.0)
    assert [slide.title, len(slide.blocks)] == ["", 50_000]
