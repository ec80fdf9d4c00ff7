"""Log lines: JSON for machines, plain text for a terminal. Never document text, queries, secrets, cookies."""

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime

from mcp_knowledge.settings import Settings

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

_QUIET = ("mcp", "uvicorn.access", "httpx2", "httpcore2", "asyncio", "python_multipart")


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] = dict(getattr(record, "fields", {}))
    current = request_id.get()
    if current is not None:
        fields.setdefault("requestId", current)
    return fields


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, then the record's `fields` and the cause of a failure."""

    def format(self, record: logging.LogRecord) -> str:
        """The line for one record."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """Time, level, message and the request it belongs to."""

    def format(self, record: logging.LogRecord) -> str:
        """The line for one record."""
        moment = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        current = _fields(record).get("requestId")
        line = f"{moment} {record.levelname.lower():<7} {record.getMessage()}{f' [{current}]' if current else ''}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure_logging(settings: Settings) -> None:
    """Send the log to standard error in the configured form; replaces what was set up before."""
    as_json = settings.log_format == "json" or (settings.log_format == "auto" and not sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
