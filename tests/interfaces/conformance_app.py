"""The server that the conformance suite is pointed at: ours, with the suite's own tools, resources and prompts added.

Run as `python conformance_app.py DATA_DIR`; prints the port it listens on.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.routing import Route

from mcp_knowledge.app import open_services
from mcp_knowledge.domain.cursors import CursorSigner
from mcp_knowledge.interfaces.mcp.http import McpEndpoint
from mcp_knowledge.interfaces.rest.access import Gate
from mcp_knowledge.interfaces.rest.hosts import HostRules
from mcp_knowledge.interfaces.rest.middleware import Frame
from mcp_knowledge.services import Services
from mcp_knowledge.settings import load_settings

Context = ServerRequestContext[Any, Any]
CallResult = types.CallToolResult | types.InputRequiredResult
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
STATES = CursorSigner(b"conformance" * 3)
TEXT_FIELD: dict[str, Any] = {"type": "string"}


def text(value: str) -> types.TextContent:
    return types.TextContent(text=value)


def embedded(uri: str, mime_type: str, value: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=value))


def done(*content: types.ContentBlock, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), is_error=is_error)


def ask(message: str, field: str, schema: dict[str, Any] | None = None) -> types.ElicitRequest:
    properties = {field: schema or TEXT_FIELD}
    requested: Any = {"type": "object", "properties": properties, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=requested))


def sample(prompt: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=100))


def need(requests: dict[str, types.InputRequest], state: Any = None) -> types.InputRequiredResult:
    signed = None if state is None else STATES.make("state", state)
    return types.InputRequiredResult(input_requests=requests, request_state=signed)


def answers(params: types.InputResponseRequestParams, *keys: str) -> list[types.InputResponse] | None:
    """The client's responses to these requests; None while one is missing."""
    given = params.input_responses or {}
    return [given[key] for key in keys] if all(key in given for key in keys) else None


def elicited(response: types.InputResponse, field: str) -> str | None:
    content = response.content if isinstance(response, types.ElicitResult) else None
    value = (content or {}).get(field)
    return None if value is None else str(value)


async def greet(context: Context, params: types.CallToolRequestParams) -> CallResult:
    given = answers(params, "user_name")
    name = given and elicited(given[0], "name")
    return done(text(f"Hello, {name}!")) if name else need({"user_name": ask("What is your name?", "name")})


async def sampling(context: Context, params: types.CallToolRequestParams) -> CallResult:
    given = answers(params, "capital_question")
    return done(text(str(given[0]))) if given else need({"capital_question": sample("What is the capital of France?")})


async def list_roots(context: Context, params: types.CallToolRequestParams) -> CallResult:
    given = answers(params, "client_roots")
    return done(text(str(given[0]))) if given else need({"client_roots": types.ListRootsRequest()})


async def keep_state(context: Context, params: types.CallToolRequestParams) -> CallResult:
    if params.request_state is not None:
        STATES.read("state", params.request_state)
    if answers(params, "confirm") and params.request_state is not None:
        return done(text("state-ok"))
    return need({"confirm": ask("Please confirm", "ok", {"type": "boolean"})}, "asked")


async def ask_everything(context: Context, params: types.CallToolRequestParams) -> CallResult:
    if answers(params, "user_name", "greeting", "client_roots"):
        return done(text("All answers are in."))
    return need(
        {
            "user_name": ask("What is your name?", "name"),
            "greeting": sample("Generate a greeting"),
            "client_roots": types.ListRootsRequest(),
        },
        "asked",
    )


async def ask_twice(context: Context, params: types.CallToolRequestParams) -> CallResult:
    step = None if params.request_state is None else STATES.read("state", params.request_state)
    if step == 2 and answers(params, "step2"):
        return done(text("Both steps are done."))
    if step == 1 and answers(params, "step1"):
        return need({"step2": ask("Step 2: What is your favorite color?", "color")}, 2)
    return need({"step1": ask("Step 1: What is your name?", "name")}, 1)


def declared_capabilities(context: Context) -> dict[str, Any]:
    meta: dict[str, Any] = dict(context.meta or {})
    return meta.get(types.CLIENT_CAPABILITIES_META_KEY) or {}


async def ask_what_is_declared(context: Context, params: types.CallToolRequestParams) -> CallResult:
    if "sampling" in declared_capabilities(context):
        return need({"greeting": sample("Generate a greeting")})
    return need({"user_name": ask("What is your name?", "name")})


async def need_sampling(context: Context, params: types.CallToolRequestParams) -> CallResult:
    if "sampling" not in declared_capabilities(context):
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool needs sampling.",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return done(text("Sampling is declared."))


def fixed(*content: types.ContentBlock, is_error: bool = False) -> "FixtureTool":
    async def run(context: Context, params: types.CallToolRequestParams) -> CallResult:
        return done(*content, is_error=is_error)

    return run


