"""All of the dashboard's pages, as one router."""

from fastapi import APIRouter

from mcp_knowledge.interfaces.web import documents, forms, playground

router = APIRouter(include_in_schema=False)
router.include_router(documents.router)
router.include_router(playground.router)
router.include_router(forms.router)
