"""Measuring search on one's own questions: sets, runs and what changed between them."""

from fastapi import APIRouter

from mcp_knowledge.interfaces.web.evaluate import actions, importing, one_set, run, sets

router = APIRouter(include_in_schema=False)
for page in (sets, run, importing, actions, one_set):  # /evaluate/import before /evaluate/{set_id}
    router.include_router(page.router)
