"""Templates to pages."""

from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mcp_knowledge import __version__
from mcp_knowledge.interfaces.web import themes, wording
from mcp_knowledge.interfaces.web.static_files import static_url

PAGES = (  # of the navigation: address and label
    ("/", "Documents"),
    ("/collections", "Collections"),
    ("/playground", "Playground"),
    ("/evaluate", "Evaluate"),
    ("/jobs", "Jobs"),
    ("/system", "System"),
    ("/connect", "Connect"),
)
_SECTIONS = {  # first part of a path → its page
    "documents": "/",
    "similar": "/",
    "imports": "/",
    "folder": "/",
    "samples": "/",
    "keys": "/connect",
}
HERE = Path(__file__).parent


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(static_url=static_url, version=__version__)
    environment.filters.update(wording.FILTERS)
    return environment


TEMPLATES = _environment()


def render(request: Request, template: str, status_code: int = 200, **context: Any) -> HTMLResponse:
    """A page from a template of `templates/`.

    Args:
        request: the request; templates see it as `request`, its path marks the navigation, its cookie the theme.
        template: the file's name.
        status_code: the HTTP status.
        context: the names that the template uses.
    """
    path = request.url.path
    first = path.split("/")[1]
    html = TEMPLATES.get_template(template).render(
        request=request,
        path=path,
        pages=PAGES,
        section=_SECTIONS.get(first, f"/{first}"),
        signed_in=request.scope.get("signed_in", False),
        **themes.of(request),
        **context,
    )
    return HTMLResponse(html, status_code, headers={"Cache-Control": "private, no-cache"})
