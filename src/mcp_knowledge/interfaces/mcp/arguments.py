"""Tool arguments, checked against the very schema that the tool publishes."""

import re
from collections.abc import Mapping
from typing import Any

from mcp_knowledge.errors import KnowledgeError

Schema = Mapping[str, Any]
Arguments = dict[str, Any]

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_SHOWN_CHARS = 60


def parse_arguments(schema: Schema, arguments: Mapping[str, Any]) -> Arguments:
    """The arguments with integers as integers and every string valid Unicode.

    Args:
        schema: a closed object schema made of the keywords type, properties, required, enum, minimum, maximum,
            minLength, maxLength, items and maxItems. An object without `properties` passes as it is.

    Raises:
        KnowledgeError: INVALID_TOOL_ARGUMENTS, naming the argument.
    """
    return _object(schema, arguments, "")


def valid_unicode(value: Any) -> Any:
    """The same JSON value with lone surrogates, which JSON can spell but no text can hold, as U+FFFD."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [valid_unicode(item) for item in value]
        case dict():
            return {valid_unicode(name): valid_unicode(item) for name, item in value.items()}
    return value


def _object(schema: Schema, value: Any, name: str) -> Arguments:
    if not isinstance(value, Mapping):
        raise _invalid(f"'{name}' must be an object")
    if "properties" not in schema:
        return dict(valid_unicode(dict(value)))
    properties: Mapping[str, Schema] = schema["properties"]
    path = f"{name}." if name else ""
    for unknown in (item for item in value if item not in properties):
        known = ", ".join(properties) or "none"
        raise _invalid(f"There is no argument {_shown(path + unknown)}; known arguments: {known}")
    for required in schema.get("required", ()):
        if required not in value:
            raise _invalid(f"'{path}{required}' is required")
    return {item: _value(properties[item], given, path + item) for item, given in value.items()}


def _value(schema: Schema, value: Any, name: str) -> Any:
    match schema["type"]:
        case "integer":
            return _integer(schema, value, name)
        case "string":
            return _string(schema, value, name)
        case "array":
            return _array(schema, value, name)
    return _object(schema, value, name)


def _integer(schema: Schema, value: Any, name: str) -> int:
    low, high = schema["minimum"], schema["maximum"]
    numeric = isinstance(value, str) and _INTEGER.fullmatch(value)
    if numeric or (isinstance(value, float) and value.is_integer()):  # 5.0 is an integer to JSON Schema
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _invalid(f"'{name}' must be an integer from {low} to {high}")
    return value


def _string(schema: Schema, value: Any, name: str) -> str:
    choices = schema.get("enum")
    if choices is not None:
        if isinstance(value, str) and value in choices:
            return value
        raise _invalid(f"'{name}' must be one of {', '.join(choices)}")
    if not isinstance(value, str):
        raise _invalid(f"'{name}' must be a string")
    text: str = valid_unicode(value)
    low, high = schema.get("minLength", 0), schema.get("maxLength")
    if high is not None and not low <= len(text.strip()) <= high:
        raise _invalid(f"'{name}' must have {low} to {high:,} characters")
    return text


def _array(schema: Schema, value: Any, name: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > schema["maxItems"]:
        raise _invalid(f"'{name}' must be an array of at most {schema['maxItems']:,} strings")
    return [_value(schema["items"], item, f"{name}[{place}]") for place, item in enumerate(value)]


def _invalid(sentence: str) -> KnowledgeError:
    return KnowledgeError("INVALID_TOOL_ARGUMENTS", f"{sentence}.")


def _shown(name: str) -> str:
    text = repr(valid_unicode(name))
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
