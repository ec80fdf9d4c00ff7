"""The zip package of an Office file, inflated under the archive limits, which are measured and not believed."""

import io
import zipfile
import zlib
from collections.abc import Iterable

from mcp_knowledge.adapters.parsers.source import Limits
from mcp_knowledge.errors import KnowledgeError

_BLOCK_BYTES = 256 * 1024
_RATIO_FLOOR_BYTES = 1024 * 1024  # small parts of repetitive XML compress better than any bomb
_ENCRYPTED_FLAG = 0x1
# What zipfile raises for damaged files, and for methods and versions that it cannot read.
ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,  # NotImplementedError, too
    ValueError,
)


def read_parts(data: bytes, suffixes: tuple[str, ...], limits: Limits) -> dict[str, bytes]:
    """The parts with these name endings, by name. A damaged part is left out.

    Raises:
        KnowledgeError: DOCUMENT_MALFORMED for no zip, DOCUMENT_ENCRYPTED for encrypted entries,
            DOCUMENT_RESOURCE_LIMIT beyond the number of entries, the inflated bytes or the compression ratio.
    """
    try:
        package = zipfile.ZipFile(io.BytesIO(data))
    except ZIP_FAULTS:
        raise KnowledgeError("DOCUMENT_MALFORMED") from None
    with package:
        entries = package.infolist()
        if len(entries) > limits.max_archive_entries:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
        if sum(entry.file_size for entry in entries) > limits.max_archive_uncompressed_bytes:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
        parts: dict[str, bytes] = {}
        left = limits.max_archive_uncompressed_bytes
        for entry in entries:
            if entry.flag_bits & _ENCRYPTED_FLAG:
                raise KnowledgeError("DOCUMENT_ENCRYPTED")
            if entry.filename.lower().endswith(suffixes):
                part = _inflate(package, entry, left, limits.max_archive_compression_ratio)
                if part is not None:
                    left -= len(part)
                    parts[entry.filename.replace("\\", "/").lstrip("/")] = part
        return parts


def _inflate(package: zipfile.ZipFile, entry: zipfile.ZipInfo, max_bytes: int, max_ratio: int) -> bytes | None:
    blocks = []
    total = 0
    try:
        with package.open(entry) as stream:
            while block := stream.read(_BLOCK_BYTES):
                total += len(block)
                too_dense = total > max(_RATIO_FLOOR_BYTES, entry.compress_size * max_ratio)
                if total > max_bytes or too_dense:
                    raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
                blocks.append(block)
    except ZIP_FAULTS:
        return None
    return b"".join(blocks)


def write_parts(parts: Iterable[tuple[str, bytes]]) -> bytes:
    """A package of these parts, not compressed: it only goes to the next reader in this process."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as package:
        for name, part in parts:
            package.writestr(name, part)
    return buffer.getvalue()
