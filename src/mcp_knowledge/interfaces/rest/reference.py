"""The routes for people: the page at `/docs`, which needs nothing from elsewhere, and the documentation's table."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mcp_knowledge.interfaces.rest.access import needed_scope
from mcp_knowledge.interfaces.rest.context import services
from mcp_knowledge.interfaces.rest.openapi import error_codes, openapi_document
from mcp_knowledge.interfaces.rest.operations import Operation, Resource
from mcp_knowledge.interfaces.rest.responses import json_response
from mcp_knowledge.interfaces.rest.table import OPERATIONS
from mcp_knowledge.interfaces.web.templating import render

Json = dict[str, Any]
_ANYWHERE = {
    *("HOST_NOT_ALLOWED", "REQUEST_HEAD_TOO_LARGE", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE"),
    *("UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND"),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One line of a table of fields. `link` names the schema to look at, if the type is one."""

    name: str
    type: str
    link: str | None
    required: bool
    description: str


def documentation_routes() -> list[Route]:
    """`/openapi.json` and `/docs`."""
    document = _document(is_open=False)
    schemas = {name: _fields(schema) for name, schema in document["components"]["schemas"].items()}

    async def openapi(request: Request) -> Response:
        return json_response(_document(is_open=not services(request).access.passphrase_required))

    async def page(request: Request) -> Response:
        return render(request, "reference.html", document=document, tags=_by_tag(document), schemas=schemas)

    return [
        Route(path, Resource(path, {"GET": handler}), include_in_schema=False)
        for path, handler in (("/openapi.json", openapi), ("/docs", page))
    ]


@cache
def _document(*, is_open: bool) -> Json:
    return openapi_document(OPERATIONS, is_open=is_open)


def _by_tag(document: Json) -> dict[str, list[Json]]:
    tags: dict[str, list[Json]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags[operation["tags"][0]].append(
                {
                    **operation,
                    "description": operation.get("description", ""),
                    "method": method.upper(),
                    "path": path,
                    "fields": [_parameter(item) for item in operation.get("parameters", ())],
                    "body": _body(operation),
                    "answers": [_answer(status, answer) for status, answer in operation["responses"].items()],
                }
            )
    return tags


def _parameter(item: Json) -> Field:
    schema = item.get("schema") or {"format": "JSON"}
    kind, link = _type(schema)
    description = item.get("description") or ("in the path" if item["in"] == "path" else "")
    return Field(item["name"], kind, link, item["required"], _with_default(description, schema))


def _fields(schema: Json) -> list[Field]:
    required = schema.get("required", ())
    fields = []
    for name, item in schema.get("properties", {}).items():
        kind, link = _type(item)
        fields.append(Field(name, kind, link, name in required, _with_default(item.get("description", ""), item)))
    return fields


def _with_default(description: str, schema: Json) -> str:
    default = schema.get("default")
    shown = "" if default in (None, "", [], {}) or isinstance(default, dict) else f"Default {default}."
    return f"{description} {shown}".strip()


def _body(operation: Json) -> Json | None:
    content = operation.get("requestBody", {}).get("content", {})
    for media_type, item in content.items():
        return {"media_type": media_type, "schema": item["schema"].get("$ref", "").rpartition("/")[2] or None}
    return None


def _answer(status: str, answer: Json) -> Json:
    schema = None
    for item in answer.get("content", {}).values():
        schema = item.get("schema", {}).get("$ref", "").rpartition("/")[2] or None
    return {"status": status, "description": answer["description"], "schema": schema}


def _type(schema: Json) -> tuple[str, str | None]:
    """A JSON schema in a few words, and the name of the schema it refers to."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name, name
    if "anyOf" in schema:
        parts = [_type(part) for part in schema["anyOf"]]
        return " or ".join(name for name, _ in parts), next((link for _, link in parts if link), None)
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"])), None
    if "const" in schema:
        return str(schema["const"]).lower() if isinstance(schema["const"], bool) else str(schema["const"]), None
    if schema.get("type") == "array":
        name, link = _type(schema.get("items", {}))
        return f"list of {name}", link
    return schema.get("format") or schema.get("type") or "any", None


def rest_reference() -> str:
    """Every route with its answers and error codes, as Markdown."""
    tags: dict[str, list[Operation]] = {}
    for item in OPERATIONS:
        tags.setdefault(item.tag, []).append(item)
    parts = []
    for tag, operations in tags.items():
        rows = [
            f"| `{item.method} {item.path}` | {needed_scope(item.method, item.path) or '-'} "
            f"| {item.summary} | {_arguments(item)} | {_outcomes(item)} |"
            for item in operations
        ]
        table = ["| route | scope | what it does | arguments | answers |", "| --- | --- | --- | --- | --- |", *rows]
        parts.append(f"### {tag}\n\n" + "\n".join(table))
    return "\n\n".join(parts)


def _arguments(item: Operation) -> str:
    models = [model for model in (item.query, item.body, item.form) if model is not None]
    return ", ".join(f"`{name}`" for model in models for name in model.model_fields)


def _outcomes(item: Operation) -> str:
    successes = ", ".join(str(answer.status) for answer in item.answers)
    shared = _ANYWHERE - set(item.errors)
    codes = ", ".join(f"`{code}`" for code in error_codes(item) if code not in shared)
    return f"{successes}; {codes}" if codes else successes
