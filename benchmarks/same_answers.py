"""Whether PostgreSQL gives the answers of the embedded database: every judged set below a folder, through both.

    python benchmarks/same_answers.py DIR --server DSN [--set NAME …]

A set is a folder with docs.jsonl ({id, title, text}) and queries.jsonl ({id, query, relevant, kind}). The DSN names a
server on which databases may be made (`python tests/postgres_server.py` starts one and prints its DSN); each set gets
one that is dropped afterwards. Prints a Markdown table: for how many queries the ten best chunks of a lexical search
are the same in the same order, how far their scores are apart at most, and nDCG@10 of hybrid search on both sides.
"""

import argparse
import asyncio
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from mcp_knowledge.app import open_services
from mcp_knowledge.domain.evaluations import DEPTH, RunSettings
from mcp_knowledge.domain.search import SearchRequest
from mcp_knowledge.services.evaluation_folders import JudgedSet, add_documents, evaluate, read_judged_set
from mcp_knowledge.settings import Settings, load_settings

Hits = list[tuple[str, float]]  # chunk ids and scores, best first


@dataclass(frozen=True, slots=True)
class Answers:
    """One back end's: the lexical hits of every query, and nDCG@10 of hybrid search."""

    lexical: list[Hits]
    ndcg: float


@contextmanager
def new_database(server: str) -> Iterator[str]:
    """The DSN of an empty database, which is dropped afterwards."""
    name = f"same_answers_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def answers(settings: Settings, judged: JudgedSet) -> Answers:
    """Take the documents in, and ask."""
    async with open_services(settings) as services:
        document_ids = await add_documents(services.library, judged.documents or ())
        await services.worker.drain()
        lexical = []
        for query in judged.queries:
            found = await services.search.search(SearchRequest(query.query, "lexical", DEPTH))
            lexical.append([(hit.chunk_id, hit.score) for hit in found.hits])
        (hybrid,) = await evaluate(services.evaluations.measuring, judged, [RunSettings("hybrid", "rrf")], document_ids)
        return Answers(lexical, hybrid.metrics.ndcg_at_10)


def compare(folder: Path, server: str) -> str:
    """The row of one set."""
    judged = read_judged_set(folder)
    with tempfile.TemporaryDirectory() as data_dir, new_database(server) as dsn:
        embedded = asyncio.run(answers(load_settings(data_dir=Path(data_dir) / "embedded"), judged))
        settings = load_settings(data_dir=Path(data_dir) / "server", database_driver="postgres", database_url=dsn)
        postgres = asyncio.run(answers(settings, judged))
    pairs = list(zip(embedded.lexical, postgres.lexical, strict=True))
    same = sum([chunk for chunk, _ in first] == [chunk for chunk, _ in second] for first, second in pairs)
    apart = max((abs(a - b) for pair in pairs for (_, a), (_, b) in zip(*pair, strict=False)), default=0.0)
    figures = f"{embedded.ndcg:.4f} | {postgres.ndcg:.4f} | {postgres.ndcg - embedded.ndcg:+.4f}"
    return f"| {judged.name} | {same} of {len(pairs)} | {apart:.1e} | {figures} |"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--server", required=True, help="DSN of a PostgreSQL server")
    parser.add_argument("--set", dest="sets", nargs="+", help="names of folders below it [default: all]")
    arguments = parser.parse_args()
    names = arguments.sets or sorted(path.parent.name for path in arguments.folder.glob("*/docs.jsonl"))
    print("| set | same lexical top 10 | scores apart | hybrid, embedded | hybrid, PostgreSQL | difference |")
    print("|---|---|---|---|---|---|")
    for name in names:
        print(compare(arguments.folder / name, arguments.server), flush=True)


if __name__ == "__main__":
    main()
