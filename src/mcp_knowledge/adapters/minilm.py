"""The embedding model: all-MiniLM-L6-v2 as an int8 ONNX file, run by ONNX Runtime.

A process has one session, loaded at the first use. Each call runs on one thread (ONNX Runtime's own thread pool spins
and loses most of its throughput when a neighbour is busy); two calls at a time use both cores. Queries have threads of
their own and the right of way: passages begin no further call while a search is at work, and their threads have a lower
priority.
"""

import asyncio
import hashlib
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from mcp_knowledge.adapters.right_of_way import RightOfWay
from mcp_knowledge.domain.chunking import PREFIX_VERSION
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import Vector
from mcp_knowledge.settings import Settings

if TYPE_CHECKING:
    import onnxruntime as ort  # type: ignore[import-untyped]  # has no type information

PASSAGE_THREADS = 2
QUERY_THREADS = 2
# Rows x longest row of one call, some 10 ms of work, which is what a query may have to wait for. Larger calls are no
# faster (measured from 128 to 1,024 tokens).
CALL_TOKENS = 128
_TRIP_TEXTS = 32  # most texts that one trip to a thread takes along
_COUNTED_TEXTS = 256  # encodings in memory at a time
_FEW_TEXTS = 4  # fewer than twice as many are not worth a second thread
_PASSAGE_NICENESS = 5  # of 19; below searches and the event loop, above nothing
_REMEMBERED_QUERIES = 256  # paging, another mode or an explanation ask for the same words again


