"""Ways to search, as a run takes them: their names, their forms, and the playground that shows one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from mcp_knowledge.domain.evaluations import RunSettings
from mcp_knowledge.domain.search import Fusion, SearchMode
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.interfaces.web.fields import Fields
from mcp_knowledge.interfaces.web.playground.question import ADDRESS, filters_from


@dataclass(frozen=True, slots=True)
class Way:
    """A way to search that the form offers."""

    label: str
    help: str
    mode: SearchMode
    fusion: Fusion | None = None


WAYS = {
    "rank": Way("Both, by rank", "Meaning and words, merged by the places in both lists.", "hybrid", "rrf"),
    "score": Way(
        "Both, by score",
        "Meaning and words, merged by how much better one passage is than others.",
        "hybrid",
        "relative",
    ),
    "meaning": Way("Meaning", "Passages that say something close to the question, in whatever words.", "vector"),
    "words": Way("Words", "Passages that contain the words, names and numbers of the question.", "lexical"),
}
_KINDS = {(way.mode, way.fusion): name for name, way in WAYS.items()}


def kind(settings: RunSettings) -> str:
    """The name of the way in `WAYS`."""
    return _KINDS.get((settings.mode, settings.fusion if settings.mode == "hybrid" else None), "rank")


def label(settings: RunSettings) -> str:
    """The way in plain words, without what narrows it."""
    return WAYS[kind(settings)].label


def narrowing(settings: RunSettings, collections: Mapping[str, str]) -> list[str]:
    """In what a run was narrowed to some documents, in plain words.

    Args:
        collections: names by id; one that is gone goes by its id.
    """
    parts = [f"in {collections.get(item, item)}" for item in settings.collection_ids]
    if settings.filters:
        parts.append(f"where {json.dumps(dict(settings.filters), ensure_ascii=False)}")
    return parts


def playground_address(query: str, settings: RunSettings) -> str:
    """The playground with this question and these settings, each document once, as a run looks at them."""
    values: dict[str, object] = {
        "q": query,
        "mode": settings.mode,
        "fusion": settings.fusion if settings.mode == "hybrid" else None,
        "limit": "10",
        "collapse": "document",
        "collection": settings.collection_ids,
        "filters": json.dumps(dict(settings.filters), ensure_ascii=False) if settings.filters else None,
    }
    return f"{ADDRESS}?{urlencode({name: value for name, value in values.items() if value}, doseq=True)}"


def settings_from(fields: Fields) -> list[RunSettings]:
    """What a form asks to run: one for each way that was chosen. Raises INVALID_ARGUMENT, INVALID_FILTER."""
    chosen = [WAYS[name] for name in WAYS if name in fields.all("way")]
    if not chosen:
        raise KnowledgeError("INVALID_ARGUMENT", "Choose at least one way to search.")
    collections = tuple(dict.fromkeys(item for item in fields.all("collection") if item))
    filters = filters_from(fields.get("filters")) or {}
    return [RunSettings(way.mode, way.fusion, collections, filters) for way in chosen]
