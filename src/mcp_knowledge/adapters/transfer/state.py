"""How far a copy has come. It stands in the target itself, and moves in the transactions that move the rows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_knowledge.adapters.rows.dialect import Connection, Database
from mcp_knowledge.adapters.rows.sql import first_row, meta_value, set_meta, to_json
from mcp_knowledge.adapters.transfer.tables import Key
from mcp_knowledge.errors import StartupError

MOVING = "moving"  # the key in `meta`


@dataclass(frozen=True, slots=True)
class State:
    """A copy that is not finished.

    Args:
        source: what the source looked like at the beginning.
        positions: the last key that was copied, by the name of what is copied.
        done: what is complete.
    """

    source: Mapping[str, Any]
    positions: Mapping[str, Key] = field(default_factory=dict)
    done: tuple[str, ...] = ()

    def at(self, name: str, key: Key) -> "State":
        """The state once `name` was copied up to `key`."""
        return State(self.source, {**self.positions, name: key}, self.done)

    def without(self, name: str) -> "State":
        """The state once `name` is complete."""
        return State(self.source, self.positions, (*self.done, name))

    def to_json(self) -> str:
        """As it is stored."""
        return to_json({"source": self.source, "positions": self.positions, "done": self.done})


def load(connection: Connection) -> State | None:
    """The state of the unfinished copy in this database, or None."""
    text = meta_value(connection, MOVING)
    if text is None:
        return None
    data = json.loads(text)
    return State(data["source"], data["positions"], tuple(data["done"]))


def begin(connection: Connection, state: State) -> None:
    """Note that a copy has begun here."""
    set_meta(connection, MOVING, state.to_json())


def step(connection: Connection, before: State, after: State) -> None:
    """Move on, unless somebody else has.

    Raises:
        StartupError: another process copies into this database.
    """
    moved = first_row(
        connection,
        "UPDATE meta SET value = ? WHERE key = ? AND value = ? RETURNING key",
        (after.to_json(), MOVING, before.to_json()),
    )
    if moved is None:
        raise StartupError("Another migrate-to is copying into the target. Wait for its end, or stop it.")


def end(connection: Connection) -> None:
    """Forget the state: the copy is complete."""
    connection.execute("DELETE FROM meta WHERE key = ?", (MOVING,))


async def refuse_unfinished(database: Database) -> None:
    """Let nobody work with half of a corpus.

    Raises:
        StartupError: a copy into this database is not finished.
    """
    if await database.read(load) is not None:
        raise StartupError(
            "A corpus is being moved into this database and is not complete: run 'mcp-knowledge migrate-to' again "
            "with the same settings, or set DATABASE_URL or DATA_DIR to another database."
        )
