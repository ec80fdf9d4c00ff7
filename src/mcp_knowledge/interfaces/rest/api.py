"""The HTTP application's REST part: routes, error handling and what stands around every request."""

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from mcp_knowledge import __version__
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest import collections, content, documents, jobs, search, service
from mcp_knowledge.interfaces.rest.errors import handle_error
from mcp_knowledge.interfaces.rest.middleware import Frame, HostRules
from mcp_knowledge.interfaces.rest.operations import Operation, routes
from mcp_knowledge.settings import Settings

_PARTS = (
    documents.operations,
    content.operations,
    collections.operations,
    search.operations,
    jobs.operations,
    service.operations,
    service.probes,
)


def all_operations() -> list[Operation]:
    """Every documented operation, in the order of the documentation."""
    return [item for part in _PARTS for item in part.items]


def create_api(settings: Settings) -> FastAPI:
    """The application with its REST routes; whoever composes it adds services to `state`, the dashboard and MCP."""
    from mcp_knowledge.interfaces.rest.reference import documentation_routes

    app = FastAPI(
        title="MCP Knowledge",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            KnowledgeError: handle_error,
            HTTPException: handle_error,
            RequestValidationError: handle_error,
        },
    )
    operations = all_operations()
    app.router.routes.extend([*routes(operations), *documentation_routes(operations)])
    app.add_middleware(Frame, rules=HostRules(settings))
    return app
