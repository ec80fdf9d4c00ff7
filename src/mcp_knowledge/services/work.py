"""Documents on their way through ingestion: how far each has come, and whose passages the model reads next."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mcp_knowledge.domain.blocks import NormalizedDocument
from mcp_knowledge.domain.documents import Chunk, IndexVersions, Job, Stage
from mcp_knowledge.ports import IndexedRevision, Vector
from mcp_knowledge.services import metrics


@dataclass(frozen=True, slots=True)
class Prepared:
    """A parsed and chunked revision. `known`: vectors, by embedding text, that its document already has."""

    title: str
    normalized: NormalizedDocument
    chunks: Sequence[Chunk]
    versions: IndexVersions
    known: dict[str, Vector]


@dataclass(slots=True, eq=False)
class Work:
    """A claimed job and what has been made of it so far.

    Args:
        reused: chunks whose vectors were there already.
        waiting: chunks that nobody has taken to the model yet, last one first.
        is_large: its file takes long to read and to chunk.
        failed: its failure is being recorded.
        writing: its document is being written, in a transaction that ends the job too.
        unkept: chunks whose vectors would be lost if the work stopped now.
        deadline: when the ingestion has taken too long, on the monotonic clock, in seconds; set when its turn has come.
        renewed: when the lease was last renewed, on the same clock.
        stages: those that are over, each with its beginning and end on the same clock.
    """

    job: Job
    deadline: float = math.inf
    started: float = field(default_factory=time.monotonic)
    renewed: float = field(default_factory=time.monotonic)
    stage: Stage = "queued"
    stage_started: float = field(default_factory=time.monotonic)
    stages: list[tuple[Stage, float, float]] = field(default_factory=list)
    done: int = 0
    total: int = 0
    reported: tuple[Stage, int, int] = ("queued", 0, 0)
    prepared: Prepared | None = None
    vectors: Vector | None = None
    reused: int = 0
    waiting: list[int] = field(default_factory=list)
    unkept: list[int] = field(default_factory=list)
    is_large: bool = False
    failed: bool = False
    writing: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """Job and attempt: what the queue fences by."""
        return self.job.id, self.job.attempt

    def log_fields(self) -> dict[str, object]:
        """What log lines about the job carry."""
        return {"jobId": self.job.id, "documentId": self.job.document_id, "attempt": self.job.attempt}

    def enter(self, stage: Stage) -> None:
        """Go on to the next stage; the last one's duration is recorded."""
        self.close_stage()
        self.stage, self.stage_started = stage, time.monotonic()
        self.done = self.total = 0

    def close_stage(self) -> None:
        """Record how long the present stage took, also when the document fails in it."""
        if self._stage_is_over:
            return
        now = time.monotonic()
        self.stages.append((self.stage, self.stage_started, now))
        metrics.observe_ingestion(self.stage, now - self.stage_started)

    def stages_until(self, now: float) -> list[tuple[Stage, float, float]]:
        """Every stage of an ingestion so far, the present one as far as it has come."""
        if self.job.kind == "delete":
            return []
        present = [] if self._stage_is_over else [(self.stage, self.stage_started, now)]
        return [*self.stages, *present]

    @property
    def _stage_is_over(self) -> bool:
        return bool(self.stages) and self.stages[-1][0] == self.stage

    def prepare_vectors(self, prepared: Prepared, dimensions: int) -> None:
        """Fill in the vectors that are known; the other chunks wait for the model."""
        self.prepared = prepared
        self.vectors = np.empty((len(prepared.chunks), dimensions), np.float32)
        if not prepared.known:
            self.waiting = list(range(len(prepared.chunks)))
        else:
            for index, chunk in enumerate(prepared.chunks):
                known = prepared.known.get(chunk.embedding_text)
                if known is None:
                    self.waiting.append(index)
                else:
                    self.vectors[index] = known
        self.waiting.reverse()  # so that the first ones are cheap to take from the end
        self.total = len(prepared.chunks)
        self.done = self.reused = self.total - len(self.waiting)

    def embedded(self, indexes: Sequence[int], vectors: Vector) -> bool:
        """Take over vectors of chunks; whether all chunks have one now."""
        assert self.vectors is not None
        self.vectors[list(indexes)] = vectors
        self.unkept.extend(indexes)
        self.done += len(indexes)
        return self.done == self.total

    def take_unkept(self) -> tuple[list[str], Vector]:
        """Texts and vectors of the chunks that are not kept yet; from now on they count as kept."""
        assert self.vectors is not None
        indexes, self.unkept = self.unkept, []
        return [self.text(index) for index in indexes], self.vectors[indexes]

    def text(self, index: int) -> str:
        """What the model reads of a chunk."""
        assert self.prepared is not None
        return self.prepared.chunks[index].embedding_text

    def revision(self) -> IndexedRevision:
        """What the store writes."""
        assert self.prepared is not None and self.vectors is not None
        made = self.prepared
        properties = made.normalized.metadata
        return IndexedRevision(
            self.job, made.title, made.normalized, properties, made.chunks, self.vectors, made.versions
        )


class Passages:
    """The passages that wait for the model, in the order that serves everybody.

    Half of every batch belongs to the oldest document, so that a large one always gets on; the rest goes to the
    documents with the fewest passages left, so that small ones do not wait behind it.
    """

    def __init__(self) -> None:
        self._works: list[Work] = []

    def __len__(self) -> int:
        """Passages that nobody has taken yet."""
        return sum(len(work.waiting) for work in self._works)

    @property
    def works(self) -> Sequence[Work]:
        """Documents with passages that nobody has taken yet, oldest first."""
        return tuple(self._works)

    def add(self, work: Work) -> None:
        """Queue a document's passages."""
        self._works.append(work)

    def discard(self, work: Work) -> None:
        """Forget what is left of a document."""
        if work in self._works:
            self._works.remove(work)

    def take(self, count: int) -> list[tuple[Work, list[int]]]:
        """Up to `count` passages: chunk indexes by document."""
        if not self._works:
            return []
        oldest, *others = self._works
        taken = {id(oldest): (oldest, _pop(oldest.waiting, max(1, count // 2)))}
        for work in sorted(others, key=lambda work: len(work.waiting)):
            room = count - sum(len(indexes) for _, indexes in taken.values())
            if room == 0:
                break
            taken[id(work)] = (work, _pop(work.waiting, room))
        room = count - sum(len(indexes) for _, indexes in taken.values())
        taken[id(oldest)][1].extend(_pop(oldest.waiting, room))
        self._works = [work for work in self._works if work.waiting]
        return list(taken.values())


def _pop(waiting: list[int], count: int) -> list[int]:
    cut = max(0, len(waiting) - count)
    taken = waiting[cut:][::-1]
    del waiting[cut:]
    return taken
