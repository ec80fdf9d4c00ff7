"""Health, readiness, metrics, system status."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.context import services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response

probes = Operations("Service", prefix="")
operations = Operations("Service")


@probes.add("GET", "/health", "Does the process answer?", Answer(200, "It does.", schemas.Health))
async def health(request: Request) -> Response:
    """A sign of life."""
    return json_response({"ok": True})


@probes.add(
    "GET",
    "/ready",
    "Can requests be served in full?",
    Answer(200, "Every part works.", schemas.Ready),
    Answer(503, "Some part does not.", schemas.Ready),
    description="Of this process: `worker` is true where one runs, and where the role has none.",
)
async def ready(request: Request) -> Response:
    """Which parts work."""
    is_ready, checks = await services(request).status.ready()
    return json_response({"ready": is_ready, "checks": checks}, 200 if is_ready else 503)


@probes.add(
    "GET",
    "/metrics",
    "Figures for Prometheus",
    Answer(200, "Prometheus text format.", media_type="text/plain"),
    description="Where no passphrase is set, callers on this machine need no key.",
)
async def metrics(request: Request) -> Response:
    """All metrics."""
    body, media_type = await services(request).figures.exposition(request.headers.get("accept", ""))
    return Response(body, headers={"Content-Type": media_type})


@operations.add(
    "GET", "/system/status", "The service at a glance", Answer(200, "Its parts and figures.", schemas.SystemStatus)
)
async def system_status(request: Request) -> Response:
    """Parts and figures."""
    return json_response(wire.system_status(await services(request).status.system()))
