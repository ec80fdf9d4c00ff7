"""What can be wrong with a corpus, what mends it, and what to do where nothing does."""

from dataclasses import dataclass
from typing import Literal

FaultKind = Literal[
    "database-damaged",
    "original-missing",
    "original-damaged",
    "original-unnamed",
    "document-state",
    "document-row",
    "document-stuck",
    "passages",
    "normalized",
    "vectors",
    "full-text",
    "full-text-counts",
    "metadata",
    "model",
    "counter",
    "lost-rows",
    "lost-reference",
    "revision-without-document",
]
UPLOAD_AGAIN = "Upload the file again as a new version of the document, or restore a backup."
_RESTORE = "Restore a backup."
# What `--repair` does about each kind; None: nothing, as it follows from nothing else.
REPAIRS: dict[FaultKind, str | None] = {
    "database-damaged": None,
    "original-missing": None,
    "original-damaged": None,
    "original-unnamed": None,
    "document-state": "read the document again from its original",
    "document-row": "write the document's copies of its version's values again",
    "document-stuck": "queue the work that it waits for",
    "passages": "read the document again from its original",
    "normalized": "read the document again from its original",
    "vectors": "embed the document's passages again",
    "full-text": "make the document's full text again from its passages",
    "full-text-counts": "make the whole full text or its counts again from the passages",
    "metadata": "make the document's values for filters again from its metadata",
    "model": "note which models the vectors are of",
    "counter": "let it go on after the highest number",
    "lost-rows": "remove these rows",
    "lost-reference": "clear the reference",
    "revision-without-document": None,
}
NEXT_STEPS: dict[FaultKind, str] = {
    "database-damaged": _RESTORE,
    "original-missing": UPLOAD_AGAIN,
    "original-damaged": UPLOAD_AGAIN,
    "original-unnamed": "A running server removes it within the hour, once it is 15 minutes old.",
    "revision-without-document": _RESTORE,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not agree.

    Args:
        detail: what is wrong, for people.
        document_id: of the document that it is about; None where it is about none.
        document_no: its number in the database.
        subject: the key of an original, or the name of a table.
        rereadable: whether the document's original is as it should be, so that it can be read again.
    """

    kind: FaultKind
    detail: str
    document_id: str | None = None
    document_no: int | None = None
    subject: str | None = None
    rereadable: bool = True

    @property
    def repair(self) -> str | None:
        """What `--repair` does about it; None: nothing."""
        return REPAIRS[self.kind] if self.rereadable or self.kind not in REREAD else None

    @property
    def next_step(self) -> str | None:
        """What a person does about it where `--repair` does nothing."""
        return None if self.repair else NEXT_STEPS.get(self.kind, UPLOAD_AGAIN)


REREAD: frozenset[FaultKind] = frozenset({"document-state", "passages", "normalized", "vectors", "document-stuck"})
