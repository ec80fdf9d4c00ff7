"""Signing in and out, with plain forms."""

import re
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.access import end_session, keep_session, peer_address
from mcp_knowledge.interfaces.rest.arguments import body_pieces
from mcp_knowledge.interfaces.rest.session import is_authenticated
from mcp_knowledge.interfaces.web.documents import services_of
from mcp_knowledge.interfaces.web.errors import LOGIN
from mcp_knowledge.interfaces.web.templating import render

_MAX_FORM_BYTES = 16 * 1024
_OWN_ADDRESS = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")  # `//host` and what browsers read like it lead elsewhere

router = APIRouter(include_in_schema=False)


def way_on(address: str) -> str:
    """The address to go to after signing in: a page of this site, the list of documents for anything else."""
    return address if _OWN_ADDRESS.fullmatch(address) and not address.startswith(LOGIN) else "/"


@router.get(LOGIN)
async def login_page(request: Request) -> Response:
    """Ask for the passphrase, unless none is needed.

    A link on another site leads here although the reader is signed in: browsers keep the cookie back (SameSite=Strict)
    until a page of ours asks again, so this page does.
    """
    address = way_on(request.query_params.get("next", "/"))
    if not services_of(request).access.passphrase_required or await is_authenticated(request):
        return RedirectResponse(address, 303)
    from_elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
    return _page(request, address, ask_again=from_elsewhere)


@router.post(LOGIN)
async def sign_in(request: Request) -> Response:
    """Sign in, then go on to where the visitor wanted to go."""
    form = await _form(request)
    address = way_on(form.get("next", "/"))
    services = services_of(request)
    try:
        session = await services.access.sign_in(form.get("passphrase", ""), peer_address(request.scope))
    except KnowledgeError as error:
        if error.code not in ("UNAUTHORIZED", "TOO_MANY_ATTEMPTS"):
            raise
        return _page(request, address, error)
    response = RedirectResponse(address, 303)
    if session is not None:
        keep_session(response, session, services.settings)
    return response


@router.post("/logout")
async def sign_out(request: Request) -> Response:
    """Sign out in this browser."""
    response = RedirectResponse(LOGIN, 303)
    end_session(response, services_of(request).settings)
    return response


def _page(request: Request, address: str, error: KnowledgeError | None = None, ask_again: bool = False) -> HTMLResponse:
    status = 200 if error is None else error.status
    return render(
        request, "login.html", status, next_address=address, error=error and error.message, ask_again=ask_again
    )


async def _form(request: Request) -> dict[str, str]:
    """The fields of an URL-encoded form. Raises PAYLOAD_TOO_LARGE, INVALID_REQUEST."""
    body = bytearray()
    async for piece in body_pieces(request):
        body += piece
        if len(body) > _MAX_FORM_BYTES:
            raise KnowledgeError("PAYLOAD_TOO_LARGE", "A passphrase is not that long.")
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        raise KnowledgeError("INVALID_REQUEST", "The form has too many fields.") from None
    return {name: values[0] for name, values in fields.items()}
