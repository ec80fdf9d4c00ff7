"""The temporary file that a download goes into: counted, unpacked and hashed on the way."""

import asyncio
import codecs
import hashlib
import re
import secrets
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from mcp_knowledge.adapters.parsers.encodings import strictly
from mcp_knowledge.errors import KnowledgeError, storing

_STEP_BYTES = 256 * 1024  # unpacked, hashed and written at once: about a millisecond
_GZIP = zlib.MAX_WBITS | 16
_MAX_RECODED_BYTES = 16 * 1024 * 1024  # larger texts are beyond what one document may hold
_DECLARATION_WINDOW = 4096
_OWN_DECLARATION = re.compile(rb"<\?xml[^>]*?encoding=|<meta[^>]+?charset\s*=", re.IGNORECASE)


class FetchedFile:
    """A file under way. Leaving it as a context removes it, unless somebody moved it away.

    Args:
        max_bytes: the largest file, both as it comes over the wire and unpacked.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.path = folder / f"{secrets.token_hex(16)}.fetch"
        self.max_bytes = max_bytes
        self.size_bytes = 0
        self._received_bytes = 0
        self._hash = hashlib.sha256()
        self._unpacker: zlib._Decompress | None = None

    def __enter__(self) -> Self:
        with storing():
            self._file = self.path.open("x+b")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self.path.unlink(missing_ok=True)

    @property
    def sha256(self) -> str:
        """Of what is in the file, in hexadecimal."""
        return self._hash.hexdigest()

    def too_large(self) -> KnowledgeError:
        """The error that says how large a file may be."""
        return KnowledgeError("PAYLOAD_TOO_LARGE", f"This file is too large: it may have {self.max_bytes:,} bytes.")

    def expect_gzip(self) -> None:
        """What comes is compressed."""
        self._unpacker = zlib.decompressobj(_GZIP)

    async def take(self, piece: bytes) -> None:
        """Add what has come. The event loop gets its turn every few hundred kilobytes of content.

        Raises:
            KnowledgeError: PAYLOAD_TOO_LARGE, URL_FETCH_FAILED when it is not compressed as announced,
                SERVICE_UNAVAILABLE when the disk is full.
        """
        self._received_bytes += len(piece)
        if self._received_bytes > self.max_bytes:
            raise self.too_large()
        for content in self._unpacked(piece):
            self._write(content)
            await asyncio.sleep(0)

    def finish(self) -> None:
        """Everything has come. Raises URL_FETCH_FAILED when compressed content ends too early."""
        if self._unpacker is not None and not self._unpacker.eof and self._received_bytes:
            raise _broken()
        with storing():
            self._file.flush()

    def head(self, count: int) -> bytes:
        """The first bytes."""
        self._file.seek(0)
        return self._file.read(count)

    async def keep_charset(self, label: str) -> None:
        """Store a text as UTF-8 with a mark when only the answer's header told its charset: the file alone must be
        enough to read it, now and when it is read again.
        """
        if self.size_bytes > _MAX_RECODED_BYTES:
            return
        text = await asyncio.to_thread(_recoded, self.head(self.size_bytes), label)
        if text is None:
            return
        with storing():
            self._file.seek(0)
            self._file.truncate()
        self.size_bytes, self._hash = 0, hashlib.sha256()
        for start in range(0, len(text), _STEP_BYTES):
            self._write(text[start : start + _STEP_BYTES])
            await asyncio.sleep(0)
        self.finish()

    def _unpacked(self, piece: bytes) -> Iterator[bytes]:
        if self._unpacker is None:
            yield piece
            return
        try:
            while piece:
                if self._unpacker.eof:  # a gzip file may have several members (RFC 1952 section 2.2)
                    self._unpacker = zlib.decompressobj(_GZIP)
                yield self._unpacker.decompress(piece, _STEP_BYTES)
                piece = self._unpacker.unconsumed_tail or self._unpacker.unused_data
        except zlib.error:
            raise _broken() from None

    def _write(self, content: bytes) -> None:
        self.size_bytes += len(content)
        if self.size_bytes > self.max_bytes:
            raise self.too_large()
        self._hash.update(content)
        with storing():
            self._file.write(content)


def _recoded(data: bytes, label: str) -> bytes | None:
    """UTF-8 with a byte order mark; None when the bytes tell their encoding by themselves, or are not in this one."""
    if data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    if _OWN_DECLARATION.search(data, 0, _DECLARATION_WINDOW):
        return None
    if b"\0" not in data and strictly(data, "utf-8") is not None:
        return None
    text = strictly(data, label)
    return None if text is None else codecs.BOM_UTF8 + text.encode()


def _broken() -> KnowledgeError:
    return KnowledgeError("URL_FETCH_FAILED", "What the address sends is not compressed as it says.")
