"""Facts in plain English: sizes, ages, places, states, and what to do about a failure."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mcp_knowledge.domain.blocks import SourceLocation
from mcp_knowledge.domain.documents import Document, Progress, Stage, now_ms
from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.interfaces import wire

STAGES: dict[Stage, str] = {
    "queued": "Waiting",
    "parsing": "Reading the file",
    "chunking": "Cutting passages",
    "embedding": "Learning the meaning",
    "indexing": "Filing",
}

# What a person can do about each way a document can fail; codes without an entry need no advice.
NEXT_STEPS = {
    "DOCUMENT_NEEDS_OCR": "Its pages are pictures. Run it through text recognition (OCR), then upload the result.",
    "DOCUMENT_ENCRYPTED": "Save a copy without the password, then upload that.",
    "DOCUMENT_UNSUPPORTED_FORMAT": "Save it as PDF, in an Office format, as HTML or as plain text, then upload that.",
    "DOCUMENT_RESOURCE_LIMIT": "Split it into smaller files, or raise the limits in the settings.",
    "DOCUMENT_MALFORMED": "It may be damaged, or not what its name says. Open it, save it again, upload that.",
    "DOCUMENT_CONTENT_UNAVAILABLE": "Put the original back from a backup and try again, or upload the file again.",
    "DOCUMENT_EMPTY": "There is nothing to search in it.",
    "PAYLOAD_TOO_LARGE": "Split it into smaller files, or raise MAX_UPLOAD_BYTES in the settings.",
    "INGESTION_TIMEOUT": "Try again; if it happens twice, split the file.",
    "INGESTION_FAILED": "Try again; the log says more.",
    "ARCHIVE_TOO_LARGE": "Split it into smaller archives, or raise the limits in the settings.",
    "ARCHIVE_MALFORMED": "It may be damaged, or not a ZIP. Pack it again, then upload that.",
    "ARCHIVE_ENCRYPTED": "Pack it again without a password, then upload that.",
    "ARCHIVE_ENTRY_UNSAFE": "If you need it, upload it on its own.",
    "INVALID_INGEST_MANIFEST": "Correct .mcp-knowledge-manifest.json in the folder. No file is read until then.",
    "INGEST_DATA_UNAVAILABLE": "Check the setting, and whether the folder's disk is there. Then scan again.",
    "SSRF_BLOCKED": "Download the file yourself, then upload it.",
    "URL_FETCH_FAILED": "Check the address in your browser. If it opens there, download the file and upload it.",
    "URL_FETCH_TIMEOUT": "Try again later, or download the file yourself and upload it.",
    "INVALID_UPLOAD": "The file is empty or did not arrive whole. Choose it again.",
}


# What people call files of a format; others go by their extension.
KINDS = {
    "csv": "Table (CSV)",
    "doc": "Word document, 97–2003",
    "docm": "Word document with macros",
    "docx": "Word document",
    "eml": "E-mail",
    "epub": "E-book (EPUB)",
    "htm": "Web page",
    "html": "Web page",
    "json": "Data (JSON)",
    "jsonl": "Data (JSON Lines)",
    "log": "Plain text (log)",
    "markdown": "Markdown text",
    "md": "Markdown text",
    "odp": "OpenDocument presentation",
    "ods": "OpenDocument spreadsheet",
    "odt": "OpenDocument text",
    "pdf": "PDF",
    "pps": "PowerPoint show, 97–2003",
    "ppsx": "PowerPoint show",
    "ppt": "PowerPoint presentation, 97–2003",
    "pptm": "PowerPoint presentation with macros",
    "pptx": "PowerPoint presentation",
    "rst": "Plain text (reStructuredText)",
    "rtf": "Rich text (RTF)",
    "tsv": "Table (TSV)",
    "txt": "Plain text",
    "xhtml": "Web page",
    "xls": "Excel workbook, 97–2003",
    "xlsb": "Excel workbook, binary",
    "xlsm": "Excel workbook with macros",
    "xlsx": "Excel workbook",
    "xml": "Data (XML)",
}

# Where the sentence of a code speaks to those who run the service.
REASONS = {
    "DOCUMENT_NEEDS_OCR": "This document has no text that could be read.",
    "DOCUMENT_RESOURCE_LIMIT": "This file is too large or too complex to be read.",
    "INGESTION_TIMEOUT": "Reading this file took too long.",
    "INGESTION_FAILED": "Reading this file failed for a reason on our side.",
}


@dataclass(frozen=True, slots=True)
class State:
    """How a document stands, ready to show.

    `kind` picks the colour; `done` and `total` are None where there is nothing to count.
    """

    kind: str
    label: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something failed, and what to do next (may be empty). `code` is empty when it only was passed over."""

    code: str
    reason: str
    next_step: str

    @property
    def try_again(self) -> bool:
        """Whether reading the same file again may go better."""
        known = ERROR_CODES.get(self.code)
        return self.code == "DOCUMENT_RESOURCE_LIMIT" or (known is not None and known.retried)


