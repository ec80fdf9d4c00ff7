"""Failures as pages, for people who came with a browser."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.templating import render

LOGIN = "/login"
_MAX_NEXT_CHARS = 2000
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
_GONE = ("This document is gone", "It was deleted, or the link is wrong.")
_LOST_PLACE = ("This part of the list is not there", "The link to it is old or not whole. Begin with the first page.")
# Title and sentence, where the sentence of the code speaks to programs.
_FOR_PEOPLE = {
    "DOCUMENT_NOT_FOUND": _GONE,
    "CHUNK_NOT_FOUND": _GONE,
    "INVALID_CURSOR": _LOST_PLACE,
    "CURSOR_STALE": _LOST_PLACE,
}


def wants_page(request: Request) -> bool:
    """Whether a failed request came from a person's browser and not from a program."""
    path = request.url.path
    programs = path.startswith(("/api/", "/mcp", "/static/", "/.well-known/"))
    return not programs and "text/html" in request.headers.get("accept", "")


def error_page(request: Request, error: KnowledgeError) -> Response:
    """The failure in a sentence, with a way on; whoever has to sign in is led there."""
    if error.code == "UNAUTHORIZED":
        return RedirectResponse(_login_address(request), 303)
    plain = _TITLES.get(error.status, "Something went wrong"), error.message
    title, message = _FOR_PEOPLE.get(error.code, plain)
    request_id = request.scope.get("request_id", "")
    return render(
        request,
        "error.html",
        error.status,
        title=title,
        message=message,
        code=error.code,
        request_id=request_id,
        away=error.status == 503,  # every other page is away, too, but System tells which part it is
    )


def _login_address(request: Request) -> str:
    """The login page, which leads back to where this request wanted to go."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    leads_back = request.method == "GET" and len(wanted) <= _MAX_NEXT_CHARS
    return f"{LOGIN}?next={quote(wanted, safe='/')}" if leads_back else LOGIN
