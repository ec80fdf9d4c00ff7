"""How the service is doing, what is in it, what is out of date, and the end of everything."""

import asyncio
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from mcp_knowledge.domain.documents import IndexVersions, JobStatus
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.context import services_of
from mcp_knowledge.interfaces.web.fields import form_fields, go
from mcp_knowledge.interfaces.web.health import checks
from mcp_knowledge.interfaces.web.notices import Notice, number_in, told_at
from mcp_knowledge.interfaces.web.templating import render
from mcp_knowledge.interfaces.web.wording import counted
from mcp_knowledge.ports import BackgroundRun
from mcp_knowledge.services import Services
from mcp_knowledge.services.status import SystemStatus

PAGE_STALE = 100
CONFIRMATION = "purge"
_DATABASES = {"sqlite": "SQLite", "libsql": "SQLite, through libSQL", "postgres": "PostgreSQL"}
_PROFILES = {"local": "one machine", "server": "a team's server"}
_ROLES = {"all": "answers and reads files", "api": "answers, others read files", "worker": "reads files"}
ACTIVE: tuple[JobStatus, ...] = ("queued", "running", "retrying")

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class StaleReason:
    """Why `count` documents are out of date."""

    why: str
    count: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What the page shows while the database answers.

    Args:
        somebody_works: whether any process of this database takes jobs.
        run: of documents that are read again in the background.
        reasons: why documents are out of date.
    """

    system: SystemStatus
    somebody_works: bool
    run: BackgroundRun
    originals_bytes: int
    reasons: list[StaleReason]

    @property
    def busy(self) -> bool:
        """Whether the figures are about to change."""
        jobs = self.system.counts.jobs
        return any(jobs[name] for name in ACTIVE)

    @property
    def readers(self) -> list[tuple[str, str]]:
        """Name and version of what reads each kind of file."""
        return sorted((item.parser_name, item.parser_version) for item in self.system.versions)


@router.get("/system")
async def system_page(request: Request) -> HTMLResponse:
    """The service at a glance."""
    return await _page(request, notice=_notice(request))


@router.get("/system/stale")
async def stale_page(request: Request) -> HTMLResponse:
    """The documents that other versions made, each with what has changed since."""
    services = services_of(request)
    after = request.query_params.get("after", "").replace("\0", "")[:100]
    items, next_id = await services.status.stale_documents(PAGE_STALE, after)
    current = services.status.index_versions()
    return render(
        request,
        "stale.html",
        items=[(document, reason(made, current)) for document, made in items],
        is_first=not after,
        next_address=next_id and f"/system/stale?after={next_id}",
    )


@router.post("/system/reindex")
async def reindex(request: Request) -> RedirectResponse:
    """Queue the stale documents again, or all of them."""
    services = services_of(request)
    only_stale = (await form_fields(request)).get("which") != "all"
    queued = await services.library.reindex_all(services.status.index_versions() if only_stale else ())
    return go(f"{told_at('/system', 'reading', count=len(queued))}#stale")


@router.post("/system/purge")
async def purge(request: Request) -> Response:
    """Remove every document, if that is what was typed."""
    typed = (await form_fields(request)).get("confirm").strip().lower()
    if typed != CONFIRMATION:
        return await _page(request, status=400, purge_fault=True)
    await services_of(request).library.purge()
    return go("/system?notice=purged")


def reason(made: IndexVersions, current: list[IndexVersions]) -> str:
    """What has changed since documents were made with these versions, as the end of a sentence."""
    now = next((item for item in current if item.parser_name == made.parser_name), None)
    parts = []
    if now is None:
        parts.append(f"the reader “{made.parser_name}” is no longer used")
    elif now.parser_version != made.parser_version:
        parts.append(f"the reader “{made.parser_name}” is newer now ({made.parser_version} → {now.parser_version})")
    any_now = current[0]
    if (any_now.chunker_name, any_now.chunker_version) != (made.chunker_name, made.chunker_version):
        parts.append("passages are cut differently now (their sizes or the rules have changed)")
    if any_now.embedding_model != made.embedding_model:
        parts.append(f"meaning was learned by another model ({made.embedding_model}), so only their words are found")
    elif (
        any_now.embedding_version != made.embedding_version or any_now.embedding_dimensions != made.embedding_dimensions
    ):
        parts.append("meaning was learned by another version of the model, so only their words are found")
    return "; ".join(parts)


async def _page(
    request: Request, *, status: int = 200, notice: Notice | None = None, purge_fault: bool = False
) -> HTMLResponse:
    services = services_of(request)
    settings = services.settings
    (_, ready), view = await asyncio.gather(services.status.ready(), _figures(services))
    model = services.status.index_versions()[0].embedding_model
    works = view is not None and view.somebody_works
    found = checks(ready, settings.storage_driver, model, view.system if view else None, works)
    return render(
        request,
        "system.html",
        status,
        view=view,
        checks=found,
        unwell=sum(not item.healthy for item in found),
        database=_DATABASES[settings.database_driver],
        profile=_PROFILES[settings.app_profile],
        role=_ROLES[settings.role],
        settings=settings,
        notice=notice,
        purge_fault=purge_fault,
        confirmation=CONFIRMATION,
    )


async def _figures(services: Services) -> Figures | None:
    """What the database knows; None while it does not answer."""
    try:
        system, works, run, originals_bytes = await asyncio.gather(
            services.status.system(),
            services.presence.somebody_works(),
            services.jobs.background_run(),
            services.status.originals_bytes(),
        )
    except KnowledgeError as error:
        if error.code != "SERVICE_UNAVAILABLE":
            raise
        return None
    return Figures(system, works, run, originals_bytes, _reasons(system))


def _reasons(system: SystemStatus) -> list[StaleReason]:
    """Why documents are out of date, the most frequent reason first."""
    found: dict[str, int] = {}
    for made, count in system.counts.stale.items():
        why = reason(made, list(system.versions))
        found[why] = found.get(why, 0) + count
    return sorted((StaleReason(why, count) for why, count in found.items()), key=lambda item: (-item.count, item.why))


def _notice(request: Request) -> Notice | None:
    name, count = request.query_params.get("notice", ""), number_in(request, "count")
    if name == "purged":
        return Notice("Every document is gone. Collections, keys and settings are as they were.")
    if name == "reading":
        if not count:
            return Notice("Nothing was queued: what there is to read again is being read already.")
        return Notice(f"{counted(count, 'document')} will be read again. Searches go on with what is there.")
    return None
