"""The headers that the documentation speaks of: those of answers, and those of requests that change an answer."""

from typing import Any

REQUEST_ID = "X-Request-Id"
_TEXT = {"type": "string"}
_TAG = {"type": "string", "pattern": '^"[^"]*"$'}
_COUNT = {"type": "integer", "minimum": 0}

# name → description and schema
ANSWER_HEADERS: dict[str, tuple[str, dict[str, Any]]] = {
    REQUEST_ID: ("Finds the request in the server's log.", {**_TEXT, "pattern": "^[A-Za-z0-9._-]{1,128}$"}),
    "WWW-Authenticate": ("How to show who you are.", {"const": "Bearer"}),
    "Retry-After": ("Seconds to wait.", _COUNT),
    "Location": ("The address of what is new.", {**_TEXT, "format": "uri-reference"}),
    "Content-Disposition": ("`attachment`, with the file's name (RFC 6266).", {**_TEXT, "pattern": "^attachment"}),
    "Accept-Ranges": ("Parts of the file may be asked for.", {"const": "bytes"}),
    "Content-Range": ("Which bytes these are (RFC 9110, section 14.4).", {**_TEXT, "pattern": "^bytes "}),
    "Content-Length": ("Bytes of the body.", _COUNT),
    "ETag": ("Changes with the content.", _TAG),
}
# Every answer of these statuses has them, beside REQUEST_ID.
HEADERS_BY_STATUS = {401: ("WWW-Authenticate",), 429: ("Retry-After",)}

REQUEST_HEADERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Range": ("One range of bytes; several, or other units, bring the whole file.", _TEXT),
    "If-Range": ("The `ETag` of the part at hand: with another one, the whole file comes.", _TEXT),
    "If-None-Match": ("The `ETag` of the picture at hand.", _TEXT),
    "Last-Event-ID": ("The id of the last event that arrived.", _TEXT),
}


def answer_headers(names: tuple[str, ...]) -> dict[str, Any]:
    """The headers of an answer, as references into the components."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (REQUEST_ID, *names)}


def header_components() -> dict[str, Any]:
    """What the references lead to."""
    return {
        name: {"description": description, "required": True, "schema": schema}
        for name, (description, schema) in ANSWER_HEADERS.items()
    }


def header_parameters(names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Request headers as parameters; each may be left out."""
    return [
        {"name": name, "in": "header", "required": False, "description": description, "schema": schema}
        for name, (description, schema) in REQUEST_HEADERS.items()
        if name in names
    ]
