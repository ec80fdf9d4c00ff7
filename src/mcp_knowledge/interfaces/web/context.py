"""What pages need beside the request's own values."""

from fastapi import Request

from mcp_knowledge.services import Services


def services_of(request: Request) -> Services:
    """The use cases of the running service."""
    services: Services = request.app.state.services
    return services