def kind(extension: str) -> str:
    """What people call files of a format."""
    return KINDS.get(extension.lower()) or (f"{extension.upper()} file" if extension else "File")


def size(count: int) -> str:
    """A number of bytes: `812 B`, `14 kB`, `1.3 MB` (powers of 1,000, as file managers count)."""
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5 or unit == "GB":
            break
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:,.0f} {unit}"


def number(value: int) -> str:
    """An integer with thousands separated."""
    return f"{value:,}"


def counted(value: int, one: str, many: str | None = None) -> str:
    """A number with its noun: `1 passage`, `1,204 passages`."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def age(milliseconds: int) -> str:
    """How long ago a moment was, in one unit. Past a month: its date."""
    seconds = max(0, now_ms() - milliseconds) // 1000
    if seconds < 60:
        return "just now"
    for unit, span, end in (("min", 60, 3600), ("h", 3600, 86_400), ("day", 86_400, 30 * 86_400)):
        if seconds < end:
            value = seconds // span
            return f"{value} {unit}{'s' if unit == 'day' and value != 1 else ''} ago"
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%-d %b %Y")


def moment(milliseconds: int) -> str:
    """A moment to the minute, in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def place(location: SourceLocation) -> str:
    """Where a passage stands in its file: `Page 3`, `Sheet Costs · B2:F40`, `Characters 120–840`; else empty."""
    parts: list[str] = []
    if location.page_start is not None:
        last = location.page_end or location.page_start
        parts.append(
            f"Page {location.page_start}" if last == location.page_start else f"Pages {location.page_start}–{last}"
        )
    if location.slide is not None:
        parts.append(f"Slide {location.slide}")
    if location.sheet is not None:
        parts.append(f"Sheet {location.sheet}")
    if location.cell_range is not None:
        parts.append(location.cell_range)
    if location.section is not None:
        parts.append(f"Section {location.section}")
    if location.char_start is not None and location.char_end is not None:
        parts.append(f"Characters {location.char_start:,}–{location.char_end:,}")
    return " · ".join(parts)


def working(progress: Progress | None) -> State:
    """How far work on a document has come."""
    if progress is None:
        return State("working", STAGES["queued"])
    label = STAGES[progress.stage]
    return State("working", label, progress.done, progress.total) if progress.total > 1 else State("working", label)


def state(document: Document) -> State:
    """How a document stands now."""
    if document.status == "ready":
        return State("ready", "Ready")
    if document.status == "failed":
        return State("failed", "Failed")
    if document.status == "pending":
        return State("waiting", STAGES["queued"])
    return working(document.progress)


def update_state(document: Document) -> State | None:
    """How the newer revision of a ready document comes along; None when none is in the making."""
    if document.status == "ready" and document.progress is not None:
        return working(document.progress)
    return None


def tells_more(document: Document) -> bool:
    """Whether the file's name says anything that the title does not."""
    stem = document.original_filename.removesuffix(f".{document.extension}")
    letters = ["".join(char for char in text.casefold() if char.isalnum()) for text in (stem, document.title)]
    return letters[0] != letters[1]


def failure(error: str | None) -> Failure | None:
    """A stored `CODE: message` or plain sentence, with advice; None when there is none."""
    if not error:
        return None
    code, _, reason = error.partition(": ")
    if not code.isupper():
        return Failure("", error, "")
    return Failure(code, REASONS.get(code, reason or code), NEXT_STEPS.get(code, ""))


def flat(metadata: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Metadata as (dotted path, text) pairs, in order."""
    for key, value in metadata.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{key}.")
        elif isinstance(value, str):
            yield prefix + key, value
        elif isinstance(value, bool):
            yield prefix + key, "yes" if value else "no"
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            yield prefix + key, ", ".join(value)
        else:
            yield prefix + key, json.dumps(value, ensure_ascii=False)


def score(value: float) -> str:
    """A score to three significant digits, never in powers of ten."""
    return f"{value:.4f}" if abs(value) < 0.1 else f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def milliseconds(value: float) -> str:
    """A duration: `0.31 ms`, `4.2 ms`, `120 ms`."""
    return f"{value:.2f} ms" if value < 1 else f"{value:.1f} ms" if value < 100 else f"{value:,.0f} ms"


def span(milliseconds: int) -> str:
    """How long something takes or took, by the second: `0.4 s`, `42 s`, `3 min`, `2 h 10 min`."""
    if milliseconds < 9_950:
        return f"{max(milliseconds, 100) / 1000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    if not minutes:
        return f"{seconds} s"
    hours, minutes = divmod(minutes + (seconds >= 30), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


FILTERS: dict[str, Callable[..., Any]] = {
    "age": age,
    "counted": counted,
    "failure": failure,
    "flat": flat,
    "kind": kind,
    "milliseconds": milliseconds,
    "moment": moment,
    "number": number,
    "place": place,
    "score": score,
    "size": size,
    "span": span,
    "state": state,
    "tells_more": tells_more,
    "timestamp": wire.timestamp,
    "update_state": update_state,
}
