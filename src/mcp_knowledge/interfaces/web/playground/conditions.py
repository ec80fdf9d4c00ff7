"""The builder of metadata conditions as a page shows it: rows and JSON of the same conditions, and what to choose from.

Its form has both; whichever was changed counts. `filters_before` is the JSON as the page had it, which tells.
"""

import json
from dataclasses import dataclass, field, replace

from starlette.datastructures import QueryParams

from mcp_knowledge.domain.filters import parse_filters
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import parse_json
from mcp_knowledge.interfaces.web.fields import whole_number
from mcp_knowledge.interfaces.web.playground.filter_builder import (
    MAX_ROWS,
    filters_of_rows,
    rows_of_filters,
    rows_of_form,
    same_filters,
    spelled,
)
from mcp_knowledge.interfaces.web.playground.question import Question, filters_from
from mcp_knowledge.interfaces.web.playground.row import Row
from mcp_knowledge.ports.metadata import KnownValue, MetadataKey
from mcp_knowledge.services.metadata import MAX_SEARCH_CHARS, Metadata

FORM_FIELDS = ("key", "operator", "value", "kind", "filters_before", "add", "choose", "drop")
MAX_KEYS_OFFERED = 200
MAX_VALUES_OFFERED = 12
_MAX_ROWS_WITH_VALUES = 8  # each costs a look into the database


@dataclass(frozen=True, slots=True)
class Offer:
    """A value that documents have at a row's key: as a row spells it, as JSON, and for people."""

    text: str
    json_text: str
    label: str
    documents: int


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the builder shows.

    Args:
        filters: the conditions as an address holds them; what does not fit is left as it came.
        json_text: the same, spaced for people.
        problem: what is wrong with the JSON.
        key_names: to complete what is typed; `keys` have counts, where somebody waits for them.
        offers: what the documents have at each row's key, in the order of the rows.
    """

    rows: list[Row]
    filters: str
    json_text: str
    problem: str = ""
    key_names: list[str] = field(default_factory=list)
    keys: list[MetadataKey] = field(default_factory=list)
    offers: list[list[Offer]] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        """Whether the filters say all that the form does."""
        return not self.problem and not any(row.problem for row in self.rows)

    @property
    def faulty(self) -> bool:
        """Whether something is wrong, not merely unfinished."""
        return bool(self.problem) or any(row.problem and not row.unfinished for row in self.rows)


async def conditions_of(parameters: QueryParams, question: Question, metadata: Metadata) -> Conditions:
    """The conditions of an address, or of the form that sent it."""
    before = parameters.get("filters_before")
    if before is None or not _rows_count(question.filters, before):
        return _of_json(question.filters)
    rows = _changed(_sent(parameters), parameters)
    kinds = await metadata.kinds(tuple({row.key for row in rows}))
    filters, checked = filters_of_rows(rows, kinds)
    text = spelled(filters)
    if all(not row.problem for row in checked):
        checked = rows_of_filters(filters)  # with the kinds that their values turned out to have
    return Conditions(checked, text, _spaced(text))


async def with_choices(conditions: Conditions, question: Question, metadata: Metadata, *, counted: bool) -> Conditions:
    """The conditions with the keys and values that there are.

    Args:
        counted: whether to tell in how many documents each key is, which takes a while in a large corpus.
    """
    collection = question.collections[0] if len(question.collections) == 1 else None
    offers: list[list[Offer]] = []
    for row in conditions.rows[:_MAX_ROWS_WITH_VALUES]:
        one = row.operator != "in" and row.kind != "json"  # else what was typed is part of no value
        typed = row.value.strip()[:MAX_SEARCH_CHARS] if one else ""
        found = await metadata.values(row.key, typed, collection, MAX_VALUES_OFFERED) if row.takes_value else []
        offers.append([_offer(item) for item in found])
    offers += [[] for _ in conditions.rows[_MAX_ROWS_WITH_VALUES:]]
    return replace(
        conditions,
        key_names=await metadata.key_names(MAX_KEYS_OFFERED),
        keys=await metadata.keys("", collection, MAX_KEYS_OFFERED) if counted else [],
        offers=offers,
    )


def _offer(known: KnownValue) -> Offer:
    (row,) = rows_of_filters({"value": {"eq": known.value}})
    label = "nothing (null)" if known.value is None else row.told
    return Offer(row.value, json.dumps(known.value), label, known.documents)


def _rows_count(filters: str, before: str) -> bool:
    """Whether the JSON is as the page had it, and sound, so that only the rows can have been changed."""
    if not same_filters(filters, before):
        return False
    try:
        filters_from(filters)
    except KnowledgeError:
        return False
    return True


def _of_json(text: str) -> Conditions:
    try:
        filters = filters_from(text)
        parse_filters(filters)
    except KnowledgeError as error:
        return Conditions([], text, text, error.message)
    return Conditions(rows_of_filters(filters or {}), spelled(filters or {}), _spaced(spelled(filters or {})))


def _spaced(text: str) -> str:
    return json.dumps(json.loads(text), ensure_ascii=False, indent=1) if text else ""


def _sent(parameters: QueryParams) -> list[Row]:
    return rows_of_form(*(parameters.getlist(name)[: MAX_ROWS + 1] for name in ("key", "operator", "value", "kind")))


def _changed(rows: list[Row], parameters: QueryParams) -> list[Row]:
    """The rows after the button that sent the form: one more key, a value chosen from those offered, or a row less."""
    if added := parameters.get("add", ""):
        rows = [*rows, Row(added)]
    number, _, value = parameters.get("choose", "").partition(":")
    if (chosen := _index(number, rows)) is not None:
        rows[chosen] = _with_value(rows[chosen], value)
    if (dropped := _index(parameters.get("drop", ""), rows)) is not None:
        del rows[dropped]
    return rows


def _index(text: str, rows: list[Row]) -> int | None:
    index = whole_number(text)
    return index if index is not None and index < len(rows) else None


def _with_value(row: Row, text: str) -> Row:
    """A row with a value, given as JSON, put in; one more of several where the row takes several."""
    try:
        value = parse_json(text.encode("utf-8", "replace"), "INVALID_FILTER")
        (spelling,) = rows_of_filters({"value": {"in": [value]} if row.operator == "in" else {"eq": value}})
    except KnowledgeError:
        return row
    if row.operator == "in" and row.value.strip() and row.kind in ("", spelling.kind):
        return replace(row, value=f"{row.value}, {spelling.value}", kind=spelling.kind)
    return replace(row, value=spelling.value, kind=spelling.kind)
