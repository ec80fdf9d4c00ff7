"""`mcp-knowledge verify`: whether everything agrees, and mending what can be made anew."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from rich.markup import escape

from mcp_knowledge.adapters.backend import open_backend
from mcp_knowledge.adapters.checks.corpus import CheckedRows, check_rows
from mcp_knowledge.adapters.checks.repairs import mend_rows
from mcp_knowledge.adapters.checks.stored import documents_made_alike, stored_document
from mcp_knowledge.adapters.checks.texts import TextCheck
from mcp_knowledge.adapters.minilm import MiniLmEmbedder
from mcp_knowledge.adapters.originals import open_blobs
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.adapters.rows.originals import named_originals
from mcp_knowledge.adapters.sqlite.drivers import DatabaseBusyError
from mcp_knowledge.adapters.transfer.state import refuse_unfinished
from mcp_knowledge.domain.chunking import chunker_version
from mcp_knowledge.domain.faults import REREAD, Fault
from mcp_knowledge.errors import KnowledgeError, StartupError
from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.byte_progress import byte_progress
from mcp_knowledge.interfaces.cli.context import with_services
from mcp_knowledge.interfaces.cli.ingest import progress_bar, reindex_documents
from mcp_knowledge.ports import BlobStore
from mcp_knowledge.services import Services
from mcp_knowledge.services.preparing import chunk_sizes
from mcp_knowledge.services.remaking import RemadePassages
from mcp_knowledge.services.verifying import OriginalsCheck
from mcp_knowledge.settings import MIB, Settings

_ROUNDS = 2  # what was hidden behind a fault shows when it is mended
_SHOWN = 50
SAMPLED_PASSAGES = 100  # a second or two of the model's work
_LOST_ORIGINALS = ("original-missing", "original-damaged")


@dataclass(slots=True)
class VerifyReport:
    """What was looked at, what is wrong with it, and what was mended.

    Args:
        remade: passages that were cut and embedded anew, to compare them.
    """

    documents: int
    passages: int
    remade: int
    originals: int
    originals_bytes: int
    faults: list[Fault]
    repaired: list[Fault] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether everything agrees now."""
        return not self.faults

    def to_json(self) -> dict[str, Any]:
        """For a script."""
        return {
            "ok": self.ok,
            "documents": self.documents,
            "passages": self.passages,
            "passagesMadeAnew": self.remade,
            "originals": {"count": self.originals, "sizeBytes": self.originals_bytes},
            "faults": [_fault_json(fault) for fault in self.faults],
            "repaired": [_fault_json(fault) for fault in self.repaired],
            "seconds": round(self.seconds, 2),
        }

    def print(self) -> None:
        """For a person."""
        for fault in self.repaired[:_SHOWN]:
            output.out.print(f"[green]repaired[/green]  {escape(_where(fault))}: {escape(fault.detail)}")
        for fault in self.faults[:_SHOWN]:
            output.out.print(f"[red]{fault.kind}[/red]  {escape(_where(fault))}: {escape(fault.detail)}")
            advice = f"--repair would {fault.repair}." if fault.repair else fault.next_step
            output.out.print(f"   [dim]{advice}[/dim]")
        for name, faults in (("repaired", self.repaired), ("faults", self.faults)):
            if len(faults) > _SHOWN:
                output.out.print(f"{name}: {len(faults) - _SHOWN:,} more, --json lists them all")
        verdict = "[green]Everything agrees.[/green]" if self.ok else f"[red]Faults: {len(self.faults):,}.[/red]"
        output.out.print(
            f"{verdict} {self.documents:,} documents, {self.passages:,} passages ({self.remade:,} of them made anew "
            f"and compared), {self.originals:,} originals ({self.originals_bytes / MIB:,.1f} MiB), "
            f"in {self.seconds:,.1f} s."
        )


def _fault_json(fault: Fault) -> dict[str, Any]:
    return {
        "kind": fault.kind,
        "documentId": fault.document_id,
        "subject": fault.subject,
        "detail": fault.detail,
        "repair": fault.repair,
        "nextStep": fault.next_step,
    }


def _where(fault: Fault) -> str:
    return " ".join(part for part in (fault.document_id, fault.subject) if part) or "database"


def verify_corpus(settings: Settings, *, repair: bool, deep: bool = False, quiet: bool) -> VerifyReport:
    """Look at everything; with `repair`, mend what can be mended and look again.

    Args:
        deep: make all passages and vectors anew to compare them, not only a sample.

    Raises:
        StartupError: there is no database, or it cannot be opened.
        KnowledgeError: SERVICE_UNAVAILABLE when database or storage do not answer.
    """
    if settings.database_driver != "postgres" and not settings.database_path.exists():
        raise StartupError(f"There is no database at {settings.database_path}: nothing to verify.")
    started_s = time.monotonic()
    report = asyncio.run(_examine(settings, deep=deep, quiet=quiet))
    found: dict[tuple[object, ...], Fault] = {}
    for _ in range(_ROUNDS if repair else 0):
        mendable = [fault for fault in report.faults if fault.repair]
        if not mendable:
            break
        found |= {_identity(fault): fault for fault in mendable}
        _mend(settings, mendable, quiet=quiet)
        report = asyncio.run(_examine(settings, deep=deep, quiet=quiet))
    left = {_identity(fault) for fault in report.faults}
    report.repaired = [fault for identity, fault in found.items() if identity not in left]
    report.seconds = time.monotonic() - started_s
    return report


