"""`search_documents`."""

from mcp_knowledge.domain.search import Hit, SearchResult
from mcp_knowledge.interfaces.mcp import schemas
from mcp_knowledge.interfaces.mcp.arguments import Arguments
from mcp_knowledge.interfaces.mcp.budget import fit_hits
from mcp_knowledge.interfaces.mcp.tool import Answer, Json, KnowledgeTool
from mcp_knowledge.interfaces.mcp.uris import chunk_uri
from mcp_knowledge.services import Services
from mcp_knowledge.services.reading import compact_json
from mcp_knowledge.services.search_request import MAX_EXPAND_CHUNKS, MAX_QUERY_CHARS, search_request
from mcp_knowledge.settings import Settings

_WRAPPER_CHARS = 400  # what the object form and the note about hits left out add to the array of hits
_DESCRIPTION = """\
Find passages in this private document collection, by meaning and by exact words at once. Start here for any \
question that the documents may answer. Each hit is a passage with its document, headings, place in the source \
(page, slide, cells), rank (1 is best) and the query terms it matched: usually enough to answer and to cite.

- query: the question itself, or its key terms. Identifiers such as INV-0042 match exactly; "double quotes" keep \
words together; INV-00* matches every beginning.
- More text around a hit: expand {"type":"neighbors"} or {"type":"section"} here, or get_chunk with its chunkId.
- A whole section or document: get_document with its documentId, and headings from headingPath. Do not search page \
by page.
- Which documents deal with something: collapse "document" gives each document once, with its best passage.
- Narrow down with collection_ids (see list_collections), document_ids, or filters on metadata, such as \
{"year":{"gte":2024},"author":"Ada"} (operators eq, neq, in, exists, gte, lte; all must hold).
- Nothing useful? Try other words; mode "vector" for a paraphrase, "lexical" when only exact words count.

Ranks compare hits of one answer only. No hits means that nothing in the collection matched."""


def search_documents(settings: Settings) -> KnowledgeTool:
    """The tool, with the limits of these settings."""
    return KnowledgeTool(
        name="search_documents",
        title="Search documents",
        description=_DESCRIPTION,
        input_schema=schemas.closed(
            {
                "query": schemas.text('A question, key terms, an identifier or a "phrase".', MAX_QUERY_CHARS),
                "limit": schemas.integer(
                    "Most hits.",
                    1,
                    settings.max_search_limit_mcp,
                    min(settings.default_search_limit, settings.max_search_limit_mcp),
                ),
                "mode": schemas.choice(
                    "hybrid: meaning and words; vector: meaning only; lexical: words only.",
                    ("hybrid", "vector", "lexical"),
                    "hybrid",
                ),
                "collection_ids": schemas.texts("Only documents in these collections (col_…). Empty: no limit."),
                "document_ids": schemas.texts("Only these documents (doc_…). Empty: no limit."),
                "filters": {
                    "type": "object",
                    "description": "Metadata field (dotted path) to a value, or to operators: "
                    '{"year":{"gte":2024},"tags":{"in":["a","b"]},"draft":{"exists":false}}.',
                },
                "expand": schemas.closed(
                    {
                        "type": schemas.choice(
                            "none; neighbors: passages before and after; section: all under the hit's heading.",
                            ("none", "neighbors", "section"),
                            "none",
                        ),
                        "before": schemas.integer("neighbors: passages before the hit.", 0, MAX_EXPAND_CHUNKS, 2),
                        "after": schemas.integer("neighbors: passages after the hit.", 0, MAX_EXPAND_CHUNKS, 2),
                    },
                    description="How much text around each hit comes with it.",
                ),
                "collapse": schemas.choice(
                    "document: only the best passage of each document.", ("none", "document"), "none"
                ),
            },
            required=("query",),
        ),
        output_schema=schemas.answer(
            {
                "hits": schemas.listing(schemas.HIT),
                "truncated": schemas.BOOLEAN,
                "omittedHits": schemas.INTEGER,
                "notice": schemas.STRING,
            },
            optional=("truncated", "omittedHits", "notice"),
        ),
        run=_run,
    )


async def _run(services: Services, arguments: Arguments) -> Answer:
    settings = services.settings
    limit = arguments.get("limit", min(settings.default_search_limit, settings.max_search_limit_mcp))
    request = search_request(settings, **{**arguments, "limit": limit})
    return search_answer(await services.search.search(request), settings.max_mcp_result_chars)


def search_answer(result: SearchResult, max_chars: int) -> Answer:
    """Hits as text (the array) and as an object; neither has more than `max_chars` characters."""
    hits, cut = fit_hits(result.hits, hit_json, max_chars - _WRAPPER_CHARS)
    note: Json = {"truncated": True, "omittedHits": len(result.hits) - len(hits)} if cut else {}
    if result.notice is not None:
        note["notice"] = result.notice
    if not note:
        return Answer((compact_json(hits),), {"hits": hits})
    return Answer((compact_json(hits), compact_json(note)), {"hits": hits, **note})


def hit_json(hit: Hit) -> Json:
    """A hit as this tool shows it: the rank, not the arithmetic behind it."""
    data: Json = {
        "chunkId": hit.chunk_id,
        "documentId": hit.document_id,
        "title": hit.title,
        "content": hit.content,
        "headingPath": list(hit.heading_path),
        "location": hit.location.to_json(),
        "rank": hit.ranking.final_rank,
        "matchedTerms": list(hit.matched_terms),
        "metadata": hit.metadata,
        "resourceUri": chunk_uri(hit.document_id, hit.chunk_id),
    }
    if hit.ranking.chunk_rank is not None:
        data["chunkRank"] = hit.ranking.chunk_rank
    if hit.matching_chunk_count is not None:
        data["matchingChunkCount"] = hit.matching_chunk_count
    if hit.matched_headings is not None:
        data["matchedHeadings"] = list(hit.matched_headings)
    return data
