"""Signing in and out, with plain forms."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from starlette.responses import Response

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.access import end_session, keep_session, peer_address
from mcp_knowledge.interfaces.rest.session import is_authenticated
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.errors import LOGIN
from mcp_knowledge.interfaces.web.fields import form_fields, go, own_address
from mcp_knowledge.interfaces.web.templating import render

router = APIRouter(include_in_schema=False)


def way_on(address: str) -> str:
    """The address to go to after signing in: a page of this site, the list of documents for anything else."""
    return "/" if address.startswith(LOGIN) else own_address(address)


@router.get(LOGIN)
async def login_page(request: Request) -> Response:
    """Ask for the passphrase, unless none is needed.

    A link on another site leads here although the reader is signed in: browsers keep the cookie back (SameSite=Strict)
    until a page of ours asks again, so this page does.
    """
    address = way_on(request.query_params.get("next", "/"))
    if not services_of(request).access.passphrase_required or await is_authenticated(request):
        return go(address)
    from_elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
    return _page(request, address, ask_again=from_elsewhere)


@router.post(LOGIN)
async def sign_in(request: Request) -> Response:
    """Sign in, then go on to where the visitor wanted to go."""
    form = await form_fields(request)
    address = way_on(form.get("next", "/"))
    services = services_of(request)
    try:
        session = await services.access.sign_in(form.get("passphrase", ""), peer_address(request.scope))
    except KnowledgeError as error:
        if error.code not in ("UNAUTHORIZED", "TOO_MANY_ATTEMPTS"):
            raise
        return _page(request, address, error)
    response = go(address)
    if session is not None:
        keep_session(response, session, services.settings)
    return response


@router.post("/logout")
async def sign_out(request: Request) -> Response:
    """Sign out in this browser."""
    response = go(LOGIN)
    end_session(response, services_of(request).settings)
    return response


def _page(request: Request, address: str, error: KnowledgeError | None = None, ask_again: bool = False) -> HTMLResponse:
    status = 200 if error is None else error.status
    page = render(
        request, "login.html", status, next_address=address, error=error and error.message, ask_again=ask_again
    )
    if error is not None and error.retry_after_s is not None:
        page.headers["Retry-After"] = str(error.retry_after_s)
    return page
