import asyncio
import os
import platform
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from docx_files import make_docx
from front_door import until
from hostile_formats import has_begun
from pdf_files import make_pdf, text_page

from mcp_knowledge.adapters.parsers.sandbox import DEFAULT_REGISTRY, SandboxedParser
from mcp_knowledge.domain.blocks import Paragraph
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Parser
from mcp_knowledge.settings import load_settings

HOSTILE = "hostile_formats:HOSTILE"
MakeParser = Callable[..., SandboxedParser]


@pytest.fixture
async def make_parser() -> AsyncIterator[MakeParser]:
    made: list[SandboxedParser] = []

    def make(files_per_worker: int = 100, registry: str = HOSTILE, **settings: Any) -> SandboxedParser:
        parser = SandboxedParser(load_settings(**settings), registry, files_per_worker)
        made.append(parser)
        return parser

    yield make
    for parser in made:
        await parser.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def file(name: str, text: str = "some text") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return file


async def code_of(parser: Parser, path: Path) -> str:
    with pytest.raises(KnowledgeError) as caught:
        await parser.parse(path, path.name)
    return caught.value.code


async def text_of(parser: Parser, path: Path) -> str:
    parsed = await parser.parse(path, path.name)
    (block,) = parsed.document.blocks
    assert isinstance(block, Paragraph)
    return block.text


async def test_a_file_is_parsed_and_the_result_names_the_parser(
    make_parser: MakeParser, write: Callable[..., Path]
) -> None:
    parser: Parser = make_parser()
    parsed = await parser.parse(write("a.ok", "hello"), "a.ok")
    assert parsed.document.blocks == (Paragraph("hello"),)
    assert (parsed.parser_name, parsed.parser_version) == parser.current_version("ok") == ("hostile", "7")
    assert parsed.detected_mime_type == "text/plain"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a.hog", "DOCUMENT_RESOURCE_LIMIT"),
        ("a.nativehog", "DOCUMENT_RESOURCE_LIMIT"),
        ("a.deep", "DOCUMENT_RESOURCE_LIMIT"),
        ("a.huge", "DOCUMENT_RESOURCE_LIMIT"),
        ("a.crash", "DOCUMENT_MALFORMED"),
        ("a.exit", "DOCUMENT_MALFORMED"),
        ("a.panic", "DOCUMENT_MALFORMED"),
        ("a.bug", "DOCUMENT_MALFORMED"),
        ("a.killed", "INGESTION_FAILED"),
        ("a.garbage", "INGESTION_FAILED"),
        ("a.flood", "INGESTION_FAILED"),
        ("a.unreadable", "INGESTION_FAILED"),
        ("a.unknown", "DOCUMENT_UNSUPPORTED_FORMAT"),
    ],
)
async def test_a_failing_parser_fails_that_file_only(
    make_parser: MakeParser, write: Callable[..., Path], name: str, code: str
) -> None:
    parser = make_parser(parser_memory_bytes=300 * 1024 * 1024)
    assert await code_of(parser, write(name)) == code
    assert await text_of(parser, write("after.ok", "still works")) == "still works"


async def test_a_fault_of_ours_is_told_by_its_kind_and_place_without_a_word_of_the_file(
    make_parser: MakeParser, write: Callable[..., Path]
) -> None:
    parser = make_parser()
    with pytest.raises(KnowledgeError) as bug:
        await parser.parse(write("a.bug", "confidential"), "a.bug")
    assert re.fullmatch(r"ZeroDivisionError at mcp_knowledge\.[\w.]+:\d+", str(bug.value.__cause__))
    with pytest.raises(KnowledgeError) as crash:
        await parser.parse(write("a.crash"), "a.crash")
    assert str(crash.value.__cause__).endswith(f"status -{int(signal.SIGSEGV)}")
    with pytest.raises(KnowledgeError) as verdict:
        await parser.parse(write("empty.ok", "  "), "empty.ok")
    assert verdict.value.__cause__ is None


