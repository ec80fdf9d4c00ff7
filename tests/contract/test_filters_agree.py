"""Both databases keep the same documents for any metadata and any filter, as the rule in memory does."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from back_ends import opened
from contract_kit import Backend, Clock, new_document
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_knowledge.domain.documents import new_id, now_ms
from mcp_knowledge.domain.filters import Filter, matches, parse_filters
from mcp_knowledge.ports import DocumentQuery

DATES = ["2026-03-01", "2026-03-01T00:00:00Z", "2026-03-01T23:30:00-02:00", "9999-12-31T23:59:59.999999Z", "2026-02-30"]
NUMBERS = [0, 1, 5, 5.0, -0.0, 0.1 + 0.2, 2**53, 2**53 + 1, 10**25, 1e308, 5e-324]
TEXT = st.one_of(
    st.text(max_size=6), st.sampled_from(["5", "true", "", "a\0b", "a\ufffdb", "\ud800", "x" * 200, *DATES])
)
NUMBER = st.one_of(
    st.sampled_from(NUMBERS), st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False)
)
SCALAR: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), NUMBER, TEXT)
KEY = st.sampled_from(["a", "b", "a.b", "odd key", "a" * 300])
VALUE = st.recursive(
    SCALAR, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEY, inner, max_size=2)), max_leaves=5
)
METADATA = st.dictionaries(KEY, VALUE, max_size=3)
CONDITION = st.one_of(
    SCALAR,
    st.fixed_dictionaries({"eq": SCALAR}),
    st.fixed_dictionaries({"neq": SCALAR}),
    st.fixed_dictionaries({"in": st.lists(SCALAR, max_size=3)}),
    st.fixed_dictionaries({"exists": st.booleans()}),
    st.dictionaries(st.sampled_from(["gte", "lte"]), st.one_of(NUMBER, st.sampled_from(DATES[:4])), min_size=1),
)
FILTERS = st.dictionaries(st.sampled_from(["a", "b", "a.b", "a.a", "a.b.a"]), CONDITION, min_size=1, max_size=2)


async def kept(backend: Backend, contents: Sequence[dict[str, Any]], filters: tuple[Filter, ...]) -> list[bool]:
    """Whether each of the documents with this metadata passes."""
    documents = []
    for metadata in contents:
        new = new_document(new_id("doc"), metadata=metadata)
        documents.append((await backend.store.create_document(new))[0])
    found = {item.id for item in await backend.store.list_documents(DocumentQuery(filters=filters, limit=100_000))}
    assert [item.id in found for item in documents] == [matches(filters, item.metadata) for item in documents]
    return [item.id in found for item in documents]


def test_any_metadata_and_any_filter_give_the_same_documents(tmp_path: Path, postgres_dsn: str) -> None:
    runner = asyncio.Runner()

    async def open_both(stack: AsyncExitStack) -> list[Backend]:
        places = {"sqlite": str(tmp_path / "app.db"), "postgres": postgres_dsn}
        return [await stack.enter_async_context(opened(name, at, Clock(now_ms))) for name, at in places.items()]

    with runner:
        stack = AsyncExitStack()
        first, second = runner.run(open_both(stack))

        @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(METADATA, min_size=1, max_size=4), FILTERS)
        def agree(contents: list[dict[str, Any]], data: dict[str, Any]) -> None:
            filters = parse_filters(data)
            assert runner.run(kept(first, contents, filters)) == runner.run(kept(second, contents, filters))

        agree()
        runner.run(stack.aclose())
