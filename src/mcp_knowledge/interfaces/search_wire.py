"""The JSON of a search answer, shared by REST and the command line."""

from mcp_knowledge.domain.filters import Filter
from mcp_knowledge.domain.search import Contributions, Hit, Ranking, SearchResult, SideCandidate
from mcp_knowledge.interfaces.wire import Json


def _ranking(item: Ranking) -> Json:
    optional = {
        "vectorRank": item.vector_rank,
        "lexicalRank": item.lexical_rank,
        "vectorScore": item.vector_score,
        "lexicalScore": item.lexical_score,
        "fusionScore": item.fusion_score,
        "lexicalMatchMode": item.lexical_match_mode,
        "chunkRank": item.chunk_rank,
    }
    return {
        "finalRank": item.final_rank,
        **{name: value for name, value in optional.items() if value is not None},
        "contributions": _by_side(item.contributions),
        **({} if item.normalized_scores is None else {"normalizedScores": _by_side(item.normalized_scores)}),
    }


def _by_side(item: Contributions) -> Json:
    return {"vector": item.vector, "lexical": item.lexical}


def _hit(item: Hit) -> Json:
    data = {
        "chunkId": item.chunk_id,
        "documentId": item.document_id,
        "revisionId": item.revision_id,
        "title": item.title,
        "content": item.content,
        "headingPath": list(item.heading_path),
        "location": item.location.to_json(),
        "score": item.score,
        "ranking": _ranking(item.ranking),
        "metadata": item.metadata,
        "matchedTerms": list(item.matched_terms),
        "highlights": [{"start": mark.start, "end": mark.end} for mark in item.highlights],
    }
    if item.matching_chunk_count is not None:
        data["matchingChunkCount"] = item.matching_chunk_count
    if item.matched_headings is not None:
        data["matchedHeadings"] = list(item.matched_headings)
    return data


def _side(items: tuple[SideCandidate, ...]) -> list[Json]:
    return [
        {
            "chunkId": item.chunk_id,
            "documentId": item.document_id,
            "rank": item.rank,
            "score": item.score,
            **({"matchMode": item.match_mode} if item.match_mode else {}),
            **({} if item.normalized_score is None else {"normalizedScore": item.normalized_score}),
        }
        for item in items
    ]


def condition(item: Filter) -> Json:
    """A metadata condition as it was understood."""
    value = list(item.value) if isinstance(item.value, tuple) else item.value
    return {"field": item.field, "operator": item.operator, "value": value}


def search_result(result: SearchResult, explain: bool) -> Json:
    """A search answer: the hits, and with `explain` both sides' candidates, timings and how the query was read."""
    data: Json = {"hits": [_hit(item) for item in result.hits]}
    if result.notice is not None:
        data["notice"] = result.notice
    if explain:
        timings, reading, request = result.timings, result.reading, result.request
        data |= {
            "mode": request.mode,
            "fusion": request.fusion,
            "vector": _side(result.vector),
            "lexical": _side(result.lexical),
            "timings": {
                "embeddingMs": timings.embedding_ms,
                "vectorSearchMs": timings.vector_search_ms,
                "lexicalSearchMs": timings.lexical_search_ms,
                "fusionMs": timings.fusion_ms,
                "totalMs": timings.total_ms,
            },
            "matchedTerms": list(result.matched_terms),
            "filters": {
                "collectionIds": list(request.scope.collection_ids),
                "documentIds": list(request.scope.document_ids),
                "conditions": [condition(item) for item in request.scope.filters],
            },
            "query": {
                "tokens": list(reading.tokens),
                "exact": reading.exact,
                "fallback": reading.fallback,
                "dropped": list(reading.dropped),
            },
        }
    return data
