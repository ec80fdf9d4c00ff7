"""Reading what clients send: JSON bodies, query strings, metadata. What is wrong gets a code and names its field."""

import asyncio
import math
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request

from mcp_knowledge.errors import KnowledgeError

MAX_JSON_BYTES = 1024 * 1024
_LARGE_JSON_BYTES = 64 * 1024  # reading more than this takes long enough to leave the event loop for
_MAX_QUERY_FIELDS = 50
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INTEGER_DIGITS = 18

Model = TypeVar("Model", bound=BaseModel)


class Arguments(BaseModel):
    """A request's arguments: closed (an unknown one is refused by name) and without conversions between types."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _integer(value: Any) -> int:
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        raise ValueError("must be an integer")
    sign = -1 if value.startswith("-") else 1
    digits = value.lstrip("+-").lstrip("0") or "0"
    return sign * (int(digits) if len(digits) <= _INTEGER_DIGITS else 10**_INTEGER_DIGITS)


def _without_controls(value: str) -> str:
    if any(char < " " or char == "\x7f" for char in value):
        raise ValueError("must not contain control characters")
    return value


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain the NUL character")
    return value


QueryInteger = Annotated[int, BeforeValidator(_integer)]
NoControls = AfterValidator(_without_controls)
NoNul = AfterValidator(_without_nul)


def clamp(value: int, highest: int) -> int:
    """The value, brought into 1…highest."""
    return max(1, min(value, highest))


async def body_pieces(request: Request) -> AsyncIterator[bytes]:
    """The request's body as it arrives.

    Raises:
        ClientDisconnect: the client went away.
        KnowledgeError: REQUEST_TIMEOUT and SERVICE_UNAVAILABLE, see bodies.py.
    """
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        if body := message.get("body", b""):
            yield body
        if not message.get("more_body", False):
            return


async def read_json(request: Request, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The JSON object in the body. Raises PAYLOAD_TOO_LARGE, INVALID_JSON or INVALID_REQUEST."""
    too_large = KnowledgeError("PAYLOAD_TOO_LARGE", f"This JSON body may have {max_bytes:,} bytes.")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and (len(announced) > _INTEGER_DIGITS or int(announced) > max_bytes):
        raise too_large
    body = bytearray()
    async for piece in body_pieces(request):
        body += piece
        if len(body) > max_bytes:
            raise too_large
    if len(body) <= _LARGE_JSON_BYTES:
        data = parse_json(bytes(body), "INVALID_JSON")
    else:
        data = await asyncio.to_thread(parse_json, bytes(body), "INVALID_JSON")
    if not isinstance(data, dict):
        raise KnowledgeError("INVALID_REQUEST", "The request body must be a JSON object.")
    return data


def parse_json(data: bytes, code: str) -> Any:
    """A JSON value: UTF-8, at most 200 levels, only numbers that JSON knows. Raises KnowledgeError with `code`."""
    try:
        value = from_json(data, allow_inf_nan=False)
    except ValueError:
        raise KnowledgeError(code) from None
    if not _finite(value):
        raise KnowledgeError(code, "A number is too large.")
    return value


def _finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, list):
        return all(map(_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


async def read_body(request: Request, model: type[Model], max_bytes: int = MAX_JSON_BYTES) -> Model:
    """The JSON body as a model. Raises INVALID_ARGUMENT, naming the field, beside what `read_json` raises."""
    return checked(model, await read_json(request, max_bytes))


def read_query(request: Request, model: type[Model]) -> Model:
    """The query string as a model. Raises INVALID_ARGUMENT, naming the field."""
    query: bytes = request.scope["query_string"]
    try:
        pairs = parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MAX_QUERY_FIELDS)
    except ValueError:
        raise KnowledgeError("INVALID_ARGUMENT", "The query string has too many parameters.") from None
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise KnowledgeError("INVALID_ARGUMENT", f"{shown(name)}: was given more than once.")
        values[name] = value
    return checked(model, values)


def checked(model: type[Model], data: dict[str, Any]) -> Model:
    """The data as a model. Raises INVALID_ARGUMENT, naming the first field at fault."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = ".".join(str(part) for part in first["loc"]) or "body"
        message = {
            "missing": "is required",
            "extra_forbidden": "is not a known argument",
        }.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise KnowledgeError("INVALID_ARGUMENT", f"{shown(name)}: {message}.") from None


def shown(name: str) -> str:
    """A client's own field name, fit to be repeated in a message."""
    return "".join(char if char.isprintable() else "?" for char in name[:100])
