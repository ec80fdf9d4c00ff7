"""The files of numbered migrations, `migrations/NNN_name.sql` beside each database's adapter."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema's history."""

    number: int
    name: str
    path: Path


@cache
def migrations_in(directory: Path) -> tuple[Migration, ...]:
    """The migrations in a folder, in order."""
    found = []
    for path in sorted(directory.glob("*.sql")):
        if match := re.fullmatch(r"(\d{3})_(\w+)\.sql", path.name):
            found.append(Migration(int(match[1]), match[2], path))
    return tuple(found)


def newer_database(applied: int, newest: int, way_out: str) -> str:
    """The sentence for a database that this version is too old for."""
    return (
        f"The database was made by a newer version of MCP Knowledge (its migration is {applied}, this version knows "
        f"{newest}). Nothing was changed. Install the newer version, or set {way_out}."
    )
