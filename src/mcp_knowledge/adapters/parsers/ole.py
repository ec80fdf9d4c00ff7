"""OLE compound files, the containers of Office 97-2003: which program's file it is, whether it is encrypted, streams.

Sources: MS-CFB (container), MS-DOC 2.5.1 (FIB), MS-XLS 2.4.117 (FilePass), MS-PPT 2.3.2 (CurrentUserAtom).
"""

import io
import re
import struct
from collections.abc import Iterator, Mapping

import olefile

from mcp_knowledge.adapters.parsers.sheets.xls_password import FILE_PASS, default_key
from mcp_knowledge.errors import KnowledgeError

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# What olefile raises on damaged containers; its own errors are OSErrors.
_DAMAGE = (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error, RecursionError)
_KINDS = {"worddocument": "doc", "powerpoint document": "ppt", "workbook": "xls", "book": "xls"}
_ENCRYPTED_NAMES = frozenset({"encryptedpackage", "encryptioninfo", "\tdrmcontent", "\tdrmviewercontent"})
# In a container whose directory cannot be read, names are searched for: they stand there in UTF-16.
_ENCRYPTED_BYTES = re.compile(
    b"|".join(
        re.escape(name.encode("utf-16-le"))
        for name in ("EncryptedPackage", "EncryptionInfo", "\tDRMContent", "\tDRMViewerContent")
    ),
    re.IGNORECASE,
)
_KIND_BYTES = {
    "doc": "WordDocument".encode("utf-16-le"),
    "ppt": "PowerPoint Document".encode("utf-16-le"),
    "xls": "Workbook".encode("utf-16-le"),
}

_FIB_MAGICS = (0xA5EC, 0xA5DC)  # Word 97 and later; Word 6 and 95
_FIB_ENCRYPTED = 0x0100
_BOUND_SHEET, _END_OF_PART = 0x85, 0x0A
_PPT_ENCRYPTED_TOKEN = 0xF3D1C4DF
_MAX_LEADING_RECORDS = 1_000  # FilePass is among the first few records of a workbook


class Container:
    """An OLE file. Streams that are damaged or missing read as None."""

    def __init__(self, data: bytes) -> None:
        """Open it. Raises DOCUMENT_MALFORMED when its directory cannot be read."""
        self._data = data
        try:
            self._file = olefile.OleFileIO(io.BytesIO(data))
            listing = self._file.listdir(streams=True, storages=True)
        except _DAMAGE:
            raise KnowledgeError("DOCUMENT_MALFORMED") from None
        self._paths = {tuple(part.lower() for part in path): path for path in listing}
        self.names = frozenset(path[0] for path in self._paths if len(path) == 1)

    def stream(self, *path: str) -> bytes | None:
        """A stream's bytes, by the names of the storages around it and its own, in any case."""
        found = self._paths.get(tuple(part.lower() for part in path))
        if found is None:
            return None
        try:
            return bytes(self._file.openstream(found).read())
        except _DAMAGE:
            return None

    def with_streams(self, contents: Mapping[str, bytes]) -> bytes:
        """The file with other contents, equally long, in streams; unchanged when its container is damaged."""
        buffer = io.BytesIO(self._data)
        try:
            with olefile.OleFileIO(buffer) as file:
                for name, content in contents.items():
                    if content != self.stream(name):
                        file.write_stream(name, content)
                return buffer.getvalue()
        except (*_DAMAGE, AssertionError):
            return self._data

    def is_encrypted(self) -> bool:
        """Whether the file opens only with a password, or with somebody's rights."""
        return bool(self.names & _ENCRYPTED_NAMES) or any(
            check(stream)
            for name, check in _ENCRYPTION_CHECKS.items()
            if name in self.names and (stream := self.stream(name))
        )

    def kind(self) -> str | None:
        """The format's name: doc, ppt or xls; None for any other program's file. Embedded files don't count."""
        return next((kind for name, kind in _KINDS.items() if name in self.names), None)


def detect_kind(data: bytes) -> str:
    """Which format an OLE file has: doc, ppt or xls.

    Raises:
        KnowledgeError: DOCUMENT_ENCRYPTED for what needs a password, DOCUMENT_MALFORMED for any other file.
    """
    try:
        container = Container(data)
    except KnowledgeError:
        return _kind_without_directory(data)
    if container.is_encrypted():
        raise KnowledgeError("DOCUMENT_ENCRYPTED")
    kind = container.kind()
    if kind is None:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    return kind


def _kind_without_directory(data: bytes) -> str:
    if _ENCRYPTED_BYTES.search(data):
        raise KnowledgeError("DOCUMENT_ENCRYPTED")
    for kind, name in _KIND_BYTES.items():
        if name in data:
            return kind
    raise KnowledgeError("DOCUMENT_MALFORMED")


def _word_encrypted(stream: bytes) -> bool:
    if len(stream) < 12:
        return False
    magic, flags = struct.unpack_from("<H8xH", stream)
    return magic in _FIB_MAGICS and bool(flags & _FIB_ENCRYPTED)


def _workbook_encrypted(stream: bytes) -> bool:
    for kind, data in _leading_records(stream):
        if kind == FILE_PASS:
            return default_key(data) is None
        if kind in (_BOUND_SHEET, _END_OF_PART):
            return False
    return False


def _leading_records(stream: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and content of a workbook's first records."""
    at = 0
    for _ in range(_MAX_LEADING_RECORDS):
        if at + 4 > len(stream):
            return
        kind, size = struct.unpack_from("<HH", stream, at)
        yield kind, stream[at + 4 : at + 4 + size]
        at += 4 + size


def _slides_encrypted(stream: bytes) -> bool:
    return len(stream) >= 16 and bool(struct.unpack_from("<I", stream, 12)[0] == _PPT_ENCRYPTED_TOKEN)


_ENCRYPTION_CHECKS = {
    "worddocument": _word_encrypted,
    "workbook": _workbook_encrypted,
    "book": _workbook_encrypted,
    "current user": _slides_encrypted,
}
