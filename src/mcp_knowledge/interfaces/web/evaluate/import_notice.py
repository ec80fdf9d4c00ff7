"""What an import did, in the address of the page that it leads to."""

from urllib.parse import urlencode

from fastapi import Request

from mcp_knowledge.interfaces.web.notices import Notice, number_in
from mcp_knowledge.interfaces.web.wording import counted
from mcp_knowledge.services.evaluation_files import ImportReport


def address(set_id: str, report: ImportReport) -> str:
    """The page of a set, which then tells what was imported."""
    told = {"added": report.added, "changed": report.changed, "missing": len(report.missing)}
    return f"/evaluate/{set_id}?{urlencode({name: value for name, value in told.items() if value})}"


def told(request: Request) -> Notice | None:
    """What an import did, as the address tells it after the redirect; None where it tells of none."""
    added, changed, missing = (number_in(request, name) for name in ("added", "changed", "missing"))
    parts = []
    if added:
        parts.append(f"{counted(added, 'question was', 'questions were')} added.")
    if changed:
        parts.append(f"{counted(changed, 'question was', 'questions were')} there already and judged anew.")
    if missing:
        parts.append(
            f"{counted(missing, 'document that they name was', 'documents that they name were')} not found, or several "
            "have the name; each run looks again."
        )
    return Notice(" ".join(parts)) if parts else None
