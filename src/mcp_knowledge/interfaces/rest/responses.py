"""Answers, made with as little ceremony as possible."""

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
