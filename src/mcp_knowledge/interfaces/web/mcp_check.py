"""A real MCP round trip with this server, as a client would make it.

The official client speaks to the whole application in this process, through all that stands before MCP: host, key,
protocol. It opens no connection: a process behind a proxy or a published port often cannot reach its own outer
address, and must not be led to call others. That the address is reached the visitor proves, whose browser came by it.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2
import mcp_types as types
from fastapi import FastAPI
from mcp import Client
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from mcp_knowledge import __version__

_PATIENCE_S = 20
_SEARCH = "search_documents"
_QUESTION = "What are these documents about?"
_ADVICE = {  # HTTP status → what is wrong, what to do
    401: ("The key is not known here.", "It was revoked, or is not complete. Make a new one."),
    403: ("This key may not search.", "Make one with the scope “read”."),
    421: ("This host name is not allowed.", "Add it to ALLOWED_HOSTS in the settings, then restart the server."),
    429: ("There are too many requests right now.", "Wait a minute, then try again."),
    503: ("The service cannot answer right now.", "See the System page for the part that does not work."),
}
_OUR_FAULT = ("The server answered with a fault of its own.", "Its log says more, under the request id.")
_NOT_UNDERSTOOD = ("The answer was not understood.", "Try again; if it stays so, the log says more.")


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """It works.

    Args:
        protocol: the revision that both sides speak.
        server: name and version.
        tools: their names.
        found: the title of the document with the best passage; None when there is none yet.
        took_ms: for connecting, listing the tools and one search.
    """

    protocol: str
    server: str
    tools: tuple[str, ...]
    found: str | None
    took_ms: float


@dataclass(frozen=True, slots=True)
class Trouble:
    """It does not work: why, and what to do."""

    reason: str
    next_step: str


async def round_trip(app: FastAPI, origin: str, headers: Mapping[str, str], peer: str) -> RoundTrip | Trouble:
    """Connect, list the tools, search once.

    Args:
        origin: scheme, host and port that the request names.
        headers: what the client sends with each request.
        peer: the address that the requests come from.
    """
    refused: list[int] = []

    async def note(response: httpx2.Response) -> None:
        if response.request.method == "POST" and response.status_code >= 400:
            refused.append(response.status_code)

    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False, client=(peer, 0))
    try:
        async with (
            asyncio.timeout(_PATIENCE_S),
            httpx2.AsyncClient(transport=transport, headers=headers, event_hooks={"response": [note]}) as http,
        ):
            return await _converse(streamable_http_client(f"{origin}/mcp", http_client=http))
    except TimeoutError:
        return Trouble("There was no answer within 20 seconds.", "See the System page; the server may be overloaded.")
    except Exception:  # whatever the client made of it: the status says more
        if not refused:
            return Trouble(*_NOT_UNDERSTOOD)
        return Trouble(*_ADVICE.get(refused[-1], _OUR_FAULT if refused[-1] >= 500 else _NOT_UNDERSTOOD))


async def _converse(transport: Transport) -> RoundTrip | Trouble:
    started = time.perf_counter()
    us = types.Implementation(name="mcp-knowledge connection test", version=__version__)
    # The handshake that clients use today; one that speaks the newest revision finds that out by itself.
    async with Client(transport, mode="legacy", client_info=us) as client:
        tools = await client.list_tools()
        answer = await client.call_tool(_SEARCH, {"query": _QUESTION, "limit": 1})
        took_ms = (time.perf_counter() - started) * 1000
        if answer.is_error:
            first = answer.content[0] if answer.content else None
            text = first.text if isinstance(first, types.TextContent) else ""
            return Trouble("The connection works, but the search failed.", text.partition(": ")[2] or text)
        hits = (answer.structured_content or {}).get("hits") or []
        server = client.server_info
        return RoundTrip(
            protocol=client.protocol_version,
            server=f"{server.name} {server.version}" if server else "",
            tools=tuple(tool.name for tool in tools.tools),
            found=str(hits[0]["title"]) if hits else None,
            took_ms=took_ms,
        )
