"""Every page of the dashboard by its address, taken from the application's own routes, and things for them to show."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from front_door import wait_until
from visitors import RunningService
from zip_files import zip_of

from mcp_knowledge.interfaces.web.pages import router

API = "/api/v1"
PARTS = {
    "/evaluate/judging",
    "/playground/conditions",
    "/playground/context",
    "/playground/documents",
    "/documents/bulk/{errand_id}",
}  # pieces of pages, which scripts ask for; and what is there only while a large change is under way
_PLACE = re.compile(r"\{(\w+)\}")


def page_routes(routes: Any = router.routes) -> Iterator[str]:
    """The paths of all pages that a browser can open, with `{names}` for what differs."""
    for route in routes:
        if hasattr(route, "original_router"):
            yield from page_routes(route.original_router.routes)
        elif "GET" in route.methods and route.path not in PARTS:
            yield route.path


def filled(route: str, ids: Mapping[str, str]) -> str:
    """The address of a page about the things that `ids` names: `{document_id}`, …"""
    missing = [name for name in _PLACE.findall(route) if name not in ids]
    assert not missing, f"{route}: `things` must make a sample of {missing}"
    return _PLACE.sub(lambda found: ids[found[1]], route)


def things(server: RunningService, name: str, file_name: str, text: str, metadata: dict[str, Any]) -> dict[str, str]:
    """One thing of each kind that a page shows, by the names of the routes' parameters.

    Args:
        name: of everything that has a name of its own.
        file_name: without an ending.
        text: a Markdown file.
    """
    collection = _made(server, "collections", {"name": name, "description": name})
    document = server.add(
        f"{file_name}.md", text.encode(), collectionId=collection["id"], metadata=json.dumps(metadata)
    )
    server.add(f"{file_name} torn.pdf", b"%PDF-1.7\nnot one")
    archive = zip_of((f"{file_name}.txt", f"{name} in an archive"), (f"{file_name}.exe", "MZ"))
    answer = server.request("POST", f"{API}/documents", files={"file": (f"{file_name}.zip", archive)})
    assert answer.status_code == 202, answer.text
    return {
        "document_id": document["id"],
        "collection_id": collection["id"],
        "archive_id": answer.json()["archiveId"],
        **_measured(server, name, document["id"]),
    }


def _measured(server: RunningService, name: str, document_id: str) -> dict[str, str]:
    """A set with a question, and a run over it."""
    path = f"evaluations/{_made(server, 'evaluations', {'name': name})['id']}"
    judgement = {"query": f"otters {name}", "documentId": document_id, "verdict": "right"}
    assert server.request("POST", f"{API}/{path}/judgements", json=judgement).status_code == 200
    answer = server.request("POST", f"{API}/{path}/runs", json={"settings": [{"mode": "hybrid"}]})
    assert answer.status_code == 202, answer.text
    run = answer.json()["items"][0]
    running = f"{API}/{path}/runs/{run['id']}"
    wait_until(lambda: server.request("GET", running).json()["state"] == "completed", what="the run to end")
    return {"set_id": run["setId"], "run_id": run["id"]}


def _made(server: RunningService, what: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = server.request("POST", f"{API}/{what}", json=body)
    assert answer.status_code == 201, answer.text
    thing: dict[str, Any] = answer.json()
    return thing
