"""E-mail messages: who wrote what to whom and when, then the text; messages inside are sections of their own.

Of two versions of a text the one that says more is read. Attachments are listed by name and not read.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from itertools import chain
from typing import Any

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.adapters.parsers.html import decoded_page, fragment_blocks
from mcp_knowledge.adapters.parsers.mail_calendar import events
from mcp_knowledge.adapters.parsers.mail_headers import attachment_name, header, iso_date, parameter
from mcp_knowledge.adapters.parsers.mail_signed import signed_content
from mcp_knowledge.adapters.parsers.properties import good_title
from mcp_knowledge.adapters.parsers.sinks import plain_text
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.text import paragraphs
from mcp_knowledge.domain.blocks import (
    NOWHERE,
    Block,
    Code,
    Heading,
    ListBlock,
    NormalizedDocument,
    Paragraph,
    Quote,
    SourceLocation,
    Table,
)
from mcp_knowledge.errors import KnowledgeError

_MAX_DEPTH = 30
_MAX_SECTION_CHARS = 200
_SHOWN = ("from", "to", "cc", "bcc", "date")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_WRAPPED = ("application/pkcs7-mime", "application/x-pkcs7-mime")
_ENCRYPTED = ("multipart/encrypted", "application/pgp-encrypted")
_QUOTED = re.compile(r"(?:^[ \t]*>.*(?:\n|$))+", re.MULTILINE)
_QUOTE_MARKS = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_SIGNATURE_LINE = "-- "
_ENOUGH = 0.8  # of the words of the plain version: the other one is whole
_FIELDS = re.compile(
    r"^(?:from|to|subject|date|received|return-path|mime-version|message-id|content-type):", re.I | re.M
)
_HEAD_BYTES = 64 * 1024
_WIDE_BYTES = 64  # where UTF-16 shows


def parse(source: Source) -> NormalizedDocument:
    """The message. Its subject is title and first heading; the other headers follow as one paragraph.

    What has no header is plain text.
    """
    data = _narrow(source.data).lstrip()
    if not _FIELDS.search(data[:_HEAD_BYTES].decode("ascii", "replace")):
        decoded = decode(data)
        return NormalizedDocument(None, decoded.metadata, tuple(plain_blocks(decoded.text, NOWHERE)))
    message = message_from_bytes(data)
    reader = _Reader()
    blocks = reader.message(message, 1)
    if reader.encrypted and not reader.has_text:
        raise KnowledgeError("DOCUMENT_ENCRYPTED")
    metadata: dict[str, Any] = {name: text for name in (*_SHOWN, "subject") if (text := header(message, name))}
    if date := iso_date(message):
        metadata["date"] = date
    if reader.attachments:
        metadata["attachments"] = reader.attachments
    return NormalizedDocument(good_title(header(message, "subject"), ""), metadata | reader.encodings, tuple(blocks))


def _narrow(data: bytes) -> bytes:
    """The message without byte order mark; one that a program has saved in UTF-16, as UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:_WIDE_BYTES]:
        return decode(data).text.encode("utf-8", "replace")
    return data.removeprefix(codecs.BOM_UTF8)


