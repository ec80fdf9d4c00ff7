"""Originals in a bucket of any server that speaks S3."""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from mcp_knowledge.adapters.blobs import Keeps, never
from mcp_knowledge.adapters.s3_connection import FIRST_PAUSE_S, Bucket, Patience, connect
from mcp_knowledge.adapters.s3_faults import NO_BUCKET, code_of, is_refusal, sentence_of
from mcp_knowledge.adapters.s3_uploads import Uploads
from mcp_knowledge.adapters.upload_folder import UploadFolder
from mcp_knowledge.domain.blob_keys import ARCHIVES, ORIGINALS, checked_key, is_own_key
from mcp_knowledge.errors import KnowledgeError, StartupError, storing

log = logging.getLogger(__name__)

_PIECE_BYTES = 256 * 1024
_KEYS_AT_ONCE = 1000  # what a server lists in one answer
_OWN_FOLDER = "mcp-knowledge"
_OWNER_KEY = f"{_OWN_FOLDER}/owner"


class S3BlobStore:
    """Blobs as objects of a bucket; a key is the object's.

    A request that fails by no fault of its own (no connection, silence, a status of 5xx or 429) is made again.

    Args:
        uploads: a folder of this machine for temporary files.
        owner: the same in every process on one database, and in no other. Two databases on one bucket would each take
            the other's originals for files that no document holds.
        keeps: as in `LocalBlobStore`.
    """

    driver = "s3"

    def __init__(
        self,
        bucket: Bucket,
        uploads: Path,
        owner: str,
        patience: Patience | None = None,
        keeps: Keeps = never,
    ) -> None:
        self._bucket = bucket
        self._uploads = UploadFolder(uploads)
        self._owner = owner
        self._keeps = keeps
        self._is_owned = False
        self._patience = patience or Patience()
        self._store = connect(bucket, self._patience)
        self._impatient = connect(bucket, self._patience.once())
        self._sending = Uploads(self._store, self._patience.retry_s)

    async def open(self) -> None:
        """Look whether the bucket can be used, and mark it as this installation's.

        A server that cannot be reached stops no start: searches do not need it, and it may come back.

        Raises:
            StartupError: the bucket is missing or another installation's, or the credentials do not do.
        """
        try:
            async with asyncio.timeout(self._patience.check_s):
                await _look(self._impatient)
                await self._claim(self._impatient)
        except (BaseError, OSError) as error:  # a TimeoutError and a FileNotFoundError are OSErrors
            if is_refusal(error):
                raise StartupError(sentence_of(error, self._bucket)) from error
            log.warning(
                "The S3 server at %s (S3_ENDPOINT) cannot be reached. Originals can be neither stored nor read "
                "until it answers.",
                self._bucket.address,
            )

    async def close(self) -> None:
        """Let uploads end that nobody waits for any more, so that no part of them stays behind."""
        await self._sending.close()

    async def put_file(self, key: str, path: Path) -> None:
        """Take over a finished temporary file. When this returns the server has all of it.

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE when the server cannot be reached or refuses.
        """
        checked_key(key)
        try:
            await self._sending.send(key, path)
        except (BaseError, OSError) as error:
            raise self._unusable(error) from error
        await asyncio.to_thread(path.unlink, missing_ok=True)

    def upload_dir(self) -> Path:
        """Where temporary files belong. The first call removes what killed processes left there."""
        return self._uploads.path()

    @asynccontextmanager
    async def local_copy(self, key: str) -> AsyncIterator[Path]:
        """A temporary file with the blob's bytes, gone afterwards.

        Raises:
            KnowledgeError: DOCUMENT_CONTENT_UNAVAILABLE; SERVICE_UNAVAILABLE, also when the disk is full.
        """
        pieces = self.read(key)
        path = self.upload_dir() / f"{secrets.token_hex(16)}.copy"
        try:
            with storing(), path.open("wb") as file:
                async for piece in pieces:
                    await asyncio.to_thread(file.write, piece)
            yield path
        finally:
            path.unlink(missing_ok=True)

    async def read(
        self, key: str, start: int = 0, length: int | None = None, *, of_bytes: int | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes from `start`, in pieces, up to `length` of them. What breaks off goes on where it broke.

        Raises:
            KnowledgeError: DOCUMENT_CONTENT_UNAVAILABLE, SERVICE_UNAVAILABLE.
        """
        checked_key(key)
        if length == 0:
            with self._answering():
                _check_size((await obstore.head_async(self._store, key))["size"], of_bytes)
            return
        at, end = start, None if length is None else start + length
        while True:
            begun_at = at
            try:
                with self._answering():
                    async for piece in _pieces(self._store, key, at, end, of_bytes):
                        yield piece
                        at += len(piece)
                return
            except KnowledgeError as error:
                # The library goes on by itself, but only in the first minute of a request. A reader may take longer.
                if error.code != "SERVICE_UNAVAILABLE" or at == begun_at:
                    raise
                if at == end:
                    return

    async def delete(self, key: str) -> None:
        """Remove a blob, if it is there, unless it must stay for now. Raises SERVICE_UNAVAILABLE."""
        if is_own_key(checked_key(key)) and await self._keeps():
            return
        until = time.monotonic() + self._patience.retry_s
        while True:
            try:
                await obstore.delete_async(self._store, key)
                return
            except FileNotFoundError as error:
                if code_of(error) == NO_BUCKET:
                    raise self._unusable(error) from error
                return
            except BaseError as error:
                # The library repeats no DELETE that broke on its way, though it does no harm.
                if is_refusal(error) or time.monotonic() >= until:
                    raise self._unusable(error) from error
                await asyncio.sleep(FIRST_PAUSE_S)

    async def keys(self) -> AsyncIterator[tuple[str, int]]:
        """Every key and when its bytes were written (Unix milliseconds).

        Raises:
            KnowledgeError: SERVICE_UNAVAILABLE.
            StartupError: the bucket is another installation's.
        """
        with self._answering():
            if not self._is_owned:
                await self._claim(self._store)
            for folder in (ARCHIVES, ORIGINALS):
                async for objects in obstore.list(self._store, folder, chunk_size=_KEYS_AT_ONCE):
                    for item in objects:
                        yield item["path"], int(item["last_modified"].timestamp() * 1000)

    async def healthy(self) -> bool:
        """Whether the bucket answers now, within `check_s`."""
        try:
            async with asyncio.timeout(self._patience.check_s):
                await _look(self._impatient)
        except (BaseError, OSError):
            return False
        return True

    async def _claim(self, store: S3Store) -> None:
        try:
            owner = await _text_of(store, _OWNER_KEY)
        except FileNotFoundError as error:
            if code_of(error) == NO_BUCKET:
                raise
            owner = await _mark(store, self._owner)
        if owner != self._owner:
            raise StartupError(
                f"The bucket '{self._bucket.name}' (S3_BUCKET) holds the originals of another database: use a bucket "
                f"of its own. If that one is gone for good, delete the object {_OWNER_KEY} and start again."
            )
        self._is_owned = True

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            if code_of(error) == NO_BUCKET:
                raise self._unusable(error) from error
            raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE") from error
        except BaseError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> KnowledgeError:
        if is_refusal(error):
            log.error("Originals can be neither stored nor read. %s", sentence_of(error, self._bucket))
            return KnowledgeError("SERVICE_UNAVAILABLE", "The storage of originals refuses to work. The log says why.")
        return KnowledgeError(
            "SERVICE_UNAVAILABLE", "The storage of originals cannot be reached right now. Try again shortly."
        )


async def _pieces(store: S3Store, key: str, at: int, end: int | None, of_bytes: int | None) -> AsyncIterator[bytes]:
    """One request for the bytes from `at`; none when that is their end."""
    try:
        found = await obstore.get_async(
            store, key, options={"range": {"offset": at} if end is None else (at, end)} if at or end else None
        )
    except BaseError as error:
        if code_of(error) == "InvalidRange":
            return
        raise
    _check_size(found.meta["size"], of_bytes)
    async for piece in found.stream(min_chunk_size=_PIECE_BYTES):
        yield piece


def _check_size(size_bytes: int, of_bytes: int | None) -> None:
    if of_bytes not in (None, size_bytes):
        raise KnowledgeError("DOCUMENT_CONTENT_UNAVAILABLE")


async def _look(store: S3Store) -> None:
    """The cheapest question that fails when the bucket is missing: a HEAD could not tell that from a missing object."""
    async for _ in obstore.list(store, _OWN_FOLDER):
        pass


async def _text_of(store: S3Store, key: str) -> str:
    found = await obstore.get_async(store, key)
    return bytes(await found.bytes_async()).decode(errors="replace")


async def _mark(store: S3Store, owner: str) -> str:
    """Write the owner's mark unless somebody is quicker; who it is now."""
    try:
        await obstore.put_async(store, _OWNER_KEY, owner.encode(), mode="create")
    except AlreadyExistsError:
        return await _text_of(store, _OWNER_KEY)
    return owner
