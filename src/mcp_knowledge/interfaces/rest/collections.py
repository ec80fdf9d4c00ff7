"""`/collections`."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import read_body, read_query
from mcp_knowledge.interfaces.rest.context import Paging, services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response
from mcp_knowledge.ports import UNSET

operations = Operations("Collections")


@operations.add(
    "GET",
    "/collections",
    "List collections",
    Answer(200, "A page, newest first.", schemas.CollectionPage),
    query=schemas.PageQuery,
    errors=("INVALID_CURSOR",),
)
async def list_collections(request: Request) -> Response:
    """A page of collections."""
    paging = Paging(request, "collections", read_query(request, schemas.PageQuery))
    items, after = await services(request).collections.list(paging.limit, paging.position())
    return json_response(wire.page([wire.collection(item) for item in items], paging.next_after(after)))


@operations.add(
    "POST",
    "/collections",
    "Create a collection",
    Answer(201, "The new collection.", schemas.Collection, headers=("Location",)),
    body=schemas.CollectionCreate,
    errors=("COLLECTION_EXISTS",),
)
async def create_collection(request: Request) -> Response:
    """A new collection."""
    body = await read_body(request, schemas.CollectionCreate)
    collection = await services(request).collections.create(body.name, body.description)
    return json_response(wire.collection(collection), 201, {"Location": f"/api/v1/collections/{collection.id}"})


@operations.add(
    "GET",
    "/collections/{collection_id}",
    "Show a collection",
    Answer(200, "The collection.", schemas.Collection),
    errors=("COLLECTION_NOT_FOUND",),
)
async def get_collection(request: Request) -> Response:
    """One collection."""
    collection = await services(request).collections.get(request.path_params["collection_id"])
    return json_response(wire.collection(collection))


@operations.add(
    "PATCH",
    "/collections/{collection_id}",
    "Rename or describe a collection",
    Answer(200, "The collection as it is now.", schemas.Collection),
    body=schemas.CollectionUpdate,
    errors=("COLLECTION_NOT_FOUND", "COLLECTION_EXISTS"),
)
async def update_collection(request: Request) -> Response:
    """A changed collection."""
    body = await read_body(request, schemas.CollectionUpdate)
    given = body.model_fields_set
    collection = await services(request).collections.update(
        request.path_params["collection_id"],
        name=body.name if "name" in given else UNSET,
        description=body.description if "description" in given else UNSET,
    )
    return json_response(wire.collection(collection))


@operations.add(
    "DELETE",
    "/collections/{collection_id}",
    "Delete an empty collection",
    Answer(200, "It is gone.", schemas.Ok),
    errors=("COLLECTION_NOT_FOUND", "COLLECTION_NOT_EMPTY"),
)
async def delete_collection(request: Request) -> Response:
    """Away with an empty collection."""
    await services(request).collections.delete(request.path_params["collection_id"])
    return json_response({"ok": True})
