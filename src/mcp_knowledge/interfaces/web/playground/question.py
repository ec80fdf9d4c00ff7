"""What the playground asks, as its address says it: the whole search, so that it can be kept and shared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import Request
from starlette.datastructures import QueryParams

from mcp_knowledge.domain.search import Expand, SearchRequest
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import parse_json
from mcp_knowledge.interfaces.web.fields import whole_number
from mcp_knowledge.services.search_request import MAX_EXPAND_CHUNKS, MAX_IDS, search_request
from mcp_knowledge.settings import Settings

ADDRESS = "/playground"
COLUMN_NAMES = ("a", "b", "c")  # of settings side by side
NO_FILTERS = "none"  # a column's word for leaving the conditions out
MAX_FILTERS_CHARS = 20_000
MAX_MISSING_CHARS = 300
_OF_COLUMNS = ("mode", "fusion", "collapse", "filters")

_SENTENCES = {
    "fusion": "There is no such way to merge. Choose “By rank” or “By score”.",
    "collapse": "Choose whether each document comes once, or every passage that fits.",
    "expand": "Choose how much text comes with a passage: none, its neighbours, its section or the whole document.",
    "before": f"The number of passages before must be from 0 to {MAX_EXPAND_CHUNKS}.",
    "after": f"The number of passages after must be from 0 to {MAX_EXPAND_CHUNKS}.",
    "collection": f"At most {MAX_IDS} collections can be chosen.",
    "document": f"At most {MAX_IDS} documents can be chosen.",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One of several settings side by side: what it does otherwise than the question. Empty: as the question."""

    mode: str
    fusion: str = ""
    collapse: str = ""
    filters: str = ""

    def parameters(self, name: str) -> dict[str, str]:
        """Its part of the address."""
        values = {"mode": self.mode, "fusion": self.fusion, "collapse": self.collapse, "filters": self.filters}
        return {f"{name}.{field}": value for field, value in values.items() if value}


@dataclass(frozen=True, slots=True)
class Question:
    """The search as its address spells it. What does not fit is kept as it came, and `faults` says so at its field.

    Args:
        filters: a JSON object, or empty.
        expand: `none`, `neighbors` (with `before` and `after`), `section` or `document`.
        columns: two or three settings to compare; empty for one search.
        missing: what somebody misses among the hits: an id, or words of a title; empty for nothing.
        default_limit: what an address without a limit means; the same for `default_fusion`.
    """

    text: str
    mode: str
    limit: str
    fusion: str
    collapse: str
    collections: tuple[str, ...]
    documents: tuple[str, ...]
    filters: str
    expand: str
    before: str
    after: str
    columns: tuple[Column, ...]
    missing: str
    default_limit: str
    default_fusion: str

    @property
    def collapsed(self) -> bool:
        """Whether each document comes once."""
        return self.collapse == "document"

    @property
    def narrowed(self) -> bool:
        """Whether some documents are left out."""
        return bool(self.collections or self.documents or self.filters)

    def address(self, **changes: Any) -> str:
        """The address of this search with some values changed; None or an empty one leaves a value out.

        Names are those of the address; `collection` and `document` take tuples, `columns` takes columns.
        """
        values = self.parameters() | changes
        columns = values.pop("columns", self.columns)
        if columns:
            values["mode"] = None  # each column has its own
        for name, column in zip(COLUMN_NAMES, columns, strict=False):
            values |= column.parameters(name)
        query = urlencode({name: value for name, value in values.items() if value}, doseq=True)
        return f"{ADDRESS}?{query}" if query else ADDRESS

    def pairs(self, **changes: Any) -> list[tuple[str, str]]:
        """The same as `address`, as names and values for the hidden fields of a form."""
        return parse_qsl(urlsplit(self.address(**changes)).query, keep_blank_values=True)

    def parameters(self) -> dict[str, Any]:
        """The values of the address, those left out that say nothing."""
        reach = self.expand == "neighbors"
        default_reach = str(Expand().before)
        return {
            "q": self.text,
            "mode": _unless(self.mode, "hybrid"),
            "limit": _unless(self.limit, self.default_limit),
            "fusion": _unless(self.fusion, self.default_fusion),
            "collapse": _unless(self.collapse, "none"),
            "collection": self.collections,
            "document": self.documents,
            "filters": self.filters,
            "expand": _unless(self.expand, "none"),
            "before": _unless(self.before, default_reach) if reach else None,
            "after": _unless(self.after, default_reach) if reach else None,
            "missing": self.missing,
        }

    def in_column(self, column: Column) -> "Question":
        """The single search that a column shows."""
        filters = "" if column.filters == NO_FILTERS else column.filters or self.filters
        return replace(
            self,
            mode=column.mode,
            fusion=column.fusion or self.fusion,
            collapse=column.collapse or self.collapse,
            filters=filters,
            columns=(),
        )

    def request(self, settings: Settings) -> SearchRequest:
        """The search that this address asks for, with its reasons. Raises KnowledgeError, as REST and MCP do."""
        return search_request(
            settings, query=self.text, limit=limit_of(self.limit, settings), explain=True, **self._arguments()
        )

    def _arguments(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "fusion": self.fusion,
            "collapse": self.collapse,
            "collection_ids": self.collections,
            "document_ids": self.documents,
            "filters": filters_from(self.filters),
            "expand": self.expansion(),
        }

    def expansion(self) -> dict[str, Any]:
        """The text around a passage, as REST takes it. Raises INVALID_ARGUMENT."""
        if self.expand != "neighbors":
            return {"type": self.expand}
        return {"type": self.expand, "before": _whole(self.before), "after": _whole(self.after)}

    def faults(self, settings: Settings) -> dict[str, str]:
        """What is wrong, as a sentence for each field of the address; empty when the search can be made."""
        found: dict[str, str] = {}
        for field, check in self._checks(settings).items():
            try:
                check()
            except KnowledgeError as error:
                found[field] = _SENTENCES.get(field, error.message)
        for name, column in zip(COLUMN_NAMES, self.columns, strict=False):
            own = self.in_column(column).faults(settings)
            found |= {f"{name}.{field}": own[field] for field in _OF_COLUMNS if field in own and field not in found}
        return found

    def _checks(self, settings: Settings) -> dict[str, Callable[[], object]]:
        """What raises KnowledgeError when a field is wrong."""
        check = partial(search_request, settings)
        checks: dict[str, Callable[[], object]] = {
            "limit": lambda: limit_of(self.limit, settings),
            "fusion": lambda: check(query="any", fusion=self.fusion),
            "collapse": lambda: check(query="any", collapse=self.collapse),
            "collection": lambda: check(query="any", collection_ids=self.collections),
            "document": lambda: check(query="any", document_ids=self.documents),
            "filters": lambda: check(query="any", filters=filters_from(self.filters)),
            "expand": lambda: check(query="any", expand={"type": self.expand}),
        }
        if not self.columns:  # each has its own
            checks["mode"] = lambda: check(query="any", mode=self.mode)
        if self.text.strip():
            checks["q"] = lambda: check(query=self.text)
        if self.expand == "neighbors":
            checks["before"] = lambda: check(query="any", expand={"before": _whole(self.before)})
            checks["after"] = lambda: check(query="any", expand={"after": _whole(self.after)})
        return checks


