"""Short messages after a redirect: what became of a form. They travel in the address as codes, never as text."""

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request

from mcp_knowledge.domain.documents import now_ms
from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.interfaces.web.fields import whole_number
from mcp_knowledge.interfaces.web.wording import NEXT_STEPS

_SENTENCES = {
    "added": "The file was added. It can be searched as soon as it is ready.",
    "known": "You have this file already, so nothing was stored twice.",
    "collection-made": "The collection is there. Put documents into it when you add them, or move some from the list.",
    "collection-changed": "The collection was changed.",
    "collection-deleted": "The collection was deleted.",
    "collection-emptied": "The documents were moved and the collection was deleted.",
    "set-deleted": "The set was deleted, with its questions and runs.",
    "run-deleted": "The run was deleted.",
    "question-deleted": "The question was deleted.",
    "saved": "Saved. Searches and filters see it at once.",
    "newer": "The new version was taken in. Searches keep the present one until it is ready.",
    "again": "The file is being read again. Searches keep the present passages until that is done.",
}
_FAILURES = {
    "busy": "The document is still being worked on. Try again when that has ended.",
}
_DOCUMENT_ID = re.compile(r"doc_[0-9a-z]{1,64}")


@dataclass(frozen=True, slots=True)
class Notice:
    """One message; `bad` ones tell of a failure, `link` leads to the document it speaks of.

    Args:
        undo_until_ms: of a deletion that can be undone: up to when, in Unix milliseconds.
    """

    text: str
    bad: bool = False
    link: str | None = None
    undo_until_ms: int | None = None

    @property
    def undo_left_ms(self) -> int:
        """For how much longer the deletion can be undone."""
        return max(0, (self.undo_until_ms or 0) - now_ms())


def added(document_id: str, address: str = "/") -> str:
    """A list's address after a file was added."""
    return told_at(address, "added", about=document_id)


def known(document_id: str, address: str = "/") -> str:
    """A list's address after a file was sent that is there already."""
    return told_at(address, "known", about=document_id)


def refused(code: str, address: str = "/") -> str:
    """A list's address after a file was refused with this error code."""
    return told_at(address, "refused", code=code)


def told_at(address: str, name: str, **values: object) -> str:
    """A page's address with the message of this name, and what belongs to it."""
    return f"{address}{'&' if '?' in address else '?'}{urlencode({'notice': name, **values})}"


def number_in(request: Request, name: str) -> int:
    """A number that belongs to a message; 0 where the address has none."""
    return whole_number(request.query_params.get(name, "")) or 0


def read(request: Request) -> Notice | None:
    """The message that an address carries; None when there is none that makes sense."""
    name, about = request.query_params.get("notice", ""), request.query_params.get("about", "")
    link = f"/documents/{about}" if _DOCUMENT_ID.fullmatch(about) else None
    if name in _SENTENCES:
        return Notice(_SENTENCES[name], link=link)
    if name in _FAILURES:
        return Notice(_FAILURES[name], bad=True)
    code = request.query_params.get("code", "")
    if name == "refused" and code in ERROR_CODES:
        return Notice(refusal(code), bad=True)
    return None


def refusal(code: str) -> str:
    """Why a file was not added, and what to do about it."""
    # The sentence for an invalid upload speaks to programs; what to do says it all to a person.
    reason = "" if code == "INVALID_UPLOAD" else f"{ERROR_CODES[code].message} "
    return f"The file was not added. {reason}{NEXT_STEPS.get(code, '')}".strip()
