"""Killing the server and its parsers at random moments: nothing accepted is lost, doubled or half visible."""

import random
import signal
import threading
from pathlib import Path

import httpx2
import psutil
import pytest
from crash_kit import (
    all_documents,
    assert_the_file_is_whole,
    finished,
    keys_in,
    keys_on_disk,
    make_old,
    no_active_jobs,
    rest,
)
from front_door import Server, wait_until

pytestmark = pytest.mark.slow
ROUNDS = 7
PARAGRAPHS = 6
LAST_FINISH_S = 240.0
WORDS = ["harbour", "ledger", "engine", "permit", "window", "garden", "invoice", "committee", "bridge", "river"]


class Uploads:
    """What was sent, and what the server said it has taken."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.count = 0
        self.texts: dict[str, list[list[str]]] = {}  # document id -> markers of each accepted revision, in order
        self.maybe: set[str] = set()  # documents of which a further revision may or may not have been taken
        self.deleted: set[str] = set()
        self.maybe_deleted: set[str] = set()

    def text(self) -> tuple[list[str], bytes]:
        """A text of several chunks, each paragraph with a marker of its own."""
        self.count += 1
        markers = [f"MARK-{self.count:04d}-{number}" for number in range(PARAGRAPHS)]
        paragraphs = (f"{' '.join(self.draw.choices(WORDS, k=50))} {mark} {' '.join(WORDS)}." for mark in markers)
        return markers, "\n\n".join(paragraphs).encode()

    def send_until_killed(self, server: Server) -> None:
        """Upload, revise and delete, until the server is gone."""
        try:
            while True:
                self._send_one(server)
                rest()
        except httpx2.TransportError:
            pass

    def _send_one(self, server: Server) -> None:
        markers, content = self.text()
        name = f"document-{self.count:04d}.txt"
        chance = self.draw.random()
        living = [item for item in self.texts if item not in self.deleted | self.maybe_deleted]
        if chance < 0.1 and living:
            chosen = self.draw.choice(living)
            self.maybe_deleted.add(chosen)
            assert server.request("DELETE", f"/api/v1/documents/{chosen}").status_code == 200
            self.deleted.add(chosen)
        elif chance < 0.3 and living:
            chosen = self.draw.choice(living)
            self.maybe.add(chosen)
            path = f"/api/v1/documents/{chosen}/revisions"
            assert server.request("POST", path, files={"file": (name, content)}).status_code == 202
            self.texts[chosen].append(markers)
            self.maybe.discard(chosen)
        else:
            receipt = server.upload(name, content)
            assert not receipt["duplicate"]
            self.texts[receipt["id"]] = [markers]


def parsers_of(server: Server) -> list[psutil.Process]:
    assert server.process is not None
    found = []
    for child in psutil.Process(server.process.pid).children(recursive=True):
        try:
            if any("parsers.worker" in part for part in child.cmdline()):
                found.append(child)
        except psutil.Error:  # it has just ended
            continue
    return found


def contents_of(server: Server, document_id: str) -> list[str]:
    items = server.request("GET", f"/api/v1/documents/{document_id}/chunks?limit=100").json()["items"]
    return [item["content"] for item in items]


def markers_in(contents: list[str]) -> set[str]:
    return {word for content in contents for word in content.split() if word.startswith("MARK-")}


def assert_nothing_is_half_visible(server: Server, uploads: Uploads) -> None:
    """A visible document shows all the paragraphs of one of its revisions, and none of another."""
    for document in list(all_documents(server))[:60]:
        shown = markers_in(contents_of(server, str(document["id"])))
        assert len({marker.rpartition("-")[0] for marker in shown}) <= 1
        assert len(shown) in (0, PARAGRAPHS)
        if document["status"] == "ready":
            assert shown or document["id"] in uploads.maybe_deleted


def test_kills_at_random_moments_lose_double_and_half_show_nothing(tmp_path: Path) -> None:
    draw = random.Random(20)
    server = Server(tmp_path / "data")
    uploads = Uploads(draw)
    pause = threading.Event()
    for number in range(ROUNDS):
        server.start()
        if number % 4 == 1:
            assert_nothing_is_half_visible(server, uploads)
        sender = threading.Thread(target=uploads.send_until_killed, args=(server,))
        sender.start()
        pause.wait(draw.uniform(0.0, 1.2))  # the moment of the kill, not a wait for anything
        if number % 3 == 2:
            for parser in parsers_of(server):
                parser.send_signal(signal.SIGKILL)
            pause.wait(draw.uniform(0.0, 0.3))
        server.kill()
        sender.join()

    server.start()
    try:
        wait_until(lambda: finished(server) and no_active_jobs(server), LAST_FINISH_S, "all documents to be ready")
        assert_everything_is_there_once(server, uploads)
    finally:
        server.stop()
    assert_the_file_is_whole(server.data_dir / "app.db")

    make_old(server.data_dir / "documents")
    server.start()
    try:
        wait_until(lambda: keys_on_disk(server.data_dir) == keys_in(server.data_dir / "app.db"), what="orphans to go")
    finally:
        server.stop()


def assert_everything_is_there_once(server: Server, uploads: Uploads) -> None:
    documents = {str(document["id"]): document for document in all_documents(server)}
    assert len(uploads.texts) > ROUNDS // 2, "hardly anything was uploaded: the test would show nothing"
    for document_id, revisions in uploads.texts.items():
        if document_id in uploads.deleted:
            assert document_id not in documents
            continue
        if document_id in uploads.maybe_deleted:
            continue
        document = documents[document_id]
        assert document["status"] == "ready", document
        contents = contents_of(server, document_id)
        assert len(contents) == document["chunkCount"]
        shown = markers_in(contents)
        assert len(shown) == PARAGRAPHS
        if document_id not in uploads.maybe:
            assert shown == set(revisions[-1])
            query = {"query": f'"{revisions[-1][3]}"', "mode": "lexical", "limit": 50}
            hits = server.request("POST", "/api/v1/search", json=query).json()["hits"]
            assert {hit["documentId"] for hit in hits} == {document_id}
            assert len({hit["chunkId"] for hit in hits}) == len(hits)
    hashes = [document["sha256"] for document in documents.values()]
    assert len(set(hashes)) == len(hashes)
