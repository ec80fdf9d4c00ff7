"""One document: its passages, the text as it was read, its original, its facts and its versions."""

from fastapi import APIRouter

from mcp_knowledge.interfaces.web.document import edit, page

router = APIRouter(include_in_schema=False)
router.include_router(page.router)
router.include_router(edit.router)
