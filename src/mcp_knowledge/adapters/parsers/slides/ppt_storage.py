"""Where the objects of a binary PowerPoint file are: the edits from the last to the first, and their directories.

Sources: MS-PPT 2.1.2 (how to read a file), 2.3.3 (UserEditAtom), 2.3.4 (PersistDirectoryAtom).
"""

import struct
from collections.abc import Iterator

from mcp_knowledge.adapters.parsers.ole import Container
from mcp_knowledge.adapters.parsers.slides.ppt_records import Record, record_at, records
from mcp_knowledge.errors import KnowledgeError

_STREAM, _CURRENT_USER = "PowerPoint Document", "Current User"
_DUAL_STORAGE = "PP97_DUALSTORAGE"  # beside a PowerPoint 95 version of the same presentation
_DOCUMENT, _USER_EDIT, _DIRECTORY, _CRYPT_SESSION = 0x03E8, 0x0FF5, 0x1772, 0x2F14
_MAX_EDITS = 1_000
_ID_BITS = 20
_MAX_NESTING = 64  # of records; tables in groups on slides come to about 12


class Storage:
    """The objects of a file by id."""

    def __init__(self, container: Container) -> None:
        """Find them. Raises DOCUMENT_MALFORMED without a document, DOCUMENT_ENCRYPTED behind a password."""
        folder = (_DUAL_STORAGE,) if container.stream(_DUAL_STORAGE, _STREAM) else ()
        self._data = container.stream(*folder, _STREAM) or b""
        user = record_at(container.stream(*folder, _CURRENT_USER) or b"", 0)
        (last_edit,) = (user.unpack("I", 8) if user is not None else None) or (-1,)
        self._offsets: dict[int, int] = {}
        self._document_id = 0
        edits = (
            list(self._edits(last_edit)) or [record for record in self._outermost() if record.kind == _USER_EDIT][::-1]
        )
        for edit in edits:
            self._read_edit(edit)
        self.document = self._find_document()

    def get(self, object_id: int, *kinds: int) -> Record | None:
        """An object's record, or None when the file has lost it, or has one of another type in its place."""
        record = record_at(self._data, self._offsets.get(object_id, -1))
        return record if record is not None and record.kind in kinds else None

    def _outermost(self) -> Iterator[Record]:
        return records(self._data, 0, len(self._data))

    def _edits(self, at: int) -> Iterator[Record]:
        """The edits, the last first; a circle ends where it closes."""
        seen: set[int] = set()
        while at not in seen and len(seen) < _MAX_EDITS:
            seen.add(at)
            record = record_at(self._data, at)
            if record is None or record.kind != _USER_EDIT:
                return
            yield record
            (at,) = record.unpack("I", 8) or (-1,)
            if at == 0:
                return

    def _read_edit(self, edit: Record) -> None:
        directory_at, document_id = edit.unpack("II", 12) or (-1, 0)
        self._document_id = self._document_id or document_id
        directory = record_at(self._data, directory_at)
        if directory is not None and directory.kind == _DIRECTORY:
            self._read_directory(directory.content)
        if (session := edit.unpack("I", 28)) and self.get(session[0], _CRYPT_SESSION) is not None:
            raise KnowledgeError("DOCUMENT_ENCRYPTED")

    def _read_directory(self, content: bytes) -> None:
        """Newer directories are read first: what they tell stays."""
        at = 0
        while at + 4 <= len(content):
            (entry,) = struct.unpack_from("<I", content, at)
            first, count = entry & ((1 << _ID_BITS) - 1), entry >> _ID_BITS
            at += 4
            for object_id in range(first, first + min(count, (len(content) - at) // 4)):
                self._offsets.setdefault(object_id, *struct.unpack_from("<I", content, at))
                at += 4

    def _find_document(self) -> Record:
        document = self.get(self._document_id, _DOCUMENT)
        if document is None:
            document = next((record for record in self._outermost() if record.kind == _DOCUMENT), None)
        if document is None:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT" if self._is_too_deep() else "DOCUMENT_MALFORMED")
        return document

    def _is_too_deep(self) -> bool:
        """Whether the first record holds others deeper than any program writes them."""
        record = record_at(self._data, 0)
        for _ in range(_MAX_NESTING):
            record = next(record.children(), None) if record is not None else None
        return record is not None
