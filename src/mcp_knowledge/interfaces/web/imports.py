"""Imports of archives: how each stands, and which of its files were passed over."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mcp_knowledge.domain.documents import ENTRY_OUTCOMES, ArchiveEntry, EntryOutcome
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.documents import collection_names
from mcp_knowledge.interfaces.web.feeds import import_state, passed_over
from mcp_knowledge.interfaces.web.folder import reason, scan_panel
from mcp_knowledge.interfaces.web.paging import keyset_position, offset, position_text
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.interfaces.web.wording import State

PAGE_IMPORTS = 30
PAGE_FILES = 200
LISTED_FILES = 20  # of those passed over, below an import in the list; its own page has all

OUTCOMES: dict[EntryOutcome, State] = {
    "extracted": State("ready", "Added"),
    "duplicate": State("waiting", "You have it already"),
    "unsupported": State("waiting", "Passed over"),
    "oversized": State("failed", "Too large"),
    "failed": State("failed", "Left out"),
}

router = APIRouter(include_in_schema=False)


@router.get("/imports")
async def imports_page(request: Request) -> HTMLResponse:
    """Every import of an archive, newest first."""
    archives = services_of(request).archives
    before = request.query_params.get("after", "")
    items, after = await archives.list(PAGE_IMPORTS, keyset_position(before, "arc"))
    scan = await scan_panel(request)
    return render(
        request,
        "imports.html",
        items=items,
        skipped=await archives.entries([item.id for item in items], skipped_limit=LISTED_FILES),
        collections=await collection_names(services_of(request), [item.collection_id for item in items]),
        scan=scan,
        file_reason=reason,
        active=sum(not item.ended for item in items) + (scan is not None and scan.active),
        next_address=after and f"/imports?after={position_text(after)}",
        is_first=not before,
        import_state=import_state,
        passed_over=passed_over,
        outcomes=OUTCOMES,
    )


@router.get("/imports/{archive_id}")
async def import_page(request: Request, archive_id: str) -> HTMLResponse:
    """One import with what became of each file."""
    archives = services_of(request).archives
    item = await archives.get(archive_id)
    entries = (await archives.entries([archive_id]))[archive_id]
    show = request.query_params.get("show", "")
    chosen = [entry for entry in entries if _is_shown(entry, show)]
    first = offset(request.query_params.get("from", ""))
    return render(
        request,
        "import.html",
        item=item,
        entries=chosen[first : first + PAGE_FILES],
        counts={name: sum(_is_shown(entry, name) for entry in entries) for name in ("", "skipped", *ENTRY_OUTCOMES)},
        show=show if show in ("skipped", *ENTRY_OUTCOMES) else "",
        collections=await collection_names(services_of(request), [item.collection_id]),
        first=first,
        previous_from=max(1, first + 1 - PAGE_FILES) if first else None,
        next_from=first + PAGE_FILES + 1 if len(chosen) > first + PAGE_FILES else None,
        state=import_state(item),
        outcomes=OUTCOMES,
    )


def _is_shown(entry: ArchiveEntry, show: str) -> bool:
    if show == "skipped":
        return entry.outcome != "extracted"
    return show not in ENTRY_OUTCOMES or entry.outcome == show
