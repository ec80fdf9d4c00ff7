"""What `serve` says when requests are answered: doors for a person, or a line of the log for a machine."""

import logging

from rich.markup import escape

from mcp_knowledge import __version__
from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.logs import is_json
from mcp_knowledge.settings import Settings

log = logging.getLogger(__name__)


def greet(settings: Settings, url: str, where: str) -> None:
    """Say that the service is there.

    Args:
        where: the data lies, for people.
    """
    if settings.allowed_hosts and settings.dashboard_passphrase is None:
        log.warning(
            "ALLOWED_HOSTS names other hosts, and nobody has to sign in: whoever comes through a proxy or tunnel may "
            "do everything. Set DASHBOARD_PASSPHRASE."
        )
    if is_json(settings):
        fields = {"url": url, "version": __version__, "role": settings.role, "data": where}
        log.info("MCP Knowledge %s is ready at %s/", __version__, url, extra={"fields": fields})
        return
    doors = f"  Dashboard  {url}/\n  MCP        {url}/mcp\n  REST       {url}/docs\n"
    if settings.role == "worker":
        doors = f"  Health     {url}/ready\n"
    output.err.print(f"MCP Knowledge {__version__} is ready.\n{doors}  Data       {escape(where)}\nStop with Ctrl-C.")
