"""What is in a backup: a tar of `manifest.json`, `app.db`, the originals under their keys, and `SHA256SUMS`."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_knowledge.domain.blob_keys import is_own_key
from mcp_knowledge.errors import StartupError

MANIFEST, DATABASE, SUMS = "manifest.json", "app.db", "SHA256SUMS"
FORMAT, FORMAT_VERSION = "mcp-knowledge-backup", 1
MAX_LIST_BYTES = 512 * 1024 * 1024  # of the manifest or the sums: they are held in memory; some 3 million originals
_HEX = frozenset("0123456789abcdef")
_WORD = re.compile(r"[A-Za-z0-9.:+-]{1,64}")


@dataclass(frozen=True, slots=True)
class Item:
    """A file of a backup. `sha256` in hexadecimal."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The first member.

    Args:
        created_at: RFC 3339.
        schema: number of the database's newest migration.
        originals: as the database knows them, in the order in which they follow; not all need to be there.
    """

    product_version: str
    created_at: str
    schema: int
    database: Item
    originals: Sequence[Item]

    def to_bytes(self) -> bytes:
        """As it is stored."""
        data = {
            "format": FORMAT,
            "formatVersion": FORMAT_VERSION,
            "productVersion": self.product_version,
            "createdAt": self.created_at,
            "schema": self.schema,
            "database": _item_json(self.database),
            "originals": [_item_json(item) for item in self.originals],
        }
        return json.dumps(data, indent=1).encode() + b"\n"


def _item_json(item: Item) -> dict[str, Any]:
    return {"name": item.name, "sizeBytes": item.size_bytes, "sha256": item.sha256}


def manifest_from(data: bytes, newest_schema: int) -> Manifest:
    """Read a manifest strictly.

    Args:
        newest_schema: the newest migration of this version.

    Raises:
        StartupError: it is none, or a newer version made it.
    """
    try:
        values = json.loads(data)
        known = values["format"] == FORMAT
        version, schema = _count(values["formatVersion"]), _count(values["schema"])
        product, created_at = _word(values["productVersion"]), _word(values["createdAt"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StartupError("This is not a backup of MCP Knowledge: its manifest cannot be read.") from error
    if not known:
        raise StartupError("This is not a backup of MCP Knowledge: its manifest is another program's.")
    if version > FORMAT_VERSION or schema > newest_schema:
        raise StartupError(f"This backup was made by a newer version ({product}): restore it with that one.")
    try:
        manifest = Manifest(
            product,
            created_at,
            schema,
            _item_from(values["database"]),
            tuple(_item_from(item) for item in values["originals"]),
        )
        names = {item.name for item in manifest.originals}
        if manifest.database.name != DATABASE or len(names) != len(manifest.originals):
            raise ValueError("names")
        if not all(is_own_key(name) for name in names):
            raise ValueError("keys")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StartupError("The manifest of this backup is damaged.") from error
    return manifest


def _item_from(values: Any) -> Item:
    item = Item(values["name"], _count(values["sizeBytes"]), values["sha256"])
    if not (isinstance(item.name, str) and isinstance(item.sha256, str)):
        raise TypeError("texts")
    if len(item.sha256) != 64 or not _HEX.issuperset(item.sha256):
        raise ValueError("hash")
    return item


def _word(value: Any) -> str:
    """What is shown to people as it is: no signs that a terminal obeys."""
    if not _WORD.fullmatch(value):
        raise ValueError("a word")
    return str(value)


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("a whole number")
    return value


def sums_to_bytes(sums: dict[str, str]) -> bytes:
    """SHA-256 by name, as `sha256sum --check` reads them."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in sums.items()).encode()
