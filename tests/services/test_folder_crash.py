"""Killing the server in the middle of folder scans: nothing is doubled, nothing is lost, the scan resumes."""

import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from front_door import FINISHED, Server, wait_until

pytestmark = pytest.mark.slow
ROUNDS = 7
FILES = 150
API = "/api/v1"


class Folder:
    """A folder that changes between scans, and what its documents should then be."""

    def __init__(self, root: Path, draw: random.Random) -> None:
        self.root, self.draw = root, draw
        self.texts: dict[str, str] = {}
        self.metadata: dict[str, int] = {}
        self.count = 0
        root.mkdir()
        for _ in range(FILES):
            self.add()

    def add(self) -> None:
        self.count += 1
        path = f"folder-{self.count % 7}/file-{self.count:04}.txt"
        self.write(path)

    def write(self, path: str) -> None:
        self.count += 1
        self.texts[path] = f"MARK-{self.count:05} " + " ".join(self.draw.choices(["harbour", "ledger", "permit"], k=40))
        file = self.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(self.texts[path])

    def stir(self) -> None:
        """Change, move and add some files; now and then the manifest."""
        for path in self.draw.sample(sorted(self.texts), 12):
            self.write(path)
        for path in self.draw.sample(sorted(self.texts), 8):
            self.count += 1
            target = f"folder-{self.count % 7}/moved-{self.count:04}.txt"
            (self.root / path).rename(self.root / target)
            self.texts[target] = self.texts.pop(path)
        for _ in range(8):
            self.add()
        if self.draw.random() < 0.4:
            number = self.draw.randrange(7)
            self.metadata = {f"folder-{number}": self.count}
            rules = [{"glob": f"{name}/**", "metadata": {"n": value}} for name, value in self.metadata.items()]
            (self.root / ".mcp-knowledge-manifest.json").write_text(json.dumps({"rules": rules}))


def all_documents(server: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        params = {"limit": "100"} | ({"cursor": cursor} if cursor else {})
        page = server.request("GET", f"{API}/documents", params=params).json()
        found += page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            return found


def settled(server: Server) -> list[dict[str, Any]] | None:
    status = server.request("GET", f"{API}/ingest/scan-status").json()
    documents = all_documents(server)
    done = all(item["status"] in FINISHED and item["progress"] is None for item in documents)
    return documents if status["state"].startswith("completed") and done else None


def test_kills_in_the_middle_of_scans_double_and_lose_nothing(tmp_path: Path) -> None:
    draw = random.Random(7)
    folder = Folder(tmp_path / "office", draw)
    server = Server(tmp_path / "data", {"INGEST_DATA_DIR": str(folder.root)})
    pause = threading.Event()
    for _ in range(ROUNDS):
        server.start()
        pause.wait(draw.uniform(0.0, 0.9))  # the moment of the kill, not a wait for anything
        server.kill()
        folder.stir()
    server.start()
    try:
        documents = wait_until(lambda: settled(server), 240, "the scan and its documents")
    finally:
        server.stop()
    # What was renamed and changed while nobody looked leaves a document without a file; all others have theirs.
    by_path = {item["sourcePath"]: item for item in documents if item["sourcePath"] in folder.texts}
    assert len([item for item in documents if item["sourcePath"] in folder.texts]) == len(by_path) == len(folder.texts)
    for path, text in folder.texts.items():
        assert by_path[path]["status"] == "ready"
        assert by_path[path]["sizeBytes"] == len(text)
        assert by_path[path]["metadata"].get("n") == folder.metadata.get(path.partition("/")[0])
    hashes = [item["sha256"] for item in documents]
    assert len(set(hashes)) == len(hashes)

    server.start()
    try:
        again = wait_until(lambda: settled(server), 120, "a further scan")
        counts = server.request("GET", f"{API}/ingest/scan-status").json()["counts"]
    finally:
        server.stop()
    assert counts["unchanged"] == counts["discovered"] == len(folder.texts)
    assert {item["id"] for item in again} == {item["id"] for item in documents}
