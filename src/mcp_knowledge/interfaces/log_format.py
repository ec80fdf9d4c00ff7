"""How a log record is written: JSON for machines, plain text for a terminal.

One record is one line in JSON, and in text one line with an indented cause, whatever the message quotes: line breaks,
escape sequences and marks that turn the direction of writing are shown as escapes. Messages of exceptions that may
quote what they failed at (a value, a row, an address) lose the quotation.
"""

import json
import logging
import re
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime

from mcp_knowledge.errors import KnowledgeError, StartupError
from mcp_knowledge.services.log_context import log_fields
from mcp_knowledge.services.tracing import trace_id

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

# Control characters of ASCII and Latin-1, line and paragraph separators, marks of direction, halves of characters.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_QUOTED = re.compile(r"(?s)(['\"`\u201c]).*['\"`\u201d]")
# Their messages are sentences of ours or of the operating system, or quote the program's own names.
_PLAIN = (KnowledgeError, StartupError, OSError, AttributeError, NameError, ImportError, TypeError, MemoryError)
_MOST_CHARACTERS = 500  # of one exception's message
_MOST_CAUSES = 8
_MOST_FRAMES = 60


def escaped(text: str) -> str:
    """A text on one line, which no terminal obeys."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def described(error: BaseException) -> str:
    """Kind and message of an exception, without what the message quotes.

    `pydantic` repeats the input, PostgreSQL the row in further lines, Python the key or the number that was none.
    """
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    message = str(error)
    if isinstance(error, OSError) and error.filename is not None:  # it may be a user's file
        message = f"[Errno {error.errno}] {error.strerror}"
    if not isinstance(error, _PLAIN):
        message = message.partition("\n")[0]
        if not any(base.__name__ == "OperationalError" for base in kind.__mro__):  # PostgreSQL cannot be reached
            message = _QUOTED.sub("\N{HORIZONTAL ELLIPSIS}", message)
    message = message[:_MOST_CHARACTERS]
    return f"{name}: {message}" if message else name


def cause_of(error: BaseException) -> str:
    """An exception with its causes, the first one first, as Python prints them."""
    parts = []
    for fault, link in reversed(list(_chain(error))):
        parts.append("Traceback (most recent call last):\n")
        parts += traceback.format_tb(fault.__traceback__, -_MOST_FRAMES)
        parts.append(described(fault) + "\n")
        parts += [f"  and in the group: {described(one)}\n" for one in _members(fault)]
        parts.append(link)
    return "".join(parts).rstrip()


def _chain(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """An exception and its causes, each with the sentence that leads from it to the one before."""
    fault: BaseException | None = error
    link, seen = "", set[int]()
    while fault is not None and id(fault) not in seen and len(seen) < _MOST_CAUSES:
        seen.add(id(fault))
        yield fault, link
        if fault.__cause__ is not None:
            fault, link = fault.__cause__, "\nThe above exception was the direct cause of the following one:\n\n"
        elif not fault.__suppress_context__:
            fault, link = fault.__context__, "\nDuring handling of the above exception, another one occurred:\n\n"
        else:
            return


def _members(fault: BaseException) -> tuple[BaseException, ...]:
    return fault.exceptions[:_MOST_CAUSES] if isinstance(fault, BaseExceptionGroup) else ()


def message_of(record: logging.LogRecord) -> str:
    """A record's message; exceptions among its arguments without what they quote."""
    if not isinstance(record.args, tuple):
        return record.getMessage()
    arguments = tuple(described(item) if isinstance(item, BaseException) else item for item in record.args)
    return str(record.msg) % arguments if arguments else str(record.msg)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """What a record is about: the request, the job or the background loop, the trace, and what it says itself."""
    about = {"requestId": request_id.get(), "traceId": trace_id()}
    present = {name: value for name, value in about.items() if value is not None}
    return {**log_fields(), **present, **getattr(record, "fields", {})}


def _cause(record: logging.LogRecord) -> str | None:
    """What `logging` calls `exc_info`, as text."""
    error = record.exc_info[1] if record.exc_info else None
    return None if error is None else cause_of(error)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, then the record's `fields` and the cause of a failure."""

    def format(self, record: logging.LogRecord) -> str:
        """The line for one record."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message_of(record),
            **_fields(record),
        }
        if cause := _cause(record):
            line["exception"] = cause
        return escaped(json.dumps(line, ensure_ascii=False, default=str))


class TextFormatter(logging.Formatter):
    """Time, level, message, and the request or job it belongs to; a cause stands below it, indented."""

    def format(self, record: logging.LogRecord) -> str:
        """The line for one record."""
        moment = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        fields = _fields(record)
        about = fields.get("requestId") or fields.get("jobId")
        line = f"{moment} {record.levelname.lower():<7} {escaped(message_of(record))}{f' [{about}]' if about else ''}"
        cause = _cause(record)
        return line if cause is None else "\n".join([line, *(f"    {escaped(row)}" for row in cause.split("\n"))])
