"""The routing table as data. Routing, OpenAPI, the pages of /docs and the `Allow` header all come from it."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.errors import error_response

Handler = Callable[[Request], Awaitable[Response]]
AnyHandler = TypeVar("AnyHandler", bound=Handler)


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: its status, what it means, and its body's schema (None: not JSON, or no body at all).

    `headers` are those of `documented_headers` that it always has.
    """

    status: int
    meaning: str
    schema: type[BaseModel] | None = None
    media_type: str | None = "application/json"
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path, with all that its documentation says.

    Args:
        query: the parameters of the query string.
        body: the JSON body; `form` is the multipart body, for uploads; `text` the media type of any other one.
        errors: the codes it answers with, beside those that any route may give.
        headers: those request headers of `documented_headers` that it heeds.
    """

    method: str
    path: str
    summary: str
    tag: str
    handler: Handler
    answers: tuple[Answer, ...]
    errors: tuple[str, ...] = ()
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    form: type[BaseModel] | None = None
    text: str | None = None
    headers: tuple[str, ...] = ()
    description: str = ""


class Operations:
    """Collects the operations of one resource by decorating their handlers.

    Args:
        tag: the heading under which the documentation lists them.
        prefix: what every path begins with.
    """

    def __init__(self, tag: str, prefix: str = "/api/v1") -> None:
        self.tag = tag
        self.prefix = prefix
        self.items: list[Operation] = []

    def add(
        self,
        method: str,
        path: str,
        summary: str,
        *answers: Answer,
        errors: tuple[str, ...] = (),
        query: type[BaseModel] | None = None,
        body: type[BaseModel] | None = None,
        form: type[BaseModel] | None = None,
        text: str | None = None,
        headers: tuple[str, ...] = (),
        description: str = "",
    ) -> Callable[[AnyHandler], AnyHandler]:
        """Register the decorated handler for a method and path."""

        def register(handler: AnyHandler) -> AnyHandler:
            self.items.append(
                Operation(
                    method=method,
                    path=self.prefix + path,
                    summary=summary,
                    tag=self.tag,
                    handler=handler,
                    answers=answers,
                    errors=errors,
                    query=query,
                    body=body,
                    form=form,
                    text=text,
                    headers=headers,
                    description=description,
                )
            )
            return handler

        return register


class Resource:
    """The ASGI application of one path: hands a request to its method's handler, HEAD to GET's, else answers 405."""

    def __init__(self, path: str, handlers: dict[str, Handler]) -> None:
        self.path = path
        self._handlers = handlers
        methods = {*handlers, "HEAD"} if "GET" in handlers else set(handlers)
        self.allow = ", ".join(sorted(methods))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope["route_template"] = self.path
        method = scope["method"]
        handler = self._handlers.get("GET" if method == "HEAD" else method)
        if handler is None:
            error = KnowledgeError("METHOD_NOT_ALLOWED", f"This address answers {self.allow}.")
            scope["error_code"] = error.code
            response = error_response(error, scope.get("request_id", ""), {"Allow": self.allow})
        else:
            response = await handler(Request(scope, receive, send))
        await response(scope, receive, send)


def routes(operations: Iterable[Operation]) -> list[Route]:
    """One route for each path, in the order in which paths first appear; fixed paths before those with parameters."""
    handlers: dict[str, dict[str, Handler]] = {}
    for item in operations:
        handlers.setdefault(item.path, {})[item.method] = item.handler
    paths = sorted(handlers, key=lambda path: "{" in path)
    return [Route(path, Resource(path, handlers[path]), include_in_schema=False) for path in paths]