@pytest.mark.parametrize("name", ["a.sleep", "a.spin"])
async def test_a_hanging_parser_is_killed_at_the_wall_clock_limit(
    make_parser: MakeParser, write: Callable[..., Path], name: str
) -> None:
    parser = make_parser(parser_timeout_ms=1000)
    assert await code_of(parser, write(name)) == "INGESTION_TIMEOUT"
    assert parser.worker_pids == frozenset()
    assert await text_of(parser, write("after.ok", "still works")) == "still works"


async def test_a_crash_that_a_fresh_process_does_not_repeat_is_no_fault_of_the_file(
    make_parser: MakeParser, write: Callable[..., Path], tmp_path: Path
) -> None:
    marker = tmp_path / "crash-once"
    marker.touch()
    assert await text_of(make_parser(), write("a.crashonce", str(marker))) == str(marker)


async def test_a_missing_file_is_a_fault_of_ours(make_parser: MakeParser, tmp_path: Path) -> None:
    assert await code_of(make_parser(), tmp_path / "gone.ok") == "INGESTION_FAILED"


async def test_a_worker_killed_from_outside_fails_its_file_with_a_retried_code(
    make_parser: MakeParser, write: Callable[..., Path], tmp_path: Path
) -> None:
    parser = make_parser()
    marker = tmp_path / "begun"
    marker.touch()
    task = asyncio.create_task(code_of(parser, write("a.sleep", str(marker))))
    await until(lambda: has_begun(marker))
    (pid,) = parser.worker_pids
    os.kill(pid, signal.SIGKILL)
    assert await task == "INGESTION_FAILED"
    assert await text_of(parser, write("after.ok", "still works")) == "still works"


async def test_an_idle_worker_that_died_is_replaced_without_a_failure(
    make_parser: MakeParser, write: Callable[..., Path]
) -> None:
    parser = make_parser()
    pid = int(await text_of(parser, write("a.pid")))
    os.kill(pid, signal.SIGKILL)
    assert int(await text_of(parser, write("a.pid"))) != pid


async def test_one_worker_serves_many_files_and_is_replaced_after_its_share(
    make_parser: MakeParser, write: Callable[..., Path]
) -> None:
    parser = make_parser(files_per_worker=3)
    path = write("a.pid")
    pids = [await text_of(parser, path) for _ in range(7)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]
    assert not is_running(int(pids[0]))


async def test_a_worker_is_replaced_after_a_failure_but_not_after_a_plain_verdict(
    make_parser: MakeParser, write: Callable[..., Path]
) -> None:
    parser = make_parser()
    first = await text_of(parser, write("a.pid"))
    assert await code_of(parser, write("empty.ok", "  ")) == "DOCUMENT_EMPTY"
    assert await text_of(parser, write("a.pid")) == first
    assert await code_of(parser, write("a.bug")) == "DOCUMENT_MALFORMED"
    assert await text_of(parser, write("a.pid")) != first


async def test_files_are_parsed_side_by_side_in_as_many_processes_as_configured(
    make_parser: MakeParser, write: Callable[..., Path]
) -> None:
    parser = make_parser(worker_concurrency=3)
    paths = [write(f"{n}.many", str(n)) for n in range(9)]
    parsed = await asyncio.gather(*(parser.parse(path, path.name) for path in paths))
    for n, result in enumerate(parsed):
        assert len(result.document.blocks) == 2_000
        assert result.document.blocks[1_999] == Paragraph(f"Paragraph 1999 {n}")
    assert len(parser.worker_pids) <= 3


async def test_a_cancelled_parse_leaves_no_process(
    make_parser: MakeParser, write: Callable[..., Path], tmp_path: Path
) -> None:
    parser = make_parser()
    marker = tmp_path / "begun"
    marker.touch()
    task = asyncio.create_task(parser.parse(write("a.sleep", str(marker)), "a.sleep"))
    await until(lambda: has_begun(marker))
    (pid,) = parser.worker_pids
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(pid)
    assert parser.worker_pids == frozenset()
    assert await text_of(parser, write("after.ok", "still works")) == "still works"


