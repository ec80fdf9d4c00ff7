"""The keys and values of metadata that conditions can be built from."""

from typing import Annotated

from pydantic import Field, StringConstraints

from mcp_knowledge.domain.filters import ValueKind
from mcp_knowledge.interfaces.rest.arguments import Arguments, NoNul, QueryInteger
from mcp_knowledge.interfaces.rest.schemas.common import Id, Shape
from mcp_knowledge.interfaces.rest.schemas.documented import NO_NUL

_Search = Annotated[str, StringConstraints(max_length=200), NoNul, NO_NUL]


class MetadataQuery(Arguments):
    """Which keys or values to offer."""

    search: _Search = Field("", description="A part of the name or value, in any case.")
    collectionId: Id | None = Field(None, description="Only documents of this collection.")
    limit: QueryInteger = Field(50, description="Items, brought into 1…MAX_LIST_LIMIT.")


class MetadataKey(Shape):
    """A key, or dotted path, as `filters` spell it."""

    key: str
    documents: int = Field(description="Searchable documents that have a value there.")
    kinds: list[ValueKind] = Field(description="Of which kinds these values are: boolean, null, number, string.")


class MetadataKeys(Shape):
    """Keys, those of most documents first."""

    items: list[MetadataKey]
    more: bool = Field(description="Whether some were left out: give a `search`.")


class KnownValue(Shape):
    """A value of a key, with its type."""

    value: str | int | float | bool | None
    documents: int = Field(description="Searchable documents that have it.")


class KnownValues(Shape):
    """Values, those of most documents first. Texts of more than 128 characters are not among them."""

    items: list[KnownValue]
    more: bool = Field(description="Whether some were left out: give a `search`.")
