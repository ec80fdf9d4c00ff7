"""What the commands share: settings with the options on top, and the services opened for one command."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any, TypeVar

import typer

from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services import Services
from mcp_knowledge.settings import Settings, load_settings

T = TypeVar("T")
_NICENESS = 5
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script instead of text for a person.")]


def settings_of(context: typer.Context, **overrides: Any) -> Settings:
    """The settings with the command's own options on top (those given). Raises SettingsError."""
    return load_settings(**context.obj, **{name: value for name, value in overrides.items() if value is not None})


def with_services(settings: Settings, use: Callable[[Services], Awaitable[T]]) -> T:
    """Open the services on the data directory (no server, no worker loop), use them, close them."""
    import uvloop

    from mcp_knowledge.app import open_services

    async def run() -> T:
        async with open_services(settings) as services:
            return await use(services)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


def give_way() -> None:
    """Let this process go after others: whoever searches meanwhile goes first."""
    with suppress(OSError):
        os.nice(_NICENESS)


def json_object(option: str, text: str | None) -> dict[str, Any] | None:
    """An option's JSON; None when it was not given. Raises INVALID_ARGUMENT."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise KnowledgeError("INVALID_ARGUMENT", f"{option} must be a JSON object, such as '{{\"year\": 2024}}'.")
    return value
