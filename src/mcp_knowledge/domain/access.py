"""Who may do what: scopes of API keys, and sessions as signed texts that no server has to remember."""

import hashlib
import hmac
import ipaddress
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from mcp_knowledge.domain.cursors import CursorSigner
from mcp_knowledge.errors import KnowledgeError

AccessScope = Literal["read", "write", "admin"]
ACCESS_SCOPES: tuple[AccessScope, ...] = get_args(AccessScope)  # each includes those before it
KEY_MARK = "key_"
KEY_BYTES = 32
SESSION_MS = 30 * 24 * 60 * 60 * 1000
MINUTE_MS = 60_000
MAX_PASSPHRASE_CHARS = 1000
_PREFIX_CHARS = len(KEY_MARK) + 8  # enough to tell keys apart, and 35 of the 43 secret characters stay unknown
_SESSION = "session"
_IPV6_SITE_BITS = 64  # what one customer line has: its owner can use any address below it


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret. `prefix` is how the secret begins; `last_used_at_ms` is a full minute."""

    id: str
    name: str
    prefix: str
    scopes: tuple[AccessScope, ...]
    created_at_ms: int
    last_used_at_ms: int | None

    def allows(self, needed: AccessScope) -> bool:
        """Whether one of its scopes is or includes the needed one."""
        return any(ACCESS_SCOPES.index(scope) >= ACCESS_SCOPES.index(needed) for scope in self.scopes)


def in_order(scopes: Iterable[AccessScope]) -> tuple[AccessScope, ...]:
    """Scopes from the least to the greatest, each once."""
    given = set(scopes)
    return tuple(scope for scope in ACCESS_SCOPES if scope in given)


def new_key_secret() -> str:
    """`key_` and 32 random bytes in base64 for addresses."""
    return KEY_MARK + secrets.token_urlsafe(KEY_BYTES)


def key_prefix(secret: str) -> str:
    """How a secret begins: what people recognise it by."""
    return secret[:_PREFIX_CHARS]


def key_digest(secret: str) -> bytes:
    """What is kept of a secret: its SHA-256. It has 256 bits of its own, so it needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def throttled_source(address: str) -> str:
    """What login tries are counted by: the IPv4 address, or the /64 of an IPv6 address, whose owner has them all."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:100]  # a socket without an address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, _IPV6_SITE_BITS), strict=False))


class Passphrase:
    """A passphrase, and the sessions that it opens.

    Args:
        text: as it was set; compared in NFC, as keyboards differ in how they compose letters.
        secret: what every process of the service shares. Another passphrase or secret ends every session.
    """

    def __init__(self, text: str, secret: bytes) -> None:
        self._secret = secret
        self._digest = self._digest_of(text)
        self._sessions = CursorSigner(hmac.digest(secret, b"session key\0" + self._digest, "sha256"))

    def matches(self, given: str) -> bool:
        """Whether this is the passphrase; takes as long for any answer."""
        return hmac.compare_digest(self._digest, self._digest_of(given))

    def new_session(self, now_ms: int) -> str:
        """A session that holds for 30 days, as URL-safe text."""
        return self._sessions.make(_SESSION, [now_ms + SESSION_MS, secrets.token_hex(8)])

    def holds(self, session: str, now_ms: int) -> bool:
        """Whether this session was made here, under this passphrase, and has not ended."""
        try:
            ends_at_ms, _ = self._sessions.read(_SESSION, session)
        except KnowledgeError:
            return False
        return bool(now_ms < ends_at_ms)

    def _digest_of(self, text: str) -> bytes:
        data = unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")
        return hmac.digest(self._secret, b"passphrase\0" + data, "sha256")
