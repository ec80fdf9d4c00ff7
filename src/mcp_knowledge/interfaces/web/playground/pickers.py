"""Where to search: the collections and documents to choose from, and those that were chosen, with their names."""

from dataclasses import dataclass

from starlette.datastructures import QueryParams

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.playground.filter_builder import filters_of_rows, spelled
from mcp_knowledge.interfaces.web.playground.question import Question
from mcp_knowledge.interfaces.web.playground.row import Row
from mcp_knowledge.ports import DocumentQuery
from mcp_knowledge.services import Services
from mcp_knowledge.services.search_request import MAX_IDS

MAX_COLLECTIONS_LISTED = 200
MAX_DOCUMENTS_FOUND = 8
MAX_FIND_CHARS = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that can be chosen, or was."""

    id: str
    name: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Pickers:
    """What the pickers show.

    Args:
        find: what was typed to look for documents; None when nobody looks.
        found: documents whose title or file name contains it.
        documents: the chosen ones.
    """

    collections: list[Choice]
    documents: list[Choice]
    find: str | None
    found: list[Choice]


@dataclass(frozen=True, slots=True)
class Chip:
    """Something in use that is not the usual way, and the address without it."""

    label: str
    address: str


async def pickers_of(parameters: QueryParams, question: Question, services: Services) -> Pickers:
    """The pickers of an address."""
    listed, _ = await services.collections.list(MAX_COLLECTIONS_LISTED)
    collections = [Choice(item.id, item.name, item.id in question.collections) for item in listed]
    known = {item.id for item in listed}
    for collection_id in question.collections[:MAX_IDS]:
        if collection_id not in known:
            collections.insert(0, Choice(collection_id, await _collection_name(services, collection_id), True))
    titles = await services.library.get_documents(question.documents[:MAX_IDS])
    documents = [
        Choice(item, titles[item].title if item in titles else "a document that is gone", True)
        for item in question.documents[:MAX_IDS]
    ]
    find = parameters.get("find", "").strip()[:MAX_FIND_CHARS]
    asked = bool(find) or "pick" in parameters
    return Pickers(collections, documents, find if asked else None, await _found(services, question, find, asked))


def chips_of(question: Question, pickers: Pickers, rows: list[Row]) -> list[Chip]:
    """Everything that narrows the search down, in words, with a way to do without it.

    Args:
        rows: the conditions, all of them sound.
    """
    chips = [
        Chip(f"In: {item.name}", question.address(collection=_without(question.collections, item.id)))
        for item in pickers.collections
        if item.chosen
    ]
    chips += [
        Chip(f"Only: {item.name}", question.address(document=_without(question.documents, item.id)))
        for item in pickers.documents
    ]
    for number, row in enumerate(rows):
        others, _ = filters_of_rows(rows[:number] + rows[number + 1 :], {})
        chips.append(Chip(row.sentence, question.address(filters=spelled(others))))
    return chips


def _without(items: tuple[str, ...], item: str) -> tuple[str, ...]:
    return tuple(other for other in items if other != item)


async def _collection_name(services: Services, collection_id: str) -> str:
    try:
        return (await services.collections.get(collection_id)).name
    except KnowledgeError:
        return "a collection that is gone"


async def _found(services: Services, question: Question, find: str, asked: bool) -> list[Choice]:
    if not asked:
        return []
    query = DocumentQuery(
        collection_id=question.collections[0] if len(question.collections) == 1 else None,
        statuses=("ready",),
        search=find or None,
        limit=MAX_DOCUMENTS_FOUND,
    )
    found, _ = await services.library.list_documents(query)
    return [Choice(item.id, item.title, False) for item in found if item.id not in question.documents]
