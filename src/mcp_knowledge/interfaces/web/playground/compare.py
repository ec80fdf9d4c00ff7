"""Two or three settings side by side, and how each hit moved from one to the next."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mcp_knowledge.domain.query import STOP_WORDS
from mcp_knowledge.domain.results import collapse
from mcp_knowledge.domain.search import Expand, Highlight, Hit, SearchResult
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.playground.explain import BAR_WIDTH
from mcp_knowledge.interfaces.web.playground.marking import Segment, segments
from mcp_knowledge.interfaces.web.playground.moving import (
    ROW_HEIGHT,
    Between,
    Movement,
    between,
    first_places,
    movement,
    onward,
)
from mcp_knowledge.interfaces.web.playground.question import COLUMN_NAMES, NO_FILTERS, Column, Question, limit_of
from mcp_knowledge.services import Services
from mcp_knowledge.services.search import Answer
from mcp_knowledge.settings import Settings

_SNIPPET_CHARS = 320
_BEFORE_MATCH_CHARS = 60
_ADDED = Column("hybrid")


@dataclass(frozen=True, slots=True)
class Placed:
    """A hit in its column. `subject` is equal for the same passage, or document, in all columns.

    `pass_kind` says how its marks came about, as in `explain.ExplainedHit`.
    """

    subject: str
    hit: Hit
    snippet: list[Segment]
    pass_kind: str
    movement: Movement


@dataclass(frozen=True, slots=True)
class Side:
    """One column: what it was asked, what came of it, and how long that took."""

    name: str
    column: Column
    question: Question
    hits: list[Placed]
    result: SearchResult | None
    error: KnowledgeError | None
    bar_width: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that the page shows.

    Args:
        noun: what is compared: passage, or document where a column has each document once.
        shared: passages or documents that every column has; `total` is the number in the longest list.
        rows: the most hits of a column.
        height: of the drawings, in their units.
    """

    sides: list[Side]
    betweens: list[Between]
    noun: str
    pass_kinds: list[str]
    shared: int
    total: int
    rows: int
    height: float


async def compare(services: Services, question: Question) -> Comparison:
    """Search once for each column, one after the other, so that none is slowed down by another.

    Each search is the very one that its column shows alone. What it ranked below its hits is kept, so that a hit that
    left the visible ones can still be placed.
    """
    settings = services.settings
    results = [await _search(services, question.in_column(column), settings) for column in question.columns]
    return _compared(question, results, limit_of(question.limit, settings))


def added_column(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns with one more, of a mode that none of them has yet."""
    used = {column.mode for column in columns}
    mode = next((mode for mode in ("hybrid", "vector", "lexical") if mode not in used), _ADDED.mode)
    return (*columns, Column(mode))


def first_columns(question: Question) -> tuple[Column, ...]:
    """The columns to begin a comparison with: the search as it is, and the nearest other way."""
    if question.columns:
        return question.columns
    other = "vector" if question.mode == "hybrid" else "hybrid"
    return Column(question.mode), Column(other)


async def _search(services: Services, question: Question, settings: Settings) -> Answer | KnowledgeError:
    try:
        return await services.search.answer(replace(question.request(settings), expand=Expand()))
    except KnowledgeError as error:
        return error


def _compared(question: Question, answers: Sequence[Answer | KnowledgeError], limit: int) -> Comparison:
    by_document = any(question.in_column(column).collapsed for column in question.columns)
    lists = [[] if isinstance(item, KnowledgeError) else _subjects(item, by_document) for item in answers]
    places = [first_places(subjects) for subjects in lists]
    results = [item if isinstance(item, KnowledgeError) else item.result for item in answers]
    slowest = max((item.timings.total_ms for item in results if isinstance(item, SearchResult)), default=0.0)
    sides = [
        Side(
            name=name,
            column=column,
            question=question.in_column(column),
            hits=[] if isinstance(result, KnowledgeError) else _placed(result, index, lists, places, limit),
            result=None if isinstance(result, KnowledgeError) else result,
            error=result if isinstance(result, KnowledgeError) else None,
            bar_width=_bar_width(result, slowest),
        )
        for index, (name, column, result) in enumerate(zip(COLUMN_NAMES, question.columns, results, strict=False))
    ]
    shown = [subjects[:limit] for subjects in lists]
    rows = max(map(len, shown))
    return Comparison(
        sides=sides,
        betweens=[between(left, right) for left, right in pairwise(shown)],
        noun="document" if by_document else "passage",
        pass_kinds=list({item.pass_kind: None for side in sides for item in side.hits if item.hit.highlights}),
        shared=len(set(shown[0]).intersection(*shown[1:])),
        total=max(len(set(subjects)) for subjects in shown),
        rows=rows,
        height=rows * ROW_HEIGHT,
    )


def _subjects(answer: Answer, by_document: bool) -> list[str]:
    """Everything that was ranked, best first; the hits are its beginning."""
    found = [item.chunk for item in answer.passages]
    if answer.result.request.collapse == "document":
        found = [group.best.chunk for group in collapse(answer.passages)]
    return [chunk.document_id if by_document else chunk.id for chunk in found]


def _placed(
    result: SearchResult, index: int, lists: list[list[str]], places: list[dict[str, int]], limit: int
) -> list[Placed]:
    """The visible hits of a column, each compared with the column before; those of the first with the one after."""
    return [
        Placed(
            subject,
            hit,
            _snippet(hit),
            hit.ranking.lexical_match_mode or "aside",
            onward(place, places[1].get(subject), limit)
            if index == 0
            else movement(place, places[index - 1].get(subject), limit),
        )
        for place, (subject, hit) in enumerate(zip(lists[index][:limit], result.hits, strict=False), 1)
    ]


def _bar_width(result: SearchResult | KnowledgeError, slowest: float) -> float:
    if isinstance(result, KnowledgeError) or slowest <= 0:
        return 0.0
    return round(result.timings.total_ms / slowest * BAR_WIDTH, 2)


def _snippet(hit: Hit) -> list[Segment]:
    """A few lines of a passage, from just before its first marked words, better none that every text has."""
    telling = [mark for mark in hit.highlights if hit.content[mark.start : mark.end].casefold() not in STOP_WORDS]
    first = min((mark.start for mark in telling or hit.highlights), default=0)
    start = 0
    if first > _BEFORE_MATCH_CHARS * 2:
        start = hit.content.find(" ", first - _BEFORE_MATCH_CHARS, first) + 1 or first
    text = hit.content[start : start + _SNIPPET_CHARS]
    marks = [
        Highlight(mark.start - start, min(mark.end - start, len(text)))
        for mark in hit.highlights
        if start <= mark.start < start + len(text)
    ]
    opening = [Segment("… ", False)] if start else []
    return opening + segments(text, marks)


def conditions_choice(question: Question, column: Column) -> list[tuple[str, str]]:
    """What a column can do with the conditions: value and label of each choice; empty where there are none."""
    if not question.filters and not column.filters:
        return []
    choices = [("", "All conditions"), (NO_FILTERS, "No conditions")]
    return choices if column.filters in ("", NO_FILTERS) else [*choices, (column.filters, "Own conditions")]
