"""The HTTP application's REST part."""

from fastapi import FastAPI
from starlette.types import Lifespan

from mcp_knowledge.interfaces.rest.access import Gate
from mcp_knowledge.interfaces.rest.application import application
from mcp_knowledge.interfaces.rest.hosts import HostRules
from mcp_knowledge.interfaces.rest.operations import routes
from mcp_knowledge.interfaces.rest.reference import documentation_routes
from mcp_knowledge.interfaces.rest.table import OPERATIONS
from mcp_knowledge.settings import Settings


def create_api(settings: Settings, lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    """The application with its REST routes.

    Args:
        lifespan: puts the services into `state` while the application runs.
    """
    gate = Gate(HostRules(settings), lambda: app.state.services.access)
    app = application([*routes(OPERATIONS), *documentation_routes()], gate, pages=True, lifespan=lifespan)
    return app
