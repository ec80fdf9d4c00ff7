"""One search, three doors: REST, MCP and the command line must answer alike."""

import json
import subprocess
from typing import Any

import pytest
from cli_kit import run
from mcp import Client
from mcp_corpus import HANDBOOK, LONG, NOTES, RealServer

SAME = ("chunkId", "documentId", "title", "content", "headingPath", "location", "matchedTerms", "metadata")


@pytest.fixture(scope="module")
def corpus(server: RealServer) -> RealServer:
    server.add("handbook.md", HANDBOOK.encode(), metadata='{"year": 2021, "tags": ["office"]}')
    server.add("almanac.md", LONG.encode(), metadata='{"year": 1871}')
    server.add("notes.txt", NOTES.encode(), metadata='{"year": 2024, "tags": ["sea", "office"]}')
    return server


def over_rest(server: RealServer, body: dict[str, Any]) -> Any:
    answer = server.request("POST", "/api/v1/search", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["hits"]


async def over_mcp(server: RealServer, arguments: dict[str, Any]) -> Any:
    async with Client(f"{server.url}/mcp") as client:
        result = await client.call_tool("search_documents", arguments)
    assert not result.is_error, result.content
    return result.structured_content["hits"]


def command_line(server: RealServer, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(server.data_dir, "search", *arguments, "--json")


@pytest.mark.parametrize(
    ("search", "options"),
    [
        ({"query": "INV-0042"}, []),
        ({"query": "who has to sign large amounts", "mode": "vector", "limit": 3}, ["--mode", "vector"]),
        ({"query": "barometer lighthouse", "mode": "lexical", "limit": 20}, ["--mode", "lexical"]),
        ({"query": "Überfahrt göteborg"}, []),
        ({"query": "船は"}, []),
        ({"query": 'barometer "stood at 920"', "limit": 2}, []),
        ({"query": "travel day", "collapse": "document"}, ["--collapse", "document"]),
        (
            {"query": "day", "filters": {"tags": "office", "year": {"gte": 2000}}},
            ["--filter", '{"tags": "office", "year": {"gte": 2000}}'],
        ),
        (
            {"query": "barometer 920", "limit": 1, "expand": {"type": "neighbors", "before": 1, "after": 0}},
            ["--expand", "neighbors", "--before", "1", "--after", "0"],
        ),
        ({"query": "signature", "expand": {"type": "section"}}, ["--expand", "section"]),
        ({"query": "zzzyx", "mode": "lexical"}, ["--mode", "lexical"]),
    ],
)
async def test_the_three_doors_give_the_same_hits(
    corpus: RealServer, search: dict[str, Any], options: list[str]
) -> None:
    hits = over_rest(corpus, search)
    shown = await over_mcp(corpus, search)
    assert [{name: hit[name] for name in SAME} for hit in shown] == [{name: hit[name] for name in SAME} for hit in hits]
    assert [hit["rank"] for hit in shown] == [hit["ranking"]["finalRank"] for hit in hits]
    limit = ["--limit", str(search["limit"])] if "limit" in search else []
    printed = command_line(corpus, search["query"], *limit, *options)
    assert printed.returncode == 0, printed.stderr
    assert json.loads(printed.stdout)["hits"] == hits


async def test_the_three_doors_refuse_a_bad_filter_alike(corpus: RealServer) -> None:
    filters = {"year": {"above": 3}}
    answer = corpus.request("POST", "/api/v1/search", json={"query": "x", "filters": filters})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "INVALID_FILTER"
    async with Client(f"{corpus.url}/mcp") as client:
        result = await client.call_tool("search_documents", {"query": "x", "filters": filters})
    assert result.content[0].model_dump()["text"] == f"INVALID_FILTER: {error['message']}"
    printed = command_line(corpus, "x", "--filter", json.dumps(filters))
    assert printed.returncode != 0
    assert error["message"] in printed.stderr + printed.stdout
