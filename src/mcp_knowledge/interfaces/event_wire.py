"""The JSON shape of events."""

from mcp_knowledge.domain.documents import ArchiveImport, Document, Job
from mcp_knowledge.domain.evaluations import Run
from mcp_knowledge.domain.folder import ScanStatus
from mcp_knowledge.interfaces import evaluation_wire, wire
from mcp_knowledge.ports import Event


def event(item: Event) -> wire.Json:
    """What a change is about, as REST shows it."""
    match item.data:
        case Document():
            return wire.document(item.data)
        case ArchiveImport():
            return wire.archive(item.data)
        case ScanStatus():
            return wire.scan(item.data)
        case Job():
            return wire.job(item.data)
        case Run():
            return evaluation_wire.run(item.data)
    return item.data
