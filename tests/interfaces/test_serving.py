import signal
import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from front_door import FreshServer, Server, wait_until
from rest_kit import API

from mcp_knowledge.adapters.postgres import migrate

STOP_S = 30.0  # ten seconds is the promise, on processors of its own; held up, the server would not end at all


@pytest.mark.slow
def test_neither_a_client_that_never_finishes_nor_waiting_work_holds_up_the_end(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    try:
        address = urlsplit(server.url)
        with socket.create_connection((str(address.hostname), int(address.port or 0))) as client:
            client.sendall(b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            texts = [f"Document {n}. " + "Words that a model has to read one by one. " * 300 for n in range(5)]
            ids = [server.upload(f"{n}.txt", text.encode())["id"] for n, text in enumerate(texts)]
            process = server.process
            assert process is not None
            process.terminate()
            wait_until(lambda: process.poll() is not None, STOP_S, "the server to end")
        assert process.returncode == 0
        server.start()
        assert {server.wait_finished(item)["status"] for item in ids} == {"ready"}
        jobs = server.request("GET", f"{API}/jobs", params={"limit": "100"}).json()["items"]
        assert {job["status"] for job in jobs} == {"completed"}
    finally:
        server.kill()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_process_that_waits_at_its_start(
    tmp_path: Path, empty_postgres_dsn: str, kind: signal.Signals
) -> None:
    starting = FreshServer(tmp_path / "data")
    variables = {"PATH": "", "DATABASE_DRIVER": "postgres", "DATABASE_URL": empty_postgres_dsn}
    with psycopg.connect(empty_postgres_dsn, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (migrate._LOCK,))
        process = subprocess.Popen(starting.command(), env=variables, stderr=subprocess.PIPE)
        try:
            query = "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND query LIKE 'SELECT pg_try_advisory%%'"
            wait_until(lambda: other.execute(query, (other.info.dbname,)).fetchone(), STOP_S, "it to wait")
            process.send_signal(kind)
            assert process.wait(STOP_S) == 128 + kind
            assert process.stderr is not None and b"Traceback" not in process.stderr.read()
        finally:
            process.kill()
            process.wait()
