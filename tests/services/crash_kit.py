"""What the crash tests share: looking at a server and at the file that it leaves."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
from front_door import Server

PACE_S = 0.03


def rest() -> None:
    """The pace of a person's program, which leaves the server some time of the processors."""
    threading.Event().wait(PACE_S)


def all_documents(server: Server) -> Iterator[dict[str, object]]:
    cursor = ""
    while True:
        page = server.request("GET", f"/api/v1/documents?limit=100{cursor}").json()
        yield from page["items"]
        if page["nextCursor"] is None:
            return
        cursor = f"&cursor={page['nextCursor']}"


def finished(server: Server) -> bool:
    return all(item["status"] in ("ready", "failed") and item["progress"] is None for item in all_documents(server))


def no_active_jobs(server: Server) -> bool:
    jobs = [
        server.request("GET", f"/api/v1/jobs?status={status}").json() for status in ("queued", "running", "retrying")
    ]
    return not any(page["items"] for page in jobs)


def assert_the_file_is_whole(path: Path, empty: bool = False) -> None:
    """Nothing is damaged, no row is without those that belong to it, and no job is left; `empty`: nor any document."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as database:

        def value(sql: str) -> int:
            return int(next(database.execute(sql))[0])

        assert list(database.execute("PRAGMA integrity_check")) == [("ok",)]
        assert list(database.execute("PRAGMA foreign_key_check")) == []
        chunks = value("SELECT count(*) FROM chunks")
        assert (chunks == 0) == empty
        assert value("SELECT count(*) FROM chunk_vectors") == chunks
        assert value("SELECT count(*) FROM chunks JOIN chunk_vectors USING (chunk_no)") == chunks
        current = "chunks c JOIN documents d ON d.document_no = c.document_no AND d.current_revision_no = c.revision_no"
        assert value(f"SELECT count(*) FROM {current} WHERE d.searchable = 1") == chunks
        assert value("SELECT coalesce(sum(chunk_count), 0) FROM documents WHERE status = 'ready'") == chunks
        assert value("SELECT count(*) FROM early_vectors") == 0
        assert {row[0] for row in database.execute("SELECT rowid FROM chunk_fts")} == {
            row[0] for row in database.execute("SELECT chunk_no FROM chunks")
        }
        stale = "NOT IN (SELECT current_revision_no FROM documents WHERE current_revision_no IS NOT NULL)"
        for table in ("revision_blocks", "revision_heads"):
            assert value(f"SELECT count(*) FROM {table} WHERE revision_no {stale}") == 0
        assert value("SELECT count(*) FROM jobs WHERE status IN ('queued', 'running', 'retrying')") == 0


def make_old(folder: Path) -> None:
    an_hour_ago = time.time() - 3600
    for path in folder.rglob("*"):
        os.utime(path, (an_hour_ago, an_hour_ago))


def keys_on_disk(data_dir: Path) -> set[str]:
    root = data_dir / "documents"
    return {path.relative_to(root).as_posix() for path in (root / "originals").rglob("*") if path.is_file()}


def keys_in(path: Path) -> set[str]:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as database:
        return {str(row[0]) for row in database.execute("SELECT blob_key FROM revisions")}
