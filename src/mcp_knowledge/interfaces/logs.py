"""Where log lines come from and go to. Never document text, queries, names of files, secrets, cookies, addresses."""

import asyncio
import logging
import sys
import threading
from types import TracebackType
from typing import Any

from mcp_knowledge.domain.seldom import Seldom
from mcp_knowledge.interfaces.log_format import JsonFormatter, TextFormatter, request_id
from mcp_knowledge.settings import Settings

__all__ = ["JsonFormatter", "TextFormatter", "configure_logging", "log_uncaught", "request_id"]

# Whose lines the setting lets through. All other libraries have a word in warnings alone: below, they tell of
# addresses, headers and statements.
_TALKATIVE = ("mcp_knowledge", "uvicorn")
_QUIET = ("uvicorn.access", "uvicorn.asgi")
_MUTE = ("mcp", "python_multipart")  # quote requests in their warnings

log = logging.getLogger("mcp_knowledge.process")


class _NoFlood(logging.Filter):
    """Lets the same warning of a library pass once a minute: of a database that is away, drivers have many a second."""

    def __init__(self) -> None:
        super().__init__()
        self._warned = Seldom()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record passes."""
        if record.levelno > logging.WARNING or record.name.partition(".")[0] in _TALKATIVE:
            return True
        return self._warned.passes((record.name, str(record.msg)))


def is_json(settings: Settings) -> bool:
    """Whether the log is for machines."""
    return settings.log_format == "json" or (settings.log_format == "auto" and not sys.stderr.isatty())


def configure_logging(settings: Settings) -> None:
    """Send the log to standard error in the configured form; replaces what was set up before. Warnings of Python and
    exceptions that nobody catches go there too.
    """
    root, level = logging.getLogger(), getattr(logging, settings.log_level.upper())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if is_json(settings) else TextFormatter())
    handler.addFilter(_NoFlood())
    root.handlers[:] = [handler]
    root.setLevel(max(level, logging.WARNING))
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    for name in _MUTE:
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.captureWarnings(True)
    sys.excepthook = _process_failed
    threading.excepthook = _thread_failed
    sys.unraisablehook = _unraisable


def _process_failed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, KeyboardInterrupt):
        return
    log.critical("The process ends with a failure that nobody caught", exc_info=error)


def _thread_failed(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_value is not None and not isinstance(failure.exc_value, SystemExit):
        log.error("A thread ended with a failure that nobody caught", exc_info=failure.exc_value)


def _unraisable(failure: "sys.UnraisableHookArgs") -> None:
    if failure.exc_value is not None:
        log.error("A failure could not be passed on to anybody", exc_info=failure.exc_value)


def log_uncaught(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The event loop's handler of failures in tasks and callbacks that nobody waits for. What asyncio says of them
    itself quotes the exception.
    """
    message = str(context.get("message", "")).partition("\n")[0]
    log.error("A task failed and nobody caught it: %s", message, exc_info=context.get("exception"))
