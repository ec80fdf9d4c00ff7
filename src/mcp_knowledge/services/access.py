"""Who may use the service: one passphrase for people, API keys for programs. All state is in the database, so any
process answers alike.
"""

import asyncio
import logging
from collections.abc import Iterable

from mcp_knowledge.domain.access import (
    KEY_MARK,
    MINUTE_MS,
    AccessScope,
    ApiKey,
    Passphrase,
    in_order,
    key_digest,
    key_prefix,
    new_key_secret,
    throttled_source,
)
from mcp_knowledge.domain.documents import new_id, now_ms
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import AccessStore, Position

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 10
ATTEMPTS_WINDOW_MS = 5 * MINUTE_MS


class Access:
    """Sessions and keys.

    Args:
        passphrase: None when none is set: then nobody has to sign in.
    """

    def __init__(self, store: AccessStore, passphrase: Passphrase | None) -> None:
        self._store = store
        self._passphrase = passphrase
        self._noted_minutes: dict[str, int] = {}
        self._notes: set[asyncio.Task[None]] = set()

    @property
    def passphrase_required(self) -> bool:
        """Whether requests need a session or a key."""
        return self._passphrase is not None

    async def sign_in(self, given: str, address: str) -> str | None:
        """A new session; None when no passphrase is set, so that none is needed.

        Args:
            address: of the connection. Its failed tries of the last 5 minutes are counted, over all processes.

        Raises:
            KnowledgeError: UNAUTHORIZED, TOO_MANY_ATTEMPTS.
        """
        if self._passphrase is None:
            return None
        source = throttled_source(address)
        attempt = await self._store.count_attempt(source, MAX_ATTEMPTS, ATTEMPTS_WINDOW_MS)
        if attempt.wait_ms:
            minutes = -(-attempt.wait_ms // MINUTE_MS)
            raise KnowledgeError(
                "TOO_MANY_ATTEMPTS",
                f"Too many attempts. Try again in {minutes} minute{'s' if minutes > 1 else ''}.",
                retry_after_s=-(-attempt.wait_ms // 1000),
            )
        if not self._passphrase.matches(given):
            raise KnowledgeError("UNAUTHORIZED", "This is not the passphrase.")
        await self._store.forget_attempt(source, attempt.at_ms)
        return self._passphrase.new_session(now_ms())

    def has_session(self, sessions: Iterable[str]) -> bool:
        """Whether one of these is a session that holds."""
        passphrase, now = self._passphrase, now_ms()
        return passphrase is not None and any(passphrase.holds(session, now) for session in sessions)

    async def key(self, secret: str) -> ApiKey:
        """The key with this secret, looked up at every call: one that was revoked a moment ago is not found.

        Raises:
            KnowledgeError: UNAUTHORIZED.
        """
        key = await self._store.find_key(key_digest(secret)) if secret.startswith(KEY_MARK) else None
        if key is None:
            raise KnowledgeError("UNAUTHORIZED", "This API key does not exist, or was revoked.")
        self._note_use(key)
        return key

    async def create_key(self, name: str, scopes: Iterable[AccessScope]) -> tuple[ApiKey, str]:
        """A new key and its secret, which nobody can show again."""
        secret = new_key_secret()
        key = ApiKey(new_id("key"), name, key_prefix(secret), in_order(scopes), now_ms(), None)
        await self._store.create_key(key, key_digest(secret))
        return key, secret

    async def list_keys(self, limit: int, after: Position | None = None) -> tuple[list[ApiKey], Position | None]:
        """A page, newest first, and where the next one goes on."""
        found = await self._store.list_keys(limit + 1, after)
        items = found[:limit]
        return items, Position(items[-1].created_at_ms, items[-1].id) if len(found) > limit else None

    async def revoke_key(self, key_id: str) -> None:
        """End a key: no process accepts it any more when this returns. Raises API_KEY_NOT_FOUND."""
        await self._store.delete_key(key_id)

    async def close(self) -> None:
        """Finish what is being written."""
        await asyncio.gather(*self._notes)

    def _note_use(self, key: ApiKey) -> None:
        """Write the minute of use once a minute, beside the request: a long write of another must not hold it up."""
        minute_ms = now_ms() // MINUTE_MS * MINUTE_MS
        if minute_ms in (key.last_used_at_ms, self._noted_minutes.get(key.id)):
            return
        self._noted_minutes[key.id] = minute_ms
        note = asyncio.create_task(self._write_use(key.id, minute_ms))
        self._notes.add(note)
        note.add_done_callback(self._notes.discard)

    async def _write_use(self, key_id: str, minute_ms: int) -> None:
        try:
            await self._store.touch_key(key_id, minute_ms)
        except KnowledgeError:
            log.warning("The use of an API key could not be noted", exc_info=True)
