"""What must be true when the fire is out."""

import asyncio
from collections import Counter

from fire_fleet import Fleet
from fire_traffic import API, PARTS, Documents, text_of

from mcp_knowledge.app import open_services
from mcp_knowledge.services.cleanup import remove_orphan_blobs
from mcp_knowledge.settings import Settings

_CURRENT = "d.document_no = c.document_no AND d.current_revision_no = c.revision_no AND d.searchable = 1"
# Each of these finds rows that should not be.
ORPHANS = {
    "jobs that have not ended": "SELECT id, status FROM jobs WHERE status IN ('queued', 'running', 'retrying')",
    "failed jobs": "SELECT id, kind, error FROM jobs WHERE status = 'failed'",
    "jobs that ended twice": "SELECT job_id, count(*) FROM audit_ends GROUP BY 1 HAVING count(*) > 1",
    "revisions written more than once": """
        SELECT document_no, revision_no, count(*) FROM audit_chunks GROUP BY 1, 2
        HAVING count(*) <> count(DISTINCT sequence) OR count(DISTINCT transaction_no) > 1""",
    "archives that have not ended": "SELECT id, state, error FROM archives WHERE state <> 'completed'",
    "archives that hold their file": "SELECT id FROM archives WHERE blob_key IS NOT NULL",
    "chunks of no searchable document": f"""
        SELECT c.chunk_no FROM chunks c LEFT JOIN documents d ON {_CURRENT} WHERE d.document_no IS NULL""",
    "chunks without a vector": "SELECT chunk_no FROM chunks EXCEPT SELECT chunk_no FROM chunk_vectors",
    "vectors without a chunk": "SELECT chunk_no FROM chunk_vectors EXCEPT SELECT chunk_no FROM chunks",
    "chunks without terms": "SELECT chunk_no FROM chunks EXCEPT SELECT chunk_no FROM chunk_terms",
    "terms without a chunk": "SELECT chunk_no FROM chunk_terms EXCEPT SELECT chunk_no FROM chunks",
    "early vectors": "SELECT document_no FROM early_vectors",
    "content of no current revision": """
        SELECT revision_no FROM (SELECT revision_no FROM revision_heads UNION SELECT revision_no FROM revision_blocks) r
        WHERE revision_no NOT IN (SELECT current_revision_no FROM documents WHERE current_revision_no IS NOT NULL)""",
    "revisions of deleted documents": """
        SELECT r.id FROM revisions r JOIN documents d USING (document_no) WHERE d.status IN ('deleting', 'deleted')""",
    "metadata of deleted documents": """
        SELECT path FROM metadata_values m JOIN documents d USING (document_no) WHERE d.status = 'deleted'""",
    "bytes that two documents have": """
        SELECT sha256, count(*) FROM documents WHERE status NOT IN ('deleting', 'deleted') GROUP BY 1
        HAVING count(*) > 1""",
    # The counts that ranking rests on, against a count of what is there.
    "wrong totals of the full text": """
        SELECT t.chunks + coalesce(c.chunks, 0), n.chunks, t.tokens + coalesce(c.tokens, 0), n.tokens
        FROM text_totals t, (SELECT sum(chunks) AS chunks, sum(tokens) AS tokens FROM term_changes) c,
             (SELECT count(*) AS chunks, coalesce(sum(size), 0) AS tokens FROM chunk_terms) n
        WHERE t.chunks + coalesce(c.chunks, 0) <> n.chunks OR t.tokens + coalesce(c.tokens, 0) <> n.tokens""",
}


def assert_nothing_is_left_over(fleet: Fleet) -> None:
    """No row without what it belongs to, no job at work, nothing done twice."""
    left = {name: rows[:5] for name, sql in ORPHANS.items() if (rows := fleet.rows(sql))}
    assert left == {}


def assert_every_document_is_there_once(fleet: Fleet, documents: Documents) -> None:
    """Those that were kept are ready with their newest text, those that were deleted are gone."""
    sql = "SELECT id, status, latest_error FROM documents WHERE source_path IS NULL AND status <> 'deleted'"
    found = {row[0]: row[1:] for row in fleet.rows(sql)}
    kept = {documents.ids[number]: number for number in documents.ids if number not in documents.deleted}
    assert set(found) == set(kept)
    assert Counter(found.values()) == Counter({("ready", None): len(kept)})
    chunks = fleet.rows("SELECT d.id, count(*) FROM chunks c JOIN documents d USING (document_no) GROUP BY 1")
    assert {count for document_id, count in chunks if document_id in kept} == {PARTS}
    for document_id, number in kept.items():
        answer = fleet.apis[0].request("GET", f"{API}/documents/{document_id}/chunks?limit=1")
        mark = f"mark{number:05d} version{documents.versions[number]} part0"
        assert mark in answer.json()["items"][0]["content"]


def assert_every_original_is_there(fleet: Fleet, documents: Documents) -> None:
    """As it was sent, whichever process is asked."""
    for number in [number for number in documents.ids if number not in documents.deleted][:20]:
        for api in fleet.apis:
            answer = api.request("GET", f"{API}/documents/{documents.ids[number]}/file")
            assert answer.content == text_of(number, documents.versions[number])


def blobs_without_owners(fleet: Fleet, settings: Settings) -> int:
    """How many files were left for the hourly sweep; afterwards bucket and rows agree."""

    async def sweep() -> tuple[int, set[str], set[str]]:
        async with open_services(settings) as services:
            store, blobs = services.worker._store, services.worker._blobs
            removed = await remove_orphan_blobs(store, blobs, age_ms=-60_000)
            listing = blobs.keys()
            return removed, {key async for key, _ in listing}, await store.blob_keys()

    removed, present, held = asyncio.run(sweep())
    assert present == held
    return removed
