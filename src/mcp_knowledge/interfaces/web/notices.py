"""Short messages after a redirect: what became of a form. They travel in the address as codes, never as text."""

import re
from dataclasses import dataclass

from fastapi import Request

from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.interfaces.web.wording import NEXT_STEPS

_SENTENCES = {
    "added": "The file was added. It can be searched as soon as it is ready.",
    "known": "You have this file already, so nothing was stored twice.",
    "deleted": "The document was deleted.",
    "collection-made": "The collection is there. Put documents into it when you add them, or move some from the list.",
    "collection-changed": "The collection was changed.",
    "collection-deleted": "The collection was deleted.",
    "collection-emptied": "The documents were moved and the collection was deleted.",
    "again": "The file is being read again. Searches keep the present passages until that is done.",
}
_FAILURES = {
    "busy": "The document is still being worked on. Try again when that has ended.",
}


_DOCUMENT_ID = re.compile(r"doc_[0-9a-z]{1,64}")


@dataclass(frozen=True, slots=True)
class Notice:
    """One message; `bad` ones tell of a failure, `link` leads to the document it speaks of."""

    text: str
    bad: bool = False
    link: str | None = None


def added(document_id: str) -> str:
    """The list's address after a file was added."""
    return f"/?notice=added&about={document_id}"


def known(document_id: str) -> str:
    """The list's address after a file was sent that is there already."""
    return f"/?notice=known&about={document_id}"


def refused(code: str) -> str:
    """The list's address after a file was refused with this error code."""
    return f"/?notice=refused&code={code}"


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
        # The sentence for an invalid upload speaks to programs; what to do says it all to a person.
        reason = "" if code == "INVALID_UPLOAD" else f"{ERROR_CODES[code].message} "
        text = f"The file was not added. {reason}{NEXT_STEPS.get(code, '')}"
        return Notice(text.strip(), bad=True)
    return None
