"""The store of originals that the settings choose."""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from mcp_knowledge.adapters.blobs import LocalBlobStore, never
from mcp_knowledge.adapters.file_locks import FileLocks
from mcp_knowledge.adapters.folder_owner import claim_folder
from mcp_knowledge.adapters.rows.access import SqlAccessStore
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.domain.cursors import SECRET_BYTES
from mcp_knowledge.ports import BlobStore
from mcp_knowledge.settings import Settings

BACKUP = "backup"  # a kind of lock: while somebody holds one, no original is deleted


@asynccontextmanager
async def open_blobs(settings: Settings, database: Database) -> AsyncIterator[BlobStore]:
    """The originals of a database.

    Raises:
        StartupError: the folder or bucket is another database's, or the bucket is missing or the credentials do not do.
    """
    # Folder and bucket get a mark that only this database, and a copy of it, can make.
    secret = await SqlAccessStore(database).shared_secret(os.urandom(SECRET_BYTES))
    owner = hashlib.sha256(b"owner of originals" + secret).hexdigest()
    locks = FileLocks(settings.data_dir / "locks")
    keeps = never if settings.database_driver == "postgres" else partial(locks.anybody_holds, BACKUP)
    if settings.storage_driver == "local":
        mark = await claim_folder(settings.blobs_path, owner, SqlStore(database).blob_keys)
        yield LocalBlobStore(settings.blobs_path, keeps, mark)
        return
    from mcp_knowledge.adapters.s3 import S3BlobStore
    from mcp_knowledge.adapters.s3_connection import bucket_of

    blobs = S3BlobStore(bucket_of(settings), settings.data_dir / "uploads", owner, keeps=keeps)
    await blobs.open()
    try:
        yield blobs
    finally:
        await blobs.close()
