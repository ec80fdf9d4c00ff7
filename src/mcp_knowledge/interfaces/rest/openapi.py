"""The OpenAPI document, made from the routing table and the schemas."""

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from mcp_knowledge import __version__
from mcp_knowledge.domain.judged_queries import MAX_CASE_ID_CHARS
from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.access import SESSION_COOKIE, needed_scope
from mcp_knowledge.interfaces.rest.documented_headers import (
    HEADERS_BY_STATUS,
    answer_headers,
    header_components,
    header_parameters,
)
from mcp_knowledge.interfaces.rest.operations import Answer, Operation

Json = dict[str, Any]

OPENAPI_VERSION = "3.1.0"
_REFERENCE = "#/components/schemas/{model}"
_SECURITY_SCHEMES: Json = {
    "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, `key_…`. Scopes: read, write (with read), admin (with both).",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": SESSION_COOKIE,
        "description": "Made by signing in. Changes need an `Origin` header too.",
    },
}
_PARAMETER = re.compile(r"{(\w+)}")
_EVERYWHERE = ("HOST_NOT_ALLOWED", "REQUEST_HEAD_TOO_LARGE", "INTERNAL_ERROR")
_WITH_BODY = ("INVALID_JSON", "INVALID_REQUEST", "INVALID_ARGUMENT", "PAYLOAD_TOO_LARGE")
_PATH_SCHEMAS: dict[str, Json] = {
    "number": {"type": "integer", "minimum": 1, "maximum": 999_999_999},
    "case_id": {"type": "string", "minLength": 1, "maxLength": MAX_CASE_ID_CHARS},
}


class _Generator(GenerateJsonSchema):
    """Leaves out the titles that only repeat the fields' names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def error_codes(operation: Operation) -> list[str]:
    """Every code that an operation can answer with, its own first."""
    codes = list(operation.errors)
    if operation.path != "/health":  # the one that asks nothing of the database
        codes.append("SERVICE_UNAVAILABLE")
    if operation.body is not None:
        codes += _WITH_BODY
    if operation.body is not None or operation.form is not None or operation.text is not None:
        codes.append("REQUEST_TIMEOUT")
    if operation.query is not None:
        codes.append("INVALID_ARGUMENT")
    if "{" in operation.path:  # what stands there may have slashes and control characters
        codes.append("NOT_FOUND")
    scope = needed_scope(operation.method, operation.path)
    if scope is not None:
        codes.append("UNAUTHORIZED")
    if operation.method != "GET" or scope == "admin":
        codes.append("FORBIDDEN")
    return list(dict.fromkeys([*codes, *_EVERYWHERE]))


def openapi_document(operations: Iterable[Operation], *, is_open: bool) -> Json:
    """The whole document.

    Args:
        is_open: no passphrase is set, so that nobody needs credentials.
    """
    operations = list(operations)
    definitions = _definitions(operations)
    paths: dict[str, Json] = {}
    for item in operations:
        data = _operation(item, definitions)
        if is_open and data["security"]:
            data["security"].append({})
        paths.setdefault(item.path, {})[item.method.lower()] = data
    return {
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": "MCP Knowledge",
            "version": __version__,
            "description": "Private document retrieval. Every failure is "
            '`{"error": {"code", "message", "requestId"}}`; every answer carries `X-Request-Id`. '
            "GET routes also answer HEAD. Credentials are needed where a passphrase is set; an API key that is sent is "
            "checked in any case.",
        },
        "tags": [{"name": tag} for tag in dict.fromkeys(item.tag for item in operations)],
        "paths": paths,
        "components": {
            "schemas": definitions,
            "headers": header_components(),
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def _definitions(operations: Iterable[Operation]) -> dict[str, Json]:
    models: dict[type[BaseModel], None] = {schemas.Error: None}
    for item in operations:
        for model in (item.query, item.body, item.form, *(answer.schema for answer in item.answers)):
            if model is not None:
                models[model] = None
    _, schema = models_json_schema(
        [(model, "validation") for model in models], ref_template=_REFERENCE, schema_generator=_Generator
    )
    definitions: dict[str, Json] = schema["$defs"]
    return definitions


def _operation(item: Operation, definitions: dict[str, Json]) -> Json:
    data: Json = {
        "operationId": _camel(getattr(item.handler, "__name__", item.summary)),
        "summary": item.summary,
        "tags": [item.tag],
        "security": _security(item),
        "responses": _responses(item),
    }
    if item.description:
        data["description"] = item.description
    parameters = _path_parameters(item.path)
    if item.query is not None:
        parameters += _query_parameters(definitions[item.query.__name__])
    parameters += header_parameters(item.headers)
    if parameters:
        data["parameters"] = parameters
    model = item.body or item.form
    if model is not None:
        media_type = "application/json" if item.body else "multipart/form-data"
        data["requestBody"] = {"required": True, "content": {media_type: {"schema": _reference(model)}}}
    elif item.text is not None:
        content = {
            media_type: {"schema": {"type": "string", "minLength": 1}} for media_type in (item.text, "text/plain")
        }
        data["requestBody"] = {"required": True, "content": content}
    return data


def _security(item: Operation) -> list[Json]:
    """Any one of these will do."""
    scope = needed_scope(item.method, item.path)
    return [] if scope is None else [{"apiKey": [scope]}, {"session": []}]


def _responses(item: Operation) -> Json:
    responses: dict[str, Json] = {}
    for answer in item.answers:
        headers = answer_headers(answer.headers)
        responses[str(answer.status)] = {"description": answer.meaning, "headers": headers, **_content(answer)}
    by_status: dict[int, list[str]] = {}
    for code in error_codes(item):
        by_status.setdefault(ERROR_CODES[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        responses.setdefault(
            str(status),
            {
                "description": ", ".join(codes),
                "headers": answer_headers(HEADERS_BY_STATUS.get(status, ())),
                "content": {"application/json": {"schema": _reference(schemas.Error)}},
            },
        )
    return responses


def _content(answer: Answer) -> Json:
    if answer.media_type is None:
        return {}
    return {"content": {answer.media_type: {"schema": _reference(answer.schema)} if answer.schema else {}}}


def _reference(model: type[BaseModel]) -> Json:
    return {"$ref": _REFERENCE.format(model=model.__name__)}


def _path_parameters(path: str) -> list[Json]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": _PATH_SCHEMAS.get(name, {"type": "string", "minLength": 1}),
        }
        for name in _PARAMETER.findall(path)
    ]


def _query_parameters(schema: Json) -> list[Json]:
    parameters = []
    for name, original in schema["properties"].items():
        field = dict(original)
        parameter: Json = {"name": name, "in": "query", "required": name in schema.get("required", ())}
        if "description" in field:
            parameter["description"] = field.pop("description")
        choices = [choice for choice in field.pop("anyOf", ()) if choice != {"type": "null"}]
        if choices:  # optional: a query string has no null
            field = {**choices[0], **field}
        if field.get("default", 0) is None:
            del field["default"]
        media_type = field.pop("contentMediaType", None)
        if media_type is None:
            parameters.append({**parameter, "schema": field})
        else:  # a value that is written in another format within the query string
            schema = field.pop("contentSchema", {})
            parameters.append({**parameter, "content": {media_type: {"schema": schema}}})
    return parameters


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
