"""What every resource uses."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from mcp_knowledge.interfaces.rest.arguments import Arguments, NoControls, NoNul, QueryInteger
from mcp_knowledge.interfaces.rest.schemas.documented import NO_NUL, SOME_LINE, Documented

Timestamp = Annotated[
    str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", examples=["2026-01-31T09:30:00.000Z"])
]
Id = Annotated[str, StringConstraints(min_length=1, max_length=200)]
CollectionName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), NoControls, SOME_LINE
]
Description = Annotated[str, StringConstraints(max_length=2000), NoNul, NO_NUL]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500), NoControls, SOME_LINE]
Cursor = Annotated[str, Documented(pattern="^[A-Za-z0-9_-]+$")]
MetadataObject = dict[str, Any]


def changeable(description: str = "") -> Any:
    """A field that a change may leave out; what it is then does not matter, and the documentation shows no default."""
    return Field(default=None, description=description or None, json_schema_extra=lambda schema: schema.pop("default"))


class Shape(BaseModel):
    """The body of an answer. Every field stands in it unless it says otherwise."""

    model_config = ConfigDict(extra="forbid")


class ErrorDetail(Shape):
    """What went wrong."""

    code: str = Field(description="Stable, upper case; programs decide by it.")
    message: str = Field(description="One sentence for people.")
    requestId: str = Field(description="Finds the request in the server's log.")


class Error(Shape):
    """Any failure."""

    error: ErrorDetail


class Ok(Shape):
    """It is done."""

    ok: Literal[True]


class PageQuery(Arguments):
    """How much of a list, and from where."""

    limit: QueryInteger = Field(50, description="Items on a page; brought into 1…MAX_LIST_LIMIT.")
    cursor: Cursor | None = Field(None, description="`nextCursor` of the page before.")