@dataclass(slots=True)
class _Reader:
    """Reads messages and remembers what concerns the whole file."""

    attachments: list[str] = field(default_factory=list)
    encodings: dict[str, Any] = field(default_factory=dict)
    encrypted: bool = False
    has_text: bool = False

    def message(self, message: Message, level: int = 1, depth: int = 1) -> list[Block]:
        """Subject, headers with the names of attachments, and text.

        Args:
            level: of the heading: 1 for the file's own message, more for messages inside.
            depth: how many parts it is in.
        """
        subject = header(message, "subject") or ("Message" if level > 1 else "")
        location = SourceLocation(section=subject[:_MAX_SECTION_CHARS]) if level > 1 else NOWHERE
        before = len(self.attachments)
        body = list(self._part(message, location, level, depth))
        lines = [f"{name.capitalize()}: {text}" for name in _SHOWN if (text := header(message, name))]
        if names := self.attachments[before:]:
            lines.append(f"Attachments (their content is not included): {', '.join(names)}")
        return [
            *([Heading(min(level, 6), subject, location)] if subject else []),
            *([Paragraph("\n".join(lines), location)] if lines else []),
            *body,
        ]

    def _part(self, part: Message, location: SourceLocation, level: int, depth: int) -> Iterator[Block]:
        if depth > _MAX_DEPTH:
            raise KnowledgeError("DOCUMENT_RESOURCE_LIMIT")
        kind = part.get_content_type()
        if kind in _ENCRYPTED or parameter(part, "smime-type") == "enveloped-data":
            self.encrypted = True
        elif kind == "message/rfc822" and part.is_multipart():
            for inner in _inner(part):
                yield from self.message(inner, level + 1, depth + 1)
        elif kind == "message/delivery-status":
            yield from (_status(inner, location) for inner in _inner(part))
        elif part.is_multipart():
            parts = _shown(part, kind)
            versions = [list(self._part(inner, location, level, depth + 1)) for inner in parts]
            if kind != "multipart/alternative":
                yield from chain(*versions)
                return
            text = _best([found for inner, found in zip(parts, versions, strict=True) if not _is_event(inner)])
            yield from text
            for inner in filter(_is_event, parts):
                yield from self._text(inner, "text/calendar", location, described=not text)
        elif kind in _SIGNATURES:
            return
        elif kind in _WRAPPED and (content := signed_content(_payload(part))) is not None:
            yield from self._part(message_from_bytes(content), location, level, depth + 1)
        elif not kind.startswith(("text/", "multipart/")) or _is_attached(part):
            self.attachments.append(attachment_name(part) or kind)
        else:
            yield from self._text(part, kind, location)

    def _text(self, part: Message, kind: str, location: SourceLocation, *, described: bool = True) -> Iterator[Block]:
        data = _payload(part)
        if not data.strip():
            return
        try:
            decoded = decode(data, parameter(part, "charset"))
            if kind in ("text/html", "text/enriched", "text/richtext"):
                decoded = decoded_page(data) if decoded.guessed else decoded
                blocks = fragment_blocks(decoded.text, location)
            elif kind == "text/calendar":
                blocks = [Paragraph(event, location) for event in events(decoded.text, described=described)]
            else:
                blocks = list(plain_blocks(_unflowed(decoded.text, part), location))
        except KnowledgeError as error:
            if error.code == "DOCUMENT_RESOURCE_LIMIT":
                raise
            self.attachments.append(attachment_name(part) or kind)
            return
        self.has_text = self.has_text or bool(blocks)
        self.encodings |= decoded.metadata
        yield from blocks


def _payload(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _inner(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [item for item in payload if isinstance(item, Message)] if isinstance(payload, list) else []


def _shown(part: Message, kind: str) -> list[Message]:
    """The parts inside that are read: of a page with its pictures, the page."""
    return _inner(part)[:1] if kind == "multipart/related" else _inner(part)


def _best(versions: list[list[Block]]) -> list[Block]:
    """The version with lists, tables or quotations if it is whole, else the first whole one."""
    most = max(map(_word_count, versions), default=0)
    whole = [version for version in versions if _word_count(version) >= most * _ENOUGH]
    return next((version for version in reversed(whole) if _is_structured(version)), whole[0] if whole else [])


def _status(part: Message, location: SourceLocation) -> Paragraph:
    """What a mail server says about one recipient (RFC 3464)."""
    return Paragraph("\n".join(f"{name}: {header(part, name.lower())}" for name in part), location)


def _is_event(part: Message) -> bool:
    return part.get_content_type() == "text/calendar"


def _unflowed(text: str, part: Message) -> str:
    """The text with the lines put together that go on in the next one (RFC 3676)."""
    if parameter(part, "format") != "flowed":
        return text
    loses_blank = parameter(part, "delsp") == "yes"
    lines: list[str] = []
    goes_on_at = -1  # depth of quotation of a line that goes on
    for line in text.replace("\r\n", "\n").split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        content = line[depth:].removeprefix(" ")
        flows = content.endswith(" ") and content != _SIGNATURE_LINE
        piece = content[:-1] if flows and loses_blank else content
        if depth == goes_on_at and content and content != _SIGNATURE_LINE:
            lines[-1] += piece
        else:
            lines.append(">" * depth + (" " if depth else "") + piece)
        goes_on_at = depth if flows else -1
    return "\n".join(lines)


def _is_attached(part: Message) -> bool:
    shown = part.get_content_disposition()
    return shown == "attachment" or (shown != "inline" and bool(attachment_name(part)))


def _word_count(blocks: list[Block]) -> int:
    return sum(len(plain_text(block).split()) for block in blocks)


def _is_structured(blocks: list[Block]) -> bool:
    return any(isinstance(block, ListBlock | Table | Heading | Quote | Code) for block in blocks)


def plain_blocks(text: str, location: SourceLocation) -> Iterator[Block]:
    """Paragraphs of a plain text; lines that begin with `>` are quotations."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    start = 0
    for quoted in _QUOTED.finditer(text):
        yield from _paragraphs(text[start : quoted.start()], location)
        if quotation := _QUOTE_MARKS.sub("", quoted[0]).strip():
            yield Quote(quotation, location)
        start = quoted.end()
    yield from _paragraphs(text[start:], location)


def _paragraphs(text: str, location: SourceLocation) -> Iterator[Block]:
    return (Paragraph(block.text, location) for block in paragraphs(text))
