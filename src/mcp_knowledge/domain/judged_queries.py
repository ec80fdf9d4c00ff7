"""Judged queries as lines of JSON, the form that evaluation sets are exchanged in.

    {"id": "17", "query": "who approves travel costs", "relevant": ["policies/travel.md"], "kind": "question"}

`relevant` names the documents that answer the query; an empty list: nothing does. Optional, and as if left out when
null: `id`, `kind`, `wrong` (documents that were looked at and do not answer it) and `noAnswer` (false: with nothing
relevant either, the query is not judged yet).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_knowledge.domain.evaluations import Case, query_key
from mcp_knowledge.errors import KnowledgeError

MAX_LINE_BYTES = 1024 * 1024
MAX_QUERY_CHARS = 2000
MAX_CASE_ID_CHARS = 200
MAX_KIND_CHARS = 100
MAX_NAME_CHARS = 4096  # paths may have as many bytes
MAX_JUDGED_DOCUMENTS = 1000  # of one query
_BOM = b"\xef\xbb\xbf"
_OPTIONAL = ("id", "kind", "wrong", "noAnswer")


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A line. `relevant` and `wrong` name documents in any way; `place` says where the line stands, for messages."""

    id: str
    query: str
    relevant: tuple[str, ...]
    wrong: tuple[str, ...]
    no_answer: bool
    kind: str
    place: str

    @property
    def names(self) -> tuple[str, ...]:
        """Every document that it speaks of."""
        return (*self.relevant, *self.wrong)

    def to_case(self, known: Mapping[str, str]) -> Case:
        """The case, with the names that are known as ids of documents. What is wrong and not known is left out."""
        case = Case(self.id, self.query, no_answer=self.no_answer, kind=self.kind, unresolved=self.relevant)
        resolved = case.resolved(known)
        wrong = dict.fromkeys(known[name] for name in self.wrong if name in known)
        return replace(resolved, wrong=tuple(item for item in wrong if item not in resolved.relevant))


def read_judged_queries(lines: Iterable[bytes], max_queries: int, file: str = "") -> Iterator[JudgedQuery]:
    """Read lines; empty ones are passed over.

    Args:
        file: its name, to stand before the line's number in messages.

    Raises:
        KnowledgeError: INVALID_ARGUMENT, naming the line and what is wrong with it.
    """
    ids: dict[str, str] = {}
    count = 0
    for number, line in enumerate(lines, 1):
        place = f"{file} line {number}".strip()
        text = line.removeprefix(_BOM) if number == 1 else line
        if not text.strip():
            continue
        count += 1
        if count > max_queries:
            raise _fault(place, f"there are more than {max_queries:,} queries")
        judged = _judged(_object(text, place), place)
        if judged.id and judged.id in ids:
            raise _fault(place, f"'id' is that of {ids[judged.id]} too")
        ids[judged.id] = place
        yield judged


def merged(queries: Iterable[JudgedQuery]) -> list[JudgedQuery]:
    """One for each query: lines with the same one are put together, as one query may be answered in several places.

    Raises:
        KnowledgeError: INVALID_ARGUMENT when one line says that nothing answers the query and another what does.
    """
    found: dict[str, JudgedQuery] = {}
    for item in queries:
        key = query_key(item.query)
        first = found.get(key)
        if first is None:
            found[key] = item
            continue
        no_answer = first.no_answer or item.no_answer
        if no_answer and (first.relevant or item.relevant):
            raise _fault(
                item.place, f"the query is that of {first.place}; one of them has an answer, the other has none"
            )
        relevant = tuple(dict.fromkeys((*first.relevant, *item.relevant)))
        wrong = tuple(dict.fromkeys((*first.wrong, *item.wrong)))
        _check_count(relevant, item.place)
        wrong = tuple(name for name in wrong if name not in relevant)
        found[key] = replace(first, relevant=relevant, wrong=wrong, no_answer=no_answer)
    return list(found.values())


def judged_line(case: Case, names: Mapping[str, str]) -> bytes:
    """A case as a line.

    Args:
        names: how to call documents; those without a name are called by their ids.
    """
    data: dict[str, Any] = {
        "id": case.id,
        "query": case.query,
        "relevant": [*(names.get(item, item) for item in case.relevant), *case.unresolved],
        "kind": case.kind,
    }
    if case.wrong:
        data["wrong"] = [names.get(item, item) for item in case.wrong]
    if not data["relevant"]:
        data["noAnswer"] = case.no_answer
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"


def _judged(given: Mapping[str, Any], place: str) -> JudgedQuery:
    row = {name: value for name, value in given.items() if not (value is None and name in _OPTIONAL)}
    relevant, wrong = _names(row, "relevant", place), _names(row, "wrong", place) if "wrong" in row else ()
    no_answer = row.get("noAnswer", not relevant)
    if not isinstance(no_answer, bool):
        raise _fault(place, "'noAnswer' must be true or false")
    if no_answer and relevant:
        raise _fault(place, "'noAnswer' is true, and yet 'relevant' names documents")
    if both := set(relevant) & set(wrong):
        raise _fault(place, f"'{_shown(min(both))}' is both in 'relevant' and in 'wrong'")
    query = _text(row, "query", place, MAX_QUERY_CHARS)
    case_id = _text(row, "id", place, MAX_CASE_ID_CHARS) if "id" in row else ""
    if "/" in case_id:
        raise _fault(place, "'id' must not have a slash")
    kind = _text(row, "kind", place, MAX_KIND_CHARS) if row.get("kind", "") != "" else ""
    return JudgedQuery(case_id, query, relevant, wrong, no_answer, kind, place)


def _object(line: bytes, place: str) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise _fault(place, f"is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise _fault(place, "is no UTF-8 text") from None
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise _fault(place, "is no JSON object")
    return row


def _text(row: Mapping[str, Any], name: str, place: str, longest: int) -> str:
    value = row.get(name)
    text = value.strip() if isinstance(value, str) else ""
    if not 1 <= len(text) <= longest or not _is_plain(text):
        raise _fault(place, f"'{name}' must be a text of 1 to {longest:,} characters")
    return text


def _names(row: Mapping[str, Any], name: str, place: str) -> tuple[str, ...]:
    value = row.get(name)
    if not isinstance(value, list) or not all(
        isinstance(item, str) and 1 <= len(item) <= MAX_NAME_CHARS and _is_plain(item) for item in value
    ):
        raise _fault(place, f"'{name}' must be a list of document ids or names")
    names = tuple(dict.fromkeys(value))
    _check_count(names, place)
    return names


def _check_count(names: Sequence[str], place: str) -> None:
    if len(names) > MAX_JUDGED_DOCUMENTS:
        raise _fault(place, f"more than {MAX_JUDGED_DOCUMENTS:,} documents are judged for one query")


def _is_plain(text: str) -> bool:
    """Whether every database can hold it: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def _shown(text: str) -> str:
    """A client's own text, fit to be repeated in a message."""
    return "".join(char if char.isprintable() else "?" for char in text[:100])


def _fault(place: str, problem: str) -> KnowledgeError:
    return KnowledgeError("INVALID_ARGUMENT", f"{place}: {problem}.")