async def test_what_a_library_prints_does_not_disturb_the_answers(
    make_parser: MakeParser, write: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    assert await text_of(make_parser(), write("a.noise", "quiet")) == "quiet"
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


async def test_the_worker_knows_no_secrets_cannot_write_files_and_cannot_read_the_requests(
    make_parser: MakeParser, write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_SECRET", "a secret of the server")
    parser = make_parser()
    assert "SERVER_SECRET" not in await text_of(parser, write("a.env"))
    assert await text_of(parser, write("a.stdin")) == "read 0"
    target = tmp_path / "written.txt"
    assert await code_of(parser, write("a.write", str(target))) == "INGESTION_FAILED"
    assert not target.exists()


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"), reason="only Linux filters system calls"
)
async def test_the_worker_can_open_no_connection_and_touch_no_other_process_but_threads_run(
    make_parser: MakeParser, write: Callable[..., Path]
) -> None:
    parser = make_parser()
    for name in ("a.socket", "a.fork", "a.exec", "a.signal", "a.memory"):
        assert await text_of(parser, write(name)) == "refused", name
    assert await text_of(parser, write("a.thread")) == "some text"
    (pid,) = parser.worker_pids
    assert is_first_to_go(pid)


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"), reason="only Linux filters system calls"
)
async def test_the_worker_can_change_no_file(
    make_parser: MakeParser, write: Callable[..., Path], tmp_path: Path
) -> None:
    parser, original = make_parser(), tmp_path / "original"
    original.write_text("what somebody uploaded")
    for name in ("a.remove", "a.move", "a.shorten", "a.append"):
        assert await text_of(parser, write(name, str(original))) == "refused", name
    assert original.read_text() == "what somebody uploaded"


async def test_text_that_no_database_takes_is_cleaned(make_parser: MakeParser, write: Callable[..., Path]) -> None:
    assert await text_of(make_parser(), write("a.surrogate")) == "lone   surrogate and   bell"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
async def test_a_busy_worker_dies_with_a_server_that_is_killed(write: Callable[..., Path], tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    begun.touch()
    script = f"""
import asyncio, sys
from pathlib import Path
from mcp_knowledge.adapters.parsers.sandbox import SandboxedParser
from mcp_knowledge.settings import load_settings

async def main():
    parser = SandboxedParser(load_settings(), {HOSTILE!r})
    task = asyncio.create_task(parser.parse(Path({str(write("a.sleep", str(begun)))!r}), "a.sleep"))
    while not parser.worker_pids:
        await asyncio.sleep(0.01)
    print(*parser.worker_pids, flush=True)
    await task

asyncio.run(main())
"""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert server.stdout is not None
    pid = int(await server.stdout.readline())
    await until(lambda: has_begun(begun))
    assert is_running(pid)
    server.kill()
    await server.wait()
    await until(lambda: not is_running(pid))


async def test_the_products_own_parsers_run_in_the_sandbox(make_parser: MakeParser, tmp_path: Path) -> None:
    parser = make_parser(registry=DEFAULT_REGISTRY)
    files = {
        "a.pdf": make_pdf([text_page("A page with enough text to be read.")]),
        "a.docx": make_docx(lambda document: document.add_paragraph("A paragraph.")),
        "a.md": b"# Title",
        "a.html": b"<p>Text",
        "a.csv": b"a,b\n1,2",
        "a.json": b'{"a": 1}',
        "a.txt": "Grüße aus Köln".encode("cp1252"),
    }
    for name, data in files.items():
        path = tmp_path / name
        path.write_bytes(data)
        parsed = await parser.parse(path, name)
        assert len(parsed.document.blocks) == 1
        assert (parsed.parser_name, parsed.parser_version) == parser.current_version(name[2:])
    assert len(parser.worker_pids) == 1


async def test_closing_ends_every_process(make_parser: MakeParser, write: Callable[..., Path]) -> None:
    parser = make_parser(worker_concurrency=2)
    await asyncio.gather(*(parser.parse(write(f"{n}.many"), f"{n}.many") for n in range(2)))
    pids = parser.worker_pids
    assert len(pids) == 2
    await parser.close()
    assert not any(map(is_running, pids))
    assert parser.worker_pids == frozenset()


def is_first_to_go(pid: int) -> bool:
    """Whether Linux ends this process, and not the server, where memory runs out."""
    return Path(f"/proc/{pid}/oom_score_adj").read_text() == "1000\n"


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return not Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].startswith(" Z")
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it ended just now, or this system has no /proc
        return not Path("/proc/self").exists()
