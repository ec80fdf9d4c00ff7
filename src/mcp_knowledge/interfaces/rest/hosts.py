"""Which host names and origins may talk to the server."""

import ipaddress
from collections.abc import Mapping

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.settings import Settings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class HostRules:
    """Which host names and origins may talk to this server: the defence against DNS rebinding and cross-site requests.

    Loopback names, the bound address and ALLOWED_HOSTS are allowed, on any port. Bound to all addresses, every literal
    address is: a rebinding attack needs a name.
    """

    def __init__(self, settings: Settings) -> None:
        self._listed = {name.lower().rstrip(".") for name in settings.allowed_hosts}
        self._names = self._listed | {"localhost", settings.host.lower()}
        address = _address(settings.host)
        self._any_address = address is not None and address.is_unspecified

    def allows_host(self, authority: str) -> bool:
        """Whether a `Host` header (name or address, with or without port) is one of ours."""
        name = _host_name(authority)
        if name in self._names or authority.lower() in self._listed:
            return True
        address = _address(name)
        return address is not None and (address.is_loopback or self._any_address)

    def allows_origin(self, origin: str, authority: str) -> bool:
        """Whether a page of this origin may change something: the server's own, or (behind a proxy) ALLOWED_HOSTS'."""
        scheme, separator, origin_authority = origin.lower().partition("://")
        if not separator or scheme not in ("http", "https"):
            return False
        return origin_authority == authority.lower() or bool(
            {origin_authority, _host_name(origin_authority)} & self._listed
        )

    def check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Raises HOST_NOT_ALLOWED."""
        if not self.allows_host(_authority(headers)):
            raise KnowledgeError("HOST_NOT_ALLOWED")

    def check_origin(self, method: str, headers: Mapping[bytes, bytes]) -> None:
        """Raises FORBIDDEN when a page of another site would change something."""
        if method in SAFE_METHODS:
            return
        origin = headers.get(b"origin", b"").decode("latin-1").strip()
        site = headers.get(b"sec-fetch-site", b"none").strip()
        if origin and not (origin == "null" and site == b"same-origin"):
            allowed = self.allows_origin(origin, _authority(headers))
        else:  # a program, or a form of ours: browsers hide its origin under our `Referrer-Policy: no-referrer`
            allowed = site in (b"same-origin", b"none")
        if not allowed:
            raise KnowledgeError("FORBIDDEN", "Requests from other web sites are not allowed.")


def _host_name(authority: str) -> str:
    """The name or address of `name:port`, `address:port` or `[address]:port`, in lower case."""
    text = authority.lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0].rstrip(".") if ":" in text else text.rstrip(".")


def _authority(headers: Mapping[bytes, bytes]) -> str:
    return headers.get(b"host", b"").decode("latin-1").strip()


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
