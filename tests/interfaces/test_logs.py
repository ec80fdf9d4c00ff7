import io
import json
import logging
from collections.abc import Iterator

import httpx2
import pytest
from rest_kit import API

from mcp_knowledge.interfaces.logs import JsonFormatter, TextFormatter, configure_logging, request_id
from mcp_knowledge.settings import load_settings


@pytest.fixture
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


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


def test_the_level_is_the_settings(restored_logging: None) -> None:
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
        await client.get("/health")
    finally:
        logger.removeHandler(handler)
    text = target.getvalue()
    lines = [json.loads(line) for line in text.splitlines() if '"route"' in line]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("POST", "/api/v1/search", 200),
        ("POST", "/api/v1/search", 401),
        ("GET", "/api/v1/documents", 200),
    ]
    assert all(line["durationMs"] >= 0 and line["requestId"].startswith("req_") for line in lines)
    assert "nobody" not in text
    assert "sesame" not in text and key not in text
