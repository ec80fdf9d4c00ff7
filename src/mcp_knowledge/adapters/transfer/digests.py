"""What a table's rows amount to: equal for equal rows, in whatever order and by whichever database they are kept."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from mcp_knowledge.adapters.rows.dialect import Row

_ROW_BYTES = 32
_MODULUS = 1 << 8 * _ROW_BYTES


@dataclass(frozen=True, slots=True)
class Digest:
    """Rows, and the sum of their hashes."""

    rows: int = 0
    total: int = 0

    def with_rows(self, rows: Iterable[Row]) -> "Digest":
        """With further rows, of None, int, float, str and bytes."""
        count, total = self.rows, self.total
        for row in rows:
            # A row's Python form tells its values and their types apart, and is made in one go.
            text = repr(row).encode("utf-8", "backslashreplace")
            total += int.from_bytes(hashlib.blake2b(text, digest_size=_ROW_BYTES).digest(), "little")
            count += 1
        return Digest(count, total % _MODULUS)

    @property
    def short(self) -> str:
        """The first characters of it, for people."""
        return f"{self.total:0{2 * _ROW_BYTES}x}"[:16]
