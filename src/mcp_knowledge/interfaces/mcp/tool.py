"""What a tool is: what it tells the client about itself, and what it does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from mcp_knowledge.interfaces.mcp.arguments import Arguments
from mcp_knowledge.interfaces.mcp.schemas import Schema
from mcp_knowledge.services import Services
from mcp_knowledge.services.reading import compact_json

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool's answer: text blocks, and for tools with an output schema the same as an object."""

    texts: tuple[str, ...]
    structured: Json | None = None

    def to_result(self) -> CallToolResult:
        """In the protocol's shape."""
        return CallToolResult(
            content=[TextContent(text=text) for text in self.texts], structured_content=self.structured
        )


def structured(data: Json) -> Answer:
    """An answer that says the same as text and as an object."""
    return Answer((compact_json(data),), data)


@dataclass(frozen=True, slots=True)
class KnowledgeTool:
    """A read-only tool.

    Args:
        description: written for a model: when to use it, and when another; the essentials first.
        run: gets arguments that satisfy `input_schema`. Raises KnowledgeError.
    """

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema | None
    run: Callable[[Services, Arguments], Awaitable[Answer]]

    def to_protocol(self) -> Tool:
        """As `tools/list` shows it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=True,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )
