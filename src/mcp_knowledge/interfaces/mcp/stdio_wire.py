"""Between standard input and output and the MCP server: what the SDK passes over in silence is answered.

A line that is no message would leave its client waiting, and the end of input would take back requests at work.
"""

import json
from collections import Counter
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from mcp_knowledge.interfaces.mcp.arguments import valid_unicode

MAX_LAST_ANSWERS_S = 60  # after the end of input: most tool calls take milliseconds
Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


async def run_on_wire(server: Server[Any], incoming: Any, outgoing: Any) -> None:
    """Run the server until input ends and what was asked is answered.

    Args:
        incoming: messages, and the exceptions of lines that are none; `outgoing` takes messages. As `stdio_server`
            gives them, in types that the SDK keeps to itself.
    """
    wire = _Wire(outgoing)
    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with outgoing, anyio.create_task_group() as tasks:
        tasks.start_soon(wire.bring, incoming, to_server)
        tasks.start_soon(wire.take, from_server)
        async with server_writes:
            await server.run(server_reads, server_writes, server.create_initialization_options())


class _Wire:
    """Both directions, and which requests still wait for their answers."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing
        self._waiting: Counter[types.RequestId] = Counter()
        self._settled = anyio.Event()

    async def bring(self, incoming: Incoming, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Bring messages to the server; answer what is none."""
        async with to_server:
            async for item in incoming:
                message = item if isinstance(item, SessionMessage) else _mended(item)
                if isinstance(message.message, types.JSONRPCError) and message is not item:
                    await self._outgoing.send(message)
                    continue
                self._expect(message.message)
                await to_server.send(message)
            with anyio.move_on_after(MAX_LAST_ANSWERS_S):
                while self._waiting.total() > 0:
                    self._settled = anyio.Event()
                    await self._settled.wait()

    async def take(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Take the server's messages to the client."""
        async for item in from_server:
            await self._outgoing.send(item)
            if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError) and item.message.id is not None:
                self._settle(item.message.id)

    def _expect(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._waiting[message.id] += 1
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            cancelled = (message.params or {}).get("requestId")  # gets no answer any more
            if isinstance(cancelled, int | str):
                self._settle(cancelled)

    def _settle(self, number: types.RequestId) -> None:
        self._waiting[number] = max(0, self._waiting[number] - 1)
        self._waiting += Counter()  # without those that came to nothing
        self._settled.set()


def _mended(fault: Exception) -> SessionMessage:
    """The message of a line that the SDK could not read but we can (half a surrogate pair, say), or the refusal."""
    number, code, problem = None, types.PARSE_ERROR, "The line is not valid JSON."
    for error in fault.errors(include_url=False) if isinstance(fault, ValidationError) else ():
        if error["type"] == "json_invalid":
            return _read_again(str(error["input"]))
        code, problem = types.INVALID_REQUEST, "The line must be one JSON-RPC 2.0 message."
        whole = error["input"]
        if error["type"] == "missing" and isinstance(whole, dict):  # each kind of message lacks something: all of it
            number = whole.get("id")
    return _refusal(number, code, problem)


def _read_again(line: str) -> SessionMessage:
    try:
        message = types.jsonrpc_message_adapter.validate_python(valid_unicode(json.loads(line)), by_name=False)
    except ValidationError as fault:
        return _mended(fault)
    except (ValueError, RecursionError):
        return _refusal(None, types.PARSE_ERROR, "The line is not valid JSON.")
    return SessionMessage(message)


def _refusal(number: object, code: int, problem: str) -> SessionMessage:
    known = number if isinstance(number, int | str) and not isinstance(number, bool) else None
    error = types.ErrorData(code=code, message=problem)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=known, error=error))
