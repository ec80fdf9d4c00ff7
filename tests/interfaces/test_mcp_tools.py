import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp_corpus import Running, add, running
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from mcp_values import arguments_for

from mcp_knowledge import __version__
from mcp_knowledge.interfaces.mcp.server import create_mcp_server
from mcp_knowledge.interfaces.mcp.tools import tools_for
from mcp_knowledge.settings import Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")
TOOLS = tools_for(Settings.model_construct())
TOOL_NAMES = [
    "search_documents",
    "get_document",
    "get_chunk",
    "list_documents",
    "list_collections",
    "list_document_catalog",
]


@pytest.fixture(scope="module", params=("sqlite", "postgres"))
def database(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of an empty database."""
    if request.param == "sqlite":
        return {}
    return {"database_driver": "postgres", "database_url": request.getfixturevalue("shared_postgres_dsn")}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, database: dict[str, str]) -> AsyncIterator[Running]:
    async with running(tmp_path_factory.mktemp("mcp") / "data", **database) as started:
        yield started


class Mcp:
    """A client of the protocol server in this process, one connection a request."""

    def __init__(self, world: Running, mode: str) -> None:
        self.world = world
        self.mode = mode

    def connect(self) -> Client:
        return Client(create_mcp_server(lambda: self.world.services), mode=self.mode)

    async def result(self, tool: str, **arguments: Any) -> CallToolResult:
        async with self.connect() as client:
            return await client.call_tool(tool, arguments)

    async def text(self, tool: str, **arguments: Any) -> str:
        result = await self.result(tool, **arguments)
        first = result.content[0]
        assert isinstance(first, TextContent)
        assert not result.is_error, first.text
        return first.text

    async def json(self, tool: str, **arguments: Any) -> Any:
        return json.loads(await self.text(tool, **arguments))

    async def structured(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.result(tool, **arguments)
        assert not result.is_error, result.content
        data: dict[str, Any] = result.structured_content
        return data

    async def hits(self, **arguments: Any) -> list[dict[str, Any]]:
        hits: list[dict[str, Any]] = (await self.structured("search_documents", **arguments))["hits"]
        return hits

    async def failure(self, tool: str, **arguments: Any) -> str:
        """The code of a failed call."""
        result = await self.result(tool, **arguments)
        assert result.is_error
        assert result.structured_content is None
        (content,) = result.content
        assert isinstance(content, TextContent)
        code, _, sentence = content.text.partition(": ")
        assert sentence.endswith(".")
        return code


@pytest.fixture(params=["legacy", "auto"])
def mcp(world: Running, request: pytest.FixtureRequest) -> Mcp:
    return Mcp(world, request.param)


@pytest.fixture
def modern(world: Running) -> Mcp:
    return Mcp(world, "auto")


# What the server says about itself


async def test_the_server_names_itself_and_tells_a_model_how_to_work(mcp: Mcp) -> None:
    async with mcp.connect() as client:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("mcp-knowledge", __version__)
        assert "search_documents" in (client.instructions or "")


async def test_every_tool_is_listed_as_read_only_with_schemas(mcp: Mcp) -> None:
    async with mcp.connect() as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOL_NAMES
    for tool in tools:
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.model_dump(exclude={"title"}) == {
            "read_only_hint": True,
            "destructive_hint": False,
            "idempotent_hint": True,
            "open_world_hint": False,
        }
        assert (tool.output_schema is None) == (tool.name in ("get_document", "get_chunk"))


async def test_an_unknown_tool_is_a_protocol_error(mcp: Mcp) -> None:
    async with mcp.connect() as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("delete_document", {})
    assert caught.value.code == INVALID_PARAMS


# search_documents


async def test_search_finds_an_identifier_and_says_where_it_stands(mcp: Mcp) -> None:
    result = await mcp.result("search_documents", query="INV-0042", limit="3")
    assert isinstance(result.content[0], TextContent)
    hits = result.structured_content["hits"]
    assert json.loads(result.content[0].text) == hits
    best = hits[0]
    assert best["documentId"] == mcp.world.corpus.handbook
    assert "INV-0042" in best["content"]
    assert best["rank"] == 1
    assert best["headingPath"][0] == "Handbook"
    assert best["resourceUri"] == f"document://{best['documentId']}/chunks/{best['chunkId']}"
    assert best["matchedTerms"]
    assert best.keys() == {
        "chunkId",
        "documentId",
        "title",
        "content",
        "headingPath",
        "location",
        "rank",
        "matchedTerms",
        "metadata",
        "resourceUri",
    }


async def test_search_takes_filters_collections_and_documents(modern: Mcp) -> None:
    corpus = modern.world.corpus
    by_year = await modern.hits(query="day hours", filters={"year": {"gte": 2000}})
    assert {hit["documentId"] for hit in by_year} == {corpus.notes}
    in_collection = await modern.hits(query="invoice travel day", collection_ids=[corpus.collection], limit=20)
    assert {hit["documentId"] for hit in in_collection} <= {corpus.notes, corpus.almanac}
    only = await modern.hits(query="day", document_ids=[corpus.handbook], collection_ids=[])
    assert {hit["documentId"] for hit in only} <= {corpus.handbook}
    assert await modern.hits(query="day", document_ids=["doc_none"]) == []


async def test_search_modes_differ(modern: Mcp) -> None:
    assert await modern.hits(query="zzzyx", mode="lexical") == []
    assert len(await modern.hits(query="zzzyx", mode="vector", limit=2)) == 2


async def test_collapse_gives_each_document_once_with_what_else_matched(modern: Mcp) -> None:
    hits = await modern.hits(query="barometer lighthouse day", collapse="document", limit=20)
    assert len({hit["documentId"] for hit in hits}) == len(hits)
    almanac = next(hit for hit in hits if hit["documentId"] == modern.world.corpus.almanac)
    assert almanac["matchingChunkCount"] > 1
    assert almanac["chunkRank"] >= almanac["rank"]
    assert almanac["matchedHeadings"]


async def test_expansion_brings_the_neighbours_text(modern: Mcp) -> None:
    arguments: dict[str, Any] = {"query": "barometer 920", "document_ids": [modern.world.corpus.almanac], "limit": 1}
    (plain,) = await modern.hits(**arguments)
    (wide,) = await modern.hits(**arguments, expand={"type": "neighbors", "before": 1, "after": "1"})
    assert wide["chunkId"] == plain["chunkId"]
    assert plain["content"] in wide["content"]
    assert len(wide["content"]) > len(plain["content"])


async def test_a_query_may_hold_anything(modern: Mcp) -> None:
    for query in ('"', "a AND (b", "*", "NEAR(", "\0", "😀 \ud800", "-" * 2000, "' OR 1=1 --"):
        await modern.hits(query=query)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "   "}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "limit": 21}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "limit": "many"}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "mode": "fuzzy"}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "collapse": "chunk"}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "expand": {"type": "document"}}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "expand": {"type": "neighbors", "before": 6}}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "documentIds": []}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "document_ids": "doc_1"}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "explain": True}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "filters": []}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "filters": {"year": {"above": 3}}}, "INVALID_FILTER"),
        ({"query": "x", "filters": {"a b": 1}}, "INVALID_FILTER"),
    ],
)
async def test_search_refuses_what_it_does_not_understand(mcp: Mcp, arguments: dict[str, Any], code: str) -> None:
    assert await mcp.failure("search_documents", **arguments) == code


# get_document


async def test_a_document_reads_page_by_page_without_loss(mcp: Mcp) -> None:
    almanac = mcp.world.corpus.almanac
    whole = (await mcp.world.rest.get(f"/api/v1/documents/{almanac}/normalized")).json()
    blocks: list[Any] = []
    arguments: dict[str, Any] = {"document_id": almanac, "block_limit": "30"}
    while True:
        page = await mcp.json("get_document", **arguments)
        assert page["id"] == almanac
        body = json.loads(page["body"])
        assert body["metadata"] == whole["metadata"]
        assert body.get("title") == whole.get("title")
        assert len(body["blocks"]) == page["returnedBlocks"]
        assert page["totalBlocks"] == len(whole["blocks"])
        blocks += body["blocks"]
        assert page["truncated"] == ("nextBlockCursor" in page)
        if not page["truncated"]:
            break
        arguments["block_cursor"] = page["nextBlockCursor"]
    assert blocks == whole["blocks"]


async def test_a_documents_fields_are_those_of_rest(modern: Mcp) -> None:
    notes = modern.world.corpus.notes
    page = await modern.json("get_document", document_id=notes)
    fields = (await modern.world.rest.get(f"/api/v1/documents/{notes}")).json()
    assert {name: page[name] for name in fields} == fields
    assert page.keys() - fields.keys() == {"body", "truncated", "returnedBlocks", "totalBlocks"}


async def test_bulk_text_is_sent_once(modern: Mcp) -> None:
    result = await modern.result("get_document", document_id=modern.world.corpus.notes)
    assert len(result.content) == 1
    assert result.structured_content is None


async def test_headings_pick_whole_sections(modern: Mcp) -> None:
    handbook = modern.world.corpus.handbook
    page = await modern.json("get_document", document_id=handbook, headings=["  INVOICES"])
    texts = [block["text"] for block in json.loads(page["body"])["blocks"]]
    assert texts[0] == "Invoices"
    assert texts[-1].startswith("Amounts above")
    assert page["totalBlocks"] == len(texts) == 4


async def test_reading_refuses_with_the_right_code(mcp: Mcp) -> None:
    corpus = mcp.world.corpus
    cursor = (await mcp.json("get_document", document_id=corpus.almanac, block_limit=1))["nextBlockCursor"]
    for code, arguments in [
        ("DOCUMENT_NOT_FOUND", {"document_id": "doc_none"}),
        ("DOCUMENT_CONTENT_UNAVAILABLE", {"document_id": corpus.broken}),
        ("INVALID_CURSOR", {"document_id": corpus.almanac, "block_cursor": cursor + "A"}),
        ("INVALID_CURSOR", {"document_id": corpus.almanac, "block_cursor": ""}),
        ("INVALID_CURSOR", {"document_id": corpus.almanac, "block_cursor": "é" * 20_000}),
        ("CURSOR_STALE", {"document_id": corpus.almanac, "block_cursor": cursor, "headings": ["Day 1"]}),
        ("CURSOR_STALE", {"document_id": corpus.handbook, "block_cursor": cursor}),
        ("INVALID_TOOL_ARGUMENTS", {"document_id": corpus.almanac, "block_limit": 0}),
        ("INVALID_TOOL_ARGUMENTS", {"document_id": corpus.almanac, "block_limit": 101}),
        ("INVALID_TOOL_ARGUMENTS", {"document_id": corpus.almanac, "headings": [1]}),
    ]:
        assert await mcp.failure("get_document", **arguments) == code


async def test_a_page_fills_the_ceiling_and_a_block_beyond_it_is_named(
    modern: Mcp, monkeypatch: pytest.MonkeyPatch
) -> None:
    almanac = modern.world.corpus.almanac
    monkeypatch.setattr(modern.world.services.reading, "_max_chars", 3000)
    page = await modern.json("get_document", document_id=almanac)
    assert 2800 < len(page["body"]) <= 3000
    assert page["truncated"]
    monkeypatch.setattr(modern.world.services.reading, "_max_chars", 140)
    first = await modern.json("get_document", document_id=almanac, headings=["Day 7"])
    assert first["returnedBlocks"] == 1
    code = await modern.failure(
        "get_document", document_id=almanac, headings=["Day 7"], block_cursor=first["nextBlockCursor"]
    )
    assert code == "DOCUMENT_BLOCK_TOO_LARGE"


# get_chunk


async def test_a_chunk_comes_with_its_neighbours_in_order(mcp: Mcp) -> None:
    (hit,) = await mcp.hits(query="barometer 920", document_ids=[mcp.world.corpus.almanac], limit=1)
    (alone,) = (await mcp.json("get_chunk", chunk_id=hit["chunkId"]))["items"]
    assert alone["content"] == hit["content"]
    around = (await mcp.json("get_chunk", chunk_id=hit["chunkId"], before=1, after="1"))["items"]
    sequences = [item["sequence"] for item in around]
    assert sequences == list(range(sequences[0], sequences[0] + len(around)))
    assert alone in around
    rest = await mcp.world.rest.get(f"/api/v1/chunks/{hit['chunkId']}?before=1&after=1")
    assert around == rest.json()["items"]


async def test_chunks_refuse_with_the_right_code(modern: Mcp) -> None:
    assert await modern.failure("get_chunk", chunk_id="chk_none") == "CHUNK_NOT_FOUND"
    assert await modern.failure("get_chunk", chunk_id="chk_none", before=6) == "INVALID_TOOL_ARGUMENTS"
    assert await modern.failure("get_chunk") == "INVALID_TOOL_ARGUMENTS"


# Lists


async def test_documents_are_listed_in_pages_like_over_rest(mcp: Mcp) -> None:
    seen: list[dict[str, Any]] = []
    arguments: dict[str, Any] = {"limit": 2}
    while True:
        page = await mcp.structured("list_documents", **arguments)
        assert await mcp.json("list_documents", **arguments) == page
        seen += page["items"]
        if page["nextCursor"] is None:
            break
        arguments["cursor"] = page["nextCursor"]
    rest = (await mcp.world.rest.get("/api/v1/documents?limit=100")).json()["items"]
    assert seen == rest


async def test_documents_are_listed_by_state_and_collection(modern: Mcp) -> None:
    corpus = modern.world.corpus
    failed = (await modern.structured("list_documents", status="failed"))["items"]
    assert [item["id"] for item in failed] == [corpus.broken]
    assert failed[0]["latestError"].startswith("DOCUMENT_")
    filed = (await modern.structured("list_documents", collection_id=corpus.collection))["items"]
    assert {item["id"] for item in filed} == {corpus.notes, corpus.almanac}


async def test_a_list_cursor_serves_its_own_query_only(modern: Mcp) -> None:
    cursor = (await modern.structured("list_documents", limit=1))["nextCursor"]
    assert await modern.failure("list_documents", limit=1, status="ready", cursor=cursor) == "INVALID_CURSOR"
    assert await modern.failure("list_document_catalog", cursor=cursor) == "INVALID_CURSOR"
    assert await modern.failure("list_documents", cursor="x") == "INVALID_CURSOR"
    assert await modern.failure("list_documents", limit=101) == "INVALID_TOOL_ARGUMENTS"
    assert await modern.failure("list_documents", status="deleted") == "INVALID_TOOL_ARGUMENTS"


async def test_no_list_is_too_large_for_a_client_whatever_the_metadata(modern: Mcp) -> None:
    rest, ceiling = modern.world.rest, modern.world.services.settings.max_mcp_result_chars
    large = await add(rest, "large.txt", b"Metadata is heavy.", metadata=json.dumps({"blob": "x" * 65_000}))
    half = await add(rest, "half.txt", b"Metadata is middling.", metadata=json.dumps({"blob": "y" * 28_000}))
    all_ids = [item["id"] for item in (await rest.get("/api/v1/documents?limit=100")).json()["items"]]
    for tool in ("list_documents", "list_document_catalog"):
        items: list[dict[str, Any]] = []
        arguments: dict[str, Any] = {}
        while True:
            page = await modern.structured(tool, **arguments)
            assert len(await modern.text(tool, **arguments)) <= ceiling
            items += page["items"]
            if not page.get("nextCursor"):
                break
            arguments["cursor"] = page["nextCursor"]
        found = {item["id"]: item for item in items}
        assert len(found) == len(items)
        assert found.keys() <= set(all_ids)
        assert (found[large]["metadata"], found[large]["metadataOmitted"]) == ({}, True)
        assert len(found[half]["metadata"]["blob"]) == 28_000
        assert "metadataOmitted" not in found[half]
    (hit,) = await modern.hits(query="heavy", mode="lexical")
    assert (hit["documentId"], hit["metadataOmitted"]) == (large, True)
    for document in (large, half):
        await rest.delete(f"/api/v1/documents/{document}")


async def test_collections_come_with_their_document_counts(mcp: Mcp) -> None:
    data = await mcp.structured("list_collections")
    assert [(item["name"], item["documentCount"]) for item in data["items"]] == [("Logbooks", 2)]
    assert await mcp.failure("list_collections", limit=5) == "INVALID_TOOL_ARGUMENTS"


# The catalog


async def test_the_catalog_lists_ready_documents_with_five_fields(mcp: Mcp) -> None:
    data = await mcp.structured("list_document_catalog")
    corpus = mcp.world.corpus
    assert {corpus.handbook, corpus.almanac, corpus.notes} <= {item["id"] for item in data["items"]}
    assert corpus.broken not in {item["id"] for item in data["items"]}
    assert all(list(item) == ["id", "revisionId", "title", "sourcePath", "metadata"] for item in data["items"])
    assert "nextCursor" not in data


async def test_the_catalog_answers_like_rest(modern: Mcp) -> None:
    filters = {"year": 1871}
    over_mcp = await modern.structured(
        "list_document_catalog", filters=filters, fields=["status", "id", "updatedAt"], limit=1
    )
    over_rest = await modern.world.rest.get(
        "/api/v1/document-catalog",
        params={"filters": json.dumps(filters), "fields": "status,id,updatedAt", "limit": "1"},
    )
    assert over_mcp == over_rest.json()
    assert [item["id"] for item in over_mcp["items"]] == [modern.world.corpus.almanac]


async def test_the_catalog_pages_and_binds_its_cursors(modern: Mcp) -> None:
    first = await modern.structured("list_document_catalog", limit=1)
    second = await modern.structured("list_document_catalog", limit=1, cursor=first["nextCursor"])
    assert first["items"] != second["items"]
    for other in ({"status": "failed"}, {"fields": ["id"]}, {"filters": {"year": 1871}}, {"collection_id": "col_1"}):
        assert await modern.failure("list_document_catalog", cursor=first["nextCursor"], **other) == "INVALID_CURSOR"


async def test_an_unchanged_catalog_says_only_that(mcp: Mcp) -> None:
    version = (await mcp.structured("list_document_catalog"))["corpusVersion"]
    for more in ({}, {"cursor": "whatever"}, {"limit": 1}):
        data = await mcp.structured("list_document_catalog", if_corpus_version=version, **more)
        assert data == {"corpusVersion": version, "unchanged": True}


async def test_every_visible_change_makes_a_new_corpus_version(modern: Mcp) -> None:
    rest = modern.world.rest
    versions = [await version(modern)]

    async def changed() -> None:
        versions.append(await version(modern))
        assert versions[-1] > versions[-2]
        assert await version(modern) == versions[-1]

    document = await add(rest, "passing.txt", b"Ships that pass in the night.")
    await changed()
    await rest.patch(f"/api/v1/documents/{document}", json={"title": "Passing ships"})
    await changed()
    await rest.patch(f"/api/v1/documents/{document}", json={"metadata": {"year": 1900}})
    await changed()
    await rest.patch(f"/api/v1/documents/{document}", json={"collectionId": modern.world.corpus.collection})
    await changed()
    await rest.delete(f"/api/v1/documents/{document}")
    assert await version(modern) > versions[-1]  # and once more when its content is gone: no telling when
    gone = await modern.structured("list_document_catalog", status="deleted", fields=["id", "status"])
    assert {"id": document, "status": "deleted"} in gone["items"]


async def version(mcp: Mcp) -> int:
    data = await mcp.structured("list_document_catalog", limit=1)
    return int(data["corpusVersion"].removeprefix("generation:"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"limit": 0}, "INVALID_TOOL_ARGUMENTS"),
        ({"limit": 101}, "INVALID_TOOL_ARGUMENTS"),
        ({"status": "deleting"}, "INVALID_TOOL_ARGUMENTS"),
        ({"fields": ["id", "sha256"]}, "INVALID_PROJECTION"),
        ({"fields": []}, "INVALID_PROJECTION"),
        ({"fields": "id"}, "INVALID_TOOL_ARGUMENTS"),
        ({"filters": {"year": {"gte": []}}}, "INVALID_FILTER"),
        ({"if_corpus_version": "12"}, "INVALID_CORPUS_VERSION"),
        ({"if_corpus_version": "generation:-1"}, "INVALID_CORPUS_VERSION"),
        ({"cursor": "x"}, "INVALID_CURSOR"),
    ],
)
async def test_the_catalog_refuses_what_it_does_not_understand(
    modern: Mcp, arguments: dict[str, Any], code: str
) -> None:
    assert await modern.failure("list_document_catalog", **arguments) == code


# Resources


async def test_resources_list_the_ready_documents_and_can_be_read(mcp: Mcp) -> None:
    corpus = mcp.world.corpus
    async with mcp.connect() as client:
        templates = [item.uri_template for item in (await client.list_resource_templates()).resource_templates]
        assert templates == [
            "document://{documentId}",
            "document://{documentId}/normalized",
            "document://{documentId}/chunks/{chunkId}",
        ]
        uris = [item.uri for item in (await client.list_resources()).resources]
        assert f"document://{corpus.handbook}/normalized" in uris
        assert not any(corpus.broken in uri for uri in uris)
        for uri in uris:
            (content,) = (await client.read_resource(uri)).contents
            body = json.loads(content.model_dump()["text"])
            assert body.keys() <= {"title", "metadata", "blocks"}
        (fields,) = (await client.read_resource(f"document://{corpus.handbook}")).contents
        assert json.loads(fields.model_dump()["text"])["id"] == corpus.handbook


async def test_a_hits_resource_uri_can_be_read(modern: Mcp) -> None:
    (hit,) = await modern.hits(query="INV-0042", limit=1)
    async with modern.connect() as client:
        (content,) = (await client.read_resource(hit["resourceUri"])).contents
    assert json.loads(content.model_dump()["text"])["content"] == hit["content"]


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("document://doc_none", "DOCUMENT_NOT_FOUND"),
        ("document://doc_none/normalized", "DOCUMENT_NOT_FOUND"),
        ("document://doc_none/chunks/chk_none", "CHUNK_NOT_FOUND"),
        ("document://doc_none/other", "NOT_FOUND"),
        ("document://../etc/passwd", "NOT_FOUND"),
        ("file:///etc/passwd", "NOT_FOUND"),
        ("document://", "NOT_FOUND"),
    ],
)
async def test_a_resource_that_is_not_there_is_a_protocol_error_with_a_code(mcp: Mcp, uri: str, code: str) -> None:
    async with mcp.connect() as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    assert caught.value.code == INVALID_PARAMS
    assert caught.value.message.startswith(f"{code}: ")
    assert caught.value.data == {"uri": uri}


async def test_a_resource_cursor_that_is_not_ours_is_refused(modern: Mcp) -> None:
    async with modern.connect() as client:
        with pytest.raises(MCPError, match="INVALID_CURSOR"):
            await client.list_resources(cursor="x")


# Nothing leaks


async def test_a_surprise_is_answered_without_its_details(
    mcp: Mcp, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("/secret/path: SELECT * FROM documents")

    monkeypatch.setattr(type(mcp.world.services.search), "search", broken)
    monkeypatch.setattr(type(mcp.world.services.library), "get_document", broken)
    result = await mcp.result("search_documents", query="x")
    assert result.is_error
    assert "secret" not in str(result)
    assert str(result).count("INTERNAL_ERROR: ") == 1
    async with mcp.connect() as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"document://{mcp.world.corpus.handbook}")
    assert "secret" not in str(caught.value.error)
    assert "/secret/path" in caplog.text


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_no_arguments_lead_to_more_than_a_refusal(modern: Mcp, data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(list(TOOLS.values())))
    arguments = data.draw(arguments_for(tool.input_schema))
    corpus = modern.world.corpus
    if "document_id" in arguments and data.draw(st.booleans()):
        arguments["document_id"] = corpus.handbook
    result = await modern.result(tool.name, **arguments)
    text = str(result.content)
    assert "INTERNAL_ERROR" not in text, arguments
    if result.is_error:
        assert re.match(r"[A-Z_]+: ", result.content[0].model_dump()["text"])
