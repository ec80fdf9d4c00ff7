"""What every HTTP application of ours is made of: error handling, and what stands around each request."""

from collections.abc import Sequence

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute
from starlette.types import Lifespan

from mcp_knowledge import __version__
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.access import Gate
from mcp_knowledge.interfaces.rest.bodies import Bodies, BodyGuard
from mcp_knowledge.interfaces.rest.errors import handle_error
from mcp_knowledge.interfaces.rest.middleware import Frame


def application(
    routes: Sequence[BaseRoute], gate: Gate, *, pages: bool, lifespan: Lifespan[FastAPI] | None = None
) -> FastAPI:
    """An application with these routes.

    Args:
        gate: lets requests pass.
        pages: failures that a person's browser meets are shown as pages.
        lifespan: puts the services into `state` while the application runs.
    """
    app = FastAPI(
        title="MCP Knowledge",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        exception_handlers={
            KnowledgeError: handle_error,
            HTTPException: handle_error,
            RequestValidationError: handle_error,
        },
    )
    app.router.routes.extend(routes)
    app.state.bodies = Bodies()
    app.add_middleware(BodyGuard, bodies=app.state.bodies)
    app.add_middleware(Frame, gate=gate, pages=pages)
    return app
