import asyncio
import os
import signal
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from front_door import until
from numpy.typing import NDArray
from parser_support import flipped
from pdf_files import Page, make_pdf, text_page

from mcp_knowledge.adapters.parsers.page_renderer import SandboxedPageRenderer
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import PageRenderer

MEMORY_BYTES = 2 * 1024**3
OTTERS = "The otters sleep on the river bank while the heron waits for fish."
MakeRenderer = Callable[..., SandboxedPageRenderer]
WritePdf = Callable[..., Path]


@pytest.fixture
async def make_renderer() -> AsyncIterator[MakeRenderer]:
    made: list[SandboxedPageRenderer] = []

    def make(memory_bytes: int = MEMORY_BYTES, **options: float) -> SandboxedPageRenderer:
        made.append(SandboxedPageRenderer(memory_bytes, **options))
        return made[-1]

    yield make
    for renderer in made:
        await renderer.close()


@pytest.fixture
def write(tmp_path: Path) -> WritePdf:
    def file(content: bytes | Sequence[Page]) -> Path:
        data = content if isinstance(content, bytes) else make_pdf(content)
        path = tmp_path / f"{zlib.crc32(data)}.pdf"
        path.write_bytes(data)
        return path

    return file


def pixels(data: bytes) -> NDArray[np.uint8]:
    """A PNG without filters, as the renderer makes them: uint8 [height, width, samples]."""
    width, height, _, colour = struct.unpack(">IIBB", data[16:26])
    samples = {0: 1, 2: 3}[colour]
    size = struct.unpack(">I", data[33:37])[0]
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + size]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, samples)


async def code_of(renderer: PageRenderer, path: Path, page: int = 1, width: int = 500) -> str:
    with pytest.raises(KnowledgeError) as caught:
        await renderer.render(path, page, width)
    return caught.value.code


async def test_a_page_becomes_a_picture_of_the_wanted_width(make_renderer: MakeRenderer, write: WritePdf) -> None:
    renderer = make_renderer()
    path = write([text_page(OTTERS), text_page("Another page")])
    assert renderer.process_id is None  # none is started before somebody looks
    image = await renderer.render(path, 1, 612)
    assert (image.media_type, image.pages) == ("image/png", 2)
    drawn = pixels(image.data)
    assert drawn.shape == (792, 612, 1)
    text = drawn[792 - 715 : 792 - 685]  # the line that stands 700 points above the bottom
    assert text.min() < 64
    assert drawn[200:].min() == 255
    assert (await renderer.render(path, 2, 612)).data != image.data


async def test_a_passages_words_are_marked_where_they_stand(make_renderer: MakeRenderer, write: WritePdf) -> None:
    renderer = make_renderer()
    path = write([text_page("Nothing to see in this line of text.", OTTERS)])
    plain = await renderer.render(path, 1, 612)
    # As a reader of the file might have put it: joined, with bars, in another case.
    marked = pixels((await renderer.render(path, 1, 612, "heading | THE OTTERS sleep\non the river bank")).data)
    assert marked.shape[2] == 3
    coloured = (marked[:, :, 2] < 200) & (marked[:, :, 0] == 255)
    rows, columns = np.nonzero(coloured)
    assert 792 - 690 < rows.min() < rows.max() < 792 - 655  # the second line, 672 points above the bottom
    assert columns.min() < 75
    assert columns.max() < 300  # not what stands after it
    assert (await renderer.render(path, 1, 612, "words that stand nowhere in here")).data == plain.data


async def test_marks_follow_a_page_that_is_turned(make_renderer: MakeRenderer, write: WritePdf) -> None:
    data = make_pdf([text_page(OTTERS)]).replace(b"/Type /Page ", b"/Type /Page /Rotate 90 ")
    assert b"/Rotate 90" in data
    marked = pixels((await make_renderer().render(write(data), 1, 792, OTTERS)).data)
    assert marked.shape[:2] == (612, 792)
    rows, columns = np.nonzero(marked[:, :, 2] < marked[:, :, 0])
    assert rows.max() - rows.min() > 3 * (columns.max() - columns.min())  # the line runs downwards


