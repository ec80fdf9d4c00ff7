"""The generated part of the MCP page of the documentation."""

from mcp_knowledge.interfaces.mcp.resources import TEMPLATES
from mcp_knowledge.interfaces.mcp.schemas import Schema
from mcp_knowledge.interfaces.mcp.tool import KnowledgeTool
from mcp_knowledge.interfaces.mcp.tools import tools_for
from mcp_knowledge.settings import Settings


def mcp_reference() -> str:
    """Every tool with its arguments, and every resource template, in Markdown."""
    tools = tools_for(Settings.model_construct())
    return "\n\n".join([*(_tool(tool) for tool in tools.values()), _templates()])


def _tool(tool: KnowledgeTool) -> str:
    properties: dict[str, Schema] = tool.input_schema["properties"]
    required = tool.input_schema.get("required", [])
    lines = [f"### `{tool.name}`", "", f"*{tool.title}.* {tool.description}", ""]
    if not properties:
        return "\n".join([*lines, "No arguments."])
    lines += ["| argument | type | default | meaning |", "| --- | --- | --- | --- |"]
    lines += [line for name, schema in properties.items() for line in _rows(name, schema, name in required)]
    return "\n".join(lines)


def _rows(name: str, schema: Schema, required: bool) -> list[str]:
    default = "required" if required else f"`{schema['default']}`" if "default" in schema else ""
    rows = [f"| `{name}` | {_type(schema)} | {default} | {_cell(schema['description'])} |"]
    for part, inner in schema.get("properties", {}).items():
        rows += _rows(f"{name}.{part}", inner, required=False)
    return rows


def _type(schema: Schema) -> str:
    match schema["type"]:
        case "integer":
            return f"integer {schema['minimum']}-{schema['maximum']}"
        case "string" if "enum" in schema:
            return ", ".join(f"`{value}`" for value in schema["enum"])
        case "array":
            return f"array of strings, at most {schema['maxItems']}"
    return str(schema["type"])


def _templates() -> str:
    lines = ["### Resources", "", "| URI template | content |", "| --- | --- |"]
    lines += [f"| `{item.uri_template}` | {_cell(item.description or '')} |" for item in TEMPLATES]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
