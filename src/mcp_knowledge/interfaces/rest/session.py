"""`/session`: signing in and out."""

from starlette.requests import Request
from starlette.responses import Response

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.access import (
    combined,
    end_session,
    keep_session,
    key_secret,
    peer_address,
    sessions,
)
from mcp_knowledge.interfaces.rest.arguments import read_body
from mcp_knowledge.interfaces.rest.context import services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response

# The longest passphrase, every character of it escaped. Far below what bodies take turns for: strangers take none.
MAX_SIGN_IN_BYTES = 16 * 1024

operations = Operations("Session and API keys")


@operations.add("GET", "/session", "Am I signed in?", Answer(200, "How things stand.", schemas.Session))
async def get_session(request: Request) -> Response:
    """Whether a passphrase is needed, and whether this client may go on without."""
    required = services(request).access.passphrase_required
    authenticated = not required or await is_authenticated(request)
    return json_response({"passphraseRequired": required, "authenticated": authenticated})


@operations.add(
    "POST",
    "/session",
    "Sign in",
    Answer(200, "Signed in: the cookie `mk_session` holds for 30 days.", schemas.SignedIn),
    body=schemas.SignIn,
    errors=("UNAUTHORIZED", "TOO_MANY_ATTEMPTS"),
    description="After 10 failed tries from one address, wait until the first is 5 minutes old.",
)
async def sign_in(request: Request) -> Response:
    """A session for the passphrase."""
    body = await read_body(request, schemas.SignIn, MAX_SIGN_IN_BYTES)
    session = await services(request).access.sign_in(body.passphrase, peer_address(request.scope))
    response = json_response({"authenticated": True})
    if session is not None:
        keep_session(response, session, services(request).settings)
    return response


@operations.add("DELETE", "/session", "Sign out", Answer(204, "The cookie is gone.", media_type=None))
async def sign_out(request: Request) -> Response:
    """The end of a session in this browser."""
    response = Response(status_code=204)
    end_session(response, services(request).settings)
    return response


async def is_authenticated(request: Request) -> bool:
    """Whether the request has a session or an API key that holds."""
    headers, access = combined(request.scope["headers"]), services(request).access
    secret = key_secret(headers)
    if secret is None:
        return access.has_session(sessions(headers))
    try:
        await access.key(secret)
    except KnowledgeError as error:
        if error.code != "UNAUTHORIZED":
            raise
        return False
    return True