@pytest.mark.parametrize("page", [0, 3, -1, 10**9])
async def test_a_page_that_is_not_there(make_renderer: MakeRenderer, write: WritePdf, page: int) -> None:
    renderer = make_renderer()
    path = write([text_page("one"), text_page("two")])
    await renderer.render(path, 1, 100)
    process_id = renderer.process_id
    assert await code_of(renderer, path, page) == "PAGE_NOT_FOUND"
    assert renderer.process_id == process_id


def drawing(operators: str) -> Page:
    return Page(extra=operators)


def sized(width: object, height: object) -> bytes:
    return make_pdf([text_page("x")]).replace(b"[0 0 612 792]", f"[0 0 {width} {height}]".encode())


async def test_what_cannot_be_drawn_has_a_code_and_the_next_page_is_drawn(
    make_renderer: MakeRenderer, write: WritePdf
) -> None:
    renderer = make_renderer(timeout_seconds=1)
    good = write([text_page(OTTERS)])
    encrypted = make_pdf([text_page("secret")], owner="owner", user="open sesame")
    million_objects = make_pdf([drawing("0 0 m 300 700 l 600 0 l 10 300 l f " * 1_000_000)])
    files = {
        "encrypted": encrypted,
        "no pdf": b"<html>not a PDF at all</html>" * 20,
        "empty": b"%PDF-1.7\n",
        "damaged": flipped(make_pdf([text_page(OTTERS)]), ((i * 37, 0) for i in range(400))),
        "a million objects": million_objects,
    }
    for name, data in files.items():
        path = write(data)
        assert await code_of(renderer, path) == "PAGE_UNREADABLE", name
        assert (await renderer.render(good, 1, 200)).pages == 1, name


@pytest.mark.parametrize(
    ("width", "height"), [(1e9, 1e9), (14_400, 3), (3, 14_400), (0.001, 900), (0, 0), (-5, -7), ("1e400", 100)]
)
async def test_a_page_of_any_size_stays_within_the_limits(
    make_renderer: MakeRenderer, write: WritePdf, width: object, height: object
) -> None:
    renderer = make_renderer(timeout_seconds=5)
    try:
        image = await renderer.render(write(sized(width, height)), 1, 2000)
    except KnowledgeError as error:
        assert error.code == "PAGE_UNREADABLE"
    else:
        rows, columns, _ = pixels(image.data).shape
        assert rows * columns <= 6_100_000
        assert columns <= 2001


async def test_a_process_without_memory_fails_its_page_alone(make_renderer: MakeRenderer, write: WritePdf) -> None:
    renderer = make_renderer(memory_bytes=600 * 1024**2)
    huge = "q 612 0 0 792 0 0 cm BI /W 15000 /H 15000 /BPC 8 /CS /RGB /F /AHx ID " + "ff" * 1000 + "> EI Q"
    try:
        await renderer.render(write([drawing(huge)]), 1, 2000)
    except KnowledgeError as error:
        assert error.code == "PAGE_UNREADABLE"
    assert (await renderer.render(write([text_page(OTTERS)]), 1, 200)).pages == 1


async def test_a_process_that_nobody_needs_ends(make_renderer: MakeRenderer, write: WritePdf) -> None:
    renderer = make_renderer(idle_seconds=0.01)
    path = write([text_page(OTTERS)])
    await renderer.render(path, 1, 100)
    await until(lambda: renderer.process_id is None)
    assert (await renderer.render(path, 1, 100)).pages == 1


async def test_a_process_that_was_killed_costs_nobody_a_page(make_renderer: MakeRenderer, write: WritePdf) -> None:
    renderer = make_renderer()
    path = write([text_page(OTTERS)])
    await renderer.render(path, 1, 100)
    former = renderer.process_id
    assert former is not None
    os.kill(former, signal.SIGKILL)
    assert (await renderer.render(path, 1, 100)).pages == 1
    assert renderer.process_id != former


async def test_many_at_once_are_drawn_one_after_another(make_renderer: MakeRenderer, write: WritePdf) -> None:
    renderer = make_renderer()
    path = write([text_page(OTTERS)])
    drawn = await asyncio.gather(*(renderer.render(path, 1, 100) for _ in range(20)))
    assert len({image.data for image in drawn}) == 1
