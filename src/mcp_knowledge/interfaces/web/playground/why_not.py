"""Why is it not here? A document or passage that somebody misses, followed through a search, stage by stage."""

import json
import re
from dataclasses import dataclass, replace
from typing import Literal

from mcp_knowledge.domain.absence import Absence, Outcome, QueryWord, SideStanding
from mcp_knowledge.domain.documents import Document, StoredChunk
from mcp_knowledge.domain.query import LexicalQuery, parse_query
from mcp_knowledge.domain.search import SearchRequest
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.absence_words import Advice, advice, condition_text, sentence, values_text
from mcp_knowledge.interfaces.web.playground.question import Question, filters_from
from mcp_knowledge.interfaces.web.wording import counted, score
from mcp_knowledge.ports import DocumentQuery
from mcp_knowledge.services import Services
from mcp_knowledge.services.standings import SEARCHED_BY_WORDS

MAX_CHOICES = 8
State = Literal["passed", "stopped", "outside"]
_ID = re.compile(r"(doc|chk)_[0-9a-z]{1,64}")
_BEFORE_RANKING: tuple[Outcome, ...] = (
    "unknown",
    "deleted",
    "not_ready",
    "failed",
    "no_passages",
    "other_document",
    "other_collection",
    "filtered",
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the search, and whether it came through. `outside`: this side did not take it, another one may have.

    `chunk` is the passage that is spoken of, where it is not the one in question itself.
    """

    state: State
    name: str
    text: str
    chunk: StoredChunk | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do, and the address that does it, if there is one."""

    text: str
    address: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of something in a search, ready to show. `otherwise`: without the limits that left it out."""

    found: Absence
    sentence: str
    stages: list[Stage]
    words: list[QueryWord]
    steps: list[Step]
    otherwise: "Verdict | None"


@dataclass(frozen=True, slots=True)
class Missing:
    """The answer to somebody who misses something: a verdict, or documents to choose from (of `more` that fit)."""

    text: str
    verdict: Verdict | None
    choices: list[Document]
    more: bool = False


async def missing_of(services: Services, question: Question, request: SearchRequest) -> Missing | None:
    """What became of that which the address names: an id, or words of a title. None when it names nothing.

    Raises:
        KnowledgeError: what the search itself raises.
    """
    text = question.missing
    if not text:
        return None
    document_id, chunk_id = None, None
    if (is_id := _ID.fullmatch(text)) is not None:
        document_id, chunk_id = (text, None) if is_id[1] == "doc" else (None, text)
    else:
        choices, after = await services.library.list_documents(DocumentQuery(search=text, limit=MAX_CHOICES))
        same = [item for item in choices if item.title.casefold() == text.casefold()]
        if len(same or choices) != 1:
            return Missing(text, None, choices, more=after is not None)
        document_id = (same or choices)[0].id
    found = await services.why_not.ask(request, document_id, chunk_id)
    most = services.settings.max_search_limit_api
    return Missing(text, _verdict(found, parse_query(request.query), request, question, most), [])


async def sought_of(services: Services, question: Question) -> Document | None:
    """The document whose passage somebody wants to ask for, where there is no question yet."""
    if not question.missing or question.text.strip():
        return None
    try:
        document_id = question.missing
        if document_id.startswith("chk_"):
            document_id = (await services.contents.chunk_with_neighbours(document_id))[0].document_id
        return await services.library.get_document(document_id)
    except KnowledgeError:
        return None


def _verdict(
    found: Absence,
    query: LexicalQuery,
    request: SearchRequest,
    question: Question,
    most_results: int,
    first_gate: int = 0,
) -> Verdict:
    otherwise = found.otherwise
    return Verdict(
        found,
        sentence(found, query),
        [*_gates(found, request)[first_gate:], *_ranking(found)],
        [word for word in found.words if not (word.dropped and query.fallback)],
        [Step(hint.text, _address(hint, found, question)) for hint in advice(found, most_results)],
        _verdict(otherwise, query, _without(found, request), question, most_results, 1) if otherwise else None,
    )


def _without(found: Absence, request: SearchRequest) -> SearchRequest:
    """The search without the limit that left it out; its conditions are those that a verdict has."""
    if found.outcome == "other_document":
        return replace(request, scope=replace(request.scope, document_ids=()))
    if found.outcome == "other_collection":
        return replace(request, scope=replace(request.scope, collection_ids=()))
    return request


def _gates(found: Absence, request: SearchRequest) -> list[Stage]:
    """What stands before the ranking. Nothing of something that is not known."""
    document = found.document
    if document is None:
        return []
    if found.outcome in ("not_ready", "failed", "no_passages"):
        return [Stage("stopped", "Document", "has no passages that could be found")]
    stages = [Stage("passed", "Document", f"is ready, with {counted(document.chunk_count, 'passage')}")]
    order = ("other_document", "other_collection", "filtered")
    reached = order.index(found.outcome) if found.outcome in order else len(order)
    if request.scope.document_ids:
        inside = document.id in request.scope.document_ids
        stages.append(_gate(inside, "Documents", "is one of those that are searched", "is not one of those chosen"))
    if request.scope.collection_ids and reached >= 1:
        inside = document.collection_id in request.scope.collection_ids
        stages.append(_gate(inside, "Collections", "is in one that is searched", "is in none that is searched"))
    for item in found.conditions:
        text = f"{condition_text(item.filter)}: {values_text(item)}"
        stages.append(Stage("passed" if item.holds else "stopped", "Condition", text))
    return stages


def _gate(inside: bool, name: str, if_inside: str, if_outside: str) -> Stage:
    return Stage("passed", name, if_inside) if inside else Stage("stopped", name, if_outside)


def _ranking(found: Absence) -> list[Stage]:
    """Both sides, and what came of them. Nothing when it did not get there."""
    if found.outcome in _BEFORE_RANKING:
        return []
    sides = [("Meaning", found.vector, _by_meaning), ("Words", found.lexical, _by_words)]
    stages = [
        Stage(
            "passed" if side.considered else "outside",
            name,
            tell(side),
            side.chunk if found.chunk is None else None,
        )
        for name, side, tell in sides
        if side is not None
    ]
    return [*stages, *_end(found)]


def _by_meaning(side: SideStanding) -> str:
    if side.unfit is not None:
        return "cannot be compared: its meaning was learned by another model"
    return f"{_place(side)}, similarity {score(side.score or 0)}{_only(side)}"


def _by_words(side: SideStanding) -> str:
    if side.unfit is not None:
        return "does not hold enough of the words"
    how = "with every word" if side.match_mode == "exact" else "with some of the words"
    if side.rank is None:
        return f"behind the first {SEARCHED_BY_WORDS:,}, {how}, BM25 {score(side.score or 0)}{_only(side)}"
    return f"{_place(side)}, {how}, BM25 {score(side.score or 0)}{_only(side)}"


def _place(side: SideStanding) -> str:
    return f"place {side.rank:,} of {side.among:,}" if side.among else f"place {side.rank:,}"


def _only(side: SideStanding) -> str:
    return "" if side.considered else f"; only the best {side.candidates:,} take part"


def _end(found: Absence) -> list[Stage]:
    ranked = found.ranked
    if ranked is None:
        return [
            Stage(
                "stopped", "Ranking", "took part on neither side" if found.vector and found.lexical else "took no part"
            )
        ]
    if found.outcome == "here":
        return [Stage("passed", "Ranking", f"place {ranked.rank:,}, score {score(ranked.score)}")]
    if found.outcome == "collapsed":
        return [Stage("stopped", "One per document", "another passage of it is better", found.shown_by)]
    by = " by a better passage" if found.shown_by else ""
    text = f"number {ranked.rank:,}{by}, score {score(ranked.score)}; {found.limit:,} are shown"
    return [Stage("stopped", "Ranking", text, found.shown_by)]


def _address(hint: Advice, found: Absence, question: Question) -> str | None:
    """Where a step leads: the same search with something changed, or the document."""
    document_id = found.document.id if found.document else ""
    match hint.kind:
        case "all_documents":
            return question.address(document=None)
        case "all_collections":
            return question.address(collection=None)
        case "fewer_conditions":
            return question.address(filters=_without_failing(found, question))
        case "more_results" if found.ranked:
            return question.address(limit=found.ranked.rank)
        case "every_passage":
            return question.address(collapse=None)
        case "both_sides":
            return question.address(mode=None)
        case "this_document":
            return question.address(document=(document_id,), collection=None, filters=None)
        case "open":
            return f"/documents/{document_id}"
        case "look_up":
            return "/"
    return None


def _without_failing(found: Absence, question: Question) -> str | None:
    failing = {item.filter.field for item in found.conditions if not item.holds}
    kept = {field: value for field, value in (filters_from(question.filters) or {}).items() if field not in failing}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")) if kept else None
