import asyncio

import pytest
from contract_kit import Backend

from mcp_knowledge.adapters.rows.access import SqlAccessStore
from mcp_knowledge.domain.access import AccessScope, ApiKey, key_digest, key_prefix
from mcp_knowledge.domain.documents import new_id
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import AccessStore, Position

LIMIT = 10
WINDOW_MS = 300_000


@pytest.fixture
def access(backend: Backend) -> AccessStore:
    return SqlAccessStore(backend.database)


@pytest.fixture
def elsewhere(other_process: Backend) -> AccessStore:
    return SqlAccessStore(other_process.database)


async def add_key(access: AccessStore, backend: Backend, secret: str, *scopes: AccessScope) -> ApiKey:
    key = ApiKey(new_id("key"), f"For {secret}", key_prefix(secret), scopes, backend.clock.now_ms(), None)
    await access.create_key(key, key_digest(secret))
    return key


async def test_a_key_is_found_by_its_secret_alone_in_any_process(
    backend: Backend, access: AccessStore, elsewhere: AccessStore
) -> None:
    key = await add_key(access, backend, "key_one", "read", "write")
    await add_key(access, backend, "key_two", "admin")
    assert await access.find_key(key_digest("key_one")) == key
    assert await elsewhere.find_key(key_digest("key_one")) == key
    assert await access.find_key(key_digest("key_three")) is None


async def test_keys_are_listed_newest_first_in_pages(backend: Backend, access: AccessStore) -> None:
    made = []
    for number in range(5):
        made.append(await add_key(access, backend, f"key_{number}", "read"))
        backend.clock.forward(1)
    first = await access.list_keys(2)
    rest = await access.list_keys(10, Position(first[-1].created_at_ms, first[-1].id))
    assert first + rest == made[::-1]


async def test_a_deleted_key_is_found_nowhere(backend: Backend, access: AccessStore, elsewhere: AccessStore) -> None:
    key = await add_key(access, backend, "key_one", "read")
    assert await elsewhere.find_key(key_digest("key_one")) is not None
    await access.delete_key(key.id)
    assert await elsewhere.find_key(key_digest("key_one")) is None
    assert await access.list_keys(10) == []
    await access.touch_key(key.id, 1)
    with pytest.raises(KnowledgeError, match="API_KEY_NOT_FOUND"):
        await elsewhere.delete_key(key.id)


async def test_the_time_of_use_only_rises(backend: Backend, access: AccessStore, elsewhere: AccessStore) -> None:
    key = await add_key(access, backend, "key_one", "read")
    for used_at_ms, noted in ((120_000, 120_000), (60_000, 120_000), (180_000, 180_000)):
        await access.touch_key(key.id, used_at_ms)
        found = await elsewhere.find_key(key_digest("key_one"))
        assert found is not None and found.last_used_at_ms == noted


async def test_tries_are_counted_in_a_sliding_window_over_all_processes(
    backend: Backend, access: AccessStore, elsewhere: AccessStore
) -> None:
    for number in range(LIMIT):
        assert (await (access, elsewhere)[number % 2].count_attempt("192.0.2.1", LIMIT, WINDOW_MS)).wait_ms == 0
        backend.clock.forward(1000)
    for store in (access, elsewhere):
        refused = await store.count_attempt("192.0.2.1", LIMIT, WINDOW_MS)
        assert WINDOW_MS - LIMIT * 2000 < refused.wait_ms <= WINDOW_MS - LIMIT * 1000
    assert (await access.count_attempt("192.0.2.2", LIMIT, WINDOW_MS)).wait_ms == 0, "another address waits for nobody"

    backend.clock.forward(refused.wait_ms)
    assert (await elsewhere.count_attempt("192.0.2.1", LIMIT, WINDOW_MS)).wait_ms == 0, "the first one is old"
    assert (await access.count_attempt("192.0.2.1", LIMIT, WINDOW_MS)).wait_ms > 0, "the second one is not"
    backend.clock.forward(WINDOW_MS)
    assert (await access.count_attempt("192.0.2.1", LIMIT, WINDOW_MS)).wait_ms == 0


async def test_a_try_that_is_taken_back_does_not_count(access: AccessStore, elsewhere: AccessStore) -> None:
    for _ in range(LIMIT * 3):
        attempt = await access.count_attempt("192.0.2.1", LIMIT, WINDOW_MS)
        assert attempt.wait_ms == 0
        await elsewhere.forget_attempt("192.0.2.1", attempt.at_ms)
    await elsewhere.forget_attempt("192.0.2.9", attempt.at_ms)


async def test_tries_that_come_together_are_no_more_than_allowed(access: AccessStore, elsewhere: AccessStore) -> None:
    attempts = await asyncio.gather(
        *((access, elsewhere)[number % 2].count_attempt("192.0.2.1", LIMIT, WINDOW_MS) for number in range(LIMIT * 3))
    )
    assert [attempt.wait_ms for attempt in attempts].count(0) == LIMIT


async def test_who_comes_first_gives_the_secret_for_all(access: AccessStore, elsewhere: AccessStore) -> None:
    proposals = [bytes([number]) * 32 for number in range(6)]
    given = await asyncio.gather(
        *((access, elsewhere)[number % 2].shared_secret(secret) for number, secret in enumerate(proposals))
    )
    assert len(set(given)) == 1 and given[0] in proposals
    assert await elsewhere.shared_secret(b"x" * 32) == given[0]
