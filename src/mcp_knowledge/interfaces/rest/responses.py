"""Answers, made with as little ceremony as possible."""

import asyncio
from collections.abc import Callable
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response


class JsonResponse(Response):
    """A JSON answer in compact UTF-8; a number that JSON cannot write is a fault of ours and fails loudly."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The body's bytes."""
        return to_json(content)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return JsonResponse(content, status, headers)


async def large_json_response(make: Callable[[], Any]) -> Response:
    """A JSON answer that may have megabytes: made and written off the event loop, so that nobody else waits for it."""
    return await asyncio.to_thread(lambda: json_response(make()))
