"""What the statements of this package run on: a connection, and the few things that its database says differently.

The statements are plain SQL with `?` parameters that SQLite and PostgreSQL read alike: both have the same tables and
columns. Flags are 0 or 1, JSON is text, times are Unix milliseconds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, TypeVar

from mcp_knowledge.ports import Vector

T = TypeVar("T")
Row = tuple[Any, ...]
Topic = Literal["jobs", "archives"]  # that processes wait for
IndexedText = tuple[str, str]  # headings and content of a chunk, as `domain.tokens.index_text` makes them


class Connection(Protocol):
    """One open connection, used by one thread at a time."""

    @property
    def dialect(self) -> "Dialect":
        """How its database says things."""
        ...

    def execute(self, sql: str, params: Sequence[Any] = ()) -> Iterator[Row]:
        """Run one statement with `?` parameters; its rows."""
        ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement that returns nothing once per row of parameters."""
        ...


class Dialect(Protocol):
    """What the databases do differently."""

    for_update: str  # at the end of a SELECT of one table: keeps other writers from its rows until the end
    due_jobs: str  # SELECT of job_no, document_no, kind, attempt, max_attempts by (background, visible_at_ms, limit)
    due_archives: str  # SELECT of archive_no by (visible_at_ms): the first one that is due
    due_jobs_to_claim: str  # the same two, for a writer: rows that another one is taking are passed over
    due_archives_to_claim: str
    newest_migration: str  # SELECT of the number of the newest migration that the database has
    ordered_join: str  # JOIN for a planner that keeps to the written order only when told so

    def among(self, column: str) -> str:
        """A condition that a column's value is in the list that one parameter holds (made by `listed`)."""
        ...

    def listed(self, values: Iterable[Any]) -> Any:
        """A parameter for `among`."""
        ...

    def blob_among(self, column: str) -> str:
        """As `among`, for a column of bytes."""
        ...

    def listed_blobs(self, values: Iterable[bytes]) -> Any:
        """A parameter for `blob_among`."""
        ...

    def number(self, value: float | int | None) -> Any:
        """A number of someone's metadata as it is stored and compared: exactly."""
        ...

    def unindexed(self, column: str) -> str:
        """The column in a form that keeps the planner from beginning with it."""
        ...

    def vector(self, value: Any) -> Vector:
        """A stored vector as it was read: float32 [dimensions]."""
        ...

    def queue_ms(self, connection: Connection) -> int:
        """The time by which all processes queue, claim and hold work: Unix milliseconds."""
        ...

    def hold(self, connection: Connection, name: str) -> None:
        """Wait for other writers that hold this name, and keep them waiting until the transaction ends."""
        ...

    def hold_all(self, connection: Connection) -> None:
        """Wait for whoever changes a document or an archive, and keep all others waiting until the transaction ends."""
        ...

    def raise_generation(self, connection: Connection) -> None:
        """Count a change of the corpus, in the change's own transaction."""
        ...

    def note_vector_change(self, connection: Connection, document_no: int) -> None:
        """Tell copies of the vectors in memory to read this document again."""
        ...

    def note_all_vectors_changed(self, connection: Connection) -> None:
        """Tell them to read every document again."""
        ...

    def tell(self, connection: Connection, topic: Topic) -> None:
        """Wake who waits for `jobs` or `archives` in any process, once the transaction is committed."""
        ...

    def take_chunk_numbers(self, connection: Connection, count: int) -> Sequence[int]:
        """Numbers for new chunks, rising, never given before."""
        ...

    def add_vectors(
        self, connection: Connection, document_no: int, chunk_nos: Sequence[int], vectors: Sequence[bytes]
    ) -> None:
        """Write the chunks' vectors: float32, little-endian, L2-normalised."""
        ...

    def add_texts(
        self,
        connection: Connection,
        document_no: int,
        chunk_nos: Sequence[int],
        title: str,
        texts: Sequence[IndexedText],
    ) -> None:
        """Make chunks findable by their words. `title` is the document's, as it is read by people."""
        ...

    def remove_texts(self, connection: Connection, document_no: int) -> None:
        """Take a document's chunks out of the full text, while their rows still stand."""
        ...

    def clear_texts(self, connection: Connection) -> None:
        """Empty the full text."""
        ...


class Database(Protocol):
    """A pool of connections; work runs on threads."""

    @property
    def driver(self) -> str:
        """Its name in the settings."""
        ...

    @property
    def migration(self) -> int:
        """The number of its newest migration."""
        ...

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one snapshot.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the database is closed or does not answer.
        """
        ...

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction: committed when this returns, undone when `work` raises. `work` may run more
        than once.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the database is closed, does not answer or is full.
        """
        ...

    async def check(self) -> None:
        """Whether everything could be read and written now. Raises SERVICE_UNAVAILABLE with the reason."""
        ...

    async def size_bytes(self) -> int:
        """Room that the data takes on disk."""
        ...
