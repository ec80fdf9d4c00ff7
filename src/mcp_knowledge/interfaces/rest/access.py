"""Who may make a request: decided from its head alone, before any of its body is read."""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from starlette.responses import Response
from starlette.types import Scope

from mcp_knowledge.domain.access import SESSION_MS, AccessScope
from mcp_knowledge.domain.addresses import is_loopback
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.hosts import SAFE_METHODS, HostRules
from mcp_knowledge.services.access import Access
from mcp_knowledge.settings import Settings

SESSION_COOKIE = "mk_session"
METRICS = "/metrics"
_KEYS = ("/api/v1/api-keys", "/keys", "/connect/key")  # and what is below them
_BELOW_KEYS = tuple(f"{path}/" for path in _KEYS)
_OPEN = frozenset({"/health", "/ready", "/login", "/logout", "/theme", "/api/v1/session"})
_OPEN_BELOW = ("/static/", "/.well-known/")  # nothing is well known here: clients of MCP look, and need the 404
_READING = frozenset(  # whatever the method
    {"/api/v1/search", "/api/v1/search/explain", "/api/v1/search/why-not", "/mcp", "/connect/test"}
)
_MOST_SESSIONS = 16  # of one request: to look at thousands of made-up ones would take a tenth of a second
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_COOKIE = re.compile(rb"(?:^|;)\s*" + SESSION_COOKIE.encode() + rb"=([A-Za-z0-9_-]+)\s*(?=;|$)")


def needed_scope(method: str, path: str) -> AccessScope | None:
    """What a request needs where a passphrase is set; None: nothing. An address that does not exist needs it too."""
    if path in _OPEN or path.startswith(_OPEN_BELOW):
        return None
    if path in _KEYS or path.startswith(_BELOW_KEYS):
        return "admin"
    return "read" if method in SAFE_METHODS or path in _READING else "write"


def combined(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers by name; repeated ones joined by a comma (RFC 9110 section 5.3), so that two Hosts are no host. Cookies,
    which may come split over HTTP/2, are joined as in one header (RFC 9113 section 8.2.3).
    """
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        separator = b"; " if name == b"cookie" else b","
        found[name] = value if name not in found else found[name] + separator + value
    return found


def key_secret(headers: Mapping[bytes, bytes]) -> str | None:
    """The API key that a request carries; None when it has no `Authorization: Bearer`."""
    scheme, _, value = headers.get(b"authorization", b"").decode("latin-1").strip().partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def sessions(headers: Mapping[bytes, bytes]) -> list[str]:
    """What could be a session in a request's cookies. There may be several: another port's server can set one too."""
    found = islice(_COOKIE.finditer(headers.get(b"cookie", b"")), _MOST_SESSIONS)
    return [match[1].decode() for match in found]


class Gate:
    """Lets a request pass or raises.

    A request with an API key is judged by the key alone: no browser sends one by itself, so its origin does not matter.
    Any other must not come from a page of another site if it could change something, and needs a session where a
    passphrase is set: what a browser sends by itself changes something only if our own page is seen to have asked.

    Args:
        get_access: called at each request, so that the services may come up later than the application.
    """

    def __init__(self, rules: HostRules, get_access: Callable[[], Access]) -> None:
        self._rules = rules
        self._get_access = get_access

    async def admit(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        """Sets `signed_in` in the scope of a request with a session, and `admit_again`, for answers that go on for
        long, to ask whether it would still pass.

        Raises:
            KnowledgeError: HOST_NOT_ALLOWED, NOT_FOUND, UNAUTHORIZED, FORBIDDEN.
        """
        self._rules.check_host(headers)
        if _CONTROLS.search(scope["path"]):  # the router takes `/path%0A` for `/path` (`$` in its patterns): we do not
            raise KnowledgeError("NOT_FOUND")
        needed = needed_scope(scope["method"], scope["path"])
        secret = key_secret(headers)
        if needed is None or secret is None:
            self._rules.check_origin(scope["method"], headers)
        if needed is not None:
            scope["admit_again"] = lambda: self._check_credential(scope, headers, needed, secret)
            await scope["admit_again"]()

    async def _check_credential(
        self, scope: Scope, headers: Mapping[bytes, bytes], needed: AccessScope, secret: str | None
    ) -> None:
        access = self._get_access()
        if secret is not None:
            key = await access.key(secret)
            if not key.allows(needed):
                raise KnowledgeError("FORBIDDEN", f"This API key does not have the scope '{needed}'.")
        elif access.passphrase_required:
            if not access.has_session(sessions(headers)):
                raise KnowledgeError("UNAUTHORIZED")
            if needed != "read":
                self._rules.check_from_page(scope["method"], headers)
            scope["signed_in"] = True
        elif scope["path"] == METRICS and not is_loopback(peer_address(scope)):
            raise KnowledgeError("UNAUTHORIZED", "Metrics are for this machine, and for API keys.")


def peer_address(scope: Scope) -> str:
    """The address at the other end of the connection, empty when it has none. No header can change it."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def keep_session(response: Response, session: str, settings: Settings) -> None:
    """Give the browser its session."""
    response.set_cookie(
        SESSION_COOKIE, session, SESSION_MS // 1000, secure=https_alone(settings), httponly=True, samesite="strict"
    )


def end_session(response: Response, settings: Settings) -> None:
    """Take the session from the browser."""
    response.delete_cookie(SESSION_COOKIE, secure=https_alone(settings), httponly=True, samesite="strict")


def https_alone(settings: Settings) -> bool:
    """Whether browsers may send our cookies over https alone."""
    return settings.app_profile == "server"
