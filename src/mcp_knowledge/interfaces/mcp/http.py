"""MCP over Streamable HTTP: every request stands alone, every answer is JSON."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from mcp_knowledge.interfaces.mcp.server import create_mcp_server
from mcp_knowledge.services import Services

MAX_BODY_BYTES = 1024 * 1024  # the largest honest request (hundreds of ids in arguments) has some 50 kB
_JSON = "application/json"
_ACCEPTABLE = frozenset((_JSON, "application/*", "*/*"))


class _Refused(Exception):
    """A request that the protocol's own code should not see."""

    def __init__(self, status: HTTPStatus, code: int, message: str, headers: dict[str, str] | None = None) -> None:
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers
        super().__init__(message)


class McpEndpoint:
    """The ASGI application behind `/mcp`. Host and Origin are checked before, for REST and the dashboard alike.

    What is no MCP request is refused here, with a JSON body: the SDK would answer in plain text or with an empty body,
    echo its own validation messages, and keep a GET open without ever sending anything.

    Args:
        get_services: called at each request, so that the services may come up later than the application.
    """

    def __init__(self, get_services: Callable[[], Services]) -> None:
        self.server = create_mcp_server(get_services)
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answer requests while this is open.

        The SDK's part lives in a task of its own, for it must end in the task where it began, and a host may open and
        close its lifespan in different ones.
        """
        started, stop = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(self._hold(started, stop))
        opening = asyncio.create_task(started.wait())
        try:
            await asyncio.wait((task, opening), return_when=asyncio.FIRST_COMPLETED)
            if not started.is_set():
                await task  # raises what went wrong
            yield
        finally:
            opening.cancel()
            stop.set()
            await task

    async def _hold(self, started: asyncio.Event, stop: asyncio.Event) -> None:
        manager = StreamableHTTPSessionManager(
            self.server, json_response=True, stateless=True, max_request_body_size=MAX_BODY_BYTES
        )
        async with manager.run():
            self._manager = manager
            started.set()
            await stop.wait()
            self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            if self._manager is None:
                raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, types.INTERNAL_ERROR, "The service is not running.")
            scope = {**scope, "headers": _clean_headers(scope)}
            body = await _checked_body(scope, receive)
        except _Refused as refusal:
            error = {"code": refusal.code, "message": refusal.message}
            answer = JSONResponse(
                {"jsonrpc": "2.0", "id": None, "error": error}, refusal.status.value, headers=refusal.headers
            )
            await answer(scope, receive, send)
        except ClientDisconnect:
            return
        else:
            await self._manager.handle_request(scope, _replay(body, receive), send)


def _clean_headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Header values without outer blanks (httptools keeps them); without an Accept header anything is acceptable."""
    headers = [(name, value.strip()) for name, value in scope["headers"]]
    if not any(name == b"accept" for name, _ in headers):
        headers.append((b"accept", b"*/*"))
    return headers


async def _checked_body(scope: Scope, receive: Receive) -> bytes:
    """The body of a request that the SDK can answer. Raises _Refused, ClientDisconnect."""
    headers = Headers(scope=scope)
    if scope["method"] != "POST":
        raise _Refused(
            HTTPStatus.METHOD_NOT_ALLOWED,
            types.INVALID_REQUEST,
            "Send MCP messages with POST: this server keeps no sessions and opens no streams of its own.",
            {"Allow": "POST"},
        )
    if headers.get("content-type", "").split(";")[0].strip().lower() != _JSON:
        raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, types.INVALID_REQUEST, f"Content-Type must be {_JSON}.")
    accepted = {item.split(";")[0].strip().lower() for item in headers["accept"].split(",")}
    if not accepted & _ACCEPTABLE:
        raise _Refused(HTTPStatus.NOT_ACCEPTABLE, types.INVALID_REQUEST, f"Accept must include {_JSON}.")
    body = await _read(Request(scope, receive))
    _check_message(body)
    return body


async def _read(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise _Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                types.INVALID_REQUEST,
                f"A request may have at most {MAX_BODY_BYTES:,} bytes.",
            )
    return bytes(body)


def _check_message(body: bytes) -> None:
    try:
        message: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise _Refused(HTTPStatus.BAD_REQUEST, types.PARSE_ERROR, "The body is not valid JSON.") from None
    try:
        types.jsonrpc_message_adapter.validate_python(message, by_name=False)
    except (ValidationError, RecursionError):
        raise _Refused(
            HTTPStatus.BAD_REQUEST, types.INVALID_REQUEST, "The body must be one JSON-RPC 2.0 message."
        ) from None
    if "method" in message and "id" in message and not isinstance(message["id"], int | str):
        # The SDK would take it for a notification, and its sender would wait for an answer.
        raise _Refused(HTTPStatus.BAD_REQUEST, types.INVALID_REQUEST, "The id of a request is a string or an integer.")


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body again, and afterwards what comes from the connection."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
