"""What the documentation says of a value beyond its type, for rules that its type cannot hold."""

from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from mcp_knowledge.domain.filters import FIELD_PATTERN, MAX_CONDITIONS, MAX_FIELD_CHARS, MAX_IN_VALUES, Operator
from mcp_knowledge.services.search_request import MAX_QUERY_CHARS


class Documented:
    """Adds keywords of JSON Schema to the documentation of a type; what is accepted does not change.

    Args:
        keywords: JSON Schema 2020-12, such as `pattern`.
    """

    def __init__(self, **keywords: Any) -> None:
        self._keywords = keywords

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core_schema), **self._keywords}


SOME_TEXT = Documented(pattern=r"\S")
ONE_LINE = Documented(pattern=r"^[^\u0000-\u001f\u007f]*$")
SOME_LINE = Documented(pattern=r"^[^\u0000-\u001f\u007f]*[^\s\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*$")
NO_NUL = Documented(pattern=r"^[^\u0000]*$")
ASCII = Documented(pattern=r"^[\u0001-\u007f]*$")
QUERY_TEXT = Documented(minLength=1, maxLength=MAX_QUERY_CHARS, pattern=r"\S")

_SCALAR = {"type": ["string", "number", "boolean", "null"]}
_BOUND = {
    "anyOf": [{"type": "number"}, {"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]
}
_OPERANDS: dict[Operator, Any] = {
    "eq": _SCALAR,
    "neq": _SCALAR,
    "in": {"type": "array", "items": _SCALAR, "maxItems": MAX_IN_VALUES},
    "exists": {"type": "boolean"},
    "gte": _BOUND,
    "lte": _BOUND,
}
_CONDITION = {"type": "object", "properties": _OPERANDS, "additionalProperties": False, "minProperties": 1}
_FILTERS: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": f"^{FIELD_PATTERN}$", "maxLength": MAX_FIELD_CHARS},
    "additionalProperties": {"anyOf": [_SCALAR, _CONDITION]},
    "maxProperties": MAX_CONDITIONS,
}
FILTERS = Documented(**_FILTERS)
FILTERS_IN_TEXT = Documented(contentMediaType="application/json", contentSchema=_FILTERS)
