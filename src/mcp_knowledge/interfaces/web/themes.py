"""Light or dark: as the reader's system prefers, or as the switch in the header says, which a cookie remembers."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from mcp_knowledge.interfaces.rest.access import https_alone
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import came_from, form_fields, go

THEME = "/theme"
THEMES = ("auto", "light", "dark")  # in the order in which the switch goes through them
_COOKIE = "mk_theme"
_COOKIE_SECONDS = 365 * 24 * 3600

router = APIRouter(include_in_schema=False)


def of(request: Request) -> dict[str, Any]:
    """What the page's frame needs: the theme in use, the one that the switch leads to, and their order."""
    chosen = request.cookies.get(_COOKIE)
    theme = chosen if chosen in THEMES else THEMES[0]
    following = THEMES[(THEMES.index(theme) + 1) % len(THEMES)]
    return {"theme": theme, "next_theme": following, "themes": THEMES}


@router.post(THEME)
async def choose_theme(request: Request) -> Response:
    """Remember a theme, then show the page again."""
    fields = await form_fields(request)
    response = go(came_from(request))
    theme = fields.get("theme")
    if theme in THEMES:
        secure = https_alone(services_of(request).settings)
        response.set_cookie(_COOKIE, theme, _COOKIE_SECONDS, secure=secure, httponly=True, samesite="lax")
    return response
