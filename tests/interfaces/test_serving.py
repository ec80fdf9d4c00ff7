import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from front_door import Server, wait_until
from rest_kit import API

STOP_S = 30.0  # ten seconds is the promise, on processors of its own; held up, the server would not end at all


@pytest.mark.slow
def test_neither_a_client_that_never_finishes_nor_waiting_work_holds_up_the_end(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    try:
        address = urlsplit(server.url)
        with socket.create_connection((str(address.hostname), int(address.port or 0))) as client:
            client.sendall(b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            texts = [f"Document {n}. " + "Words that a model has to read one by one. " * 300 for n in range(40)]
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
