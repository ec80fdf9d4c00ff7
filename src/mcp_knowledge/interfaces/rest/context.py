"""What handlers need beside the request's own arguments."""

from typing import Any

from starlette.requests import Request

from mcp_knowledge.domain.cursors import bind
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import clamp
from mcp_knowledge.interfaces.rest.schemas import PageQuery
from mcp_knowledge.ports import Position
from mcp_knowledge.services import Services


def services(request: Request) -> Services:
    """The use cases; the application puts them there when it starts."""
    found: Services = request.app.state.services
    return found


class Paging:
    """One list's page: its limit, where it goes on, and the cursor for the next.

    Args:
        kind: names the list; a cursor serves its own list and query alone.
        query: the arguments; all but limit and cursor bind the cursor.
    """

    def __init__(self, request: Request, kind: str, query: PageQuery, **more: Any) -> None:
        self._signer = services(request).cursors
        self._kind = kind
        self._binding = bind([query.model_dump(exclude={"limit", "cursor"}), more])
        self.limit = clamp(query.limit, services(request).settings.max_list_limit)
        self._cursor = query.cursor

    def values(self) -> list[Any] | None:
        """What `next` was given for this page; None on the first. Raises INVALID_CURSOR."""
        if self._cursor is None:
            return None
        values: list[Any]
        binding, *values = self._signer.read(self._kind, self._cursor)
        if binding != self._binding:
            raise KnowledgeError("INVALID_CURSOR")
        return values

    def position(self) -> Position | None:
        """Where a keyset page goes on."""
        values = self.values()
        return None if values is None else Position(*values)

    def next(self, *values: Any) -> str:
        """The cursor for the page after this one."""
        return self._signer.make(self._kind, [self._binding, *values])

    def next_after(self, position: Position | None) -> str | None:
        """The cursor for the page after `position`; None when there is none."""
        return None if position is None else self.next(position.value, position.id)
