"""The store of access control; the statements are in access_rows.py."""

from mcp_knowledge.adapters.rows import access_rows as rows
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.domain.access import ApiKey
from mcp_knowledge.ports import LoginAttempt, Position


class SqlAccessStore:
    """API keys, login tries and the shared secret; `ports.AccessStore` says what the methods promise."""

    def __init__(self, database: Database) -> None:
        self._read = database.read
        self._write = database.write

    async def create_key(self, key: ApiKey, digest: bytes) -> None:
        """Keep a new key."""
        await self._write(lambda c: rows.create_key(c, key, digest))

    async def list_keys(self, limit: int, after: Position | None = None) -> list[ApiKey]:
        """Newest first."""
        return await self._read(lambda c: rows.list_keys(c, limit, after))

    async def find_key(self, digest: bytes) -> ApiKey | None:
        """The key whose secret has this digest."""
        return await self._read(lambda c: rows.find_key(c, digest))

    async def touch_key(self, key_id: str, used_at_ms: int) -> None:
        """Note a use."""
        await self._write(lambda c: rows.touch_key(c, key_id, used_at_ms))

    async def delete_key(self, key_id: str) -> None:
        """Forget a key."""
        await self._write(lambda c: rows.delete_key(c, key_id))

    async def count_attempt(self, source: str, limit: int, window_ms: int) -> LoginAttempt:
        """Count a login try, unless there are too many."""
        refused = await self._read(lambda c: rows.waiting(c, source, limit, window_ms))
        if refused.wait_ms:
            return refused  # a flood of tries costs no write transactions
        return await self._write(lambda c: rows.count_attempt(c, source, limit, window_ms))

    async def forget_attempt(self, source: str, at_ms: int) -> None:
        """Take a counted try back."""
        await self._write(lambda c: rows.forget_attempt(c, source, at_ms))

    async def shared_secret(self, proposed: bytes) -> bytes:
        """The secret of this database."""
        kept = await self._read(rows.secret)  # the usual case costs no write transaction
        return kept if kept is not None else await self._write(lambda c: rows.keep_secret(c, proposed))
