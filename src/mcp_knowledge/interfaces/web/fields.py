"""What a page's form sent, and where its answer leads."""

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from fastapi import Request
from fastapi.responses import RedirectResponse

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.rest.arguments import body_pieces

MAX_FORM_SECONDS = 120  # however steadily it drips: nobody needs longer for a form of text
MAX_FORM_BYTES = 24 * 1024  # each character of the longest address may take up to nine
_OWN_ADDRESS = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")  # `//host` and what browsers read like it lead elsewhere


class Fields:
    """The fields of a form by name. A name may come several times: `get` gives its first value, `all` every one."""

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self._values = values

    def get(self, name: str, default: str = "") -> str:
        """The first value."""
        return self._values.get(name, [default])[0]

    def all(self, name: str) -> list[str]:
        """Every value, in the order of the form."""
        return self._values.get(name, [])

    def __contains__(self, name: str) -> bool:
        return name in self._values


async def form_fields(request: Request, max_bytes: int = MAX_FORM_BYTES, max_fields: int = 10) -> Fields:
    """The fields of an URL-encoded form. Raises PAYLOAD_TOO_LARGE, INVALID_REQUEST."""
    body = bytearray()
    try:
        async with asyncio.timeout(MAX_FORM_SECONDS):
            async for piece in body_pieces(request):
                body += piece
                if len(body) > max_bytes:
                    raise KnowledgeError("PAYLOAD_TOO_LARGE", "More was filled in than this form takes.")
    except TimeoutError:
        raise KnowledgeError("INVALID_REQUEST", "The form did not arrive in time. Send it again.") from None
    try:
        return Fields(parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=max_fields))
    except ValueError:
        raise KnowledgeError("INVALID_REQUEST", "The form has too many fields.") from None


def whole_number(text: str, most_digits: int = 15) -> int | None:
    """A number of 0 or more that a form or an address gives in digits; None for anything else, and for a longer one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= most_digits else None


def own_address(address: str) -> str:
    """The address if it leads to a page of this site, the list of documents for anything else."""
    return address if _OWN_ADDRESS.fullmatch(address) else "/"


def came_from(request: Request) -> str:
    """The page whose form this is, as the browser tells it; the list of documents when it does not."""
    try:
        address = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return "/"
    return own_address(address._replace(scheme="", netloc="", fragment="").geturl())


def go(address: str) -> RedirectResponse:
    """The answer to a form: the browser gets that page, and a reload repeats nothing (303)."""
    return RedirectResponse(address, status_code=303)
