import asyncio
import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr

import httpx2
import pytest
from front_door import add, until
from pydantic import TypeAdapter, ValidationError
from rest_kit import API

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.log_format import cause_of, described
from mcp_knowledge.interfaces.logs import JsonFormatter, TextFormatter, configure_logging, log_uncaught, request_id
from mcp_knowledge.services.log_context import about
from mcp_knowledge.settings import load_settings


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Takes the log, once `configure` was called; all is as it was afterwards."""
    names = (None, "mcp_knowledge", "uvicorn", "uvicorn.access", "uvicorn.asgi", "mcp", "python_multipart")
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    handlers = logging.getLogger().handlers[:]
    hooks = (sys.excepthook, sys.unraisablehook, threading.excepthook)
    yield io.StringIO()
    logging.getLogger().handlers[:] = handlers
    logging.captureWarnings(False)
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
    for logger, level in before:
        logger.setLevel(level)


def configure(log: io.StringIO, **settings: str) -> None:
    with redirect_stderr(log):
        configure_logging(load_settings(**settings))


def lines_of(log: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def captured(formatter: logging.Formatter) -> tuple[logging.Logger, io.StringIO, logging.Handler]:
    target = io.StringIO()
    handler = logging.StreamHandler(target)
    handler.setFormatter(formatter)
    logger = logging.getLogger("mcp_knowledge")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    return logger, target, handler


def test_json_lines_carry_the_request_and_the_cause() -> None:
    logger, target, handler = captured(JsonFormatter())
    token = request_id.set("req_1")
    try:
        logger.info("two\nlines", extra={"fields": {"status": 200}})
        try:
            raise ValueError("inner")
        except ValueError:
            logger.exception("failed")
    finally:
        request_id.reset(token)
        logger.removeHandler(handler)
    first, second = (json.loads(line) for line in target.getvalue().splitlines())
    assert first["message"] == "two\nlines"
    assert first["status"] == 200
    assert first["requestId"] == "req_1"
    assert first["level"] == "info"
    assert first["time"].endswith("Z")
    assert "ValueError: inner" in second["exception"]


def test_text_lines_are_for_people() -> None:
    logger, target, handler = captured(TextFormatter())
    logger.warning("careful")
    logger.removeHandler(handler)
    assert "warning careful" in target.getvalue()


@pytest.mark.usefixtures("log")
def test_the_level_is_the_settings() -> None:
    configure_logging(load_settings(log_level="error", log_format="json"))
    root = logging.getLogger()
    assert root.level == logging.ERROR
    assert isinstance(root.handlers[0].formatter, JsonFormatter)
    configure_logging(load_settings(log_format="text"))
    assert isinstance(root.handlers[0].formatter, TextFormatter)
    assert len(root.handlers) == 1


async def test_the_access_log_has_route_and_status_but_no_query_nor_secret(client: httpx2.AsyncClient) -> None:
    key = (await client.post(f"{API}/api-keys", json={"name": "Reader"})).json()["secret"]
    logger, target, handler = captured(JsonFormatter())
    logger.setLevel(logging.INFO)
    try:
        for secret in (key, "sesame"):
            await client.post(
                f"{API}/search",
                json={"query": "what nobody may read"},
                headers={"Authorization": f"Bearer {secret}", "Cookie": "mk_session=sesame"},
            )
        await client.get(f"{API}/documents?search=nobody+may+read")
        await client.get(f"{API}/documents/doc_unknown")
        await client.delete(f"{API}/search")
        await client.get("/health")
    finally:
        logger.removeHandler(handler)
    text = target.getvalue()
    lines = [json.loads(line) for line in text.splitlines() if '"route"' in line]
    assert [(line["method"], line["route"], line["status"], line.get("code")) for line in lines] == [
        ("POST", "/api/v1/search", 200, None),
        ("POST", "/api/v1/search", 401, "UNAUTHORIZED"),
        ("GET", "/api/v1/documents", 200, None),
        ("GET", "/api/v1/documents/{document_id}", 404, "DOCUMENT_NOT_FOUND"),
        ("DELETE", "/api/v1/search", 405, "METHOD_NOT_ALLOWED"),
    ]
    assert all(line["durationMs"] >= 0 and line["requestId"].startswith("req_") for line in lines)
    assert "nobody" not in text
    assert "sesame" not in text and key not in text


FORGERY = "one\r\n12:00:00 info    two\x1b[2J\x9b31m\u2028three\u202efour\x00\ud800"


@pytest.mark.parametrize("form", ["json", "text"])
def test_no_message_makes_a_second_line_or_moves_a_terminal(log: io.StringIO, form: str) -> None:
    configure(log, log_format=form)
    logger = logging.getLogger("mcp_knowledge.test")
    logger.info(FORGERY)
    logger.info("%s", FORGERY, extra={"fields": {"field": FORGERY}})
    try:
        raise OSError(FORGERY)
    except OSError:
        logger.exception("failed")
    text = log.getvalue()
    beginnings = [line for line in text.split("\n") if line and not line.startswith("    ")]
    assert len(beginnings) == 3
    assert not any(char in text for char in "\r\x1b\x9b\u2028\u202e\x00\ud800")
    if form == "json":
        assert [line["message"] for line in lines_of(log)] == [FORGERY, FORGERY, "failed"]


def test_exceptions_are_described_without_what_they_quote() -> None:
    with pytest.raises(ValidationError) as invalid:
        TypeAdapter(int).validate_python("a secret")
    for error, expected in (
        (
            ValueError("could not convert string to float: 'a secret'"),
            "ValueError: could not convert string to float: …",
        ),
        (ValueError("first\na secret"), "ValueError: first"),
        (KeyError("a secret"), "KeyError: …"),
        (ValueError("inner"), "ValueError: inner"),
        (
            FileNotFoundError(2, "No such file", "/home/a secret.pdf"),
            "FileNotFoundError: [Errno 2] No such file",
        ),
        (
            KnowledgeError("INVALID_QUERY", "It's 'so'."),
            "mcp_knowledge.errors.KnowledgeError: INVALID_QUERY: It's 'so'.",
        ),
    ):
        assert described(error) == expected
    assert "secret" not in described(invalid.value)
    assert "validation error" in described(invalid.value)


def test_every_cause_is_told_and_a_circle_of_causes_ends() -> None:
    try:
        try:
            raise ValueError("the first")
        except ValueError as first:
            raise RuntimeError("the second") from first
    except RuntimeError as second:
        told = cause_of(second)
        assert second.__cause__ is not None
        second.__cause__.__cause__ = second
        assert "the first" in cause_of(second)
    assert told.index("ValueError: the first") < told.index("RuntimeError: the second")
    assert "direct cause" in told and "test_logs.py" in told
    group = ExceptionGroup("several", [ValueError("one"), KeyError("two")])
    assert "ValueError: one" in cause_of(group)


async def test_lines_carry_what_they_are_about_also_from_tasks_and_threads(log: io.StringIO) -> None:
    configure(log, log_format="json")
    logger = logging.getLogger("mcp_knowledge.test")

    async def task() -> None:
        logger.info("task")

    with about(jobId="job_1", attempt=2), about(attempt=3):
        await asyncio.gather(asyncio.to_thread(logger.info, "thread"), asyncio.create_task(task()))
    logger.info("outside")
    *inside, outside = lines_of(log)
    assert [(line["jobId"], line["attempt"]) for line in inside] == [("job_1", 3)] * 2
    assert "jobId" not in outside


async def test_failures_that_nobody_catches_and_warnings_of_libraries_are_lines_of_the_log(log: io.StringIO) -> None:
    configure(log, log_format="json")

    async def doomed() -> None:
        raise ValueError("in a 'quoted' task")

    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(log_uncaught)
    try:
        tasks = [asyncio.create_task(doomed())]
        await asyncio.wait(tasks)
        tasks.clear()
        await until(lambda: "A task failed" in log.getvalue())
    finally:
        loop.set_exception_handler(before)
    thread = threading.Thread(target=lambda: 1 // 0)
    thread.start()
    thread.join()
    warnings.warn("two\nlines", DeprecationWarning, stacklevel=1)
    try:
        raise LookupError("at the end")
    except LookupError as error:
        sys.excepthook(LookupError, error, error.__traceback__)
    found = {str(line["message"]).partition(":")[0]: line for line in lines_of(log)}
    assert "ValueError: in a …" in str(found["A task failed and nobody caught it"]["exception"])
    assert "ZeroDivisionError" in str(found["A thread ended with a failure that nobody caught"]["exception"])
    assert found["The process ends with a failure that nobody caught"]["level"] == "critical"
    assert [line for line in lines_of(log) if line["logger"] == "py.warnings"]


@pytest.mark.parametrize("level", ["debug", "info"])
def test_libraries_have_a_word_in_warnings_alone(log: io.StringIO, level: str) -> None:
    configure(log, log_format="json", log_level=level)
    logging.getLogger("mcp.server").warning("notifications/secret")
    for name in ("httpx2", "urllib3.connectionpool", "psycopg.pool", "uvicorn.access"):
        logging.getLogger(name).info("GET https://user:secret@example.com/")
        logging.getLogger(name).warning("careful")
    logging.getLogger("uvicorn.error").info("Started")
    assert [line["message"] for line in lines_of(log)] == ["careful"] * 4 + ["Started"]


async def test_a_finished_job_is_one_line_with_its_ids_and_the_time_of_each_stage(client: httpx2.AsyncClient) -> None:
    logger, target, handler = captured(JsonFormatter())
    try:
        good = await add(client, "a.md", b"# Title\n\nOne passage.")
        bad = await add(client, "b.pdf", b"no PDF at all")
        await client.delete(f"{API}/documents/{good['id']}")
        await until(lambda: target.getvalue().count('"outcome"') == 3)
    finally:
        logger.removeHandler(handler)
    done, failed, deleted = (line for line in lines_of(target) if "outcome" in line)
    assert (done["documentId"], done["outcome"], done["attempt"]) == (good["id"], "completed", 1)
    assert isinstance(done["stagesMs"], dict)
    assert list(done["stagesMs"]) == ["queued", "parsing", "chunking", "embedding", "indexing"]
    assert (done["chunks"], done["embedded"]) == (good["chunkCount"], good["chunkCount"])
    assert (failed["documentId"], failed["outcome"], failed["code"]) == (bad["id"], "failed", "DOCUMENT_MALFORMED")
    assert str(failed["message"]).endswith(": DOCUMENT_MALFORMED"), "on a terminal there is nothing but the message"
    assert (deleted["kind"], deleted["outcome"], deleted["stagesMs"]) == ("delete", "completed", {})
    assert all(str(line["jobId"]).startswith("job_") and line["loop"] == "IngestWorker" for line in (done, failed))


def test_a_library_that_warns_without_end_is_heard_once_and_its_errors_always(log: io.StringIO) -> None:
    configure(log, log_format="json")
    driver = logging.getLogger("psycopg.pool")
    for number in range(300):
        driver.warning("error connecting: %s", number)
        logging.getLogger("mcp_knowledge.test").warning("ours")
    driver.warning("another one")
    for _ in range(2):
        driver.error("an error")
    messages = [line["message"] for line in lines_of(log)]
    assert messages.count("ours") == 300
    assert [message for message in messages if message != "ours"] == ["error connecting: 0", "another one"] + [
        "an error"
    ] * 2
