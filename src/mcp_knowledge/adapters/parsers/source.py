"""What a format's reader gets: the file's bytes, its name and the limits it must keep."""

from dataclasses import dataclass
from pathlib import PurePath

from mcp_knowledge.errors import KnowledgeError


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one parse. Bytes, pages, cells, entries and seconds; the ratio is uncompressed to compressed size."""

    max_extract_bytes: int
    max_document_pages: int
    max_spreadsheet_cells: int
    max_archive_uncompressed_bytes: int
    max_archive_entries: int
    max_archive_compression_ratio: int
    memory_bytes: int
    cpu_seconds: int


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read. `filename` is what the user called it; only its extension is used, and bytes come first."""

    data: bytes
    filename: str
    limits: Limits

    @property
    def extension(self) -> str:
        """The file name's extension in lower case, without the dot; empty when there is none."""
        return extension_of(self.filename)


def extension_of(filename: str) -> str:
    """The extension of a file name in lower case, without the dot; empty when there is none."""
    return PurePath(filename).suffix[1:].lower()


MAX_CELLS = 2_000_000  # of all tables of a document, filled or not: spans and uneven rows can multiply them


class TextBudget:
    """Counts extracted text while it is made, so that a parser stops before memory does."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes

    def take(self, text: str) -> None:
        """Count a piece of text in UTF-8 bytes. Raises DOCUMENT_RESOURCE_LIMIT when the limit is passed."""
        self._left -= len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if self._left < 0:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
