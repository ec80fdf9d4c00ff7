"""Building blocks of the tools' JSON schemas: closed, flat, with a description on everything a model fills in."""

from collections.abc import Sequence
from typing import Any

from mcp_knowledge.services.search_request import MAX_IDS

Schema = dict[str, Any]

MAX_ID_CHARS = 200


def closed(properties: dict[str, Schema], required: Sequence[str] = (), description: str | None = None) -> Schema:
    """An object that takes the named properties and no others."""
    schema: Schema = {"type": "object"}
    if description is not None:
        schema["description"] = description
    schema["properties"] = properties
    if required:
        schema["required"] = list(required)
    schema["additionalProperties"] = False
    return schema


def text(description: str, max_chars: int) -> Schema:
    """A string that is not blank."""
    return {"type": "string", "minLength": 1, "maxLength": max_chars, "description": description}


def identifier(description: str) -> Schema:
    """The id of a document, chunk or collection."""
    return text(description, MAX_ID_CHARS)


def opaque(description: str) -> Schema:
    """A string whose form the service judges, with a code of its own."""
    return {"type": "string", "description": description}


def choice(description: str, values: Sequence[str], default: str | None = None) -> Schema:
    """One of several words."""
    schema: Schema = {"type": "string", "enum": list(values), "description": description}
    return schema if default is None else {**schema, "default": default}


def integer(description: str, minimum: int, maximum: int, default: int | None = None) -> Schema:
    """A whole number in a range, ends included."""
    schema: Schema = {"type": "integer", "minimum": minimum, "maximum": maximum, "description": description}
    return schema if default is None else {**schema, "default": default}


def texts(description: str, max_chars: int = MAX_ID_CHARS, max_items: int = MAX_IDS) -> Schema:
    """An array of strings."""
    items = {"type": "string", "minLength": 1, "maxLength": max_chars}
    return {"type": "array", "items": items, "maxItems": max_items, "description": description}


# Shapes of answers. Clients validate against them, so they say no more than what always holds.
STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
OBJECT: Schema = {"type": "object"}
BOOLEAN: Schema = {"type": "boolean"}
NULLABLE_STRING: Schema = {"type": ["string", "null"]}
NULLABLE_OBJECT: Schema = {"type": ["object", "null"]}
STRINGS: Schema = {"type": "array", "items": STRING}


def answer(properties: dict[str, Schema], optional: Sequence[str] = ()) -> Schema:
    """An object of an answer: everything is there but the optional properties."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def listing(item: Schema) -> Schema:
    """An array of objects."""
    return {"type": "array", "items": item}


DOCUMENT = answer(
    {
        "id": STRING,
        "collectionId": NULLABLE_STRING,
        "currentRevisionId": NULLABLE_STRING,
        "revision": INTEGER,
        "title": STRING,
        "originalFilename": STRING,
        "mimeType": STRING,
        "extension": STRING,
        "sizeBytes": INTEGER,
        "sha256": STRING,
        "status": STRING,
        "metadata": OBJECT,
        "sourcePath": NULLABLE_STRING,
        "sourceUrl": NULLABLE_STRING,
        "chunkCount": INTEGER,
        "latestError": NULLABLE_STRING,
        "progress": NULLABLE_OBJECT,
        "createdAt": STRING,
        "updatedAt": STRING,
        "metadataOmitted": BOOLEAN,
    },
    optional=("metadataOmitted",),
)
COLLECTION = answer(
    {
        "id": STRING,
        "name": STRING,
        "description": NULLABLE_STRING,
        "documentCount": INTEGER,
        "createdAt": STRING,
        "updatedAt": STRING,
    }
)
HIT = answer(
    {
        "chunkId": STRING,
        "documentId": STRING,
        "title": STRING,
        "content": STRING,
        "headingPath": STRINGS,
        "location": OBJECT,
        "rank": INTEGER,
        "matchedTerms": STRINGS,
        "metadata": OBJECT,
        "resourceUri": STRING,
        "chunkRank": INTEGER,
        "matchingChunkCount": INTEGER,
        "matchedHeadings": STRINGS,
        "metadataOmitted": BOOLEAN,
    },
    optional=("chunkRank", "matchingChunkCount", "matchedHeadings", "metadataOmitted"),
)
CATALOG_ITEM = answer(
    {
        "id": STRING,
        "revisionId": NULLABLE_STRING,
        "title": STRING,
        "sourcePath": NULLABLE_STRING,
        "metadata": OBJECT,
        "status": STRING,
        "updatedAt": STRING,
        "metadataOmitted": BOOLEAN,
    },
    optional=("id", "revisionId", "title", "sourcePath", "metadata", "status", "updatedAt", "metadataOmitted"),
)
