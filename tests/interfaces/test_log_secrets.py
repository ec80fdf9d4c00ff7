"""What users write, and what opens doors, never gets into the log, at any level: driven through every kind of door."""

import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from front_door import running_client, until, wait_finished
from rest_kit import API, app_of
from zip_files import zip_of

from mcp_knowledge.adapters.rows.store import SqlStore
from mcp_knowledge.interfaces.logs import configure_logging
from mcp_knowledge.settings import load_settings

MARK = "Geheimnis"
PASSPHRASE = f"{MARK}-passphrase-0815"
QUESTION = {"query": f"what does {MARK} mean"}


@pytest.fixture
def restored_logging() -> Iterator[None]:
    names = (None, "mcp_knowledge", "uvicorn", "uvicorn.access", "uvicorn.asgi", "mcp", "python_multipart")
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    handlers, hooks = logging.getLogger().handlers[:], (sys.excepthook, sys.unraisablehook)
    yield
    logging.getLogger().handlers[:] = handlers
    logging.captureWarnings(False)
    sys.excepthook, sys.unraisablehook = hooks
    for logger, level in before:
        logger.setLevel(level)


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize(("level", "form"), [("debug", "json"), ("info", "text")])
async def test_nothing_that_users_write_and_nothing_secret_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, form: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / f"{MARK}.md").write_text(f"# {MARK}\n\nfrom the folder")
    (folder / f"{MARK}.csv").write_bytes(b"\xff\xfe\x00")
    (folder / "manifest.json").write_text(json.dumps({"documents": [{"path": MARK, "title": 7}]}))
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    settings = load_settings(
        data_dir=tmp_path / "data",
        dashboard_passphrase=PASSPHRASE,
        ingest_data_dir=folder,
        log_level=level,
        log_format=form,
    )
    configure_logging(settings)
    async with running_client(settings) as client:
        _, secret = await app_of(client).state.services.access.create_key(MARK, ("read", "write", "admin"))
        client.headers["Authorization"] = f"Bearer {secret}"
        await _use_everything(client)
        with monkeypatch.context() as patch:
            await _meet_a_failure(client, patch)
        await until(lambda: "job" in log.getvalue())
    text = log.getvalue()
    assert "/api/v1/search" in text and "ValueError" in text
    assert MARK.lower() not in text.lower(), [line for line in text.splitlines() if MARK.lower() in line.lower()]
    for forbidden in (secret, secret[4:20], "mk_session", "Bearer", "sesame", str(tmp_path)):
        assert forbidden not in text, [line for line in text.splitlines() if forbidden in line]
    if form == "json":
        assert all(isinstance(json.loads(line), dict) for line in text.splitlines())


async def _use_everything(client: httpx2.AsyncClient) -> None:
    """Good and bad requests of every kind."""
    ids = []
    for name in (f"{MARK}.md", f"{MARK}.pdf", f"{MARK}.docx", f"{MARK}.xlsx", f"{MARK}.json", f"{MARK}.csv"):
        answer = await client.post(
            f"{API}/documents",
            files={"file": (name, f"# {MARK}\n\nThe {MARK} of {name}".encode())},
            data={"metadata": json.dumps({"about": MARK})},
        )
        ids.append(answer.json()["id"])
    archive = zip_of((f"{MARK}/{MARK}.md", f"{MARK} in an archive"), (f"../{MARK}", b"out"), (f"{MARK}.pdf", MARK))
    await client.post(f"{API}/documents", files={"file": (f"{MARK}.zip", archive)})
    await client.post(f"{API}/documents", files={"file": (f"{MARK}.exe", b"MZ")})
    for document_id in ids:
        await wait_finished(client, document_id)
    for mode in ("hybrid", "vector", "lexical"):
        await client.post(f"{API}/search", json={**QUESTION, "mode": mode})
    for path in ("search/explain", "search/why-not"):
        await client.post(f"{API}/{path}", json={**QUESTION, "documentId": ids[0]})
    for body in (b'{"query": "%s' % MARK.encode(), json.dumps({"query": MARK, "limit": MARK, MARK: 1}).encode()):
        await client.post(f"{API}/search", content=body, headers={"Content-Type": "application/json"})
    for arguments in (QUESTION, {"query": 7, MARK: MARK}, MARK):
        call = {"name": "search_documents", "arguments": arguments}
        await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    await client.post("/mcp", json={"jsonrpc": "2.0", "id": MARK, "method": MARK, "params": {"name": MARK}})
    await client.post("/mcp", json={"jsonrpc": "2.0", "method": f"notifications/{MARK}", "params": {MARK: MARK}})
    await client.post(
        "/mcp", json={"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [MARK]}}
    )
    part = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{MARK}.md"\r\n'
    for head in (f"Content-Transfer-Encoding: {MARK}\r\n\r\n", f"{MARK}\r\n", f"X: {MARK}\r\n\r\n{MARK}"):
        await client.post(
            f"{API}/documents",
            content=f"{part}{head}\r\n--b--\r\n".encode(),
            headers={"Content-Type": "multipart/form-data; boundary=b"},
        )
    for _ in range(2):
        await client.post(f"{API}/collections", json={"name": MARK, "description": MARK})
    for url in (
        f"https://user:{MARK}@example.com/",
        f"http://127.0.0.1/{MARK}?token={MARK}",
        f"http://{MARK}.invalid/",
    ):
        await client.post(f"{API}/documents/from-url", json={"url": url})
    pages = ("/", "/documents", "/playground", "/collections", "/jobs", "/imports", "/system", f"/{MARK}")
    for path in (*pages, f"{API}/documents", f"{API}/{MARK}", f"/documents/{ids[0]}", f"{API}/chunks/{MARK}"):
        await client.get(path, params={"search": MARK, "q": MARK, "cursor": MARK})
    await client.post(f"{API}/session", json={"passphrase": f"{MARK} wrong"})
    signed_in = await client.post(f"{API}/session", json={"passphrase": PASSPHRASE})
    await client.get(f"{API}/documents", headers={"Cookie": signed_in.headers["set-cookie"], "Authorization": ""})
    await client.get(f"{API}/documents", headers={"Authorization": f"Bearer key_{MARK}", "Cookie": "mk_session=sesame"})
    await client.get(
        "/", headers={"Host": f"{MARK}.example", "Origin": f"http://{MARK}", "X-Request-Id": f"{MARK} \x7f"}
    )
    await client.request(MARK.upper(), f"/{MARK}")
    await client.delete(f"{API}/documents/{ids[0]}")


async def _meet_a_failure(client: httpx2.AsyncClient, patch: pytest.MonkeyPatch) -> None:
    """Faults of ours whose exceptions quote what they failed at."""

    async def broken(*_: Any) -> None:
        try:
            dict[str, str]()[MARK]
        except KeyError:
            raise ValueError(f"cannot read '{MARK}'\nin {MARK}") from None

    patch.setattr(SqlStore, "get_document", broken)
    assert (await client.get(f"{API}/documents/doc_x")).status_code == 500
