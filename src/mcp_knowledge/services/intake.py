"""The one door for a received file, wherever it came from: a document, or an archive of documents."""

from pathlib import Path

from mcp_knowledge.domain.filenames import extension_of, safe_name
from mcp_knowledge.services.archives import ArchiveReceipt, Archives
from mcp_knowledge.services.library import UNFILED, Filing, Library, StoredUpload, UploadReceipt

ARCHIVE_EXTENSION = "zip"


class Intake:
    """Takes files in."""

    def __init__(self, library: Library, archives: Archives) -> None:
        self._library = library
        self._archives = archives
        self.accepted_extensions = library.accepted_extensions | {ARCHIVE_EXTENSION}

    def upload_dir(self) -> Path:
        """Where the temporary files of uploads belong."""
        return self._library.upload_dir()

    def check_extension(self, filename: str) -> None:
        """Raises DOCUMENT_UNSUPPORTED_FORMAT when this is neither an archive nor a file that some parser reads."""
        if not self.is_archive(filename):
            self._library.check_extension(filename)

    def is_archive(self, filename: str) -> bool:
        """Whether a file of this name is taken apart into documents."""
        return extension_of(safe_name(filename)) == ARCHIVE_EXTENSION

    async def add(self, file: StoredUpload, filing: Filing = UNFILED) -> UploadReceipt | ArchiveReceipt:
        """Keep a received file and queue what is to be done with it. The temporary file is gone afterwards, whatever
        happens.

        Raises:
            KnowledgeError: DOCUMENT_UNSUPPORTED_FORMAT, COLLECTION_NOT_FOUND.
        """
        take_in = self._archives.receive if self.is_archive(file.filename) else self._library.upload
        return await take_in(file, filing)
