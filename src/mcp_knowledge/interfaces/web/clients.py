"""Ready-made configurations of MCP clients for one server: what to put where.

The forms are those of the clients' own documentation: Claude Desktop starts programs (`command`, `args`, `env`) and
takes no address, so that a server elsewhere needs the bridge mcp-remote; Claude Code has a command; Cursor takes `url`
and `headers` below `mcpServers`; VS Code takes `type`, `url` and `headers` below `servers`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

KEY_PLACEHOLDER = "YOUR_API_KEY"
NAME = "knowledge"  # what the clients call this server
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to copy. `place`: the file that it belongs in, or what to do with it."""

    id: str
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class ClientGuide:
    """How to connect one client.

    Args:
        name: as its makers write it; a key that is made for it has this name.
        steps: what to do after the snippets, in a sentence.
    """

    id: str
    name: str
    snippets: tuple[Snippet, ...]
    steps: str
    uses_key: bool = True


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What clients need to know of this server.

    Args:
        origin: scheme, host and port.
        key: the API key, KEY_PLACEHOLDER where one is needed and not known; None where none is needed.
        command: what starts this server on standard input and output, on the visitor's own machine; None elsewhere.
    """

    origin: str
    key: str | None
    command: Sequence[str] | None

    @property
    def mcp_url(self) -> str:
        """Where MCP is."""
        return f"{self.origin}/mcp"

    @property
    def headers(self) -> dict[str, dict[str, str]]:
        """The `headers` member of a configuration, if one is needed."""
        return {} if self.key is None else {"headers": {"Authorization": f"Bearer {self.key}"}}


def guides(endpoint: Endpoint) -> list[ClientGuide]:
    """Every client, the most usual first."""
    return [
        _claude_desktop(endpoint),
        _claude_code(endpoint),
        _cursor(endpoint),
        _vs_code(endpoint),
        _any_other(endpoint),
        _rest(endpoint),
    ]


def _claude_desktop(endpoint: Endpoint) -> ClientGuide:
    if endpoint.command is not None:
        server = _started(endpoint.command)
        steps = "Then quit Claude and start it again. It starts this server by itself."
    else:
        server = _bridged(endpoint)
        steps = (
            "Then quit Claude and start it again. It cannot use an address by itself: npx, of Node.js, fetches the "
            "bridge mcp-remote when Claude starts."
        )
    place = "Settings → Developer → Edit Config opens claude_desktop_config.json; put this into it"
    return ClientGuide(
        "claude-desktop",
        "Claude Desktop",
        (Snippet("claude-desktop-config", place, _json({"mcpServers": {NAME: server}})),),
        steps,
        uses_key=endpoint.command is None,
    )


def _claude_code(endpoint: Endpoint) -> ClientGuide:
    command = f"claude mcp add --transport http {NAME} {_argument(endpoint.mcp_url)}"
    if endpoint.key is not None:
        command += f' --header "Authorization: Bearer {endpoint.key}"'
    return ClientGuide(
        "claude-code",
        "Claude Code",
        (Snippet("claude-code-command", "Run this in your project", command),),
        "Then /mcp in Claude Code shows whether it is connected. With --scope user it is there in every project.",
    )


def _cursor(endpoint: Endpoint) -> ClientGuide:
    configuration = {"mcpServers": {NAME: {"url": endpoint.mcp_url, **endpoint.headers}}}
    return ClientGuide(
        "cursor",
        "Cursor",
        (Snippet("cursor-config", "~/.cursor/mcp.json, or .cursor/mcp.json in a project", _json(configuration)),),
        "Then Cursor Settings → MCP shows its tools.",
    )


def _vs_code(endpoint: Endpoint) -> ClientGuide:
    configuration = {"servers": {NAME: {"type": "http", "url": endpoint.mcp_url, **endpoint.headers}}}
    return ClientGuide(
        "vs-code",
        "VS Code",
        (Snippet("vs-code-config", ".vscode/mcp.json in your workspace", _json(configuration)),),
        "Then click Start above the server's name in that file, and choose Agent in the chat. “MCP: Open User "
        "Configuration” has the file for all workspaces. Keep a file with a key out of version control.",
    )


def _any_other(endpoint: Endpoint) -> ClientGuide:
    by_address = {"mcpServers": {NAME: {"type": "http", "url": endpoint.mcp_url, **endpoint.headers}}}
    snippets = [
        Snippet("other-address", "Address (Streamable HTTP)", endpoint.mcp_url),
        Snippet("other-http", "The configuration that most clients take", _json(by_address)),
    ]
    if endpoint.command is not None:
        started = {"mcpServers": {NAME: _started(endpoint.command)}}
        snippets.append(
            Snippet("other-stdio", "For clients that start their servers themselves (stdio)", _json(started))
        )
    return ClientGuide(
        "other", "Another client", tuple(snippets), "There are no sessions and no OAuth: each request stands alone."
    )


def _rest(endpoint: Endpoint) -> ClientGuide:
    lines = [f"curl {_argument(f'{endpoint.origin}/api/v1/search')}"]
    if endpoint.key is not None:
        lines.append(f'  -H "Authorization: Bearer {endpoint.key}"')
    lines.append('  -H "Content-Type: application/json"')
    lines.append("""  -d '{"query": "notice period", "limit": 3}'""")
    return ClientGuide(
        "rest",
        "REST, with curl",
        (Snippet("rest-curl", "Run this in a terminal", " \\\n".join(lines)),),
        "The REST reference has every other call.",
    )


def _started(command: Sequence[str]) -> dict[str, Any]:
    program, *arguments = command
    return {"command": program, "args": arguments}


def _bridged(endpoint: Endpoint) -> dict[str, Any]:
    arguments = ["-y", "mcp-remote", endpoint.mcp_url]
    address = urlsplit(endpoint.origin)
    if address.scheme == "http" and address.hostname not in _LOOPBACK:
        arguments.append("--allow-http")
    if endpoint.key is None:
        return {"command": "npx", "args": arguments}
    # No blank inside an argument: Claude Desktop on Windows would tear it apart.
    arguments += ["--header", "Authorization:${AUTHORIZATION}"]
    return {"command": "npx", "args": arguments, "env": {"AUTHORIZATION": f"Bearer {endpoint.key}"}}


def _argument(address: str) -> str:
    """An address as an argument: shells take the brackets of IPv6 for a pattern."""
    return f'"{address}"' if "[" in address else address


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
