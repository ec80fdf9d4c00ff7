"""The store of originals that the settings choose."""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp_knowledge.adapters.blobs import LocalBlobStore
from mcp_knowledge.adapters.rows.access import SqlAccessStore
from mcp_knowledge.adapters.rows.dialect import Database
from mcp_knowledge.adapters.s3 import S3BlobStore
from mcp_knowledge.adapters.s3_connection import bucket_of
from mcp_knowledge.domain.cursors import SECRET_BYTES
from mcp_knowledge.ports import BlobStore
from mcp_knowledge.settings import Settings


@asynccontextmanager
async def open_blobs(settings: Settings, database: Database) -> AsyncIterator[BlobStore]:
    """The originals of a database.

    Raises:
        StartupError: the bucket is missing or another database's, or the credentials do not do.
    """
    if settings.storage_driver == "local":
        yield LocalBlobStore(settings.blobs_path)
        return
    # A bucket gets a mark that only this database can make, and a copy of it.
    secret = await SqlAccessStore(database).shared_secret(os.urandom(SECRET_BYTES))
    owner = hashlib.sha256(b"owner of originals" + secret).hexdigest()
    blobs = S3BlobStore(bucket_of(settings), settings.data_dir / "uploads", owner)
    await blobs.open()
    try:
        yield blobs
    finally:
        await blobs.close()
