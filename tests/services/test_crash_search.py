"""Killing the server while its documents change and a searcher looks on: each is found whole, the old or the new."""

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from crash_kit import assert_the_file_is_whole, finished, keys_in, keys_on_disk, make_old, no_active_jobs, rest
from front_door import Server, wait_until

pytestmark = pytest.mark.slow
ROUNDS = 4
MIN_ANSWERS = 4  # of the searcher, before a kill
MAX_ANSWERS = 100  # before a kill that no change comes before
MIN_CHANGES = 3  # of a document from one version to the next that it must have seen, else there are more rounds
DOCUMENTS = 4
PARAGRAPHS = 6
LAST_FINISH_S = 240.0
BROKEN = b"%PDF-1.4 and nothing that could be read"
WORDS = ["harbour", "ledger", "engine", "permit", "window", "garden", "invoice", "committee", "bridge", "river"]
API = "/api/v1"


@dataclass
class Known:
    """A document that was ready once. `versions`: those that may be shown, in the order in which they were sent."""

    id: str
    name: str
    versions: list[str]
    newest_seen: int = 0
    may_be_gone: bool = False
    is_gone: bool = False
    failed_jobs: list[str] = field(default_factory=list)


class Editor:
    """Changes documents at random until the server is gone."""

    def __init__(self, server: Server, draw: random.Random) -> None:
        self.server, self.draw = server, draw
        self.known: list[Known] = []
        self.count = 0
        self.purged = threading.Event()

    def text(self, name: str) -> tuple[str, bytes]:
        """A new version: several chunks, each paragraph with the document's name and a marker of its own."""
        self.count += 1
        version = f"v{self.count:04d}"
        paragraphs = (
            f"{' '.join(self.draw.choices(WORDS, k=60))} {name} MARK-{version}-{number} {' '.join(WORDS)}."
            for number in range(PARAGRAPHS)
        )
        return version, "\n\n".join(paragraphs).encode()

    def add(self) -> None:
        """Upload a document and wait until it is ready: from then on it must always be found."""
        name = f"KEEP{self.count:04d}"
        version, content = self.text(name)
        receipt = self.server.upload(f"{name}.txt", content)
        assert self.server.wait_finished(receipt["id"])["status"] == "ready"
        self.known.append(Known(receipt["id"], name, [version]))

    def edit_until_killed(self) -> None:
        actions: list[Callable[[Known], None]] = [self.delete]
        for action, share in ((self.replace, 5), (self.reindex, 4), (self.break_and_retry, 2)):
            actions += [action] * share
        try:
            while True:
                living = [item for item in self.known if not item.may_be_gone]
                if len(living) < DOCUMENTS:
                    self.add()
                elif self.draw.random() < 0.03:
                    self.purge()
                else:
                    self.draw.choice(actions)(self.draw.choice(living))
                rest()
        except httpx2.TransportError:
            pass

    def replace(self, item: Known) -> None:
        version, content = self.text(item.name)
        item.versions.append(version)
        self._send_revision(item, content)

    def reindex(self, item: Known) -> None:
        assert self._post(f"documents/{item.id}/reindex").status_code in (202, 409)

    def break_and_retry(self, item: Known) -> None:
        """Send a revision that fails, or have an earlier one tried again."""
        jobs = self.server.request("GET", f"{API}/jobs?status=failed&documentId={item.id}").json()["items"]
        if jobs:
            assert self._post(f"jobs/{jobs[0]['id']}/retry").status_code in (202, 409)
        else:
            self._send_revision(item, BROKEN, "broken.pdf")

    def delete(self, item: Known) -> None:
        item.may_be_gone = True
        assert self.server.request("DELETE", f"{API}/documents/{item.id}").status_code == 200
        item.is_gone = True

    def purge(self) -> None:
        for item in self.known:
            item.may_be_gone = True
        assert self._post("documents/purge", json={"confirm": "purge"}).status_code == 200
        for item in self.known:
            item.is_gone = True
        self.purged.set()

    def all_newest_seen(self) -> bool:
        """Whether the searcher has met every living document's newest version; the last may not have been taken."""
        return all(item.may_be_gone or item.newest_seen >= len(item.versions) - 2 for item in self.known)

    def _send_revision(self, item: Known, content: bytes, name: str = "newer.txt") -> None:
        answer = self._post(f"documents/{item.id}/revisions", files={"file": (name, content)})
        assert answer.status_code == 202

    def _post(self, path: str, **arguments: Any) -> httpx2.Response:
        return self.server.request("POST", f"{API}/{path}", **arguments)


