"""The command `migrate-to`: which settings are the source's, and which the target's."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mcp_knowledge.interfaces.cli import output
from mcp_knowledge.interfaces.cli.context import AsJson, settings_of
from mcp_knowledge.settings import Settings, SettingsError, load_settings

# A database in a file, whatever the environment says.
_EMBEDDED: dict[str, Any] = {
    "app_profile": "local",
    "role": "all",
    "database_driver": "sqlite",
    "database_url": "",
    "storage_driver": "local",
}


class Destination(StrEnum):
    """Where a corpus can go."""

    postgres = "postgres"
    sqlite = "sqlite"


class Storage(StrEnum):
    """Where originals can go."""

    local = "local"
    s3 = "s3"


def migrate_to(
    context: typer.Context,
    destination: Annotated[Destination, typer.Argument(metavar="postgres|sqlite", help="The database to move to.")],
    database_url: Annotated[
        str | None,
        typer.Option(help="Address of the PostgreSQL database to move to. [default: DATABASE_URL]", metavar="URL"),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="Folder to move to, with sqlite: what DATA_DIR is then to be.", metavar="DIR")
    ] = None,
    storage_driver: Annotated[
        Storage | None,
        typer.Option(help="Where it keeps originals. [default: STORAGE_DRIVER; for sqlite, local]"),
    ] = None,
    storage_path: Annotated[
        Path | None, typer.Option(help="Folder of the target's originals. [default: STORAGE_PATH]", metavar="DIR")
    ] = None,
    s3_bucket: Annotated[str | None, typer.Option(help="The target's bucket. [default: S3_BUCKET]")] = None,
    s3_endpoint: Annotated[str | None, typer.Option(help="Its server. [default: S3_ENDPOINT]", metavar="URL")] = None,
    s3_region: Annotated[str | None, typer.Option(help="Its region. [default: S3_REGION]")] = None,
    as_json: AsJson = False,
) -> None:
    """Move the whole corpus to PostgreSQL, or back to one file, without parsing or embedding anything again.

    The settings in force are those of the source, and the options those of the target. With DATABASE_DRIVER=postgres
    already set, 'migrate-to postgres' takes the settings for the target's and moves the database of --data-dir (or
    DATA_DIR): the same environment then serves it.

    The target must be new. Everything is copied as it is, compared row by row and file by file, and reported; the
    source is never changed. What is interrupted goes on when the command is run again. Stop servers and workers
    before. Exit code 1 when the two are not equal.

    Others on this machine can see what a command line says: give the password as PGPASSWORD, or all in DATABASE_URL.

    Example: PGPASSWORD=… mcp-knowledge migrate-to postgres --database-url postgresql://knowledge@db.example.com/knowledge
    """
    from mcp_knowledge.interfaces.cli.moving import move

    options: dict[str, Any] = {
        "database_url": database_url,
        "storage_driver": storage_driver and storage_driver.value,
        "storage_path": storage_path,
        "s3_bucket": s3_bucket,
        "s3_endpoint": s3_endpoint,
        "s3_region": s3_region,
    }
    if destination is Destination.postgres:
        source, target = _to_postgres(context, options)
    else:
        source, target = _to_sqlite(context, into, options)
    report = asyncio.run(move(source, target, quiet=as_json))
    output.tell(report, as_json=as_json)


def _to_postgres(context: typer.Context, options: dict[str, Any]) -> tuple[Settings, Settings]:
    current = settings_of(context)
    if current.database_driver == "postgres":
        given = {name: value for name, value in options.items() if value is not None}
        return settings_of(context, **_EMBEDDED), load_settings(**given)  # --data-dir is the source's alone
    if options["database_url"] is None:
        raise SettingsError(["DATABASE_URL: name the PostgreSQL database to move to with --database-url"])
    return current, settings_of(context, **options, database_driver="postgres")


def _to_sqlite(context: typer.Context, into: Path | None, options: dict[str, Any]) -> tuple[Settings, Settings]:
    current = settings_of(context)
    if current.database_driver != "postgres":
        raise SettingsError(["DATABASE_DRIVER: to leave PostgreSQL, the settings must be those of its service"])
    if into is None:
        raise SettingsError(["--into: name the folder to move to"])
    if options["storage_driver"] != "s3" and options["storage_path"] is None:
        options["storage_path"] = into / "documents"
    context.obj = {**context.obj, "data_dir": into}
    given = {name: value for name, value in options.items() if value is not None}
    return current, settings_of(context, **{**_EMBEDDED, **given, "database_url": ""})
