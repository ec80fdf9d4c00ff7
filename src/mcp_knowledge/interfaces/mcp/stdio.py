"""MCP over standard input and output, for clients that start their servers themselves."""

from mcp.server.stdio import stdio_server

from mcp_knowledge.interfaces.mcp.server import create_mcp_server
from mcp_knowledge.services import Services


async def serve_stdio(services: Services) -> None:
    """Serve one client until it closes standard input.

    Nothing but protocol messages reaches standard output: while this runs, file descriptor 1 of the process leads to
    standard error, where the log goes too.
    """
    server = create_mcp_server(lambda: services)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