class Searcher:
    """Searches for every known document, over and over, and judges each answer."""

    def __init__(self, server: Server, editor: Editor) -> None:
        self.server, self.editor = server, editor
        self.faults: list[str] = []
        self.answers = self.changes = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Searcher":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def wait_for_change(self) -> None:
        """Return when it has met a version that is newer than those until now, or none in many answers."""
        answers, changes = self.answers, self.changes

        def enough() -> bool:
            return self.answers >= answers + (MIN_ANSWERS if self.changes > changes else MAX_ANSWERS)

        wait_until(enough, what="searches to be answered")

    def _run(self) -> None:
        while not self._end.is_set():
            for item in list(self.editor.known):
                for mode in ("lexical", "hybrid"):
                    with suppress(httpx2.TransportError):  # until the server is there again
                        self._look(item, mode)
                    rest()

    def _look(self, item: Known, mode: str) -> None:
        was_gone, seen_before = item.is_gone, item.newest_seen
        body = {"query": item.name, "mode": mode, "documentIds": [item.id], "limit": 50}
        answer = self.server.request("POST", f"{API}/search", json=body)
        hits = answer.json()["hits"] if answer.status_code == 200 else []
        marks = [word for hit in hits for word in hit["content"].split() if word.startswith("MARK-")]
        versions = {mark.split("-")[1] for mark in marks}
        self.answers += 1
        if fault := self._fault(item, was_gone, answer.status_code, {hit["chunkId"] for hit in hits}, hits, marks):
            self.faults.append(f"{mode} {item.name} {item.versions[-3:]}: {fault}")
        elif versions:
            item.newest_seen = item.versions.index(versions.pop())
            self.changes += item.newest_seen > seen_before
            if item.newest_seen < seen_before:
                self.faults.append(f"{item.name} went back to an older version")

    def _fault(
        self, item: Known, was_gone: bool, status: int, chunk_ids: set[str], hits: list[Any], marks: list[str]
    ) -> str | None:
        if status != 200:
            return f"status {status}"
        if was_gone:
            return "found after its deletion" if hits else None
        if not hits:
            return None if item.may_be_gone else "not found"
        if len(chunk_ids) != len(hits):
            return "a passage twice"
        versions = {mark.split("-")[1] for mark in marks}
        if len(versions) != 1 or not versions <= set(item.versions):
            return f"a mixture of {sorted(versions)}"
        return None if len(set(marks)) == PARAGRAPHS else f"only a part: {sorted(set(marks))}"


def test_a_searcher_always_sees_the_old_or_the_new_document_whatever_is_killed_when(tmp_path: Path) -> None:
    draw = random.Random(33)
    server = Server(tmp_path / "data").start()
    editor, pause = Editor(server, draw), threading.Event()
    for _ in range(DOCUMENTS):
        editor.add()
    with Searcher(server, editor) as searcher:
        rounds = 0
        while rounds < ROUNDS or (searcher.changes < MIN_CHANGES and rounds < 8 * ROUNDS):
            rounds += 1
            thread = threading.Thread(target=editor.edit_until_killed)
            thread.start()
            searcher.wait_for_change()
            pause.wait(draw.uniform(0.0, 1.2))  # the moment of the kill, not a wait for anything
            server.kill()
            thread.join()
            server.start()
        try:
            wait_until(lambda: finished(server) and no_active_jobs(server), LAST_FINISH_S, "the work to end")
            wait_until(editor.all_newest_seen, what="the newest versions to be found")
            editor.purge()
            wait_until(lambda: no_active_jobs(server), what="nothing to be at work")
        finally:
            server.stop()
    assert searcher.faults == []
    assert searcher.changes >= MIN_CHANGES, "hardly anything was seen: the test would show nothing"
    assert_the_file_is_whole(server.data_dir / "app.db", empty=True)
    make_old(server.data_dir / "documents")
    server.start()
    try:
        wait_until(lambda: keys_on_disk(server.data_dir) == keys_in(server.data_dir / "app.db"), what="orphans to go")
    finally:
        server.stop()