def _identity(fault: Fault) -> tuple[object, ...]:
    return fault.kind, fault.document_id, fault.subject


async def _examine(settings: Settings, *, deep: bool, quiet: bool) -> VerifyReport:
    async with _opened(settings) as (database, blobs):
        new_texts = partial(_text_check, settings)
        try:
            with progress_bar(quiet) as bar:
                task = bar.add_task("Documents", total=await database.read(_count))
                rows = await database.read(lambda c: check_rows(c, new_texts, lambda count: bar.advance(task, count)))
        except KnowledgeError:
            damage = await _damage(database, new_texts())
            if not damage:
                raise
            return VerifyReport(0, 0, 0, 0, 0, damage)  # what can be read of it says nothing
        size_bytes = sum(original.size_bytes for original in rows.originals)
        with byte_progress("Originals", quiet=quiet) as progress:
            progress.expect(size_bytes)
            check = OriginalsCheck(blobs, lambda: database.read(named_originals), progress.advance)
            faults = await check.run(rows.originals)
        remade = await _remake(settings, database, rows, deep=deep, quiet=quiet)
    found = _together([*rows.faults, *remade[1]], faults)
    return VerifyReport(rows.documents, rows.passages, remade[0], len(rows.originals), size_bytes, found)


async def _remake(
    settings: Settings, database: Database, rows: CheckedRows, *, deep: bool, quiet: bool
) -> tuple[int, list[Fault]]:
    """Make passages and vectors anew, of all documents or of a sample; how many, and what is wrong with them."""
    most = rows.passages if deep else min(rows.passages, SAMPLED_PASSAGES)
    if not most:
        return 0, []
    embedder, sizes = MiniLmEmbedder(settings), chunk_sizes(settings)
    check, faults = RemadePassages(embedder, sizes, most), list[Fault]()
    made_by = embedder.fingerprint, chunker_version(sizes)
    wrong = {fault.document_no for fault in rows.faults if fault.kind in ("passages", "normalized", "vectors")}
    numbers = await database.read(lambda c: documents_made_alike(c, made_by, wrong))
    random.shuffle(numbers)
    try:
        with progress_bar(quiet) as bar:
            task = bar.add_task("Passages", total=most)
            for number in numbers:
                if check.embedded >= most:
                    break
                stored = await database.read(partial(stored_document, document_no=number, made_by=made_by))
                fault = await check.compare(stored, partial(bar.advance, task)) if stored else None
                faults += [fault] if fault else []
    finally:
        embedder.close()
    return check.embedded, faults


async def _damage(database: Database, texts: TextCheck) -> list[Fault]:
    """What the database finds wrong with its own files."""
    try:
        lines = await database.read(lambda connection: list(texts.database_faults(connection)))
    except KnowledgeError as error:
        if isinstance(error.__cause__, DatabaseBusyError):
            raise
        lines = [error.message]
    return [Fault("database-damaged", line) for line in lines]


def _count(connection: Any) -> int:
    return int(next(connection.execute("SELECT count(*) FROM documents WHERE status <> 'deleted'"))[0])


def _together(rows: Sequence[Fault], originals: Sequence[Fault]) -> list[Fault]:
    """All faults; a document whose original is lost cannot be read again."""
    lost = {fault.document_id for fault in originals if fault.kind in _LOST_ORIGINALS}
    return [
        *(
            replace(fault, rereadable=False) if fault.document_id in lost and fault.kind in REREAD else fault
            for fault in rows
        ),
        *originals,
    ]


def _mend(settings: Settings, faults: Sequence[Fault], *, quiet: bool) -> None:
    async def rows() -> list[str]:
        async with _opened(settings) as (database, _):
            return await mend_rows(database, _text_check(settings), faults)

    again = asyncio.run(rows())

    async def read_again(services: Services) -> None:
        for document_id in again:
            with suppress(KnowledgeError):  # it went meanwhile, or a job is at it already
                await reindex_documents(services, [document_id], only_stale=False, wait=True, quiet=quiet)

    if again:
        with_services(settings, read_again)


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[tuple[Database, BlobStore]]:
    async with AsyncExitStack() as closing:
        backend = await closing.enter_async_context(open_backend(settings, lambda: ""))
        await refuse_unfinished(backend.database)
        yield backend.database, await closing.enter_async_context(open_blobs(settings, backend.database))


def _text_check(settings: Settings) -> TextCheck:
    if settings.database_driver == "postgres":
        from mcp_knowledge.adapters.checks.postgres_texts import PostgresTextCheck

        return PostgresTextCheck()
    from mcp_knowledge.adapters.checks.sqlite_texts import SqliteTextCheck

    return SqliteTextCheck()
