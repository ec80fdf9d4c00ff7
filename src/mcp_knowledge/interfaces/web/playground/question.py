"""What the playground asks, as its address says it."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.settings import Settings


@dataclass(frozen=True, slots=True)
class Question:
    """The form as its address fills it, as text: what does not fit is told by the search itself."""

    text: str
    mode: str
    limit: str
    fusion: str
    collapse: bool
    document_id: str | None

    def address(self, **changes: Any) -> str:
        """The address of this search with some values changed; None leaves one out."""
        values: dict[str, Any] = {
            "q": self.text,
            "mode": self.mode,
            "limit": self.limit,
            "fusion": self.fusion,
            "collapse": "document" if self.collapse else None,
            "document": self.document_id,
        }
        return "/playground?" + urlencode({name: value for name, value in (values | changes).items() if value})


def question_of(request: Request, settings: Settings) -> Question:
    """Read the playground's address."""
    values = request.query_params
    return Question(
        text=values.get("q", ""),
        mode=values.get("mode") or "hybrid",
        limit=values.get("limit") or str(settings.default_search_limit),
        fusion=values.get("fusion") or settings.fusion,
        collapse=values.get("collapse") == "document",
        document_id=values.get("document") or None,
    )


def limit_of(text: str, settings: Settings) -> int:
    """The number of hits to show. Raises INVALID_ARGUMENT."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
        raise KnowledgeError("INVALID_ARGUMENT", "The number of results must be a whole number.")
    return min(max(int(digits), 1), settings.max_search_limit_api)
