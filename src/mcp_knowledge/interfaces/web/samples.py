"""The sample documents: one click to have them, one to be rid of them."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse

from mcp_knowledge.interfaces.web import outcomes
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import go
from mcp_knowledge.services.bulk import BulkOutcome

_QUESTIONS = (
    "Why did the light fail in 1923?",
    "Are dogs allowed in the tower?",
    "Which part makes the lens tick?",
)
QUESTIONS = tuple((question, f"/playground?{urlencode({'q': question})}") for question in _QUESTIONS)

router = APIRouter(include_in_schema=False)


@router.post("/samples/add")
async def add_samples(request: Request) -> RedirectResponse:
    """Put the samples in, then show the list."""
    added = await services_of(request).samples.add()
    return go(outcomes.told_at("/", "samples-added", BulkOutcome(added.added, {})))


@router.post("/samples/remove")
async def remove_samples(request: Request) -> RedirectResponse:
    """Take the samples out, then show the list."""
    return go(outcomes.told_at("/", "samples-removed", await services_of(request).samples.remove()))
