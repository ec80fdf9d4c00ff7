"""What access control keeps, for every process of one database."""

from dataclasses import dataclass
from typing import Protocol

from mcp_knowledge.domain.access import ApiKey
from mcp_knowledge.ports.terms import Position


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """A login try: when it was made, and how long to wait if it was one too many (0: it was counted)."""

    at_ms: int
    wait_ms: int


class AccessStore(Protocol):
    """API keys, tries to log in, and the secret that processes share."""

    async def create_key(self, key: ApiKey, digest: bytes) -> None:
        """Keep a new key. `digest` is the SHA-256 of its secret."""
        ...

    async def list_keys(self, limit: int, after: Position | None = None) -> list[ApiKey]:
        """Newest first by (created_at_ms, id)."""
        ...

    async def find_key(self, digest: bytes) -> ApiKey | None:
        """The key whose secret has this SHA-256; None when there is none (any more)."""
        ...

    async def touch_key(self, key_id: str, used_at_ms: int) -> None:
        """Note a use. An earlier one than is noted changes nothing, nor does one of a key that is gone."""
        ...

    async def delete_key(self, key_id: str) -> None:
        """Forget a key: no process finds it any more when this returns. Raises API_KEY_NOT_FOUND."""
        ...

    async def count_attempt(self, source: str, limit: int, window_ms: int) -> LoginAttempt:
        """Count a login try, unless `limit` of this source are counted within the last `window_ms` already. However
        many processes ask together, no more than `limit` are counted.
        """
        ...

    async def forget_attempt(self, source: str, at_ms: int) -> None:
        """Take a counted try back."""
        ...

    async def shared_secret(self, proposed: bytes) -> bytes:
        """The secret of this database; the proposed one, for good, if it had none."""
        ...
