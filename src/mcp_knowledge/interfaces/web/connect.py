"""Connecting programs: configurations for this very address, a key made on the spot, and a try."""

import sys
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from mcp_knowledge.domain.access import KEY_MARK
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.access import peer_address
from mcp_knowledge.interfaces.rest.arguments import checked
from mcp_knowledge.interfaces.web.clients import KEY_PLACEHOLDER, Endpoint, guides
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import form_fields, go
from mcp_knowledge.interfaces.web.mcp_check import RoundTrip, Trouble, round_trip
from mcp_knowledge.interfaces.web.own_origin import is_on_this_machine, own_origin
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.settings import MODEL_DIR, Settings

_MAX_KEY_CHARS = 200
_PASSED_ON = ("cookie", "authorization")  # what the visitor is known by

router = APIRouter(include_in_schema=False)


@router.get("/connect")
async def connect_page(request: Request) -> HTMLResponse:
    """How to connect each client with this server."""
    return _page(request, request.query_params.get("client", ""))


@router.get("/connect/key")
@router.get("/connect/test")
async def back_to_page(request: Request) -> RedirectResponse:
    """Where a page that was the answer to a form is asked for once more."""
    return go("/connect")


@router.post("/connect/key")
async def make_key(request: Request) -> HTMLResponse:
    """Make a key that may search; the page with its secret, which is in no address and is never shown again."""
    fields = await form_fields(request)
    try:
        body = checked(schemas.ApiKeyCreate, {"name": fields.get("name"), "scopes": ["read"]})
    except KnowledgeError as error:
        return _page(request, fields.get("client"), status=error.status, fault=True)
    key, secret = await services_of(request).access.create_key(body.name, body.scopes)
    return _page(request, fields.get("client"), secret=secret, made=key.name)


@router.post("/connect/test")
async def test_connection(request: Request) -> HTMLResponse:
    """Try the connection with a key, or as the visitor."""
    fields = await form_fields(request)
    secret = fields.get("key").strip()
    outcome: RoundTrip | Trouble
    if secret and not _is_key(secret):
        outcome = Trouble("This is not a key.", "Keys begin with “key_”. Copy the whole of it, without blanks.")
        return _page(request, fields.get("client"), outcome=outcome, secret_was_given=True)
    outcome = await round_trip(
        request.app, own_origin(request), _credential(request, secret), peer_address(request.scope)
    )
    return _page(request, fields.get("client"), secret=secret, outcome=outcome, secret_was_given=bool(secret))


def _page(
    request: Request,
    client: str,
    *,
    status: int = 200,
    secret: str = "",
    made: str | None = None,
    fault: bool = False,
    outcome: RoundTrip | Trouble | None = None,
    secret_was_given: bool = False,
) -> HTMLResponse:
    """The page. Where it shows a secret, no browser and no proxy may keep it."""
    services = services_of(request)
    needs_key = services.access.passphrase_required
    key = secret or (KEY_PLACEHOLDER if needs_key else None)
    endpoint = Endpoint(own_origin(request), key, _own_command(request, services.settings))
    found = guides(endpoint)
    response = render(
        request,
        "connect.html",
        status,
        endpoint=endpoint,
        guides=found,
        chosen=client if client in {guide.id for guide in found} else found[0].id,
        needs_key=needs_key,
        open_to_others=not services.settings.binds_loopback,
        secret=secret,
        made=made,
        fault=fault,
        outcome=outcome,
        works=isinstance(outcome, RoundTrip),
        secret_was_given=secret_was_given,
    )
    if status != 200 or secret or made or outcome:
        response.headers["Cache-Control"] = "no-store"
    return response


def _is_key(text: str) -> bool:
    return text.startswith(KEY_MARK) and len(text) <= _MAX_KEY_CHARS and text.isascii() and text.isprintable()


def _credential(request: Request, secret: str) -> dict[str, str]:
    """What the test sends: the key, or what the visitor is known by."""
    if secret:
        return {"authorization": f"Bearer {secret}"}
    return {name: request.headers[name] for name in _PASSED_ON if name in request.headers}


def _own_command(request: Request, settings: Settings) -> list[str] | None:
    """What starts this server on standard input and output; None where a client could not start it: on another machine,
    or where it would need more settings than the folder of its data.
    """
    ordinary = settings.database_driver != "postgres" and not settings.database_url
    if not (is_on_this_machine(request) and ordinary and settings.embedding_model_path == MODEL_DIR):
        return None
    python = Path(sys.executable).absolute()  # as it was called: a virtual environment's is a link out of it
    program = python.with_name("mcp-knowledge")
    command = [str(program)] if program.exists() else [str(python), "-m", "mcp_knowledge"]
    return [*command, "--data-dir", str(settings.data_dir.absolute()), "mcp"]
