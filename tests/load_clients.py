"""Many clients that search at the same time, each on a connection of its own, over REST and MCP.

As a program (`python tests/load_clients.py URL --clients 64 --seconds 30`) it runs in a process of its own, so that it
takes as little as can be from the server it measures, and prints what it found as JSON.
"""

import argparse
import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from urllib.parse import urlsplit

import uvloop

NOUNS = ("harbour", "ledger", "engine", "permit", "garden", "invoice", "bridge", "telescope", "museum", "orchard")
VERBS = ("repaired", "delivered", "measured", "approved", "postponed", "painted", "inspected", "restored")
PLACES = ("Lisbon", "Oslo", "Hamburg", "Kyoto", "Toronto", "Nairobi", "Lima", "Auckland", "Dublin", "Prague")
MODES = ("hybrid", "hybrid", "hybrid", "vector", "lexical")
_MCP_SHARE = 0.25
_LOOK_UP_SHARE = 0.3  # of searches for one document by its identifier
_ANSWER_S = 60.0
_SOME_HIT = b"chk_"
_MCP_HEADERS = "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"


@dataclass
class Findings:
    """What clients met. `answered`: of each answer the second after the start when it came, and how long it took."""

    answered: list[tuple[float, float]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """A request as bytes, and what must be in the answer."""

    request: bytes
    proof: bytes


def identifier(number: int) -> str:
    """What stands in one document only."""
    return f"LOCAL-RAG-{number:04d}"


def question(draw: random.Random, documents: int) -> Question:
    """A search that was hardly made before, in any mode, through any door.

    Args:
        documents: how many there are that hold an identifier, numbered from 0.
    """
    mode = draw.choice(MODES)
    if documents and mode != "vector" and draw.random() < _LOOK_UP_SHARE:
        name = identifier(draw.randrange(documents))
        query, proof = name, name.encode()
    else:
        words = (draw.choice(NOUNS), draw.choice(VERBS), draw.choice(PLACES), draw.choice(NOUNS))
        query, proof = f"which {words[0]} was {words[1]} in {words[2]} {draw.randrange(10_000)} {words[3]}", _SOME_HIT
    arguments = {"query": query, "mode": mode}
    if draw.random() < _MCP_SHARE:
        call = {"name": "search_documents", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        return Question(_post("/mcp", message, _MCP_HEADERS), proof)
    return Question(_post("/api/v1/search", arguments), proof)


def _post(path: str, body: object, headers: str = "") -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


async def clients(
    url: str,
    count: int,
    documents: int,
    goes_on: Callable[[], bool],
    *,
    pause_s: float = 0.0,
    questions: int = 0,
    seed: int = 0,
) -> Findings:
    """Search, each client as soon as it has its answer (and a pause), while `goes_on` says so.

    A connection that breaks is wrong as any other answer than the right one is.

    Args:
        questions: how many different ones there are; 0: hardly any is asked twice.
    """
    found, start = Findings(), time.monotonic()
    places = urlsplit(url)

    async def client(number: int) -> None:
        draw = random.Random(f"{seed} {number}")
        try:
            reader, writer = await asyncio.open_connection(places.hostname, places.port)
            while goes_on():
                if pause_s:
                    await asyncio.sleep(draw.uniform(0.0, 2 * pause_s))
                source = random.Random(draw.randrange(questions)) if questions else draw
                asked, began = question(source, documents), time.monotonic()
                async with asyncio.timeout(_ANSWER_S):
                    status, body = await _answer(reader, writer, asked.request)
                ended = time.monotonic()
                found.answered.append((ended - start, (ended - began) * 1000))
                if status != 200 or asked.proof not in body:
                    found.wrong.append(f"{status} {body[:300]!r} to {asked.request[-200:]!r}")
            writer.close()
        except (OSError, EOFError, TimeoutError) as error:
            found.wrong.append(repr(error))

    await asyncio.gather(*(client(number) for number in range(count)))
    return found


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[int, bytes]:
    """Status and body."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    _, found, rest = head.lower().partition(b"content-length:")
    length = int(rest.partition(b"\r\n")[0]) if found else 0
    return int(head[9:12]), await reader.readexactly(length)


def main() -> None:
    """Search, and print the findings as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--pause", type=float, default=0.0, help="mean seconds between answer and next question")
    parser.add_argument("--questions", type=int, default=0, help="different ones; 0: hardly any is asked twice")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    found = uvloop.run(
        clients(
            arguments.url,
            arguments.clients,
            arguments.documents,
            lambda: time.monotonic() < end,
            pause_s=arguments.pause,
            questions=arguments.questions,
            seed=time.time_ns(),
        )
    )
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