class MiniLmEmbedder:
    """Text to unit vectors. Every text's vector is the same whatever else is in its batch.

    Raises:
        KnowledgeError: SERVICE_UNAVAILABLE from any call when the model's files cannot be loaded.
    """

    model = "all-MiniLM-L6-v2"

    def __init__(self, settings: Settings) -> None:
        self.dimensions = settings.embedding_dimensions
        self.max_tokens = settings.embedding_max_tokens
        self._folder = settings.embedding_model_path
        self._batch_rows = settings.embedding_batch_size
        self._lock = threading.Lock()
        self._passages = ThreadPoolExecutor(PASSAGE_THREADS, "embed-passages", initializer=_yield_to_others)
        self._queries = ThreadPoolExecutor(QUERY_THREADS, "embed-query")
        self._recent: OrderedDict[str, Vector] = OrderedDict()
        self._right_of_way = RightOfWay()

    @cached_property
    def fingerprint(self) -> str:
        """What stored vectors depend on: the model file's SHA-256, the dimensions and the chunk prefix's version."""
        with _model_file(self._folder / "model.onnx").open("rb") as file:
            model_hash = hashlib.file_digest(file, "sha256").hexdigest()
        return f"{model_hash}:{self.dimensions}:{PREFIX_VERSION}"

    @cached_property
    def version(self) -> str:
        """A short form of the fingerprint, for people."""
        return f"{self.fingerprint[:12]}-{PREFIX_VERSION}"

    async def load(self) -> None:
        """Load the model now, off the loop, so that the first search need not wait for it."""
        await asyncio.get_running_loop().run_in_executor(self._queries, self._embed_one, "ready")

    def close(self) -> None:
        """Stop the threads; calls that wait are dropped."""
        self._passages.shutdown(wait=True, cancel_futures=True)
        self._queries.shutdown(wait=True, cancel_futures=True)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Model tokens of each text, special tokens excluded."""
        counts: list[int] = []
        for first in range(0, len(texts), _COUNTED_TEXTS):  # an encoding is some 200 bytes a token
            counts += map(len, self._encode(texts[first : first + _COUNTED_TEXTS], special=False))
        return counts

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character span of each model token, special tokens excluded."""
        offsets: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return offsets

    async def embed_query(self, text: str) -> Vector:
        """float32 [dimensions], L2-normalised."""
        with self._right_of_way.taken():
            known = self._recent.get(text)
            if known is None:
                known = await asyncio.get_running_loop().run_in_executor(self._queries, self._embed_one, text)
                self._recent[text] = known
                if len(self._recent) > _REMEMBERED_QUERIES:
                    self._recent.popitem(last=False)
            else:
                self._recent.move_to_end(text)
            return known

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        """float32 [len(texts), dimensions], L2-normalised, in the order of `texts`."""
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        if not texts:
            return vectors
        # A trip to a thread and back costs about as much as a tenth of a passage, so each takes several along; every
        # trip gets short and long texts, so that the threads end together.
        trips = max(1, min(PASSAGE_THREADS, len(texts) // _FEW_TEXTS), -(-len(texts) // _TRIP_TEXTS))
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        shares = [order[first::trips] for first in range(trips)]
        loop = asyncio.get_running_loop()
        calls = [loop.run_in_executor(self._passages, self._embed_all, [texts[i] for i in share]) for share in shares]
        for share, result in zip(shares, await asyncio.gather(*calls), strict=True):
            vectors[share] = result
        return vectors

    def _embed_all(self, texts: Sequence[str]) -> Vector:
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        rows = self._token_ids(texts)
        for batch in self._batches(rows):
            self._right_of_way.wait()
            vectors[batch] = self._run([rows[index] for index in batch])
        return vectors

    def _batches(self, rows: Sequence[list[int]]) -> list[list[int]]:
        """Indexes of rows for each call: sorted by length, so that next to nothing is padding."""
        batches: list[list[int]] = []
        batch: list[int] = []
        for index in sorted(range(len(rows)), key=lambda i: len(rows[i])):
            if batch and (len(batch) == self._batch_rows or (len(batch) + 1) * len(rows[index]) > CALL_TOKENS):
                batches.append(batch)
                batch = []
            batch.append(index)
        batches.append(batch)
        return batches

    def _embed_one(self, text: str) -> Vector:
        vector: Vector = self._run(self._token_ids([text]))[0]
        return vector

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids with special tokens, cut to what the model reads (the closing token stays)."""
        last = self.max_tokens - 1
        rows: list[list[int]] = [encoding.ids for encoding in self._encode(texts, special=True)]
        return [row if len(row) <= self.max_tokens else [*row[:last], row[-1]] for row in rows]

    def _encode(self, texts: Sequence[str], special: bool) -> list[Encoding]:
        encodings: list[Encoding] = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=special)
        return encodings

    def _run(self, rows: Sequence[list[int]]) -> Vector:
        width = max(map(len, rows))
        ids: NDArray[np.int64] = np.zeros((len(rows), width), np.int64)
        mask: NDArray[np.int64] = np.zeros((len(rows), width), np.int64)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        result = self._session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})
        return np.asarray(result[0], np.float32)

    @property
    def _session(self) -> "ort.InferenceSession":
        with self._lock:
            return self._loaded_session

    @property
    def _tokenizer(self) -> Tokenizer:
        with self._lock:
            return self._loaded_tokenizer

    @cached_property
    def _loaded_tokenizer(self) -> Tokenizer:
        path = _model_file(self._folder / "tokenizer.json")
        with _readable(path):
            return _tokenizer_of(str(path))

    @cached_property
    def _loaded_session(self) -> "ort.InferenceSession":
        path = _model_file(self._folder / "model.onnx")
        with _readable(path):
            session = _session_of(str(path))
        width = session.get_outputs()[0].shape[-1]
        if width != self.dimensions:
            raise KnowledgeError(
                "SERVICE_UNAVAILABLE",
                f"The embedding model's vectors have {width} dimensions; EMBEDDING_DIMENSIONS says {self.dimensions}.",
            )
        return session


# Whoever opens the services again in one process gets the model that is there: it takes 30 MB and 0.1 s each time.
@lru_cache(maxsize=1)
def _session_of(path: str) -> "ort.InferenceSession":
    # Its makers' builds keep an id of the machine and report to them, from the import on (their Privacy.md). Nothing
    # leaves this machine, so it is told before it is loaded.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: a file of ours gives no warnings that a user could act on
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@lru_cache(maxsize=1)
def _tokenizer_of(path: str) -> Tokenizer:
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Both libraries raise errors of many kinds for a file that is damaged or not for this user."""
    try:
        yield
    except Exception as error:
        raise KnowledgeError(
            "SERVICE_UNAVAILABLE",
            f"The embedding model's {path.name} cannot be read or is damaged. Install again, or check "
            "EMBEDDING_MODEL_PATH.",
        ) from error


def _model_file(path: Path) -> Path:
    if not path.is_file():
        raise KnowledgeError(
            "SERVICE_UNAVAILABLE", f"The embedding model's {path.name} is missing. Check EMBEDDING_MODEL_PATH."
        )
    return path


def _yield_to_others() -> None:
    """Lower the calling thread's priority. Linux counts it per thread; elsewhere it would slow the whole process."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _PASSAGE_NICENESS)
