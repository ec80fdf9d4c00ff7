"""Around every request: its id, who may ask, safe headers on the answer, the access log, no surprise left uncaught."""

import asyncio
import logging
import re
import time
from collections.abc import Iterable

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.interfaces.logs import request_id as current_request_id
from mcp_knowledge.interfaces.rest.access import Gate, combined
from mcp_knowledge.interfaces.rest.errors import as_knowledge_error, error_response, log_failure
from mcp_knowledge.interfaces.rest.hosts import SAFE_METHODS
from mcp_knowledge.interfaces.rest.route_names import route_for
from mcp_knowledge.interfaces.web.errors import error_page, wants_page
from mcp_knowledge.ports.tracing import Span
from mcp_knowledge.services import metrics
from mcp_knowledge.services.tracing import span, tracing

log = logging.getLogger("mcp_knowledge.access")

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
CLIENT_CLOSED_REQUEST = 499  # for the log only, after nginx: the client went away before it had an answer
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_KNOWN_METHODS = SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
_QUIET_ROUTES = frozenset({"/health", "/ready", "/metrics"})  # probes would drown the rest
_TRACE_HEADERS = ("traceparent", "tracestate")  # W3C Trace Context
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_POLICY_HEADER = (b"content-security-policy", CONTENT_SECURITY_POLICY.encode())
_NO_STORE = (b"cache-control", b"no-store")


class Frame:
    """The outermost ASGI layer, the same for REST, the dashboard and MCP.

    Args:
        pages: failures that a person's browser meets are shown as pages.
    """

    def __init__(self, app: ASGIApp, gate: Gate, *, pages: bool = True) -> None:
        self._app = app
        self._gate = gate
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await _Exchange(self._app, self._gate, self._pages, scope, receive, send).run()


class _Exchange:
    """One request and its answer."""

    def __init__(self, app: ASGIApp, gate: Gate, pages: bool, scope: Scope, receive: Receive, send: Send) -> None:
        self._app = app
        self._gate = gate
        self._pages = pages
        self._scope = scope
        self._receive = receive
        self._send = send
        self._status = 0
        self._headers = combined(scope["headers"])
        self._request_id = _request_id(self._headers)

    async def run(self) -> None:
        token = current_request_id.set(self._request_id)
        self._scope["request_id"] = self._request_id
        try:
            if self._scope["path"] in _QUIET_ROUTES or not tracing():
                await self._answered(None)
            else:
                carrier = {name: self._headers.get(name.encode(), b"").decode("latin-1") for name in _TRACE_HEADERS}
                with span(self._method(), {"request.id": self._request_id}, kind="server", carrier=carrier) as told:
                    await self._answered(told)
        finally:
            current_request_id.reset(token)

    async def _answered(self, told: Span | None) -> None:
        started = time.perf_counter()
        try:
            await self._gate.admit(self._scope, self._headers)
            await self._app(self._scope, self._receive, self._answer)
        except ClientDisconnect:
            self._status = self._status or CLIENT_CLOSED_REQUEST
        except asyncio.CancelledError:  # the process ends before it has an answer
            self._status = self._status or CLIENT_CLOSED_REQUEST
            raise
        except Exception as error:
            await self._fail(error)
        finally:
            self._note(time.perf_counter() - started, told)

    def _method(self) -> str:
        method: str = self._scope["method"]
        return method if method in _KNOWN_METHODS else "other"

    async def _fail(self, error: Exception) -> None:
        known = as_knowledge_error(error)
        self._scope["error_code"] = known.code
        if known.status >= 500:
            log_failure(error)
        if not self._status:  # else half an answer is out already: the server cuts the connection
            request = Request(self._scope)
            as_page = self._pages and wants_page(request)
            response = error_page(request, known) if as_page else error_response(known, self._request_id)
            await response(self._scope, self._receive, self._answer)

    async def _answer(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message["headers"] = self._with_headers(message.get("headers", ()))
        elif self._scope["method"] == "HEAD":
            message = {**message, "body": b""}
        await self._send(message)

    def _with_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        given = [(name, value) for name, value in headers if name.lower() != b"x-request-id"]
        names = {name.lower(): value for name, value in given}
        given.append((b"x-request-id", self._request_id.encode()))
        given += [item for item in _HEADERS if item[0] not in names]
        if names.get(b"content-type", b"").startswith(b"text/html") and _POLICY_HEADER[0] not in names:
            given.append(_POLICY_HEADER)
        if _NO_STORE[0] not in names:  # nobody on the way keeps what was meant for one visitor
            given.append(_NO_STORE)
        return given

    def _note(self, seconds: float, told: Span | None) -> None:
        method, route, status = self._method(), _route_template(self._scope), self._status or 500
        metrics.observe_request(route, method, status, seconds)
        if told is not None:
            told.rename(f"{method} {route}")
            told.set({"http.request.method": method, "http.route": route, "http.response.status_code": status})
            if status >= 500:
                told.fail(str(status))
        level = logging.DEBUG if route in _QUIET_ROUTES else logging.INFO
        if log.isEnabledFor(level):
            duration_ms = round(seconds * 1000, 2)
            fields = {"method": method, "route": route, "status": status, "durationMs": duration_ms}
            reason = ""
            if code := self._scope.get("error_code"):
                fields["code"], reason = code, f": {code}"
            log.log(
                level, "%s %s %d in %.1f ms%s", method, route, status, duration_ms, reason, extra={"fields": fields}
            )


def _request_id(headers: dict[bytes, bytes]) -> str:
    given = headers.get(b"x-request-id", b"").strip()
    return given.decode() if _REQUEST_ID.fullmatch(given) else new_id("req")


def _route_template(scope: Scope) -> str:
    """The path template of the route that answered, or would have if the request had not been refused: never the path
    itself, of which there are endlessly many.
    """
    template = scope.get("route_template") or getattr(scope.get("route"), "path", None)
    return template if isinstance(template, str) else route_for(scope) or "unmatched"
