"""A consistent copy of the file, while others write to it."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from mcp_knowledge.adapters.sqlite.migrate import APPLICATION_ID
from mcp_knowledge.adapters.sqlite.schema import OBJECTS, strangers
from mcp_knowledge.errors import KnowledgeError, StartupError

_STEP_PAGES = 512  # 4 MiB
_PAUSE_S = 0.002  # after each step: whoever searches goes first
_MAX_FAULTS = 5
_FULL_TEXT = "chunk_fts"  # it can be made anew: no reason to have no backup
_WRONG = "The database {what} is damaged: {fault}. {step}"
_STRANGE = "The database is not as this program makes it: {fault}. {step}"


def take_snapshot(source: Path, target: Path, advance: Callable[[int], None]) -> None:
    """Copy a database as it is at one moment, page by page.

    The copy reads in one transaction. In WAL mode this stops no writer, and no writer makes the copy begin anew; the
    write-ahead log grows meanwhile by what is written.

    Args:
        target: a new file; it stands alone, without a write-ahead log.
        advance: is told how many further bytes are done.

    Raises:
        StartupError: the file is damaged, or it cannot be read.
        KnowledgeError: SERVICE_UNAVAILABLE, there is no room for the copy.
    """
    try:
        with closing(apsw.Connection(str(source), apsw.SQLITE_OPEN_READWRITE)) as original:
            original.set_busy_timeout(5000)
            original.execute("BEGIN")
            original.execute("SELECT count(*) FROM sqlite_master").fetchall()  # the moment
            with closing(apsw.Connection(str(target))) as copy:
                _copy_pages(original, copy, advance)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StartupError(_WRONG.format(what="file", fault=error, step=_RESCUE)) from error
    except apsw.FullError as error:
        raise KnowledgeError("SERVICE_UNAVAILABLE", "There is not enough room on the disk of the backup.") from error
    except apsw.Error as error:
        raise StartupError(f"The database file cannot be copied: {error}.") from error


_RESCUE = "Nothing was written. Keep a copy of the data directory, and restore an older backup."


def _copy_pages(original: apsw.Connection, copy: apsw.Connection, advance: Callable[[int], None]) -> None:
    page_bytes = _number(original, "PRAGMA page_size")
    copy.execute("PRAGMA synchronous = OFF")  # a copy that is lost with the power is made again
    done = 0
    with copy.backup("main", original, "main") as backup:
        while not backup.done:
            backup.step(_STEP_PAGES)
            now_done = backup.page_count - backup.remaining
            advance((now_done - done) * page_bytes)
            done = now_done
            time.sleep(_PAUSE_S)
    copy.execute("PRAGMA journal_mode = DELETE").fetchall()


def _number(connection: apsw.Connection, pragma: str) -> int:
    value = connection.execute(pragma).fetchall()[0][0]
    assert isinstance(value, int)
    return value


def examine_copy(path: Path, schema: int | None, next_step: str) -> int:
    """Look through the pages and indexes of a database that nobody has open; the number of its newest migration.

    Args:
        schema: what that number is to be; None: any.
        next_step: for the user, should it be damaged.

    Raises:
        StartupError: it is damaged, or not one of ours.
    """
    alone = f"{path.absolute().as_uri()}?immutable=1"  # no log is made beside it
    try:
        with closing(apsw.Connection(alone, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            number = _number(connection, "PRAGMA user_version")
            owner = _number(connection, "PRAGMA application_id")
            if owner != APPLICATION_ID or (schema is not None and number != schema):
                raise StartupError(_WRONG.format(what="in it", fault="it is another one", step=next_step))
            strange = list(strangers(connection.execute(OBJECTS).fetchall()))
            if strange:
                raise StartupError(_STRANGE.format(fault="; ".join(strange[:_MAX_FAULTS]), step=next_step))
            rows = connection.execute(f"PRAGMA integrity_check({_MAX_FAULTS})").fetchall()
            faults = [str(row[0]) for row in rows if row[0] != "ok" and _FULL_TEXT not in str(row[0])]
    except apsw.Error as error:
        raise StartupError(_WRONG.format(what="in it", fault=error, step=next_step)) from error
    if faults:
        raise StartupError(_WRONG.format(what="in it", fault="; ".join(faults[:_MAX_FAULTS]), step=next_step))
    return number
