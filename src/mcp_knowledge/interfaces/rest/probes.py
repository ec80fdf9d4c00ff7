"""The HTTP application of a process that only ingests: what its supervisor asks, and nothing else."""

from collections.abc import Mapping

from fastapi import FastAPI
from starlette.types import Scope

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.access import Gate
from mcp_knowledge.interfaces.rest.application import application
from mcp_knowledge.interfaces.rest.hosts import HostRules
from mcp_knowledge.interfaces.rest.operations import routes
from mcp_knowledge.interfaces.rest.service import probes
from mcp_knowledge.settings import Settings

_PATHS = frozenset(item.path for item in probes.items)


class _ProbeGate(Gate):
    """Knows no other address, whoever asks."""

    async def admit(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        """As of every gate. Raises NOT_FOUND too."""
        if scope["path"] not in _PATHS:
            raise KnowledgeError("NOT_FOUND", "This process ingests. An API process answers here.")
        await super().admit(scope, headers)


def create_probes(settings: Settings) -> FastAPI:
    """The application with `/health`, `/ready` and `/metrics`."""
    app = application(
        routes(probes.items), _ProbeGate(HostRules(settings), lambda: app.state.services.access), pages=False
    )
    return app
