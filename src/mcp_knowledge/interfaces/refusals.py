"""Answers to what is no request of the application yet: no HTTP, too large a head, or one that comes too slowly."""

import logging
from http import HTTPStatus

from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.errors import error_body
from mcp_knowledge.services import metrics

log = logging.getLogger("mcp_knowledge.access")


def refusal(error: KnowledgeError) -> bytes:
    """The whole answer, after which the connection ends. It is counted and logged."""
    request_id = new_id("req")
    _note(error, request_id)
    body = error_body(error, request_id)
    again = "" if error.retry_after_s is None else f"retry-after: {error.retry_after_s}\r\n"
    head = (
        f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\n{again}"
        "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


def _note(error: KnowledgeError, request_id: str) -> None:
    """Count and log an answer that no request of the application stands for."""
    metrics.count_unread(error.status)
    if error.status < 500:  # of too many connections there is a line for all of them
        fields = {"requestId": request_id, "status": error.status, "code": error.code}
        log.info("Refused before it was a request: %s", error.code, extra={"fields": fields})
