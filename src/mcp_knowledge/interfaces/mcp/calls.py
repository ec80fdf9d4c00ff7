"""What is told of each call of a tool: a line of the log, a count, a span. Never what was asked or answered."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mcp_knowledge.services import metrics
from mcp_knowledge.services.tracing import span

log = logging.getLogger(__name__)

OK = "ok"


@dataclass(slots=True)
class Call:
    """A call at work. `outcome` is "ok" or the code of its failure."""

    outcome: str = OK


@contextmanager
def observed(tool: str) -> Iterator[Call]:
    """Around one call of a tool of ours."""
    started = time.perf_counter()
    call = Call()
    with span(f"tools/call {tool}", {"mcp.method.name": "tools/call", "gen_ai.tool.name": tool}) as told:
        try:
            yield call
        except BaseException:
            call.outcome = "CANCELLED"
            raise
        finally:
            seconds = time.perf_counter() - started
            if call.outcome != OK:
                told.fail(call.outcome)
            metrics.observe_tool_call(tool, call.outcome, seconds)
            fields = {"tool": tool, "outcome": call.outcome, "durationMs": round(seconds * 1000, 2)}
            log.info("Tool %s: %s in %.1f ms", tool, call.outcome, seconds * 1000, extra={"fields": fields})
