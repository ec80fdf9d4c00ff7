"""`mcp-knowledge keys`: API keys for programs."""

from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError
from rich import box
from rich.markup import escape
from rich.table import Table

from mcp_knowledge.domain.access import ACCESS_SCOPES, AccessScope, ApiKey
from mcp_knowledge.interfaces import wire
from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.context import AsJson, settings_of, with_services
from mcp_knowledge.services import Services

_PAGE_KEYS = 100

keys = typer.Typer(name="keys", help="Make, list and revoke the API keys of programs.", no_args_is_help=True)


@keys.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What you will know the key by, such as the program that uses it.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="read (search and read), write (also change) or admin (also keys); may be repeated. [default: read]"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make an API key and print it, this one time.

    Works with or without a running server. Programs send it as 'Authorization: Bearer key_…'.
    """
    named, scopes = _checked_name(name), _checked_scopes(scope or ["read"])
    key, secret = with_services(settings_of(context), lambda services: services.access.create_key(named, scopes))
    if as_json:
        output.print_json(wire.new_api_key(key, secret))
        return
    output.err.print("This key is shown only now; keep it where its program finds it.")
    print(secret)


@keys.command(name="list")
def list_keys(context: typer.Context, as_json: AsJson = False) -> None:
    """List the API keys, without their secrets."""
    found = with_services(settings_of(context), _all_keys)
    if as_json:
        output.print_json([wire.api_key(item) for item in found])
        return
    table = Table("Key", "Name", "Begins", "Scopes", "Created", "Last used", box=box.SIMPLE_HEAD)
    table.columns[0].overflow = "fold"  # an id is there to be copied
    for item in found:
        used = "never" if item.last_used_at_ms is None else wire.timestamp(item.last_used_at_ms)
        table.add_row(
            item.id,
            escape(item.name),
            f"{item.prefix}…",
            ", ".join(item.scopes),
            wire.timestamp(item.created_at_ms),
            used,
        )
    output.out.print(table if found else "No API keys.")


@keys.command()
def revoke(
    context: typer.Context,
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="Id of the key, as 'keys list' shows it.")],
) -> None:
    """Revoke an API key: a running server refuses it from now on."""
    with_services(settings_of(context), lambda services: services.access.revoke_key(key_id))
    output.out.print(f"Revoked: {escape(key_id)}")


def _checked_name(name: str) -> str:
    from mcp_knowledge.interfaces.rest.schemas import KeyName

    try:
        return TypeAdapter[str](KeyName).validate_python(name)
    except ValidationError:
        raise typer.BadParameter("must have 1 to 200 characters, none of them a control character") from None


def _checked_scopes(names: list[str]) -> list[AccessScope]:
    scopes = [scope for scope in ACCESS_SCOPES if scope in names]
    if not set(names) <= set(scopes):
        raise typer.BadParameter(f"must be one of {', '.join(ACCESS_SCOPES)}", param_hint="--scope")
    return scopes


async def _all_keys(services: Services) -> list[ApiKey]:
    found, after = await services.access.list_keys(_PAGE_KEYS)
    while after is not None:
        more, after = await services.access.list_keys(_PAGE_KEYS, after)
        found += more
    return found
