"""Headers of e-mail messages: encoded words, raw bytes in any charset, names of attachments, dates.

Read by hand because messages break the rules in all ways: characters cut in two between encoded words, charsets that do
not exist, bytes without any; the standard library raises on some of these and mends few.
"""

import base64
import binascii
import quopri
import re
from collections.abc import Iterator
from email.message import Message
from email.utils import collapse_rfc2231_value, parsedate_to_datetime

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.errors import KnowledgeError

_ENCODED_WORD = re.compile(r"=\?([^?\s]+)\?([bBqQ])\?([^?]*)\?=")  # RFC 2047, section 2; blanks inside are let pass
_MAX_HEADER_CHARS = 20_000  # a message to a thousand people
_ODD = (ValueError, TypeError, KeyError, IndexError, LookupError, AttributeError)  # what parameters in no order raise


def header(message: Message, name: str) -> str:
    """A header as a reader sees it, all its lines on one; empty when there is none."""
    values = [str(value) for key, value in message.raw_items() if key.lower() == name]
    return decoded_words(values[0]) if values else ""


def decoded_words(value: str) -> str:
    """A header's value with encoded words and raw bytes decoded."""
    value = value[:_MAX_HEADER_CHARS]
    return " ".join("".join(_pieces(value)).split())


def _pieces(value: str) -> Iterator[str]:
    end = 0
    held, held_charset = b"", ""
    for word in _ENCODED_WORD.finditer(value):
        between = value[end : word.start()]
        charset = word[1].partition("*")[0].lower()  # RFC 2231 puts a language behind a star
        if between.strip() or charset != held_charset or not end:
            yield _text(held, held_charset)
            yield "" if end and not between.strip() else _raw(between)
            held, held_charset = b"", charset
        held += _word_bytes(word[2], word[3])
        end = word.end()
    yield _text(held, held_charset)
    yield _raw(value[end:])


def _word_bytes(kind: str, text: str) -> bytes:
    data = text.encode("ascii", "surrogateescape")
    if kind in "qQ":
        return quopri.decodestring(data, header=True)
    try:
        return base64.b64decode(data + b"=" * (-len(data) % 4))
    except binascii.Error:
        return data


def _raw(text: str) -> str:
    """Text between encoded words; bytes that are not ASCII are held in it as lone surrogates."""
    return text if text.isascii() else _text(text.encode("utf-8", "surrogateescape"), "")


def _text(data: bytes, charset: str) -> str:
    try:
        return decode(data, charset).text
    except KnowledgeError:
        return ""


def iso_date(message: Message) -> str | None:
    """The message's date as ISO 8601, or None when none can be read."""
    try:
        return parsedate_to_datetime(header(message, "date")).isoformat()
    except _ODD:
        return None


def attachment_name(part: Message) -> str:
    """The file name of a part; empty when it has none."""
    for name, place in (("filename", "content-disposition"), ("name", "content-type")):
        try:
            value = part.get_param(name, None, place)
            text = decoded_words(collapse_rfc2231_value(value)) if value else ""
        except _ODD:
            text = ""
        if text:
            return text
    return ""


def parameter(part: Message, name: str) -> str:
    """A parameter of a part's content type, in lower case; empty when there is none."""
    try:
        value = part.get_param(name)
        return collapse_rfc2231_value(value).strip().lower() if value else ""
    except _ODD:
        return ""
