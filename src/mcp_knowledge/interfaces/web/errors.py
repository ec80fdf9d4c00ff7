"""Failures as pages, for people who came with a browser."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.templating import render

_TITLES = {
    400: "That request does not work",
    403: "That is not allowed",
    404: "There is nothing here",
    405: "That does not work here",
    409: "Not right now",
    413: "That file is too large",
    415: "That file cannot be read",
    421: "Wrong address",
    503: "Not available right now",
}


def wants_page(request: Request) -> bool:
    """Whether a failed request came from a person's browser and not from a program."""
    path = request.url.path
    programs = path.startswith(("/api/", "/mcp", "/static/", "/.well-known/"))
    return not programs and "text/html" in request.headers.get("accept", "")


def error_page(request: Request, error: KnowledgeError) -> HTMLResponse:
    """The failure in a sentence, with a way on."""
    gone = error.code in ("DOCUMENT_NOT_FOUND", "CHUNK_NOT_FOUND")
    title = "This document is gone" if gone else _TITLES.get(error.status, "Something went wrong")
    message = "It was deleted, or the link is wrong." if gone else error.message
    return render(request, "error.html", error.status, title=title, message=message, code=error.code)


class PageRoute(APIRoute):
    """A route whose coded failures become pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler with the failures of its page caught."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except KnowledgeError as error:
                return error_page(request, error)

        return handle
