"""What became of the files that `ingest` and `reindex` were given, for people and for scripts."""

from dataclasses import dataclass, field
from typing import Any

from rich.markup import escape

from mcp_knowledge.domain.documents import ArchiveImport, Document
from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.cli import output


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not added, and why. `asked_for`: it was named by itself, so that passing it over is a failure."""

    path: str
    reason: str
    asked_for: bool = False

    def to_json(self) -> dict[str, str]:
        """The JSON shape."""
        return {"path": self.path, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class ArchiveOutcome:
    """An archive and how its import stands."""

    path: str
    item: ArchiveImport

    def to_json(self) -> dict[str, Any]:
        """The JSON shape."""
        shown = wire.archive(self.item)
        kept = {name: shown[name] for name in ("state", "counts", "error")}
        return {"archiveId": self.item.id, "path": self.path, **kept}


@dataclass(slots=True)
class IngestReport:
    """What became of every file. `waiting` documents are still in the queue (only with --no-wait)."""

    ready: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    failed: list[Document] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    archives: list[ArchiveOutcome] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no document, import of an archive or fetch of an address has failed."""
        return self._failures == 0 and not any(item.asked_for for item in self.skipped)

    @property
    def _failures(self) -> int:
        """Documents and archives that have failed."""
        return len(self.failed) + sum(outcome.item.state == "failed" for outcome in self.archives)

    def to_json(self) -> dict[str, Any]:
        """The JSON shape for scripts."""
        return {
            "ready": self.ready,
            "waiting": self.waiting,
            "duplicates": self.duplicates,
            "failed": [
                {"documentId": item.id, "path": item.source_path or item.original_filename, "error": item.latest_error}
                for item in self.failed
            ],
            "skipped": [item.to_json() for item in self.skipped],
            "archives": [outcome.to_json() for outcome in self.archives],
        }

    def print(self) -> None:
        """The report for a person."""
        for item in self.skipped:
            output.out.print(f"[yellow]skipped[/yellow] {escape(item.path)}: {escape(item.reason)}")
        output.print_failed(self.failed)
        for outcome in self.archives:
            self._print_archive(outcome)
        parts = [f"{len(self.ready)} ready"]
        parts += [f"{len(self.waiting)} queued"] if self.waiting else []
        parts += [f"{len(self.duplicates)} already there"] if self.duplicates else []
        parts += [f"{self._failures} failed"] if self._failures else []
        parts += [f"{len(self.skipped)} skipped"] if self.skipped else []
        output.out.print(", ".join(parts) + ".")

    def _print_archive(self, outcome: ArchiveOutcome) -> None:
        item, path = outcome.item, escape(outcome.path)
        if item.state == "failed":
            output.out.print(f"[red]failed[/red]  {path}: {escape(item.error or 'unknown reason')}")
        elif item.ended:
            counts = ", ".join(f"{count} {name}" for name, count in item.outcomes.items() if count) or "no files"
            output.out.print(f"[green]archive[/green] {path}: {counts}")
        else:
            output.out.print(f"archive {path}: {item.state}")
