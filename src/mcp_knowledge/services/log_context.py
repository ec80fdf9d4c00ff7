"""What the log lines of the present task are about: fields that every line written meanwhile carries."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_fields: ContextVar[Mapping[str, object] | None] = ContextVar("log_fields", default=None)


def log_fields() -> Mapping[str, object]:
    """The fields that hold now."""
    return _fields.get() or {}


@contextmanager
def about(**fields: object) -> Iterator[None]:
    """Give these fields to every line of the block, and of tasks and threads (`asyncio.to_thread`) begun in it.

    Args:
        fields: by the names that they have in the log, such as `jobId`: ids and numbers, nothing that a user wrote.
    """
    token = _fields.set({**log_fields(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)
