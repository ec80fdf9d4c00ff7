"""Telling of a fault without a word of the file that it happened on."""

import traceback

_OURS = "mcp_knowledge."


def fault_of(error: BaseException) -> str:
    """The kind of a fault and the innermost line of ours that it came from: enough to report it, and nothing of its
    message, which may quote the file.
    """
    place = "unknown"
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        if module.startswith(_OURS):
            place = f"{module}:{line}"
    return f"{type(error).__name__} at {place}"
