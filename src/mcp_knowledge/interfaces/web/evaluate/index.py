"""What a run's index was made with, and how two of them differ, in plain words."""

from collections.abc import Mapping
from typing import Any

from mcp_knowledge.domain.evaluations import Difference

_NAMES = {
    "parsers": "Readers of files",
    "maxCollapseCandidates": "Most candidates, documents once",
    "chunkTargetTokens": "Tokens in a passage",
    "chunkMinTokens": "Fewest tokens in a passage",
    "chunkMaxTokens": "Most tokens in a passage",
    "chunkOverlapTokens": "Tokens that passages share",
    "chunkerName": "Cut by",
    "chunkerVersion": "Version of the cutting",
    "embeddingModel": "Model for meaning",
    "embeddingDimensions": "Numbers a passage",
    "embeddingVersion": "Version of the model",
    "documents": "Documents",
    "chunks": "Passages",
    "staleDocuments": "Documents not read again yet",
    "rrfK": "Constant of merging by rank",
    "vectorCandidates": "Candidates by meaning",
    "lexicalCandidates": "Candidates by words",
    "mode": "Search by",
    "fusion": "Merged by",
    "collectionIds": "Only in collections",
    "filters": "Only where",
}
_SETTINGS = ("mode", "fusion", "collectionIds", "filters")
_SIZES = ("chunkTargetTokens", "chunkMinTokens", "chunkMaxTokens", "chunkOverlapTokens")  # they tell the version apart
_CONTENT = ("documents", "chunks")  # what changes with the corpus, not with how it is read


def name(key: str) -> str:
    """A key of an index configuration in words."""
    return _NAMES.get(key, key)


def told(value: Any) -> str:
    """A value of an index configuration in words."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case str():
            return value
        case Mapping():
            return ", ".join(f"{key} {told(item)}" for key, item in value.items()) or "none"
        case list() | tuple():
            return ", ".join(told(item) for item in value) or "none"
        case _:
            return str(value)


def differences(found: tuple[Difference, ...]) -> list[Difference]:
    """Differences in words: those of the index; parsers by their formats. The ways to search speak for themselves."""
    spoken: list[Difference] = []
    other_sizes = any(item.name in _SIZES for item in found)
    for item in found:
        if item.name in _SETTINGS or (item.name == "chunkerVersion" and other_sizes):
            continue
        if item.name == "parsers" and isinstance(item.then, Mapping) and isinstance(item.now, Mapping):
            spoken += [
                Difference(f"Reader of {key}", told(item.then.get(key)), told(item.now.get(key)))
                for key in {**item.then, **item.now}
                if item.then.get(key) != item.now.get(key)
            ]
        else:
            spoken.append(Difference(name(item.name), told(item.then), told(item.now)))
    return spoken


def between(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """How two index configurations differ, in words."""
    return differences(
        tuple(Difference(key, then.get(key), now.get(key)) for key in {**then, **now} if then.get(key) != now.get(key))
    )


def made(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """How the index was made, without what follows from the corpus."""
    return {key: value for key, value in configuration.items() if key not in _CONTENT}