def question_of(request: Request, settings: Settings) -> Question:
    """Read the playground's address."""
    values = request.query_params
    common = {"fusion": values.get("fusion") or settings.fusion, "collapse": values.get("collapse") or "none"}
    return Question(
        text=values.get("q", ""),
        mode=values.get("mode") or "hybrid",
        limit=values.get("limit") or str(settings.default_search_limit),
        **common,
        collections=_several(values, "collection"),
        documents=_several(values, "document"),
        filters=values.get("filters", "").strip(),
        expand=values.get("expand") or "none",
        before=values.get("before") or str(Expand().before),
        after=values.get("after") or str(Expand().after),
        columns=_columns(values, common),
        missing=values.get("missing", "").strip()[:MAX_MISSING_CHARS],
        default_limit=str(settings.default_search_limit),
        default_fusion=settings.fusion,
    )


def limit_of(text: str, settings: Settings) -> int:
    """The number of hits to show. Raises INVALID_ARGUMENT."""
    number = whole_number(text.strip())
    if number is None:
        raise KnowledgeError("INVALID_ARGUMENT", "The number of results must be a whole number.")
    return min(max(number, 1), settings.max_search_limit_api)


def filters_from(text: str) -> dict[str, Any] | None:
    """The metadata conditions of an address, as REST takes them. Raises INVALID_FILTER."""
    if not text.strip():
        return None
    if len(text) > MAX_FILTERS_CHARS:
        raise KnowledgeError("INVALID_FILTER", "These conditions are too long for an address.")
    try:
        data = parse_json(text.encode("utf-8", "replace"), "INVALID_FILTER")
    except KnowledgeError:
        raise KnowledgeError("INVALID_FILTER", "The conditions are not valid JSON.") from None
    if not isinstance(data, dict):
        raise KnowledgeError("INVALID_FILTER", 'The conditions must be a JSON object, such as {"year": 2024}.')
    return data


def _columns(values: QueryParams, common: Mapping[str, str]) -> tuple[Column, ...]:
    """The columns of an address, told apart from what is common to all.

    One column alone is no comparison: a second one, of another mode, stands beside it.
    """
    found: list[Column] = []
    for name in COLUMN_NAMES:
        own = {field: values[f"{name}.{field}"].strip() for field in _OF_COLUMNS if f"{name}.{field}" in values}
        if own:
            mode = own.pop("mode", "") or values.get("mode") or "hybrid"
            found.append(Column(mode, **{field: text for field, text in own.items() if text != common.get(field)}))
    if len(found) == 1:
        found.append(replace(found[0], mode="lexical" if found[0].mode == "vector" else "vector"))
    return tuple(found)


def _several(values: QueryParams, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values.getlist(name) if value))


def _whole(text: str) -> int | str:
    number = whole_number(text.strip(), most_digits=3)
    return text if number is None else number


def _unless(value: str, default: str) -> str | None:
    return None if value == default else value
