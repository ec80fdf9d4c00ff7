"""`/jobs` and `/events`: work in progress."""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces import event_wire, wire
from mcp_knowledge.interfaces.rest import schemas
from mcp_knowledge.interfaces.rest.arguments import read_query
from mcp_knowledge.interfaces.rest.context import Paging, services
from mcp_knowledge.interfaces.rest.operations import Answer, Operations
from mcp_knowledge.interfaces.rest.responses import json_response
from mcp_knowledge.ports import Event
from mcp_knowledge.services.events import Events

HEARTBEAT_S = 15  # below the idle timeouts of common proxies (nginx: 60)
_AGAIN_S = 30  # told in Retry-After: a stream ends when a browser leaves
_KEPT_FRAMES = 64  # readers get an event at about the same time; only the newest are asked for again
_FRAMES: dict[int, tuple[Event, bytes]] = {}  # by identity; the event is kept too, so that no other takes its place
_EVENT_STREAM = "text/event-stream"
_EVENT_ID = re.compile(r"evt_[0-9a-f]{32}")

operations = Operations("Jobs")
short_addresses = Operations("Jobs", prefix="")


@operations.add(
    "GET",
    "/jobs",
    "List jobs",
    Answer(200, "A page, newest first.", schemas.JobPage),
    query=schemas.JobListQuery,
    errors=("INVALID_CURSOR",),
)
async def list_jobs(request: Request) -> Response:
    """A page of jobs."""
    query = read_query(request, schemas.JobListQuery)
    paging = Paging(request, "jobs", query)
    statuses = () if query.status is None else (query.status,)
    items, after = await services(request).jobs.list(paging.limit, paging.position(), statuses, query.documentId)
    return json_response(wire.page([wire.job(item) for item in items], paging.next_after(after)))


@operations.add(
    "GET",
    "/jobs/{job_id}",
    "Show a job",
    Answer(200, "The job.", schemas.Job),
    errors=("JOB_NOT_FOUND",),
)
async def get_job(request: Request) -> Response:
    """One job."""
    return json_response(wire.job(await services(request).jobs.get(request.path_params["job_id"])))


@operations.add(
    "POST",
    "/jobs/{job_id}/retry",
    "Run a failed job again",
    Answer(202, "The queued job.", schemas.Job),
    errors=("JOB_NOT_FOUND", "JOB_NOT_RETRYABLE"),
)
async def retry_job(request: Request) -> Response:
    """A job with fresh attempts."""
    return json_response(wire.job(await services(request).jobs.retry(request.path_params["job_id"])), 202)


@operations.add(
    "GET",
    "/events",
    "Follow changes as they happen",
    Answer(
        200,
        "Server-Sent Events: document, job, archive, scan, evaluation (a run); data is the changed thing.",
        media_type=_EVENT_STREAM,
    ),
    errors=("SERVICE_UNAVAILABLE",),
    headers=("Last-Event-ID",),
    description="`Last-Event-ID` brings what was missed, as far as the server still has it. Polling always works too. "
    "An archive comes without its entries.",
)
async def follow_events(request: Request) -> Response:
    """A stream of changes."""
    headers = {"Content-Type": _EVENT_STREAM, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if request.method == "HEAD":
        return Response(headers=headers)
    events = services(request).events
    if events.reader_count >= events.most_readers:
        raise KnowledgeError("SERVICE_UNAVAILABLE", "Too many clients follow events already.", retry_after_s=_AGAIN_S)
    last = request.headers.get("last-event-id", "")
    last_id = last if _EVENT_ID.fullmatch(last) else None
    stream = while_admitted(event_stream(events, last_id, HEARTBEAT_S), request.scope["admit_again"])
    return StreamingResponse(stream, headers=headers)


@short_addresses.add(
    "GET",
    "/events",
    "Follow changes, at a short address",
    Answer(200, "The same stream as `/api/v1/events`.", media_type=_EVENT_STREAM),
    errors=("SERVICE_UNAVAILABLE",),
    headers=("Last-Event-ID",),
)
async def follow_events_briefly_addressed(request: Request) -> Response:
    """The same stream of changes."""
    return await follow_events(request)


async def while_admitted(
    stream: AsyncGenerator[bytes], admit_again: Callable[[], Awaitable[None]]
) -> AsyncGenerator[bytes]:
    """The stream, until `admit_again` raises a KnowledgeError: the key was revoked, say, or the session ended."""
    async with contextlib.aclosing(stream):
        async for piece in stream:
            try:
                await admit_again()
            except KnowledgeError:
                return
            yield piece


async def event_stream(events: Events, last_id: str | None, heartbeat_s: float) -> AsyncGenerator[bytes]:
    """Events in the Server-Sent Events format, with a comment whenever nothing happened for `heartbeat_s` seconds."""
    reader = events.follow(last_id)
    waiting = asyncio.ensure_future(anext(reader, None))
    try:
        yield b"retry: 2000\n\n"
        while True:
            done, _ = await asyncio.wait((waiting,), timeout=heartbeat_s)
            if not done:
                yield b": still here\n\n"
                continue
            batch = waiting.result()
            if batch is None:
                return
            yield b"".join(map(_frame, batch))
            waiting = asyncio.ensure_future(anext(reader, None))
    finally:
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting


def _frame(event: Event) -> bytes:
    """The event as all its readers get it, made once for all that ask at about the same time."""
    known = _FRAMES.get(id(event))
    if known is None:
        frame = f"id: {event.id}\nevent: {event.kind}\ndata: ".encode() + to_json(event_wire.event(event)) + b"\n\n"
        known = _FRAMES[id(event)] = event, frame
        if len(_FRAMES) > _KEPT_FRAMES:
            del _FRAMES[next(iter(_FRAMES))]
    return known[1]
