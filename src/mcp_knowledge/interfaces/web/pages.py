"""All of the dashboard's pages, as one router."""

from fastapi import APIRouter, FastAPI

from mcp_knowledge.interfaces.web import (
    api_keys,
    bulk,
    collections,
    connect,
    document,
    documents,
    folder,
    forms,
    from_url,
    imports,
    jobs,
    judging,
    samples,
    sign_in,
    similar,
    static_files,
    system,
    themes,
)
from mcp_knowledge.interfaces.web.evaluate import router as evaluate
from mcp_knowledge.interfaces.web.playground import context as playground_context
from mcp_knowledge.interfaces.web.playground import page as playground

router = APIRouter(include_in_schema=False)
router.include_router(from_url.router)  # before /documents/{document_id}
router.include_router(bulk.router)  # so is this
router.include_router(documents.router)
router.include_router(document.router)
router.include_router(similar.router)
router.include_router(collections.router)
router.include_router(imports.router)
router.include_router(folder.router)
router.include_router(jobs.router)
router.include_router(system.router)
router.include_router(connect.router)
router.include_router(api_keys.router)
router.include_router(playground.router)
router.include_router(playground_context.router)
router.include_router(judging.router)  # before /evaluate/{set_id}
router.include_router(evaluate)
router.include_router(samples.router)
router.include_router(forms.router)
router.include_router(sign_in.router)
router.include_router(themes.router)


def mount_web(app: FastAPI) -> None:
    """Add the pages and their static files to an application whose `state.services` has the use cases."""
    app.include_router(router)
    app.include_router(static_files.router)
