"""The only place where public error codes are born.

Every failure a client can see is a `KnowledgeError` with a code of `ERROR_CODES`; the reference table in docs is made
from it.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """What a code means to the outside: HTTP status, the default sentence, and whether a job that met it is retried."""

    status: int
    message: str
    retried: bool = False


ERROR_CODES: dict[str, ErrorCode] = {
    # Requests
    "INVALID_JSON": ErrorCode(400, "The request body is not valid JSON."),
    "INVALID_REQUEST": ErrorCode(400, "The request body must be a JSON object with the documented fields."),
    "INVALID_ARGUMENT": ErrorCode(400, "An argument has the wrong type or is out of range."),
    "INVALID_CURSOR": ErrorCode(
        400, "This cursor was not made by this server for this query. Start again without a cursor."
    ),
    "INVALID_UPLOAD": ErrorCode(400, "Send the document as a multipart field named 'file' that is not empty."),
    "INVALID_METADATA": ErrorCode(400, "Metadata must be a JSON object."),
    "INVALID_QUERY": ErrorCode(400, "The query must have 1 to 2,000 characters."),
    "INVALID_FILTER": ErrorCode(400, "A filter has the wrong shape."),
    "INVALID_PROJECTION": ErrorCode(400, "A requested field does not exist."),
    "INVALID_CORPUS_VERSION": ErrorCode(400, "A corpus version looks like 'generation:12'."),
    "INVALID_TOOL_ARGUMENTS": ErrorCode(400, "The tool's arguments are not valid."),
    "SEARCH_MODE_UNSUPPORTED": ErrorCode(400, "The search mode must be hybrid, vector or lexical."),
    "SEARCH_COLLAPSE_UNSUPPORTED": ErrorCode(400, "Collapse must be none or document."),
    "UNAUTHORIZED": ErrorCode(401, "Sign in or send an API key."),
    "FORBIDDEN": ErrorCode(403, "This credential or origin is not allowed to do that."),
    "HOST_NOT_ALLOWED": ErrorCode(421, "This host name is not allowed. Add it to ALLOWED_HOSTS."),
    "NOT_FOUND": ErrorCode(404, "There is nothing at this address."),
    "METHOD_NOT_ALLOWED": ErrorCode(405, "This address does not answer that method."),
    "COLLECTION_NOT_FOUND": ErrorCode(404, "There is no collection with this id."),
    "DOCUMENT_NOT_FOUND": ErrorCode(404, "There is no document with this id."),
    "CHUNK_NOT_FOUND": ErrorCode(404, "There is no chunk with this id."),
    "REVISION_NOT_FOUND": ErrorCode(404, "This document has no version with this id."),
    "JOB_NOT_FOUND": ErrorCode(404, "There is no job with this id."),
    "API_KEY_NOT_FOUND": ErrorCode(404, "There is no API key with this id."),
    "EVALUATION_NOT_FOUND": ErrorCode(404, "There is no evaluation set with this id."),
    "CASE_NOT_FOUND": ErrorCode(404, "There is no case with this id in the set."),
    "RUN_NOT_FOUND": ErrorCode(404, "There is no run with this id."),
    "EVALUATION_EXISTS": ErrorCode(409, "An evaluation set with this name exists already."),
    "EVALUATION_EMPTY": ErrorCode(
        409, "No query of this set is judged yet. Mark a hit as right, or a query as having no answer."
    ),
    "EVALUATION_FULL": ErrorCode(409, "This set cannot hold that many queries. Split it into several sets."),
    "CASE_EXISTS": ErrorCode(409, "Another case of this set has this query already."),
    "RUN_UNFINISHED": ErrorCode(409, "This run is not completed: it has no results to compare."),
    "DOCUMENT_NOT_RESTORABLE": ErrorCode(409, "It is too late: this document was removed for good."),
    "DOCUMENT_EXISTS": ErrorCode(
        409, "The same file was added again meanwhile. That document stays, and the deleted one is not needed."
    ),
    "COLLECTION_EXISTS": ErrorCode(409, "A collection with this name exists already."),
    "COLLECTION_NOT_EMPTY": ErrorCode(409, "This collection still holds documents. Move or delete them first."),
    "DOCUMENT_BUSY": ErrorCode(409, "A job for this document is still at work. Try again when it has ended."),
    "JOB_NOT_RETRYABLE": ErrorCode(409, "Only a failed job can be retried."),
    "CURSOR_STALE": ErrorCode(
        409, "The document or the selection changed since this cursor was made. Start again without it."
    ),
    "DOCUMENT_BLOCK_TOO_LARGE": ErrorCode(422, "A block of this document is larger than one answer may be."),
    "DOCUMENT_CONTENT_UNAVAILABLE": ErrorCode(
        404, "The content of this document is not available: it is not ready, or its original is missing or damaged."
    ),
    "DOCUMENT_CHANGED": ErrorCode(
        409, "Somebody changed this document meanwhile. Look at it again, then make your change."
    ),
    "PAGES_UNAVAILABLE": ErrorCode(404, "Documents of this format have no pages that can be shown."),
    "PAGE_NOT_FOUND": ErrorCode(404, "This document has no page with this number."),
    "PAGE_UNREADABLE": ErrorCode(422, "This page cannot be shown."),
    "EMBEDDING_MISMATCH": ErrorCode(
        409, "The index was made with another embedding model. Run 'mcp-knowledge reindex --all' to embed it again."
    ),
    "REQUEST_TIMEOUT": ErrorCode(408, "The request did not arrive in time. Send it again."),
    "REQUEST_HEAD_TOO_LARGE": ErrorCode(431, "The address and headers of this request are too large."),
    "TOO_MANY_ATTEMPTS": ErrorCode(429, "Too many attempts. Wait a few minutes."),
    "INTERNAL_ERROR": ErrorCode(
        500, "Something went wrong on our side. The log has the details under this request id."
    ),
    "SERVICE_UNAVAILABLE": ErrorCode(503, "The service cannot answer right now. Try again shortly."),
    # Archives, folders and URLs
    "ARCHIVE_NOT_FOUND": ErrorCode(404, "There is no archive import with this id."),
    "ARCHIVE_TOO_LARGE": ErrorCode(422, "This archive has too many entries, or too much is in it."),
    "ARCHIVE_MALFORMED": ErrorCode(422, "This archive could not be read."),
    "ARCHIVE_ENCRYPTED": ErrorCode(422, "This archive is password-protected."),
    "ARCHIVE_ENTRY_UNSAFE": ErrorCode(422, "The path of this file in the archive is not safe."),
    "INVALID_INGEST_MANIFEST": ErrorCode(422, "The manifest of the folder is not valid."),
    "INGEST_DATA_UNAVAILABLE": ErrorCode(503, "The folder of INGEST_DATA_DIR cannot be read."),
    "SSRF_BLOCKED": ErrorCode(400, "This address is not on the public internet and is not fetched."),
    "URL_FETCH_FAILED": ErrorCode(502, "The document could not be fetched from this address."),
    "URL_FETCH_TIMEOUT": ErrorCode(504, "Fetching the document took too long."),
    # Documents (fixed sentences: they are stored with the document as `CODE: message`)
    "DOCUMENT_NEEDS_OCR": ErrorCode(422, "This document needs OCR before it can be ingested."),
    "DOCUMENT_ENCRYPTED": ErrorCode(422, "This document is password-protected."),
    "DOCUMENT_UNSUPPORTED_FORMAT": ErrorCode(415, "This file format is not supported."),
    "DOCUMENT_RESOURCE_LIMIT": ErrorCode(422, "This file is too large or complex to ingest."),
    "DOCUMENT_MALFORMED": ErrorCode(422, "This file could not be read."),
    "DOCUMENT_EMPTY": ErrorCode(422, "This document has no text."),
    "PAYLOAD_TOO_LARGE": ErrorCode(413, "This upload is too large."),
    "INGESTION_TIMEOUT": ErrorCode(422, "Ingestion timed out.", retried=True),
    "INGESTION_FAILED": ErrorCode(500, "Ingestion failed for a reason on our side.", retried=True),
}


class KnowledgeError(Exception):
    """A failure with a stable public code.

    Args:
        code: a key of `ERROR_CODES`.
        message: a sentence for the client that says what to do; the code's own sentence when omitted.
        retry_after_s: seconds after which the same request may succeed, where that is known.
    """

    def __init__(self, code: str, message: str | None = None, *, retry_after_s: int | None = None) -> None:
        known = ERROR_CODES[code]
        self.code = code
        self.status = known.status
        self.message = message or known.message
        self.retried = known.retried
        self.retry_after_s = retry_after_s
        super().__init__(f"{code}: {self.message}")


class StartupError(Exception):
    """The service cannot start or open its data; the message is a sentence that says what to do. Nothing was
    changed.
    """


_DISK_FAULTS = {
    errno.ENOSPC: "the disk is full. Make room on it",
    errno.EDQUOT: "the disk quota is used up. Make room, or raise it",
    errno.EFBIG: "the system lets the service write no larger file. Raise that limit",
    errno.EROFS: "the disk is read-only. Mount it for writing",
    errno.EACCES: "permission is denied. Give the user of the service the right to read and write it",
    errno.EPERM: "permission is denied. Give the user of the service the right to read and write it",
    errno.ENOENT: "its folder is gone. Mount its disk again, or put it back",
    errno.EEXIST: "a file is in the place of its folder. Move that file away",
    errno.ENOTDIR: "a file is in the place of its folder. Move that file away",
    errno.EIO: "the disk does not work. Look at the system's log",
}


def disk_fault(error: OSError) -> str:
    """What the system says of a disk, and the next step, as the end of a sentence."""
    return _DISK_FAULTS.get(error.errno or 0, f"the system says: {error.strerror or type(error).__name__}") + "."


def is_disk_fault(error: OSError) -> bool:
    """Whether the system says of a disk that it cannot be used, or not by this user."""
    return error.errno in _DISK_FAULTS


@contextmanager
def storing() -> Iterator[None]:
    """Around writing a file of ours: a fault of the disk is SERVICE_UNAVAILABLE, and not the file's or the user's."""
    try:
        yield
    except OSError as error:
        message = f"The file could not be stored: {disk_fault(error)}"
        raise KnowledgeError("SERVICE_UNAVAILABLE", message) from error


@contextmanager
def opening(what: str) -> Iterator[None]:
    """Around the files that a start needs: a fault of the disk is a StartupError that names `what`."""
    try:
        yield
    except OSError as error:
        raise StartupError(f"{what} cannot be used: {disk_fault(error)} Nothing was changed.") from error
