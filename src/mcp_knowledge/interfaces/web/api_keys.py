"""API keys: which there are, making one, and revoking one."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from mcp_knowledge.domain.access import ACCESS_SCOPES, AccessScope
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import checked
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import Fields, form_fields, go
from mcp_knowledge.interfaces.web.notices import Notice
from mcp_knowledge.interfaces.web.paging import keyset_position, position_text
from mcp_knowledge.interfaces.web.templating import render

PAGE_KEYS = 50
SCOPES: dict[AccessScope, tuple[str, str]] = {  # in words: its name, and what it allows
    "read": ("Search and read", "What assistants need. Nothing can be changed with it."),
    "write": ("Also change", "Add, change, move and remove documents as well. For scripts that fill the library."),
    "admin": ("Also make keys", "Everything, making and revoking keys included. Only for tools of your own."),
}
_SENTENCES = {
    "revoked": "The key was revoked. Nothing accepts it any more.",
    "gone": "This key had been revoked already.",
}

router = APIRouter(include_in_schema=False)


@router.get("/keys")
async def keys_page(request: Request) -> HTMLResponse:
    """Every key, newest first, without its secret."""
    name = request.query_params.get("notice", "")
    return await _page(request, notice=Notice(_SENTENCES[name]) if name in _SENTENCES else None)


@router.post("/keys")
async def make_key(request: Request) -> HTMLResponse:
    """Make a key; the page with its secret, which is in no address and is never shown again."""
    fields = await form_fields(request)
    try:
        body = checked(schemas.ApiKeyCreate, {"name": fields.get("name"), "scopes": [fields.get("scope", "read")]})
    except KnowledgeError as error:
        return await _page(request, status=error.status, form=fields)
    _, secret = await services_of(request).access.create_key(body.name, body.scopes)
    return await _page(request, secret=secret, made=body.name)


@router.post("/keys/{key_id}/revoke")
async def revoke_key(request: Request, key_id: str) -> RedirectResponse:
    """End a key."""
    try:
        await services_of(request).access.revoke_key(key_id)
    except KnowledgeError as error:
        if error.code != "API_KEY_NOT_FOUND":
            raise
        return go("/keys?notice=gone")
    return go("/keys?notice=revoked")


async def _page(
    request: Request,
    *,
    status: int = 200,
    notice: Notice | None = None,
    secret: str = "",
    made: str = "",
    form: Fields | None = None,
) -> HTMLResponse:
    """The page.

    Args:
        secret: of the key that was just made; nobody may keep the page then.
        form: what was sent and refused.
    """
    access = services_of(request).access
    before = request.query_params.get("after", "")
    keys, after = await access.list_keys(PAGE_KEYS, keyset_position(before, "key"))
    wanted = form.get("scope") if form else ""
    response = render(
        request,
        "api_keys.html",
        status,
        keys=keys,
        greatest={key.id: max(key.scopes, key=ACCESS_SCOPES.index) for key in keys},
        scopes=SCOPES,
        chosen=wanted if wanted in SCOPES else "read",
        name=form.get("name")[:200] if form else "",
        fault=form is not None,
        secret=secret,
        made=made,
        needs_key=access.passphrase_required,
        notice=notice,
        is_first=not before,
        next_address=after and f"/keys?after={position_text(after)}",
    )
    if secret:
        response.headers["Cache-Control"] = "no-store"
    return response
