"""The rows of a corpus from one database to another: copied page by page, then compared."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from mcp_knowledge.adapters.rows.access_rows import SECRET
from mcp_knowledge.adapters.rows.dialect import Connection, Database
from mcp_knowledge.adapters.rows.revisions import blob_keys
from mcp_knowledge.adapters.rows.sql import meta_value, set_meta
from mcp_knowledge.adapters.transfer import state as states
from mcp_knowledge.adapters.transfer.digests import Digest
from mcp_knowledge.adapters.transfer.pages import keys_of_originals, pages, rows_of, texts_of_documents
from mcp_knowledge.adapters.transfer.sides import Side
from mcp_knowledge.adapters.transfer.state import State
from mcp_knowledge.adapters.transfer.tables import CHUNKS_OF_DOCUMENTS, TABLES, WITH_ORIGINALS, Table, extent
from mcp_knowledge.errors import StartupError

Beginning = Literal["new", "resumed", "restarted"]
Advance = Callable[[int], None]  # is told how many further rows are done
TEXTS = "full text"
# What a new database has none of.
_OWN = ("documents", "collections", "archives", "folder_files", "jobs", "api_keys", "evaluation_sets")


@dataclass(frozen=True, slots=True)
class End:
    """One of the two databases, with what is asked of it."""

    database: Database
    side: Side


@dataclass(frozen=True, slots=True)
class Compared:
    """A table of both databases."""

    table: str
    source: Digest
    target: Digest

    @property
    def equal(self) -> bool:
        """Whether both hold the same rows."""
        return self.source == self.target


class RowTransfer:
    """A copy of all rows. Every step can be broken off at any moment: `look` finds where it was.

    Args:
        source: is only read.
        target: is new, or holds an unfinished copy.
    """

    def __init__(self, source: End, target: End) -> None:
        self._source = source
        self._target = target
        self._state = State({})
        self._columns: dict[str, list[str]] = {}

    async def look(self) -> Beginning:
        """Look at both sides. Where the source has changed since an interruption, everything begins anew.

        Raises:
            StartupError: the target holds something else, or the two are of different versions.
        """
        for table in TABLES:
            await self._compare_columns(table)
        now = await self._describe()
        found = await self._target.database.read(states.load)
        if found is not None and found.source == now:
            self._state = found
            return "resumed"
        if found is None and (held := await self._target.database.read(_held)):
            raise StartupError(f"The target already holds a corpus ({held}). Nothing was changed. Use a new database.")
        self._state = State(now)
        return "new" if found is None else "restarted"

    async def share_secret(self, *, same_storage: bool) -> None:
        """Give the target the source's secret, so that cursors and sessions hold.

        Args:
            same_storage: both keep their originals in one place, which is marked with the secret. Otherwise a secret
                that the target has already stays: its own storage may be marked with it.
        """
        secret = (await self._source.database.read(_meta)).get(SECRET)

        def write(connection: Connection) -> None:
            if same_storage or meta_value(connection, SECRET) is None:
                set_meta(connection, SECRET, secret)

        if secret is not None:
            await self._target.database.write(write)

    async def begin(self) -> None:
        """Empty what a copy that begins anew has left, and note that it has begun."""
        await self._target.database.write(self._start)

    @property
    def rows(self) -> int:
        """How many rows there are to copy."""
        return sum(self._rows_in(table.name) for table in TABLES)

    @property
    def chunks(self) -> int:
        """How many chunks there are to index."""
        return self._rows_in("chunks")

    async def copy(self, advance: Advance) -> None:
        """Copy the tables, where they are not there yet."""
        for table in TABLES:
            await self._copy_table(table, advance)

    async def index(self, advance: Advance, settled: Advance) -> None:
        """Make the full text in the target, and the large indexes. `advance` counts chunks; `settled` is told once."""
        side = self._target.side
        if TEXTS in self._state.done:
            advance(self._rows_in("chunks"))
            settled(1)
            return
        position = self._state.positions.get(TEXTS)
        if position is not None:
            advance(await self._target.database.read(side.indexed_texts))
        async with pages(self._source.database, CHUNKS_OF_DOCUMENTS, position, texts_of_documents) as following:
            async for documents, end in following:
                await self._step(self._state.at(TEXTS, end), partial(side.add_texts, documents=documents))
                advance(sum(len(document.chunk_nos) for document in documents))
        await self._step(self._state.without(TEXTS), side.settle)
        settled(1)

    async def originals(self, take: Callable[[Sequence[tuple[str, bytes]]], Awaitable[None]]) -> None:
        """Give away all keys of originals with their SHA-256, some at a time. What was taken is not given again."""
        for table in WITH_ORIGINALS:
            name = f"originals of {table.name}"
            position = self._state.positions.get(name)
            async with pages(self._source.database, table, position, keys_of_originals) as following:
                async for keys, end in following:
                    await take(keys)
                    await self._step(self._state.at(name, end), lambda connection: None)

    async def held_keys(self) -> frozenset[str]:
        """The keys of all originals."""
        return frozenset(await self._source.database.read(blob_keys))

    async def compare(self, advance: Advance) -> list[Compared]:
        """Read both sides again, and compare them."""
        compared = []
        for table in TABLES:
            source, target = await asyncio.gather(
                self._digest(self._source, table, advance), self._digest(self._target, table, lambda rows: None)
            )
            compared.append(Compared(table.name, source, target))
        found = await self._target.database.read(self._target.side.indexed_texts)
        return [*compared, Compared(TEXTS, Digest(self.chunks), Digest(found))]

    async def unchanged(self) -> bool:
        """Whether the source looks as it did at the beginning."""
        return await self._describe() == self._state.source

    async def reject(self) -> None:
        """Let the next copy begin anew."""
        await self._step(State({}), lambda connection: None)

    async def finish(self) -> None:
        """Hand over what is left, and the copy is complete: from now on the target may be served."""
        values = await self._source.database.read(_meta)
        await self._target.database.write(lambda connection: self._hand_over(connection, values))

    async def _compare_columns(self, table: Table) -> None:
        ours, theirs = await asyncio.gather(
            self._source.database.read(lambda c: self._source.side.columns(c, table.name)),
            self._target.database.read(lambda c: self._target.side.columns(c, table.name)),
        )
        if table.name == "chunk_vectors":  # in PostgreSQL the document's number stands here too
            ours = theirs = ["chunk_no", "document_no", "vector"]
        if ours != theirs:
            raise StartupError(f"The two databases differ in the columns of '{table.name}': use one version for both.")
        self._columns[table.name] = ours

    async def _describe(self) -> dict[str, Any]:
        """What tells whether the source has changed."""

        def read(connection: Connection) -> dict[str, Any]:
            tables = {table.name: list(extent(connection, table)) for table in TABLES}
            return {"generation": str(_meta(connection).get("generation")), "tables": tables}

        return await self._source.database.read(read)

    def _start(self, connection: Connection) -> None:
        connection.dialect.clear_texts(connection)
        for table in reversed(TABLES):
            connection.execute(f"DELETE FROM {table.name}")
        self._target.side.prepare(connection)
        states.begin(connection, self._state)

    async def _copy_table(self, table: Table, advance: Advance) -> None:
        side, columns = self._target.side, self._columns[table.name]
        if table.name in self._state.done:
            advance(self._rows_in(table.name))
            return
        position = self._state.positions.get(table.name)
        if position is not None:
            advance((await self._target.database.read(partial(extent, table=table)))[0])
        async with pages(self._source.database, table, position, rows_of(columns)) as following:
            async for rows, end in following:
                work = partial(side.insert, table=table, columns=columns, rows=rows)
                await self._step(self._state.at(table.name, end), work)
                advance(len(rows))
        await self._step(self._state.without(table.name), await self._numbering(table))

    async def _numbering(self, table: Table) -> Callable[[Connection], None]:
        """What keeps the target from giving a number of the source to something else."""
        if not table.numbered:
            return lambda connection: None
        number = await self._source.database.read(partial(self._source.side.last_number, table=table))
        return partial(self._target.side.go_on_after, table=table, number=number)

    async def _step(self, after: State, work: Callable[[Connection], None]) -> None:
        """Do a piece of work in the target, and note it, in one transaction."""
        before = self._state

        def write(connection: Connection) -> None:
            states.step(connection, before, after)
            work(connection)

        await self._target.database.write(write)
        self._state = after

    async def _digest(self, end: End, table: Table, advance: Advance) -> Digest:
        digest = Digest()
        async with pages(end.database, table, None, rows_of(self._columns[table.name])) as following:
            async for rows, _ in following:
                digest = await asyncio.to_thread(digest.with_rows, rows)
                advance(len(rows))
        return digest

    def _hand_over(self, connection: Connection, values: Mapping[str, Any]) -> None:
        states.step(connection, self._state, self._state)
        for key, value in values.items():
            if key != SECRET:
                set_meta(connection, key, self._target.side.meta_value(key, value))
        states.end(connection)

    def _rows_in(self, table: str) -> int:
        return int(self._state.source["tables"][table][0])


def _held(connection: Connection) -> str:
    """What a database holds already, in words."""
    counts = {table.name: extent(connection, table)[0] for table in TABLES if table.name in _OWN}
    return ", ".join(f"{count} rows in '{name}'" for name, count in counts.items() if count)


def _meta(connection: Connection) -> dict[str, Any]:
    return {key: value for key, value in connection.execute("SELECT key, value FROM meta") if key != states.MOVING}
