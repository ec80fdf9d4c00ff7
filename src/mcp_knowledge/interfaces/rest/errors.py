"""Every failure in one shape: `{"error": {"code", "message", "requestId"}}`."""

import logging
from collections.abc import Iterator

from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.responses import json_response
from mcp_knowledge.interfaces.web.errors import error_page, wants_page

log = logging.getLogger(__name__)

_OTHERS_FAULTS = frozenset({"URL_FETCH_FAILED", "URL_FETCH_TIMEOUT"})  # of a server that a user named
_CODES_BY_STATUS = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 413: "PAYLOAD_TOO_LARGE"}


def _envelope(error: KnowledgeError, request_id: str) -> dict[str, dict[str, str]]:
    return {"error": {"code": error.code, "message": error.message, "requestId": request_id}}


def error_response(error: KnowledgeError, request_id: str, headers: dict[str, str] | None = None) -> Response:
    """The answer that tells a client of a failure."""
    challenge = {"WWW-Authenticate": "Bearer"} if error.code == "UNAUTHORIZED" else {}  # RFC 9110 section 11.6.1
    wait = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    return json_response(_envelope(error, request_id), error.status, {**challenge, **wait, **(headers or {})})


def error_body(error: KnowledgeError, request_id: str) -> bytes:
    """The body of such an answer."""
    return to_json(_envelope(error, request_id))


def as_knowledge_error(error: Exception) -> KnowledgeError:
    """Any exception as one that a client may see; what is not foreseen becomes INTERNAL_ERROR, without detail."""
    if isinstance(error, KnowledgeError):
        return error
    if isinstance(error, HTTPException):
        fallback = "INVALID_REQUEST" if 400 <= error.status_code < 500 else "INTERNAL_ERROR"
        return KnowledgeError(_CODES_BY_STATUS.get(error.status_code, fallback))
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return KnowledgeError("INVALID_ARGUMENT", f"{first['loc'][-1]}: {first['msg']}")
    return KnowledgeError("INTERNAL_ERROR")


def log_failure(error: Exception) -> None:
    """Write the cause of a failure on our side into the log. An outage was foreseen, and every request meets it: a line
    each, so that a full disk is not filled with tracebacks.
    """
    if isinstance(error, KnowledgeError) and error.code == "SERVICE_UNAVAILABLE":
        log.warning("Request refused: %s (%s)", error.message, " from ".join(_causes(error)) or "no cause")
        return
    log.error("Request failed: %s", type(error).__name__, exc_info=error)


def _causes(error: BaseException) -> Iterator[str]:
    """The kinds of errors behind one, nearest first."""
    while error.__cause__ is not None:
        error = error.__cause__
        yield type(error).__name__


async def handle_error(request: Request, error: Exception) -> Response:
    """The one exception handler of the application: the envelope, or a page for a person who followed a link."""
    known = as_knowledge_error(error)
    request.scope["error_code"] = known.code  # for the access log
    unforeseen = known.code != "SERVICE_UNAVAILABLE" or known.__cause__ is not None
    if known.status >= 500 and known.code not in _OTHERS_FAULTS and unforeseen:
        log_failure(error)
    if wants_page(request):
        return error_page(request, known)
    headers = dict(error.headers) if isinstance(error, HTTPException) and error.headers else None
    return error_response(known, request.scope.get("request_id", ""), headers)
