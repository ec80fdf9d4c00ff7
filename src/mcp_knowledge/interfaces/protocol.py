"""Requests that are not even HTTP get the one error shape as well, and none may be all head."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.errors import error_body
from mcp_knowledge.interfaces.rest.hosts import with_host_of_target

MAX_HEAD_BYTES = 64 * 1024  # twice what common servers take; the parser itself would take without end
_NOT_HTTP = "This is no valid HTTP request. Is every part of the address percent-encoded?"
_TOO_LARGE = f"The address and headers of a request may have {MAX_HEAD_BYTES:,} bytes."


class JsonErrorProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP protocol, answering what it cannot parse with our error instead of a line of text."""

    _idle_bytes = (
        0  # read since a head was complete or a piece of a body came: growing heads, trailers, chunk extensions
    )
    _advanced = False
    _complaint = _NOT_HTTP

    def data_received(self, data: bytes) -> None:
        """Parse what has come, unless it only makes a head grow beyond the limit."""
        self._advanced = False
        super().data_received(data)
        self._idle_bytes = 0 if self._advanced else self._idle_bytes + len(data)
        if self._idle_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._complaint = _TOO_LARGE
            self.send_400_response(_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """A head is complete: begin to answer it."""
        self._advanced = True
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            self._complaint = _TOO_LARGE
            raise ValueError(_TOO_LARGE)  # to the parser, which gives up
        self.headers[:] = with_host_of_target(self.url, self.headers)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._advanced = True
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """Answer and close: where the next request would begin is unknown."""
        request_id = new_id("req")
        body = error_body(KnowledgeError("INVALID_REQUEST", self._complaint), request_id)
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\n"
            "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
