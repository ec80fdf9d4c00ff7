"""Everything breaks while documents are ingested: the story that the test tells with few documents, and the benchmark
with many.
"""

import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from fire_checks import (
    assert_every_document_is_there_once,
    assert_every_original_is_there,
    assert_nothing_is_left_over,
    blobs_without_owners,
)
from fire_fleet import Fleet, Killer, burning
from fire_traffic import API, Documents, Searcher
from front_door import wait_until
from zip_files import zip_of

from mcp_knowledge.settings import load_settings

_SEARCHERS = 2
_FINISH_S = 3600.0


@dataclass
class Story:
    """What was broken, and what was seen meanwhile.

    Args:
        half_seen: answers that showed a part of a document, two versions of it, or a failure.
        orphans: files that were left for the hourly sweep.
        moments: seconds since the beginning, by what was reached.
    """

    documents: int = 0
    revised: int = 0
    deleted: int = 0
    kills: int = 0
    killed_mid_archive: bool = False
    killed_mid_delete: bool = False
    seen_whole: int = 0
    seen_none: int = 0
    half_seen: list[str] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)
    orphans: int = 0
    moments: dict[str, float] = field(default_factory=dict)


def tell(
    folder: Path, documents: int, letters: int, s3_away_s: float, kill_pauses_s: tuple[float, float], seed: int = 4
) -> Story:
    """Ingest that many documents and an archive of letters while everything breaks, and check what is there at the end.

    Raises:
        AssertionError: something is lost, doubled or left over.
    """
    story = Story()
    with burning(folder) as fleet:
        sent = Documents(fleet, seed)
        searchers = [Searcher(fleet, sent, seed + number) for number in range(_SEARCHERS)]
        begun = time.monotonic()
        killer = Killer(fleet, random.Random(seed), kill_pauses_s)
        _send_archive(fleet, letters, seed)
        story.killed_mid_archive = killer.kill_one_that(
            lambda: fleet.worker_of("SELECT worker FROM archives WHERE state = 'extracting'")
        )
        half = documents // 2
        senders = [threading.Thread(target=sent.send, args=(range(first, first + half),)) for first in (0, half)]
        for sender in senders:
            sender.start()
        wait_until(lambda: len(sent.ids) > documents // 4, _FINISH_S, "a quarter of the documents")
        fleet.postgres.restart()
        wait_until(lambda: len(sent.ids) > documents // 2, _FINISH_S, "half of the documents")
        fleet.kill(fleet.apis[1])
        story.killed_mid_delete = _refuse_storage(fleet, sent, killer, s3_away_s)
        for sender in senders:
            sender.join(_FINISH_S)
        story.moments["all documents taken"] = time.monotonic() - begun
        killer.stop()
        wait_until(lambda: _is_quiet(fleet), _FINISH_S, "all work to end")
        story.moments["all work ended"] = time.monotonic() - begun
        for searcher in searchers:
            searcher.stop()
            story.seen_whole += searcher.whole
            story.seen_none += searcher.none
            story.half_seen += searcher.broken
        _check(fleet, sent, letters)
        story.documents, story.deleted, story.kills = len(sent.ids), len(sent.deleted), fleet.kills
        story.revised = sum(version > 1 for version in sent.versions.values())
        story.surprises = fleet.errors()
        fleet.stop()
        variables = {name.lower(): value for name, value in fleet.environment.items()}
        story.orphans = blobs_without_owners(fleet, load_settings(data_dir=folder / "after", role="api", **variables))
    return story


def _send_archive(fleet: Fleet, letters: int, seed: int) -> None:
    data = zip_of(*((f"letters/{number}.txt", f"Letter {number} of the archive.") for number in range(letters)))
    answer = fleet.request(random.Random(seed), "POST", f"{API}/documents", files={"file": ("letters.zip", data)})
    assert answer.status_code == 202, answer.text


def _refuse_storage(fleet: Fleet, sent: Documents, killer: Killer, away_s: float) -> bool:
    """Take the storage away for a time; whether a worker was killed meanwhile that was about to delete."""
    fleet.proxy.refuse()
    back = threading.Timer(away_s, fleet.proxy.restore)
    back.start()
    for number in [number for number in sorted(sent.ids) if number not in sent.deleted][:3]:
        sent.delete(random.Random(number), number)
    killed = killer.kill_one_that(
        lambda: fleet.worker_of("SELECT worker FROM jobs WHERE status = 'running' AND kind = 'delete'"), away_s
    )
    back.join()
    return killed


def _is_quiet(fleet: Fleet) -> bool:
    active = "SELECT 1 FROM jobs WHERE status IN ('queued', 'running', 'retrying') LIMIT 1"
    return not fleet.rows(active) and not fleet.rows(
        "SELECT 1 FROM archives WHERE state IN ('queued', 'extracting') LIMIT 1"
    )


def _check(fleet: Fleet, sent: Documents, letters: int) -> None:
    assert_nothing_is_left_over(fleet)
    assert_every_document_is_there_once(fleet, sent)
    assert_every_original_is_there(fleet, sent)
    assert len(fleet.rows("SELECT 1 FROM documents WHERE source_path LIKE 'letters/%'")) == letters
