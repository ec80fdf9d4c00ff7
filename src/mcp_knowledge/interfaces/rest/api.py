"""The HTTP application's REST part: routes, error handling and what stands around every request."""

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Lifespan

from mcp_knowledge import __version__
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.access import Gate
from mcp_knowledge.interfaces.rest.errors import handle_error
from mcp_knowledge.interfaces.rest.hosts import HostRules
from mcp_knowledge.interfaces.rest.middleware import Frame
from mcp_knowledge.interfaces.rest.operations import routes
from mcp_knowledge.interfaces.rest.reference import documentation_routes
from mcp_knowledge.interfaces.rest.table import OPERATIONS
from mcp_knowledge.settings import Settings


def create_api(settings: Settings, lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    """The application with its REST routes.

    Args:
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
    app.router.routes.extend([*routes(OPERATIONS), *documentation_routes()])
    app.add_middleware(Frame, gate=Gate(HostRules(settings), lambda: app.state.services.access))
    return app
