"""`/api-keys`: keys for programs."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import read_body, read_query
from mcp_knowledge.interfaces.rest.context import Paging, services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response

operations = Operations("Session and API keys")


@operations.add(
    "GET",
    "/api-keys",
    "List API keys",
    Answer(200, "A page, newest first, without secrets.", schemas.ApiKeyPage),
    query=schemas.PageQuery,
    errors=("INVALID_CURSOR",),
)
async def list_api_keys(request: Request) -> Response:
    """A page of keys."""
    paging = Paging(request, "api-keys", read_query(request, schemas.PageQuery))
    items, after = await services(request).access.list_keys(paging.limit, paging.position())
    return json_response(wire.page([wire.api_key(item) for item in items], paging.next_after(after)))


@operations.add(
    "POST",
    "/api-keys",
    "Make an API key",
    Answer(201, "The new key, with its secret this one time.", schemas.NewApiKey),
    body=schemas.ApiKeyCreate,
    description="Programs send it as `Authorization: Bearer key_…`. Only a hash of the secret is kept.",
)
async def create_api_key(request: Request) -> Response:
    """A new key."""
    body = await read_body(request, schemas.ApiKeyCreate)
    key, secret = await services(request).access.create_key(body.name, body.scopes)
    return json_response(wire.new_api_key(key, secret), 201)


@operations.add(
    "DELETE",
    "/api-keys/{key_id}",
    "Revoke an API key",
    Answer(204, "It works nowhere any more.", media_type=None),
    errors=("API_KEY_NOT_FOUND",),
)
async def revoke_api_key(request: Request) -> Response:
    """The end of a key."""
    await services(request).access.revoke_key(request.path_params["key_id"])
    return Response(status_code=204)
