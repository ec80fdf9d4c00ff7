"""What users do meanwhile: upload, revise and delete documents of marked parts, and search for them all the time."""

import random
import re
import threading
from collections.abc import Sequence
from contextlib import suppress

import httpx2
from fire_fleet import Fleet

API = "/api/v1"
PARTS = 3
_WORDS = ["harbour", "ledger", "engine", "permit", "window", "garden", "invoice", "committee", "bridge", "river"]
_MARK = re.compile(r"mark(\d{5}) version(\d) part(\d)")
_SEARCH_PAUSE_S = 0.03


def text_of(number: int, version: int) -> bytes:
    """A text of PARTS chunks; each says of which document, version and part it is."""
    draw = random.Random(number * 10 + version)
    sections = []
    for part in range(PARTS):
        words = " ".join(draw.choices(_WORDS, k=110))
        sections.append(
            f"# Chapter {part} of {number}\n\nHere mark{number:05d} version{version} part{part} stands. {words}."
        )
    return "\n\n".join(sections).encode()


class Documents:
    """What was sent, and what must come of it."""

    def __init__(self, fleet: Fleet, seed: int) -> None:
        self.fleet, self._seed = fleet, seed
        self.ids: dict[int, str] = {}
        self.versions: dict[int, int] = {}
        self.deleted: set[int] = set()
        self.chances = (0.15, 0.08)  # to revise and to delete an older one after an upload

    def send(self, numbers: Sequence[int]) -> None:
        """Upload these documents, and change older ones in between."""
        draw = random.Random(self._seed + numbers[0])
        for done, number in enumerate(numbers):
            self.upload(draw, number)
            older = [item for item in numbers[: max(0, done - 5)] if item not in self.deleted]
            chance = draw.random()
            if older and chance < self.chances[0]:
                self.revise(draw, draw.choice(older))
            elif older and chance < sum(self.chances):
                self.delete(draw, draw.choice(older))

    def upload(self, draw: random.Random, number: int) -> None:
        """Send a document until it is taken; one that was taken without an answer is then a duplicate."""
        files = {"file": (f"note-{number:05d}.md", text_of(number, 1))}
        answer = self.fleet.request(draw, "POST", f"{API}/documents", files=files)
        assert answer.status_code in (200, 202), answer.text
        self.versions[number] = 1
        self.ids[number] = answer.json()["id"]

    def revise(self, draw: random.Random, number: int) -> None:
        """Send a newer text."""
        files = {"file": (f"note-{number:05d}.md", text_of(number, 2))}
        answer = self.fleet.request(draw, "POST", f"{API}/documents/{self.ids[number]}/revisions", files=files)
        assert answer.status_code == 202, answer.text
        self.versions[number] = 2

    def delete(self, draw: random.Random, number: int) -> None:
        """Delete one; when the first answer got lost, it is not there any more."""
        self.deleted.add(number)
        answer = self.fleet.request(draw, "DELETE", f"{API}/documents/{self.ids[number]}")
        assert answer.status_code in (200, 404), answer.text


class Searcher:
    """Searches for random documents until `stop`, and notes every answer that shows a part of one."""

    def __init__(self, fleet: Fleet, documents: Documents, seed: int) -> None:
        self._fleet, self._documents = fleet, documents
        self._draw = random.Random(seed)
        self._end = threading.Event()
        self.whole = self.none = 0
        self.broken: list[str] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Search no more."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(_SEARCH_PAUSE_S):
            known = sorted(self._documents.ids)
            if known:
                with suppress(httpx2.TransportError):
                    self._look(self._draw.choice(known[-40:]))

    def _look(self, number: int) -> None:
        api = self._draw.choice(self._fleet.apis)
        if self._draw.random() < 0.7:
            mode = self._draw.choice(["lexical", "lexical", "hybrid"])
            query = {"query": f"mark{number:05d}", "mode": mode, "limit": 50}
            answer = api.request("POST", f"{API}/search", json=query)
            found = "hits"
        else:
            answer = api.request("GET", f"{API}/documents/{self._documents.ids[number]}/chunks?limit=100")
            found = "items"
        if answer.status_code in (503, 404):
            return
        if answer.status_code != 200:
            self.broken.append(f"{answer.status_code} {answer.text}")
            return
        # By meaning alone, as in the moment in which a document appears, only those of its passages come that are near.
        items = [item for item in answer.json()[found] if item.get("ranking", {"lexicalRank": 1}).get("lexicalRank")]
        marks = [mark for item in items for mark in _MARK.findall(item["content"])]
        own = sorted((version, part) for of, version, part in marks if int(of) == number)
        if not own:
            self.none += 1
        elif [part for _, part in own] == [str(part) for part in range(PARTS)] and len({v for v, _ in own}) == 1:
            self.whole += 1
        else:
            self.broken.append(f"document {number} was seen as {own}")