FixtureTool = Callable[[Context, types.CallToolRequestParams], Awaitable[CallResult]]
TOOLS: dict[str, FixtureTool] = {
    "test_simple_text": fixed(text("This is a simple text response for testing.")),
    "test_image_content": fixed(types.ImageContent(data=PNG, mime_type="image/png")),
    "test_audio_content": fixed(types.AudioContent(data=WAV, mime_type="audio/wav")),
    "test_embedded_resource": fixed(
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": fixed(
        text("Multiple content types test:"),
        types.ImageContent(data=PNG, mime_type="image/png"),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_error_handling": fixed(text("This tool intentionally returns an error for testing"), is_error=True),
    "test_logging_tool": fixed(text("Nothing is logged to clients.")),
    "test_missing_capability": need_sampling,
    "test_streaming_elicitation": greet,
    "test_input_required_result_elicitation": greet,
    "test_input_required_result_sampling": sampling,
    "test_input_required_result_list_roots": list_roots,
    "test_input_required_result_request_state": keep_state,
    "test_input_required_result_tampered_state": keep_state,
    "test_input_required_result_multiple_inputs": ask_everything,
    "test_input_required_result_multi_round": ask_twice,
    "test_input_required_result_capabilities": ask_what_is_declared,
}
PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
RESOURCES: dict[str, types.TextResourceContents | types.BlobResourceContents] = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PNG),
    "test://template/123/data": types.TextResourceContents(
        uri="test://template/123/data", mime_type="application/json", text='{"id":"123"}'
    ),
}


def add_fixtures(server: Server[Any]) -> None:
    """Put the suite's tools, resources and prompts beside ours."""
    own_tools, own_call = handler(server, "tools/list"), handler(server, "tools/call")
    own_resources, own_read = handler(server, "resources/list"), handler(server, "resources/read")

    async def list_tools(context: Context, params: types.PaginatedRequestParams) -> types.ListToolsResult:
        found: types.ListToolsResult = await own_tools(context, params)
        schema = {"type": "object", "properties": {}, "additionalProperties": False}
        fixtures = [types.Tool(name=name, description=f"Fixture {name}.", input_schema=schema) for name in TOOLS]
        return found.model_copy(update={"tools": found.tools + fixtures})

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> CallResult:
        run: Callable[[Context, Any], Awaitable[Any]] = TOOLS.get(params.name, own_call)
        result: CallResult = await run(context, params)
        return result

    async def list_resources(context: Context, params: types.PaginatedRequestParams) -> types.ListResourcesResult:
        found: types.ListResourcesResult = await own_resources(context, params)
        fixtures = [types.Resource(uri=uri, name=uri, mime_type=item.mime_type) for uri, item in RESOURCES.items()]
        return found.model_copy(update={"resources": found.resources + fixtures})

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if params.uri in RESOURCES:
            return types.ReadResourceResult(contents=[RESOURCES[params.uri]])
        result: types.ReadResourceResult = await own_read(context, params)
        return result

    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.add_request_handler("resources/list", types.PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read_resource)
    server.add_request_handler("prompts/list", types.PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, complete)


def handler(server: Server[Any], method: str) -> Callable[[Context, Any], Awaitable[Any]]:
    entry = server.get_request_handler(method)
    assert entry is not None
    return entry.handler


async def list_prompts(context: Context, params: types.PaginatedRequestParams) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=f"Fixture {name}.",
                arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]
    )


async def get_prompt(
    context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    content: list[types.ContentBlock]
    match params.name:
        case "test_simple_prompt":
            content = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            content = [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            content = [
                embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing."),
                text("Please process the embedded resource above."),
            ]
        case "test_prompt_with_image":
            content = [types.ImageContent(data=PNG, mime_type="image/png"), text("Please analyze the image above.")]
        case "test_input_required_result_prompt":
            answer = answers(params, "user_context")
            if not answer:
                return need({"user_context": ask("What context should the prompt use?", "context")})
            content = [text(f"Context: {elicited(answer[0], 'context')}")]
        case _:
            raise MCPError(types.INVALID_PARAMS, "There is no prompt with this name.")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=item) for item in content])


async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))


def conformance_app(data_dir: Path) -> Frame:
    settings = load_settings(data_dir=data_dir)
    opened: list[Services] = []
    endpoint = McpEndpoint(lambda: opened[0])
    add_fixtures(endpoint.server)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_services(settings) as services, endpoint.run():
            opened.append(services)
            yield

    app = Starlette(routes=[Route("/mcp", endpoint)], lifespan=lifespan)
    return Frame(app, Gate(HostRules(settings), lambda: opened[0].access))


async def main(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(conformance_app(data_dir), log_level="warning"))
        print(listener.getsockname()[1], flush=True)
        await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
