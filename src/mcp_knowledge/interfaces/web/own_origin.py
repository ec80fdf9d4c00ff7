"""The address at which a visitor sees this server, and whether that visitor sits at the same machine."""

import re

from fastapi import Request

from mcp_knowledge.domain.addresses import is_loopback
from mcp_knowledge.interfaces.rest.access import peer_address
from mcp_knowledge.interfaces.web.context import services_of

# What may stand in a command without quotes: anything else was made up, no browser sends it.
_AUTHORITY = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_FORWARDING = ("x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded")


def own_origin(request: Request) -> str:
    """Scheme, host and port of this server as the visitor's browser has them in its address line.

    The gate has let the host pass already. A proxy that ends TLS says so in `X-Forwarded-Proto`; anybody else who sends
    that header changes nothing but the text of the own page.
    """
    authority = request.headers.get("host", "")
    if not _AUTHORITY.fullmatch(authority):
        settings = services_of(request).settings
        authority = f"[{settings.host}]" if ":" in settings.host else settings.host
        authority = f"{authority}:{settings.port}"
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    scheme = forwarded if forwarded in ("http", "https") else request.url.scheme
    return f"{scheme}://{authority}"


def is_on_this_machine(request: Request) -> bool:
    """Whether the visitor sits at the machine on which this server runs, as far as that can be told: connection and
    address are the loopback's, and no proxy has passed the request on.
    """
    if any(name in request.headers for name in _FORWARDING):
        return False
    host = own_origin(request).partition("://")[2]
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    return is_loopback(peer_address(request.scope)) and (name.lower() == "localhost" or is_loopback(name))
