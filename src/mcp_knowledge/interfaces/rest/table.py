"""Every REST operation, in the order of the documentation."""

from mcp_knowledge.interfaces.rest import (
    api_keys,
    archives,
    collections,
    content,
    documents,
    evaluation_runs,
    evaluations,
    folder,
    jobs,
    metadata,
    pages,
    search,
    service,
    session,
    similar,
    why_not,
)
from mcp_knowledge.interfaces.rest.operations import Operation

OPERATIONS: tuple[Operation, ...] = tuple(
    item
    for part in (
        documents.operations,
        content.operations,
        pages.operations,
        collections.operations,
        search.operations,
        evaluations.operations,
        evaluation_runs.operations,
        similar.operations,
        why_not.operations,
        metadata.operations,
        archives.operations,
        folder.operations,
        jobs.operations,
        jobs.short_addresses,
        session.operations,
        api_keys.operations,
        service.operations,
        service.probes,
    )
    for item in part.items
)
