"""Why something is not here, in a sentence, and what to do about it: the same for REST and the playground."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from mcp_knowledge.domain.absence import Absence, Condition, SideStanding
from mcp_knowledge.domain.filters import Filter
from mcp_knowledge.domain.query import LexicalQuery
from mcp_knowledge.services.standings import SEARCHED_BY_WORDS

AdviceKind = Literal[
    "add",
    "all_collections",
    "all_documents",
    "both_sides",
    "every_passage",
    "fewer_conditions",
    "look_up",
    "more_candidates",
    "more_results",
    "no_candidates",
    "open",
    "other_words",
    "this_document",
    "wait",
]
_WORD_CHARS = 60  # of a word or phrase that is told
_WORDS_TOLD = 24
_THEM = {"document": "this document", "chunk": "this passage"}


class Advice(NamedTuple):
    """Something to do: its kind, for programs that can offer it, and a sentence."""

    kind: AdviceKind
    text: str


_EVERY_PASSAGE = Advice("every_passage", "Let the search show every passage instead of one for each document.")


def sentence(found: Absence, query: LexicalQuery) -> str:
    """What became of it.

    Args:
        query: the search's query, as the lexical side reads it.
    """
    them = _THEM[found.subject]
    match found.outcome:
        case "here":
            assert found.ranked is not None
            return f"It is here, at place {found.ranked.rank:,}."
        case "unknown" if found.subject == "chunk":
            return "There is no passage with this id. When a document changes, its passages get new ids."
        case "unknown":
            return "There is no document with this id."
        case "deleted":
            return "This document was deleted."
        case "not_ready":
            return "Its file is still being read. It can be found as soon as that is done."
        case "failed":
            return f"Its file could not be read: {_reason(found)}"
        case "no_passages":
            return "There is no text in this document that could be found."
        case "other_document":
            return f"The search is limited to other documents, so {them} cannot be among its hits."
        case "other_collection":
            where = "another collection" if found.document and found.document.collection_id else "no collection"
            return f"The search is limited to certain collections, and {them} is in {where}."
        case "filtered":
            return f"The search leaves it out: {'; '.join(_unmet(found.conditions))}."
        case "below_limit":
            assert found.ranked is not None
            it = "Its document, by a better passage," if found.shown_by else "It"
            return f"{it} is number {found.ranked.rank:,} of what was found; you asked for {found.limit:,}."
        case "collapsed":
            assert found.ranked is not None
            return (
                f"Its document is here, at place {found.ranked.rank:,}, but shown by another passage: "
                "each document shows its best one only."
            )
    return _no_candidate(found, query)


def advice(found: Absence, most_results: int) -> list[Advice]:
    """What a person can do, best first; nothing where nothing needs to be done.

    Args:
        most_results: hits that can be asked for.
    """
    return list(_advice(found, most_results))


def _advice(found: Absence, most_results: int) -> Iterator[Advice]:
    match found.outcome:
        case "unknown":
            yield Advice("look_up", "Look for it in the list of documents.")
        case "deleted":
            yield Advice("add", "Add the file again if you need it.")
        case "not_ready":
            yield Advice("wait", "Ask again in a moment.")
        case "failed" | "no_passages":
            yield Advice("open", "Open the document to see what can be done about it.")
        case "other_document":
            yield Advice("all_documents", "Search in all documents.")
        case "other_collection":
            yield Advice("all_collections", "Search in all collections.")
            yield Advice("open", "Or move the document into a collection that is searched.")
        case "filtered":
            fields = dict.fromkeys(item.filter.field for item in found.conditions if not item.holds)
            yield Advice("fewer_conditions", f"Leave out the condition on {_listed(list(fields))}.")
            yield Advice("open", "Or change the document's metadata.")
        case "below_limit":
            assert found.ranked is not None
            if found.ranked.rank <= most_results:
                yield Advice("more_results", f"Ask for at least {found.ranked.rank:,} results.")
            yield Advice("other_words", _to_come_further_up(found))
            if found.shown_by:
                yield _EVERY_PASSAGE
        case "collapsed":
            yield _EVERY_PASSAGE
        case "no_candidate":
            yield from _advice_to_find(found)


def _to_come_further_up(found: Absence) -> str:
    if found.lexical is None:
        return "Ask in words closer to what it says: that brings it further up."
    return "Use more of the words that stand in it: that usually brings it further up."


def _advice_to_find(found: Absence) -> Iterator[Advice]:
    if found.vector and found.vector.unfit == "other_model":
        yield Advice("open", "Have the document read again, so that it can be compared by meaning.")
    if found.lexical and found.lexical.unfit == "no_match":
        yield Advice("other_words", "Use words, names or numbers that stand in it, spelled as they are there.")
    else:
        yield Advice("other_words", "Ask in words closer to what it says.")
    if found.vector is None:
        yield Advice("both_sides", "Search by meaning as well.")
    if found.lexical is None:
        yield Advice("both_sides", "Search by words as well.")
    if found.deeper and found.deeper.rank <= found.limit:
        yield Advice(
            "more_candidates",
            "Let more candidates take part: with VECTOR_CANDIDATES and LEXICAL_CANDIDATES of "
            f"{found.deeper.candidates:,} in the settings it would stand at place {found.deeper.rank:,}.",
        )
    elif found.deeper:
        yield Advice(
            "no_candidates",
            f"More candidates alone would not help: with {found.deeper.candidates:,} of each side it would be "
            f"number {found.deeper.rank:,}.",
        )
    yield Advice("this_document", "Search in its document alone, to see what is in there.")


def condition_text(item: Filter) -> str:
    """What a condition asks for: `year must be 2024 or more`."""
    value = json.dumps(list(item.value) if isinstance(item.value, tuple) else item.value, ensure_ascii=False)
    match item.operator:
        case "exists":
            return f"{item.field} must {'be there' if item.value else 'not be there'}"
        case "in":
            return f"{item.field} must be one of {value}"
        case "neq":
            return f"{item.field} must not be {value}"
        case "gte":
            return f"{item.field} must be {value} or more"
        case "lte":
            return f"{item.field} must be {value} or less"
    return f"{item.field} must be {value}"


def values_text(item: Condition) -> str:
    """What the document has there."""
    if not item.values:
        return "the document has no such value"
    return "the document has " + ", ".join(json.dumps(value, ensure_ascii=False) for value in item.values)


def _unmet(conditions: Sequence[Condition]) -> list[str]:
    return [f"{condition_text(item.filter)}, but {values_text(item)}" for item in conditions if not item.holds]


def _reason(found: Absence) -> str:
    error = (found.document and found.document.latest_error) or "the reason is not known."
    return error.partition(": ")[2] or error


def _no_candidate(found: Absence, query: LexicalQuery) -> str:
    return " ".join(part for part in (_by_meaning(found.vector), _by_words(found, query)) if part)


def _by_meaning(side: SideStanding | None) -> str:
    if side is None:
        return ""
    if side.unfit is not None:
        return "Its meaning was learned by another model, so it cannot be compared."
    place = f"By meaning it stands at place {side.rank or 0:,}{_among(side)}"
    if side.rank is not None and side.rank <= side.candidates:
        return f"{place}, but the quick search for neighbours passed it over."
    return f"{place}, but only the best {side.candidates:,} are considered."


def _by_words(found: Absence, query: LexicalQuery) -> str:
    side = found.lexical
    if side is None:
        return ""
    if side.unfit is not None:
        return _unmatched(found, query)
    if side.rank is None:
        return f"By words it stands behind the first {SEARCHED_BY_WORDS:,}, too far to be considered."
    if side.rank <= side.candidates:
        return "By words it shares only common ones with the question; passages with its rarer words went first."
    place = f"By words it stands at place {side.rank:,}{_among(side)}"
    return f"{place}, but only the best {side.candidates:,} are considered."


def _among(side: SideStanding) -> str:
    return f" of {side.among:,}" if side.among else ""


def _unmatched(found: Absence, query: LexicalQuery) -> str:
    if not query.exact:
        return "By words nothing can be found: the question holds no letter or digit."
    there = [word.text for word in found.words if word.present and not (word.dropped and query.fallback)]
    if not there:
        aside = ", common ones aside" if query.fallback and query.dropped else ""
        return f"By words it cannot be found: no word of the question stands in it{aside}."
    least = f"at least {query.fallback_min_match} are needed" if query.fallback else "all are needed"
    if found.subject == "document":
        return f"By words it cannot be found: the nearest passage of it holds only {_quoted(there)}, and {least}."
    stand = "stands" if len(there) == 1 else "stand"
    return f"By words it cannot be found: only {_quoted(there)} {stand} in it, and {least}."


def _quoted(words: Sequence[str]) -> str:
    more = [f"{len(words) - _WORDS_TOLD} more"] if len(words) > _WORDS_TOLD else []
    short = (word if len(word) <= _WORD_CHARS else f"{word[:_WORD_CHARS]}…" for word in words[:_WORDS_TOLD])
    return _listed([*(f"“{word}”" for word in short), *more])


def _listed(items: Iterable[str]) -> str:
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last
