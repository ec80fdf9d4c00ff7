"""Which route a path belongs to, for requests that were refused before any route saw them."""

import re
from collections.abc import Iterable, Iterator

from starlette.routing import BaseRoute, Route
from starlette.types import Scope


def route_for(scope: Scope) -> str | None:
    """The template of the first route for a request's path, whatever its method; None when there is none."""
    state = scope["app"].state
    if not hasattr(state, "route_patterns"):
        state.route_patterns = tuple(_patterns(scope["app"].router.routes))
    path: str = scope["path"]
    return next((template for pattern, template in state.route_patterns if pattern.match(path)), None)


def _patterns(routes: Iterable[BaseRoute]) -> Iterator[tuple[re.Pattern[str], str]]:
    for route in routes:
        included = getattr(route, "original_router", None)  # FastAPI keeps included routers as they are
        if included is not None:
            yield from _patterns(included.routes)
        elif isinstance(route, Route):
            yield route.path_regex, route.path
