import re
from collections.abc import Iterator
from typing import Any

import httpx2
from evaluation_calls import evaluation_calls
from front_door import add
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it comes without types
from rest_kit import API, file_part, import_archive, multipart
from zip_files import zip_of

from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.interfaces.rest.openapi import error_codes, openapi_document
from mcp_knowledge.interfaces.rest.reference import rest_reference
from mcp_knowledge.interfaces.rest.table import OPERATIONS

ARCHIVE = zip_of(("a.txt", "one"), ("copy.txt", "one"), ("b.exe", "MZ"))
GUIDE = "# Guide\n\n" + "On invoices INV-0042 and motors. " * 80 + "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


async def document(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/openapi.json")
    assert answer.status_code == 200
    data: dict[str, Any] = answer.json()
    return data


async def test_the_document_is_whole(client: httpx2.AsyncClient) -> None:
    openapi = await document(client)
    assert openapi["openapi"].startswith("3.1")
    schemas = openapi["components"]["schemas"]
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    for reference in references(openapi):
        _, _, kind, name = reference.split("/")
        assert name in openapi["components"][kind]
    seen = [operation["operationId"] for path in openapi["paths"].values() for operation in path.values()]
    assert len(seen) == len(set(seen)) == len(OPERATIONS)
    for path, operations in openapi["paths"].items():
        for operation in operations.values():
            named = {item["name"] for item in operation.get("parameters", ()) if item["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
            assert ("422" in operation["responses"]) == path.endswith("/pages/{number}")


def test_every_code_of_the_documentation_exists() -> None:
    for item in OPERATIONS:
        assert set(error_codes(item)) <= set(ERROR_CODES)


def test_credentials_are_asked_for_where_a_passphrase_is_set_and_only_there() -> None:
    for is_open in (True, False):
        paths = openapi_document(OPERATIONS, is_open=is_open)["paths"]
        needs = {
            (method, path): item["security"] for path, methods in paths.items() for method, item in methods.items()
        }
        assert needs[("get", "/health")] == []
        guarded = [{"apiKey": ["write"]}, {"session": []}]
        assert needs[("post", "/api/v1/documents")] == [*guarded, *([{}] if is_open else [])]


def test_every_answer_is_documented_with_its_request_id() -> None:
    document = openapi_document(OPERATIONS, is_open=True)
    for methods in document["paths"].values():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                assert "X-Request-Id" in answer["headers"]
                assert ("WWW-Authenticate" in answer["headers"]) == (status == "401")


def test_the_written_reference_has_every_route() -> None:
    text = rest_reference()
    for item in OPERATIONS:
        assert f"`{item.method} {item.path}`" in text


async def test_real_answers_are_as_documented(client: httpx2.AsyncClient) -> None:
    """Walk every operation, good and bad, and hold each answer against the schema of its status."""
    openapi = await document(client)
    collection = (await client.post(f"{API}/collections", json={"name": "Shelf"})).json()
    ready = await add(
        client,
        "guide.md",
        (
            "# Guide\n\n"
            + "A sentence about invoices INV-0042 and motors. " * 80
            + "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
        ).encode(),
        collectionId=collection["id"],
        metadata='{"year": 2026}',
    )
    failed = await add(client, "broken.pdf", b"no PDF at all")
    (failed_job,) = (await client.get(f"{API}/jobs", params={"documentId": failed["id"]})).json()["items"]
    chunk = (await client.get(f"{API}/documents/{ready['id']}/chunks")).json()["items"][0]
    body, headers = multipart(file_part("more.txt", b"more text"))
    upload = {"content": body, "headers": headers}
    packed, packed_headers = multipart(("Content-Disposition: form-data; name=file; filename=x.zip", ARCHIVE))
    packed_upload = {"content": packed, "headers": packed_headers}
    key = (await client.post(f"{API}/api-keys", json={"name": "Robot", "scopes": ["read", "write"]})).json()
    archive_id = (await import_archive(client, ARCHIVE))["id"]
    query = {"json": {"query": "invoices", "collapse": "document", "expand": {"type": "neighbors"}}}

    # operation id → requests (path parameters, request arguments); what is not listed is called without arguments
    calls: dict[str, list[tuple[dict[str, str], dict[str, Any]]]] = {
        "uploadDocument": [({}, upload), ({}, upload), ({}, packed_upload), ({}, {"content": b"", "headers": headers})],
        "addFromUrl": [({}, {"json": {"url": "http://127.0.0.1/"}}), ({}, {"json": {}})],
        "listDocuments": [({}, {}), ({}, {"params": {"limit": "1"}}), ({}, {"params": {"sort": "x"}})],
        "getDocument": [({"document_id": item}, {}) for item in (ready["id"], failed["id"], "doc_none")],
        "updateDocument": [
            ({"document_id": ready["id"]}, {"json": {"title": "Guide"}}),
            ({"document_id": ready["id"]}, {"json": {"titel": "Guide"}}),
            ({"document_id": "doc_none"}, {"json": {}}),
        ],
        "listRevisions": [({"document_id": item}, {}) for item in (ready["id"], failed["id"], "doc_none")],
        "downloadOriginal": [
            ({"document_id": ready["id"]}, {}),
            ({"document_id": ready["id"]}, {"headers": {"Range": "bytes=1-2"}}),
            ({"document_id": ready["id"]}, {"headers": {"Range": "bytes=999999-"}}),
            ({"document_id": "doc_none"}, {}),
        ],
        "getNormalized": [({"document_id": item}, {}) for item in (ready["id"], failed["id"], "doc_none")],
        "listChunks": [({"document_id": ready["id"]}, {"params": {"limit": "1"}}), ({"document_id": "doc_none"}, {})],
        "getChunk": [({"chunk_id": chunk["id"]}, {"params": {"after": "1"}}), ({"chunk_id": "chk_none"}, {})],
        "findSimilar": [({"chunk_id": chunk["id"]}, {"params": {"limit": "2"}}), ({"chunk_id": "chk_none"}, {})],
        "showPage": [({"document_id": item["id"], "number": "1"}, {}) for item in (ready, failed)],
        "documentCatalog": [
            ({}, {}),
            ({}, {"params": {"fields": "id,status,updatedAt,metadata,revisionId,title,sourcePath", "limit": "1"}}),
            ({}, {"params": {"limit": "0"}}),
        ],
        "listCollections": [({}, {}), ({}, {"params": {"cursor": "x"}})],
        "createCollection": [({}, {"json": {"name": "New"}}), ({}, {"json": {"name": "new"}}), ({}, {"json": {}})],
        "getCollection": [({"collection_id": item}, {}) for item in (collection["id"], "col_none")],
        "updateCollection": [({"collection_id": collection["id"]}, {"json": {"description": "x"}})],
        "deleteCollection": [({"collection_id": item}, {}) for item in (collection["id"], "col_none")],
        "search": [({}, query), ({}, {"json": {"query": "invoices", "explain": True}}), ({}, {"json": {}})],
        "whyNot": [
            ({}, {"json": {"query": "invoices", "limit": 1, "chunkId": chunk["id"], "filters": {"year": 2026}}}),
            ({}, {"json": {"query": "invoices", "documentId": failed["id"]}}),
            ({}, {"json": {"query": "invoices"}}),
        ],
        "explain": [({}, query), ({}, {"json": {"query": "invoices", "mode": "vector"}}), ({}, {"content": b"{"})],
        "listKeys": [({}, {}), ({}, {"params": {"limit": "x"}})],
        "listValues": [({"key": item}, {}) for item in ("year", "none")],
        "listArchives": [({}, {}), ({}, {"params": {"cursor": "x"}})],
        "getArchive": [({"archive_id": item}, {}) for item in (archive_id, "arc_none")],
        "scanStatus": [({}, {})],
        "scanFiles": [({}, {}), ({}, {"params": {"outcome": "failed"}}), ({}, {"params": {"outcome": "document"}})],
        "listJobs": [({}, {}), ({}, {"params": {"status": "failed"}})],
        "getJob": [({"job_id": item}, {}) for item in (failed_job["id"], "job_none")],
        "retryJob": [({"job_id": item}, {}) for item in (failed_job["id"], "job_none")],
        "reindexDocument": [({"document_id": item}, {}) for item in (ready["id"], "doc_none")],
        "reindexDocuments": [({}, {"json": {"stale": True}}), ({}, {"json": {"stale": "x"}})],
        "addRevision": [({"document_id": ready["id"]}, upload), ({"document_id": "doc_none"}, upload)],
        "restoreDocument": [({"document_id": item}, {}) for item in (ready["id"], "doc_none")],
        "deleteDocument": [({"document_id": item}, {}) for item in (ready["id"], "doc_none")],
        "purgeDocuments": [({}, {"json": {"confirm": "purge"}}), ({}, {"json": {"confirm": "no"}})],
        "getSession": [({}, {}), ({}, {"headers": {"Authorization": "Bearer key_none"}})],
        "signIn": [({}, {"json": {"passphrase": "any"}}), ({}, {"json": {}})],
        "signOut": [({}, {})],
        "listApiKeys": [({}, {}), ({}, {"params": {"cursor": "x"}})],
        "createApiKey": [({}, {"json": {"name": "Script"}}), ({}, {"json": {"name": "x", "scopes": ["all"]}})],
        "revokeApiKey": [({"key_id": item}, {}) for item in (key["id"], "key_none")],
        "health": [({}, {})],
        "ready": [({}, {})],
        "metrics": [({}, {})],
        "systemStatus": [({}, {})],
        **await evaluation_calls(client, ready["id"]),
        "followEvents": [],  # an endless answer; followed in the tests of jobs
        "followEventsBrieflyAddressed": [],
    }
    operations = {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    }
    assert set(calls) == set(operations)
    for name, requests in calls.items():
        method, path, operation = operations[name]
        for parameters, arguments in requests:
            answer = await client.request(method, path.format(**parameters), **arguments)
            documented = operation["responses"].get(str(answer.status_code))
            assert documented is not None, (name, arguments, answer.status_code, answer.text)
            if answer.headers.get("content-type") == "application/json" and "application/json" in documented.get(
                "content", {}
            ):
                schema = documented["content"]["application/json"]["schema"]
                Draft202012Validator({**schema, "components": openapi["components"]}).validate(answer.json())
            if answer.status_code >= 400 and answer.content:
                assert answer.json()["error"]["code"] in documented["description"], (name, answer.text)
