"""Requests that are not even HTTP get the one error shape as well."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.errors import error_body


class JsonErrorProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP protocol, answering what it cannot parse with our error instead of a line of text."""

    def send_400_response(self, msg: str) -> None:
        """Answer and close: where the next request would begin is unknown."""
        request_id = new_id("req")
        error = KnowledgeError(
            "INVALID_REQUEST", "This is no valid HTTP request. Is every part of the address percent-encoded?"
        )
        body = error_body(error, request_id)
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\n"
            "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
