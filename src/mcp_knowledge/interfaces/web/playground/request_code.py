"""The request behind a page, as text to run elsewhere: curl, Python and a tool call over MCP."""

import json
from dataclasses import dataclass
from pprint import pformat
from shlex import quote
from typing import Any

from fastapi import Request

from mcp_knowledge.domain.filters import Filter
from mcp_knowledge.domain.search import Expand, SearchRequest
from mcp_knowledge.interfaces.web.own_origin import own_origin
from mcp_knowledge.interfaces.web.playground.filter_builder import short
from mcp_knowledge.settings import Settings

KEY_VARIABLE = "MCP_KNOWLEDGE_KEY"  # of the environment, so that no secret stands in a command
_SEARCH = "/api/v1/search"
_LINE_CHARS = 88


@dataclass(frozen=True, slots=True)
class Code:
    """One way to make the request. `note` says in what it differs from the page, if it does."""

    id: str
    name: str
    text: str
    note: str = ""


def request_codes(request: Request, search: SearchRequest, settings: Settings, *, needs_key: bool) -> list[Code]:
    """The search of this page for this server, in every way.

    Args:
        needs_key: whether requests need an API key.
    """
    base = own_origin(request)
    body = rest_body(search, settings)
    arguments, note = tool_arguments(search, settings)
    return [
        Code("curl", "curl", _curl(base, body, needs_key)),
        Code("python", "Python", _python(base, body, needs_key)),
        Code("mcp", "MCP", _tool_call(arguments), note),
    ]


def rest_body(search: SearchRequest, settings: Settings) -> dict[str, Any]:
    """The body of `POST /search`; what is the default anyway is left out."""
    scope, expand = search.scope, search.expand
    body: dict[str, Any] = {"query": search.query, "mode": search.mode, "limit": search.limit}
    if scope.collection_ids:
        body["collectionIds"] = list(scope.collection_ids)
    if scope.document_ids:
        body["documentIds"] = list(scope.document_ids)
    if scope.filters:
        body["filters"] = filters_object(scope.filters)
    if search.fusion != settings.fusion:
        body["fusion"] = search.fusion
    if expand.type != "none":
        body["expand"] = _expansion(expand)
    if search.collapse != "none":
        body["collapse"] = search.collapse
    return body


def tool_arguments(search: SearchRequest, settings: Settings) -> tuple[dict[str, Any], str]:
    """The arguments of the tool `search_documents`, and a sentence on what it cannot do alike (may be empty)."""
    names = {"collectionIds": "collection_ids", "documentIds": "document_ids"}
    arguments = {names.get(name, name): value for name, value in rest_body(search, settings).items()}
    notes: list[str] = []
    if arguments.pop("fusion", None) and search.mode == "hybrid":
        notes.append(f"Over MCP, this server merges by {'rank' if settings.fusion == 'rrf' else 'score'}.")
    if search.limit > settings.max_search_limit_mcp:
        arguments["limit"] = settings.max_search_limit_mcp
        notes.append(f"Over MCP, a search gives {settings.max_search_limit_mcp} results at most.")
    if search.expand.type == "document":
        del arguments["expand"]
        notes.append("Over MCP, whole documents are read with the tool get_document.")
    return arguments, " ".join(notes)


def filters_object(filters: tuple[Filter, ...]) -> dict[str, Any]:
    """Conditions as REST and MCP take them."""
    found: dict[str, dict[str, Any]] = {}
    for item in filters:
        value = list(item.value) if isinstance(item.value, tuple) else item.value
        found.setdefault(item.field, {})[item.operator] = value
    return {field: short(conditions) for field, conditions in found.items()}


def _expansion(expand: Expand) -> dict[str, Any]:
    if expand.type != "neighbors":
        return {"type": expand.type}
    return {"type": expand.type, "before": expand.before, "after": expand.after}


def _curl(base: str, body: dict[str, Any], needs_key: bool) -> str:
    parts = [f"curl -sS {quote(base + _SEARCH)}", "-H 'Content-Type: application/json'"]
    if needs_key:
        parts.append(f'-H "Authorization: Bearer ${KEY_VARIABLE}"')
    parts.append(f"--data-raw {quote(_json(body))}")
    return " \\\n  ".join(parts)


def _python(base: str, body: dict[str, Any], needs_key: bool) -> str:
    headers = '{"Content-Type": "application/json"}'
    if needs_key:
        headers = (
            '{\n    "Content-Type": "application/json",\n'
            f'    "Authorization": "Bearer " + os.environ["{KEY_VARIABLE}"],\n}}'
        )
    imports = "import json\nimport os\n" if needs_key else "import json\n"
    return f"""\
{imports}from urllib.request import Request, urlopen

question = {_literal(body)}
request = Request(
    {base + _SEARCH!r},
    json.dumps(question).encode(),
    {headers.replace(chr(10), chr(10) + "    ")},
)
with urlopen(request) as answer:
    for hit in json.load(answer)["hits"]:
        print(hit["ranking"]["finalRank"], hit["chunkId"], hit["title"])
"""


def _literal(body: dict[str, Any]) -> str:
    """A dictionary as Python writes it, one entry a line."""
    margin = "\n    "
    entries = (f"{name!r}: {pformat(value, width=_LINE_CHARS, sort_dicts=False)}," for name, value in body.items())
    return f"{{{margin}{margin.join(entry.replace(chr(10), margin) for entry in entries)}\n}}"


def _tool_call(arguments: dict[str, Any]) -> str:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search_documents", "arguments": arguments},
    }
    return json.dumps(call, ensure_ascii=False, indent=2)


def _json(value: dict[str, Any]) -> str:
    """Compact enough for a command, yet with room between its parts."""
    return json.dumps(value, ensure_ascii=False)
