"""Which host names and origins may talk to the server."""

import ipaddress
import re
from collections.abc import Mapping

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.settings import Settings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+?)\.?)(:[0-9]{0,5})?")  # RFC 3986 section 3.2, no user name
_MAX_SHOWN_CHARS = 253 + len(":65535")  # the longest name in the DNS (RFC 1035 section 2.3.4), and a port
_ABSOLUTE_TARGET = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")


class HostRules:
    """Which host names and origins may talk to this server: the defence against DNS rebinding and cross-site requests.

    Loopback names, the bound address and ALLOWED_HOSTS are allowed, on any port. Bound to all addresses, every literal
    address is: a rebinding attack needs a name.
    """

    def __init__(self, settings: Settings) -> None:
        self._listed = {name.lower().rstrip(".") for name in settings.allowed_hosts}
        bound = settings.host.lower().partition("%")[0]  # browsers do not tell a link's zone
        self._names = {_plain(name) for name in (*self._listed, bound, "localhost")}
        address = _address(bound)
        self._any_address = address is not None and address.is_unspecified

    def allows_host(self, authority: str) -> bool:
        """Whether a `Host` header (name or address, with or without port) is one of ours."""
        parts = _AUTHORITY.fullmatch(authority.lower())
        if parts is None:
            return False
        name = _plain(parts[1] or parts[2])
        if name in self._names or authority.lower() in self._listed:
            return True
        address = _address(name)
        return address is not None and (address.is_loopback or self._any_address)

    def allows_origin(self, origin: str, authority: str) -> bool:
        """Whether a page of this origin may change something: the server's own, or (behind a proxy that sends another
        `Host`) one of ALLOWED_HOSTS, with its port unless that is the usual one: other ports are other sites' servers.
        """
        scheme, separator, origin_authority = origin.lower().partition("://")
        if not separator or scheme not in ("http", "https"):
            return False
        return origin_authority == authority.lower() or origin_authority in self._listed

    def check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Raises HOST_NOT_ALLOWED, naming the host as it came: a proxy may send another than the visitor sees."""
        authority = _authority(headers)
        if not self.allows_host(authority):
            is_readable = len(authority) <= _MAX_SHOWN_CHARS and _AUTHORITY.fullmatch(authority.lower())
            named = f"The host '{authority}' is not allowed. Add it to ALLOWED_HOSTS." if is_readable else None
            raise KnowledgeError("HOST_NOT_ALLOWED", named)

    def check_origin(self, method: str, headers: Mapping[bytes, bytes]) -> None:
        """Raises FORBIDDEN when a page of another site would change something. Without `Origin` and `Sec-Fetch-Site`
        it is a program, see `check_from_page`.
        """
        if method in SAFE_METHODS:
            return
        origin, site = _origin_and_site(headers)
        if origin == "null":  # a page that keeps its origin to itself
            allowed = site == b"same-origin"
        else:
            from_here = not origin or self.allows_origin(origin, _authority(headers))
            allowed = from_here and site in (b"", b"same-origin", b"none")
        if not allowed:
            raise KnowledgeError(
                "FORBIDDEN",
                "Requests from other web sites are not allowed. If this one is yours, behind a proxy, add its host to "
                "ALLOWED_HOSTS.",
            )

    def check_from_page(self, method: str, headers: Mapping[bytes, bytes]) -> None:
        """Raises FORBIDDEN when something would change and `check_origin` had nothing to go by."""
        if method not in SAFE_METHODS and not any(_origin_and_site(headers)):
            raise KnowledgeError(
                "FORBIDDEN", "A change with a session needs this server's own Origin header; programs use an API key."
            )


def with_host_of_target(target: bytes, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers with the host that counts: the target's where it is a whole address (RFC 9112 section 3.2.2)."""
    absolute = _ABSOLUTE_TARGET.match(target)
    if absolute is None:
        return headers
    return [*((name, value) for name, value in headers if name != b"host"), (b"host", absolute[1])]


def _origin_and_site(headers: Mapping[bytes, bytes]) -> tuple[str, bytes]:
    return headers.get(b"origin", b"").decode("latin-1").strip(), headers.get(b"sec-fetch-site", b"").strip()


def _plain(name: str) -> str:
    """A host name as it is; an address in its canonical form, without brackets. One with a port stays what it is."""
    address = _address(name.removeprefix("[").removesuffix("]"))
    return name if address is None else str(address)


def _authority(headers: Mapping[bytes, bytes]) -> str:
    return headers.get(b"host", b"").decode("latin-1").strip()


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
