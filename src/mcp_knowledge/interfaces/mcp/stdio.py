"""MCP over standard input and output, for clients that start their servers themselves."""

import asyncio
import signal

import anyio
from mcp.server.stdio import stdio_server

from mcp_knowledge.errors import StartupError
from mcp_knowledge.interfaces.logs import log_uncaught
from mcp_knowledge.interfaces.mcp.server import create_mcp_server
from mcp_knowledge.interfaces.mcp.stdio_wire import run_on_wire
from mcp_knowledge.services import Services

_NOBODY_LISTENS = (OSError, anyio.BrokenResourceError)  # of writing to a closed pipe, and what comes of that


async def serve_stdio(services: Services) -> None:
    """Serve one client until it closes standard input.

    Nothing but protocol messages reaches standard output: while this runs, file descriptor 1 of the process leads to
    standard error, where the log goes too.

    An interrupt ends the process at once, as SIGTERM does: the thread that waits for input cannot be called back, and a
    process that only reads has nothing to tidy up.

    Raises:
        StartupError: the client went away while it was answered.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.get_running_loop().set_exception_handler(log_uncaught)
    server = create_mcp_server(lambda: services)
    try:
        async with stdio_server() as (incoming, outgoing):
            await run_on_wire(server, incoming, outgoing)
    except BaseExceptionGroup as group:
        if group.split(_NOBODY_LISTENS)[1] is not None:
            raise
        raise StartupError("Nobody reads what this process says any more: its client went away.") from group
